/* Pass: the strategy of every sharded matrix, as the schedule asks for it.
 *
 * requires: owners
 * provides: with "gram" groups of ranks that share matrices, each the block of
 *           its owner; else groups stay as placement chose them
 * breaks:   nothing */
#include "dsl/plan/build/build.h"
#include "passes/cost/candidates.h"
#include "passes/grid/owned.h"
#include "passes/passes.h"
#include "passes/share/group.h"

#include <inttypes.h>
#include <string.h>

/* Ranks that share each matrix of a pattern: what was asked for, or all that
 * shard it.  0 after reporting. */
static int64_t group_of(cz_arena *arena, const cz_plan_view *view, int pattern,
                        cz_diags *diags)
{
    const int64_t n_shards = cz_pattern_shards(view, pattern);
    const int64_t asked = view->policy->tp_subgroup;

    if (asked == 0 || !cz_pattern_is_owned(view, pattern) || n_shards == 1)
        return cz_pattern_is_owned(view, pattern) ? n_shards : 1;
    if (n_shards % asked == 0)
        return asked;
    cz_diag_error(diags, CZ_INFEASIBLE, (cz_span){0},
                  "'%s' is sharded over %" PRId64
                  " ranks, which make no groups of %" PRId64,
                  view->patterns[pattern].fact->name, n_shards, asked);
    cz_share_note(arena, view, asked, diags);
    return 0;
}

/* A plan without a machine has no nodes. */
static bool is_near(cz_arena *arena, const cz_plan_view *view, int pattern)
{
    cz_machine machine;
    return !cz_machine_of(arena, view, &machine) ||
           cz_machine_link_over(&machine, cz_view_mesh_axes(view),
                                cz_view_shard_set(view, pattern),
                                (cz_block){0, 0}) == CZ_LINK_NODE;
}

/* Owners become the first of their block. */
static void write_pattern(cz_ir *ir, cz_arena *arena, const cz_plan_view *view,
                          int number, int64_t subgroup_size)
{
    const cz_view_pattern *pattern = &view->patterns[number];
    const int n = pattern->n_params;
    const cz_block block = {
        subgroup_size,
        cz_candidates_stride(cz_pattern_shards(view, number),
                             is_near(arena, view, number), subgroup_size)};
    int64_t *split = CZ_NEW(arena, int64_t, n);
    int64_t *shard = CZ_NEW(arena, int64_t, n);
    int64_t *groups = CZ_NEW(arena, int64_t, n);
    int64_t *strides = CZ_NEW(arena, int64_t, n);

    for (int i = 0; i < n; i++) {
        const cz_view_param *param = &view->params[pattern->first_param + i];
        const bool is_shared = param->shard_owner >= 0;
        split[i] = param->split_owner;
        shard[i] = is_shared ? cz_block_first(block, param->shard_owner)
                             : param->shard_owner;
        groups[i] = is_shared ? subgroup_size : 1;
        strides[i] = is_shared && subgroup_size > 1 ? block.stride : 1;
    }
    cz_ir_add_assign(ir, &(cz_fact_assign){pattern->fact->sym_name,
                                           {split, n},
                                           {shard, n},
                                           {groups, n},
                                           {strides, n}});
}

static bool choose(cz_ir *ir, cz_arena *arena, cz_diags *diags)
{
    const cz_plan_view *view = cz_plan_view_build(arena, ir, diags);
    bool ok = view != NULL;

    if (!view || view->policy->tp_strategy != CZ_STRATEGY_GRAM)
        return ok;
    cz_ir_remove(ir, CZ_FACT_assign);
    for (int f = 0; ok && f < view->n_patterns; f++) {
        const int64_t subgroup_size = group_of(arena, view, f, diags);
        ok = subgroup_size > 0;
        write_pattern(ir, arena, view, f,
                      subgroup_size > 0 ? subgroup_size : 1);
    }
    return ok;
}

bool cz_strategy_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;

    cz_arena_init(&arena);
    const bool ok = choose(ir, &arena, diags);
    cz_arena_fini(&arena);
    return ok;
}
