/* Which ranks have a bucket: all, or some coordinates over the axes of its
 * home.  Knows nothing of engines. */
#include "runtime/program.h"

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
