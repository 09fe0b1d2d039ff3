/* Public micro-groups, row by row, on the simulated executor. */
#include "passes/baseline/micro_groups.h"

#include "passes/baseline/batches.h"
#include "passes/cost/time.h"
#include "passes/grid/owned.h"

#include <assert.h>
#include <string.h>

static int pattern_of(const cz_plan_view *view,
                      const cz_placement_problem *placement, int item)
{
    return view->params[placement->params[item]].pattern;
}

bool cz_compare_is_gathered(const cz_plan_view *view,
                            const cz_placement_problem *placement, int item)
{
    const int pattern = pattern_of(view, placement, item);
    return cz_pattern_is_owned(view, pattern) &&
           cz_pattern_shards(view, pattern) > 1;
}

bool cz_compare_has_micro_groups(const cz_plan_view *view,
                                 const cz_placement_problem *placement)
{
    for (int i = 0; i < placement->problem.n_items; i++)
        if (cz_compare_is_gathered(view, placement, i))
            return true;
    return false;
}

void cz_compare_ungroup(const cz_plan_view *view,
                        const cz_placement_problem *placement,
                        const cz_solve_plan *plan, int64_t *load_ps)
{
    const cz_solve_problem *problem = &placement->problem;
    for (int i = 0; i < problem->n_items; i++)
        if (cz_compare_is_gathered(view, placement, i))
            load_ps[plan->owner[i] * problem->n_hosts + plan->host[i]] -=
                problem->classes[problem->class_of[i]].cost_ps;
}

/* ---- items ---- */

typedef struct shards {
    int64_t n, all, least; /* of them; elements of all, and of the least */
} shards;

cz_timeline_item cz_compare_item(const cz_plan_view *view,
                                 const cz_placement_problem *placement,
                                 int item, int64_t rate)
{
    const cz_solve_problem *problem = &placement->problem;
    const int pattern = pattern_of(view, placement, item);
    const cz_view_stage *stage =
        &view->stages[cz_rule_stages_find(view, view->patterns[pattern].rule)
                          .full_matrix];
    const int64_t in =
        cz_view_element_bytes(stage->in, stage->n_in, CZ_SLOT_GATHER);
    const int64_t out =
        cz_view_element_bytes(stage->out, stage->n_out, CZ_SLOT_SCATTER);
    const cz_view_pattern *f = &view->patterns[pattern];
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints axes = cz_view_shard_axes(view, pattern, storage);
    shards of = {cz_view_extent(view, &axes), 0, INT64_MAX};
    for (int64_t s = 0; s < of.n; s++) {
        const int64_t rank = cz_view_rank_at(view, &axes, s, 0);
        const int64_t elements = cz_view_shard_elements(view, f, rank);
        of.all += elements;
        of.least = elements < of.least ? elements : of.least;
    }
    assert(of.n > 1); /* who gathers has others */
    const int64_t moved = of.all - of.least;
    const int64_t each = cz_ceil_div(moved, of.n - 1);
    return (cz_timeline_item){
        .elements = of.all,
        .compute_ps = problem->classes[problem->class_of[item]].cost_ps,
        .gather_ps = cz_time_of((cz_wide)moved * in, rate),
        .gather_other_ps = cz_time_of((cz_wide)each * in, rate),
        .scatter_ps = cz_time_of((cz_wide)moved * out, rate),
        .scatter_other_ps = cz_time_of((cz_wide)each * out, rate),
        .staging_bytes = of.all * in};
}

typedef struct grouper {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_stage_time *times;
    const cz_placement_problem *placement;
    const cz_solve_plan *plan;
    cz_timeline_baseline kind;
    cz_timeline_item *item_of;     /* [n_items] */
    cz_timeline_problem row;       /* but for its items */
    cz_timeline_item *of_this_row; /* [n_items] */
    int *stage_of_item;            /* [n_items] of this row */
} grouper;

cz_link cz_compare_link(const cz_plan_view *view, const cz_machine *machine,
                        const cz_placement_problem *placement)
{
    int i = 0;
    while (!cz_compare_is_gathered(view, placement, i))
        i++;
    return cz_machine_link_over(
        machine, cz_view_mesh_axes(view),
        cz_view_shard_set(view, pattern_of(view, placement, i)),
        (cz_block){0, 0});
}

static void make_items(grouper *g, int64_t rate)
{
    const cz_solve_problem *problem = &g->placement->problem;
    g->item_of = CZ_NEW(g->arena, cz_timeline_item, problem->n_items);
    for (int i = 0; i < problem->n_items; i++)
        if (cz_compare_is_gathered(g->view, g->placement, i))
            g->item_of[i] = cz_compare_item(g->view, g->placement, i, rate);
}

/* Gathered items, row by row, and in each by the number of their parameter:
 * those of a row begin at starts[row]. */
static const int *sort_items(const grouper *g, int *starts)
{
    const cz_solve_problem *problem = &g->placement->problem;
    const int n = problem->n_items;
    int *item_of_param = CZ_NEW(g->arena, int, g->view->n_params + 1);
    int *next = CZ_NEW(g->arena, int, problem->n_ranks + 1);
    int *order = CZ_NEW(g->arena, int, n + 1);
    for (int i = 0; i < n; i++)
        if (cz_compare_is_gathered(g->view, g->placement, i)) {
            item_of_param[g->placement->params[i]] = i + 1;
            starts[g->plan->owner[i] + 1]++;
        }
    for (int row = 0; row < problem->n_ranks; row++) {
        next[row] = starts[row];
        starts[row + 1] += starts[row];
    }
    for (int p = 0; p < g->view->n_params; p++)
        if (item_of_param[p] > 0) {
            const int i = item_of_param[p] - 1;
            order[next[g->plan->owner[i]]++] = i;
        }
    return order;
}

/* ---- rows ---- */

/* A rank computes its matrices of a group in batches: of equal ones the first
 * takes the time of all. */
static void compute_in_batches(const grouper *g, cz_arena *scratch,
                               const cz_timeline_micro_groups *micro_groups)
{
    const size_t n_stages = (size_t)g->view->n_stages;
    const size_t n_ranks = (size_t)g->row.n_ranks;
    int64_t *counts =
        CZ_NEW(scratch, int64_t, (size_t)micro_groups->n * n_ranks * n_stages);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < g->row.n_items; i++) {
            const int stage = g->stage_of_item[i];
            int64_t *n = &counts[((size_t)micro_groups->of[i] * n_ranks +
                                  (size_t)micro_groups->owner[i]) *
                                     n_stages +
                                 (size_t)stage];
            if (pass == 0) {
                ++*n;
                continue;
            }
            g->of_this_row[i].compute_ps =
                *n > 0 ? cz_stage_time_rows(&g->times[stage], *n) : 0;
            *n = 0;
        }
}

static void run_row(grouper *g, int row, cz_grouped_rows *out)
{
    cz_arena scratch;
    cz_arena_init(&scratch);
    const cz_timeline_micro_groups micro_groups = cz_timeline_micro_groups_make(
        &scratch, &g->row, g->kind,
        (int64_t)CZ_TIMELINE_SLOT_ELEMENTS * g->row.n_ranks);
    compute_in_batches(g, &scratch, &micro_groups);
    const cz_timeline_cost cost =
        cz_timeline_micro_groups_run(&scratch, &g->row, &micro_groups);
    out->name = micro_groups.method;
    out->row_ps[row] = cost.time_ps;
    if (micro_groups.n > out->n_micro_groups)
        out->n_micro_groups = micro_groups.n;
    if (cost.staging_bytes > out->staging_bytes)
        out->staging_bytes = cost.staging_bytes;
    cz_arena_fini(&scratch);
}

cz_grouped_rows
cz_compare_micro_groups(cz_arena *arena, const cz_plan_view *view,
                        const cz_machine *machine, const cz_stage_time *times,
                        const cz_placement_problem *placement,
                        const cz_solve_plan *plan, cz_timeline_baseline kind)
{
    const cz_solve_problem *problem = &placement->problem;
    grouper g = {.arena = arena,
                 .view = view,
                 .times = times,
                 .placement = placement,
                 .plan = plan,
                 .kind = kind};
    cz_grouped_rows out = {.row_ps = CZ_NEW(arena, int64_t, problem->n_ranks)};
    const cz_link_speed link =
        cz_machine_link(machine, cz_compare_link(view, machine, placement));
    make_items(&g, link.rate);
    int *starts = CZ_NEW(arena, int, problem->n_ranks + 1);
    const int *order = sort_items(&g, starts);
    g.of_this_row = CZ_NEW(arena, cz_timeline_item, problem->n_items);
    g.stage_of_item = CZ_NEW(arena, int, problem->n_items);
    g.row = (cz_timeline_problem){.n_ranks = problem->n_hosts,
                                  .items = g.of_this_row,
                                  .latency_ps = link.latency};
    for (int row = 0; row < problem->n_ranks; row++) {
        g.row.n_items = 0;
        for (int k = starts[row]; k < starts[row + 1]; k++) {
            const int pattern = pattern_of(view, placement, order[k]);
            g.stage_of_item[g.row.n_items] =
                cz_rule_stages_find(view, view->patterns[pattern].rule)
                    .full_matrix;
            g.of_this_row[g.row.n_items++] = g.item_of[order[k]];
        }
        if (g.row.n_items > 0)
            run_row(&g, row, &out);
    }
    return out;
}
