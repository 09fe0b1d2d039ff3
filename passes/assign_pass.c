/* Owners of all matrices, on true cost.
 * requires: stages.  provides: one `assign` per family.  breaks: buckets and
 * schedule, which are planned anew behind it. */
#include "passes/passes.h"

#include "dsl/base/checked.h"
#include "dsl/ir.h"
#include "dsl/plan_view_build.h"
#include "passes/assign.h"
#include "passes/owned.h"

/* The matrices among the parameters, as the solver wants them. */
typedef struct owned_list {
    int n;
    cz_assign_item *items;
    int *params;
} owned_list;

/* Flops of one parameter: per element before and after, whole on the owner.
 * False when they do not fit. */
static bool item_of(const cz_plan_view *view, const cz_owner_grid *grid,
                    int family, cz_assign_item *item)
{
    const cz_view_family *f = &view->families[family];
    const cz_rule_stages stages = cz_rule_stages_find(view, f->rule);
    const int64_t after =
        stages.after < 0 ? 0 : view->stages[stages.after].fact->flops;
    int64_t per_element;
    *item = (cz_assign_item){.cost = view->stages[stages.whole].fact->flops,
                             .memory = f->local_elements,
                             .on_row = cz_family_shards(view, family) == 1,
                             .split_of_row = grid->split_of_row[family],
                             .n_splits = cz_owner_grid_splits(view, family),
                             .shard_of_column = grid->shard_of_column[family],
                             .n_shards = (int)cz_family_shards(view, family)};
    return cz_checked_add(view->stages[stages.before].fact->flops, after,
                          &per_element) &&
           cz_checked_mul(per_element, f->local_elements, &item->shared);
}

/* What all ranks together pay for an item at most. */
static bool add_ranks(int64_t n_ranks, const cz_assign_item *item,
                      int64_t *total)
{
    int64_t cost;
    return cz_checked_add(item->cost, item->shared, &cost) &&
           cz_checked_mul(cost, n_ranks, &cost) &&
           cz_checked_add(*total, cost, total);
}

/* False when a sum over all ranks does not fit. */
static bool collect(cz_arena *arena, const cz_plan_view *view,
                    const cz_owner_grid *grid, owned_list *out)
{
    int64_t total = 0;
    *out = (owned_list){0, CZ_NEW(arena, cz_assign_item, view->n_params),
                        CZ_NEW(arena, int, view->n_params)};
    for (int p = 0; p < view->n_params; p++) {
        const int family = view->params[p].family;
        cz_assign_item *item = &out->items[out->n];
        if (!cz_family_is_owned(view, family))
            continue;
        if (!item_of(view, grid, family, item) ||
            !add_ranks(view->n_ranks / item->n_splits, item, &total))
            return false;
        out->params[out->n++] = p;
    }
    return true;
}

/* Owners of all parameters by number, then a fact per family. */
static void write_back(cz_ir *ir, cz_arena *arena, const cz_plan_view *view,
                       const owned_list *matrices,
                       const cz_assign_place *places)
{
    int64_t *split = CZ_NEW(arena, int64_t, view->n_params);
    int64_t *shard = CZ_NEW(arena, int64_t, view->n_params);
    int64_t *group = CZ_NEW(arena, int64_t, view->n_params);
    for (int p = 0; p < view->n_params; p++) {
        split[p] = shard[p] = -1;
        group[p] = 1;
    }
    for (int i = 0; i < matrices->n; i++) {
        split[matrices->params[i]] = places[i].split;
        shard[matrices->params[i]] = places[i].shard;
    }
    cz_ir_remove(ir, CZ_FACT_assign);
    for (int f = 0; f < view->n_families; f++) {
        const cz_view_family *family = &view->families[f];
        const cz_fact_assign fact = {
            family->fact->sym_name,
            {split + family->first_param, family->n_params},
            {shard + family->first_param, family->n_params},
            {group + family->first_param, family->n_params}};
        cz_ir_add_assign(ir, &fact);
    }
}

static const bool *find_ranks(cz_arena *arena, const cz_plan_view *view,
                              const cz_owner_grid *grid)
{
    bool *ranks = CZ_NEW(arena, bool, grid->n_rows * grid->n_shard);
    for (int row = 0; row < grid->n_rows; row++)
        for (int t = 0; t < grid->n_shard; t++)
            ranks[row * grid->n_shard + t] =
                cz_owner_grid_has_rank(grid, view, row, t);
    return ranks;
}

static bool assign(cz_ir *ir, cz_arena *arena, cz_diags *diags)
{
    cz_owner_grid grid;
    owned_list matrices;
    const cz_plan_view *view = cz_plan_view_build(arena, ir, diags);
    if (!view || !cz_owner_grid_find(arena, view, diags, &grid))
        return false;
    if (!collect(arena, view, &grid, &matrices)) {
        cz_diag_error(diags, CZ_TOO_LARGE, (cz_span){0},
                      "the matrices cost more than 2^63 operations");
        return false;
    }
    const cz_assign_problem problem = {matrices.n, matrices.items, grid.n_rows,
                                       grid.n_shard,
                                       find_ranks(arena, view, &grid)};
    cz_assign_place *places = CZ_NEW(arena, cz_assign_place, matrices.n);
    cz_assign_solve(arena, &problem, places,
                    CZ_NEW(arena, int64_t, grid.n_rows * grid.n_shard));
    write_back(ir, arena, view, &matrices, places);
    return true;
}

bool cz_assign_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;
    cz_arena_init(&arena);
    const bool ok = assign(ir, &arena, diags);
    cz_arena_fini(&arena);
    return ok;
}
