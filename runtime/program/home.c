/* Which ranks have a bucket, and which owns a matrix: all, or some coordinates
 * over the axes of a home, of a split, of shards.  Knows nothing of engines. */
#include "runtime/program/program.h"

bool czr_home_is_valid(const czr_program *program, const czr_bucket *bucket)
{
    const uint32_t axes = bucket->home_axes;

    if (axes & (~czr_program_all_axes(program) | bucket->split_axes))
        return false;
    if (!axes)
        return bucket->n_home == 0;
    const int n = czr_program_extent(program, axes);
    if (bucket->n_home < 1 || bucket->n_home > n || !bucket->home)
        return false;
    for (int i = 0; i < bucket->n_home; i++)
        if (bucket->home[i] >= n ||
            bucket->home[i] <= (i ? bucket->home[i - 1] : -1))
            return false;
    return true;
}

bool czr_program_is_home(const czr_program *program, int bucket, int rank)
{
    const czr_bucket *b = &program->buckets[bucket];
    const int own = czr_program_coordinate(program, b->home_axes, rank);
    bool found = b->home_axes == 0;

    for (int i = 0; i < b->n_home && !found; i++)
        found = b->home[i] == own;
    return found;
}

bool czr_program_has_param(const czr_program *program, int param, int rank)
{
    return czr_program_is_home(program, program->places[param].bucket, rank);
}

/* Axes that shard a family. */
static uint32_t shard_axes(const czr_family *family)
{
    uint32_t axes = 0;

    for (int d = 0; d < family->n_dims; d++)
        axes |= family->shard[d];
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
                program, shard_axes(czr_program_family(program, param)),
                rank) == place->shard_owner);
}
