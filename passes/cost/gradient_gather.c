/* Sums over families. */
#include "passes/cost/gradient_gather.h"

#include "passes/cost/time.h"
#include "passes/grid/owned.h"

/* Ranks at home that have a shard of each of the family's matrices where its
 * owner is: a coordinate of the axes along which owners are dealt out. */
static int64_t n_row(const cz_plan_view *view, int family)
{
    const int64_t homes = view->families[family].fact->home_axes;
    const cz_fact_reduction *reduction = cz_view_family_reduction(view, family);
    const int64_t split = cz_view_set_of(&reduction->split_axes);

    return view->n_ranks / cz_view_parts(view, homes) *
           cz_view_n_homes(view, family) / cz_view_parts(view, split);
}

int64_t cz_gradient_gather_bytes(const cz_plan_view *view)
{
    int64_t bytes = 0;
    for (int f = 0; f < view->n_families; f++) {
        const cz_view_family *family = &view->families[f];
        const int64_t shards = cz_family_shards(view, f);
        if (!cz_family_is_owned(view, f) || shards == 1)
            continue;
        bytes =
            cz_time_limit(bytes + (cz_wide)family->elements * family->n_params *
                                      (shards - 1) * (n_row(view, f) / shards) *
                                      cz_dtype_bytes(CZ_F32));
    }
    return bytes;
}
