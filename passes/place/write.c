/* What was placed as facts of the module. */
#include "passes/place/write.h"

#include "passes/grid/gradient_order.h"
#include "passes/place/fact.h"

#include <stdlib.h>

static cz_ints of_pattern(const cz_view_pattern *pattern, const int64_t *values)
{
    return (cz_ints){values + pattern->first_param, pattern->n_params};
}

void cz_place_write_owners(cz_arena *arena, const cz_plan_view *view,
                           const cz_place_all *all,
                           const cz_block *const *blocks_of, cz_ir *ir)
{
    const cz_place_owners owners = cz_place_owners_make(arena, view);
    for (int d = 0; d < all->n_placements; d++)
        cz_place_owners_put(&owners, &all->placements[d], &all->plans[d],
                            blocks_of[d], view);
    cz_ir_remove(ir, CZ_FACT_assign);
    for (int f = 0; f < view->n_patterns; f++) {
        const cz_view_pattern *pattern = &view->patterns[f];
        const cz_fact_assign fact = {pattern->fact->sym_name,
                                     of_pattern(pattern, owners.split),
                                     of_pattern(pattern, owners.shard),
                                     of_pattern(pattern, owners.subgroup_size),
                                     of_pattern(pattern, owners.stride)};
        cz_ir_add_assign(ir, &fact);
    }
}

static int by_last(const void *left, const void *right)
{
    const cz_place_bucket *a = left, *b = right;
    return (a->last > b->last) - (a->last < b->last);
}

void cz_place_write_buckets(cz_arena *arena, const cz_plan_view *view,
                            const cz_place_all *all, cz_ir *ir)
{
    const int *gradients = cz_gradient_order(arena, view);
    cz_place_bucket *list = NULL;
    int n = 0;
    for (int d = 0; d < all->n_placements; d++)
        cz_place_buckets(arena, &all->placements[d], &all->plans[d], view,
                         gradients, d, &list, &n);
    if (n > 0)
        qsort(list, (size_t)n, sizeof *list, by_last);
    cz_ir_remove(ir, CZ_FACT_bucket);
    for (int b = 0; b < n; b++) {
        list[b].fact.sym_name = cz_arena_printf(arena, "bucket%d", b);
        cz_ir_add_bucket(ir, &list[b].fact);
    }
}
