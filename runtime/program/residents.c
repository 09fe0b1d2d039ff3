/* Which ranks have a bucket, and which owns a matrix: all, or some coordinates
 * over the axes of a home, of a split, of shards.  Knows nothing of engines. */
#include "runtime/program/program.h"

bool czr_residents_are_valid(const czr_program *program,
                             const czr_bucket *bucket)
{
    const uint32_t axes = bucket->resident_axes;

    if (axes & (~czr_program_all_axes(program) | bucket->split_axes))
        return false;
    if (!axes)
        return bucket->n_residents == 0;
    const int n = czr_program_extent(program, axes);
    if (bucket->n_residents < 1 || bucket->n_residents > n ||
        !bucket->residents)
        return false;
    for (int i = 0; i < bucket->n_residents; i++)
        if (bucket->residents[i] >= n ||
            bucket->residents[i] <= (i ? bucket->residents[i - 1] : -1))
            return false;
    return true;
}

bool czr_program_is_resident(const czr_program *program, int bucket, int rank)
{
    const czr_bucket *b = &program->buckets[bucket];
    const int own = czr_program_coordinate(program, b->resident_axes, rank);
    bool found = b->resident_axes == 0;

    for (int i = 0; i < b->n_residents && !found; i++)
        found = b->residents[i] == own;
    return found;
}

bool czr_program_has_param(const czr_program *program, int param, int rank)
{
    return czr_program_is_resident(program, program->places[param].bucket,
                                   rank);
}

/* Axes that shard a pattern. */
static uint32_t shard_axes(const czr_pattern *pattern)
{
    uint32_t axes = 0;

    for (int d = 0; d < pattern->n_dims; d++)
        axes |= pattern->shard[d];
    return axes;
}

bool czr_program_is_owner(const czr_program *program, int param, int rank)
{
    const czr_place *place = &program->places[param];
    const uint32_t split = program->buckets[place->bucket].split_axes;

    return place->owner >= 0 && czr_program_has_param(program, param, rank) &&
           czr_program_coordinate(program, split, rank) == place->owner &&
           (place->shard_owner < 0 ||
            czr_program_coordinate(
                program, shard_axes(czr_program_pattern(program, param)),
                rank) == place->shard_owner);
}
