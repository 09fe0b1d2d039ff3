/* The kinds of mutations, and those of buckets, owners and the arena. */
#include "tests/adversary/verify/mutation.h"

#include <string.h>

const mutation mutations[] = {
#define MUTATION(apply) {#apply, apply, false},
#define STAGE_MUTATION(apply) {#apply, apply, true},
#include "tests/adversary/verify/mutation.def"
};
const int n_mutations = sizeof mutations / sizeof *mutations;

bool move_slice(mutable_plan *plan, randoms *r)
{
    mutable_bucket *bucket = &plan->buckets[draw(r, plan->n_buckets)];
    const int64_t length = bucket->slices[bucket->n_slices - 1];
    int64_t *bound;

    if (bucket->n_slices < 3)
        return false;
    bound = &bucket->slices[draw_in(r, 1, bucket->n_slices - 2)];
    const int64_t was = *bound;
    *bound = chance(r, 2) ? draw_in(r, 0, length) : was + draw_in(r, -1, 1);
    return *bound != was;
}

bool change_geometry(mutable_plan *plan, randoms *r)
{
    static const cz_geometry all[] = {CZ_GEOMETRY_UNEVEN, CZ_GEOMETRY_PADDED,
                                      CZ_GEOMETRY_EQUAL};
    mutable_bucket *bucket = &plan->buckets[draw(r, plan->n_buckets)];
    const cz_geometry was = bucket->geometry;

    bucket->geometry = all[draw(r, 3)];
    return bucket->geometry != was;
}

bool move_param(mutable_plan *plan, randoms *r)
{
    const int b = (int)draw(r, plan->n_buckets);
    mutable_bucket *bucket = &plan->buckets[b];
    const int i = (int)draw(r, bucket->n_params);
    const int64_t *list = plan->origin->buckets[b].fact->params.v;
    const int64_t was = bucket->offsets[i];

    bucket->offsets[i] = draw_in(r, was > 3 ? was - 3 : 0, was + 3);
    plan->params[list[i]].offset = bucket->offsets[i];
    return bucket->offsets[i] != was;
}

bool change_owner(mutable_plan *plan, randoms *r)
{
    cz_view_param *param = &plan->params[draw(r, plan->origin->n_params)];
    const int64_t was = param->split_owner;

    if (was < 0)
        return false;
    const cz_ints *split =
        &cz_view_pattern_reduction(plan->origin, param->pattern)->split_axes;
    param->split_owner = draw_in(r, 0, cz_view_extent(plan->origin, split) - 1);
    return param->split_owner != was;
}

/* Other ranks would share a matrix. */
bool change_sharers(mutable_plan *plan, randoms *r)
{
    cz_view_param *param = &plan->params[draw(r, plan->origin->n_params)];
    const int64_t n = cz_view_set_extent(
        plan->origin, cz_view_shard_set(plan->origin, param->pattern));
    const int64_t was = param->stride;

    if (param->subgroup_size == 1)
        return false;
    param->stride = draw_in(r, 1, n / param->subgroup_size);
    if (!cz_block_divides((cz_block){param->subgroup_size, param->stride}, n))
        param->stride = was;
    return param->stride != was;
}

/* One coordinate more, one less, or another one. */
bool change_home(mutable_plan *plan, randoms *r)
{
    const int f = (int)draw(r, plan->origin->n_patterns);
    cz_fact_pattern *fact = &plan->patterns[f];
    const cz_fact_pattern *was = plan->origin->patterns[f].fact;
    const int64_t extent =
        cz_view_set_extent(plan->origin, fact->resident_axes);
    int64_t *home = CZ_NEW(plan->arena, int64_t, extent);
    int n = 0;

    if (fact->resident_axes == 0)
        return false;
    for (int64_t c = 0; c < extent; c++)
        if (chance(r, 2))
            home[n++] = c;
    if (n == 0)
        return false;
    fact->residents = (cz_ints){home, n};
    return !cz_view_same_residents(fact, was);
}

bool shrink_arena(mutable_plan *plan, randoms *r)
{
    int64_t *bytes = &plan->arena_bytes[draw(r, plan->origin->arena->bytes.n)];

    if (*bytes <= 0)
        return false;
    *bytes -= chance(r, 2) ? CZ_ALIGN_BYTES : draw_in(r, 1, *bytes);
    return true;
}
