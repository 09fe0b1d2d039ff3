/* Baselines of a plan, placement by placement. */
#include "passes/place/compare.h"

#include "dsl/base/arithmetic.h"
#include "dsl/base/checked.h"
#include "passes/place/compare_micro_groups.h"
#include "passes/solve/baseline.h"

typedef struct comparer {
    cz_arena *arena;
    const cz_plan_view *view;
    cz_owner_grid grid;
    bool has_machine;
    cz_machine machine;
    int n_placements;
    cz_placement_problem *placements;
    int *cell_of; /* [n_ranks] of the grid */
} comparer;

static bool make_problems(comparer *c, const cz_stage_time *times)
{
    cz_diags diags;
    cz_diags_init(&diags, c->arena);
    if (!cz_owner_grid_find(c->arena, c->view, &diags, &c->grid))
        return false;
    const cz_placement *placements =
        cz_placements_find(c->arena, c->view, &c->grid, &c->n_placements);
    c->placements = CZ_NEW(c->arena, cz_placement_problem, c->n_placements + 1);
    for (int d = 0; d < c->n_placements; d++)
        if (!cz_place_problem_make(c->arena, c->view, times, &diags,
                                   &placements[d], &c->placements[d]))
            return false;
    c->cell_of = CZ_NEW(c->arena, int, c->view->n_ranks);
    for (int rank = 0; rank < c->view->n_ranks; rank++)
        c->cell_of[rank] =
            (int)cz_view_coordinate(c->view, &c->grid.row_axes, rank) *
                c->grid.n_shard +
            (int)cz_view_coordinate(c->view, &c->grid.shard_axes, rank);
    return true;
}

/* What all shards' ranks compute alike. */
static cz_solve_problem redundant(cz_arena *arena,
                                  const cz_solve_problem *problem)
{
    cz_solve_problem out = *problem;
    cz_solve_class *classes =
        CZ_NEW(arena, cz_solve_class, problem->n_classes + 1);
    for (int k = 0; k < problem->n_classes; k++) {
        classes[k] = problem->classes[k];
        if (classes[k].divisible)
            continue;
        classes[k].coordinate_ps += classes[k].cost_ps;
        classes[k].cost_ps = 0;
    }
    out.classes = classes;
    return out;
}

/* To each rank what its slot has, or its row: `width` slots.  Sums stay where
 * JSON can be read back, also of links that hardly move. */
static void add_to_ranks(const comparer *c,
                         const cz_placement_problem *placement,
                         const int64_t *rows, int width, int64_t *ranks)
{
    for (int rank = 0; rank < c->view->n_ranks; rank++) {
        const int slot =
            placement->placement.slot_of_grid_cell[c->cell_of[rank]];
        if (slot >= 0)
            ranks[rank] = cz_solve_end(ranks[rank], rows[slot / width]);
    }
}

static void add_score(const comparer *c, const cz_placement_problem *placement,
                      const cz_solve_score *score, cz_compared *out)
{
    add_to_ranks(c, placement, score->load_ps, 1, out->time_ps);
    add_to_ranks(c, placement, score->state_bytes, placement->problem.n_hosts,
                 out->state_bytes);
}

static const cz_view_pattern *pattern_of(const comparer *c, int64_t param)
{
    return &c->view->patterns[c->view->params[param].pattern];
}

/* One of the plan's buckets. */
static void add_message(const comparer *c,
                        const cz_placement_problem *placement,
                        const cz_solve_plan *plan, int bucket, cz_compared *out)
{
    const cz_solve_problem *problem = &placement->problem;
    const int n = problem->n_ranks, first = problem->bucket_start[bucket];
    const int n_params = problem->bucket_start[bucket + 1] - first;
    int64_t *params = CZ_NEW(c->arena, int64_t, n_params);
    int64_t *slices = CZ_NEW(c->arena, int64_t, n);
    const int64_t *bounds = plan->slices + (size_t)bucket * ((size_t)n + 1);
    int64_t bytes = 0;
    for (int i = 0; i < n_params; i++) {
        params[i] = placement->params[first + i];
        const cz_view_pattern *f = pattern_of(c, params[i]);
        bytes += cz_round_up(f->local_elements, problem->align) *
                 cz_dtype_bytes(f->dtype);
    }
    for (int r = 0; r < n; r++)
        slices[r] = bounds[r + 1] - bounds[r];
    *CZ_PUSH(c->arena, out->messages, out->n_messages) =
        (cz_compared_message){.reduction = pattern_of(c, params[0])->reduction,
                              .n_params = n_params,
                              .params = params,
                              .elements = plan->length[bucket],
                              .bytes = bytes,
                              .n_slices = n,
                              .slices = slices};
}

static void add_messages(const comparer *c,
                         const cz_placement_problem *placement,
                         const cz_solve_plan *plan, cz_compared *out)
{
    for (int b = 0; b < placement->problem.n_buckets; b++)
        add_message(c, placement, plan, b, out);
}

/* ---- gathers and scatters ---- */

/* What each slot sends and receives. */
typedef struct traffic {
    int64_t *sent, *received; /* [slots] */
} traffic;

/* Shards go to the host and come back; the host's own stays. */
static void add_matrix(const comparer *c, int pattern, int64_t first_slot,
                       int host, const traffic *all)
{
    const cz_plan_view *view = c->view;
    const cz_view_pattern *f = &view->patterns[pattern];
    const cz_view_stage *stage =
        &view->stages[cz_rule_stages_find(view, f->rule).full_matrix];
    const int64_t in =
        cz_view_element_bytes(stage->in, stage->n_in, CZ_SLOT_GATHER);
    const int64_t out =
        cz_view_element_bytes(stage->out, stage->n_out, CZ_SLOT_SCATTER);
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints axes = cz_view_shard_axes(view, pattern, storage);
    const int64_t n = cz_view_extent(view, &axes);
    for (int64_t s = 0; s < n; s++) {
        const int64_t rank = cz_view_rank_at(view, &axes, s, 0);
        const int64_t elements = cz_view_shard_elements(view, f, rank);
        if (s == host)
            continue;
        all->sent[first_slot + s] += elements * in;
        all->received[first_slot + s] += elements * out;
        all->sent[first_slot + host] += elements * out;
        all->received[first_slot + host] += elements * in;
    }
}

static void add_traffic(const comparer *c,
                        const cz_placement_problem *placement,
                        const cz_solve_plan *plan, cz_compared *out)
{
    const int n_hosts = placement->problem.n_hosts;
    const int n_slots = placement->problem.n_ranks * n_hosts;
    const traffic all = {CZ_NEW(c->arena, int64_t, n_slots),
                         CZ_NEW(c->arena, int64_t, n_slots)};
    for (int i = 0; i < placement->problem.n_items; i++) {
        const int pattern = c->view->params[placement->params[i]].pattern;
        if (cz_pattern_is_owned(c->view, pattern) &&
            cz_pattern_shards(c->view, pattern) > 1)
            add_matrix(c, pattern, (int64_t)plan->owner[i] * n_hosts,
                       plan->host[i], &all);
    }
    add_to_ranks(c, placement, all.sent, 1, out->sent_bytes);
    add_to_ranks(c, placement, all.received, 1, out->received_bytes);
}

/* ---- micro-groups ---- */

static void open_groupings(const comparer *c, cz_compared *out)
{
    bool any = false;
    for (int d = 0; d < c->n_placements; d++)
        any = any || cz_compare_has_micro_groups(c->view, &c->placements[d]);
    if (!any || !c->has_machine)
        return;
    out->n_choices = CZ_TIMELINE_N_BASELINES;
    out->micro_group_choices =
        CZ_NEW(c->arena, cz_compared_micro_groups, out->n_choices);
    for (int g = 0; g < out->n_choices; g++)
        out->micro_group_choices[g].time_ps =
            CZ_NEW(c->arena, int64_t, c->view->n_ranks);
}

/* Spoils the score's loads. */
static void add_groupings(const comparer *c,
                          const cz_placement_problem *placement,
                          const cz_solve_plan *plan,
                          const cz_solve_score *score, cz_compared *out)
{
    const bool any = cz_compare_has_micro_groups(c->view, placement);
    if (any)
        cz_compare_ungroup(c->view, placement, plan, score->load_ps);
    for (int g = 0; g < out->n_choices; g++) {
        cz_compared_micro_groups *groups = &out->micro_group_choices[g];
        add_to_ranks(c, placement, score->load_ps, 1, groups->time_ps);
        if (!any)
            continue;
        const cz_grouped_rows rows =
            cz_compare_micro_groups(c->arena, c->view, &c->machine, placement,
                                    plan, (cz_timeline_baseline)g);
        add_to_ranks(c, placement, rows.row_ps, placement->problem.n_hosts,
                     groups->time_ps);
        groups->name = rows.name;
        if (rows.n_micro_groups > groups->n_micro_groups)
            groups->n_micro_groups = rows.n_micro_groups;
        if (rows.staging_bytes > groups->staging_bytes)
            groups->staging_bytes = rows.staging_bytes;
    }
}

/* ---- one baseline ---- */

static cz_compared open_one(const comparer *c, const char *name)
{
    return (cz_compared){
        .name = name,
        .time_ps = CZ_NEW(c->arena, int64_t, c->view->n_ranks),
        .state_bytes = CZ_NEW(c->arena, int64_t, c->view->n_ranks),
        .sent_bytes = CZ_NEW(c->arena, int64_t, c->view->n_ranks),
        .received_bytes = CZ_NEW(c->arena, int64_t, c->view->n_ranks),
        .gathers = true};
}

static cz_compared compare_replicated(const comparer *c)
{
    cz_compared out = open_one(c, "replicated");
    out.all_reduces = true;
    out.gathers = false;
    for (int d = 0; d < c->n_placements; d++) {
        const cz_placement_problem *placement = &c->placements[d];
        cz_solve_plan plan = cz_solve_plan_make(c->arena, &placement->problem);
        const cz_solve_score score =
            cz_solve_replicated(c->arena, &placement->problem);
        cz_solve_plan_slice_equally(&placement->problem, &plan);
        add_score(c, placement, &score, &out);
        add_messages(c, placement, &plan, &out);
    }
    return out;
}

static cz_compared compare_kind(const comparer *c, cz_solve_baseline_kind kind)
{
    const bool is_layer_wise =
        kind == CZ_BASELINE_ROUND_ROBIN || kind == CZ_BASELINE_LPT_ELEMENTS;
    cz_compared out = open_one(c, "");
    out.all_reduces = out.is_exposed = is_layer_wise;
    if (kind == CZ_BASELINE_GREEDY)
        open_groupings(c, &out);
    for (int d = 0; d < c->n_placements; d++) {
        const cz_placement_problem *placement = &c->placements[d];
        const cz_solve_problem problem =
            is_layer_wise ? redundant(c->arena, &placement->problem)
                          : placement->problem;
        const cz_solve_baseline baseline =
            cz_solve_baseline_make(c->arena, &problem, kind, 100);
        const cz_solve_score score =
            cz_solve_evaluate(c->arena, &baseline.problem, &baseline.plan);
        out.name = baseline.plan.method;
        add_score(c, placement, &score, &out);
        add_messages(c, placement, &baseline.plan, &out);
        if (!is_layer_wise)
            add_traffic(c, placement, &baseline.plan, &out);
        add_groupings(c, placement, &baseline.plan, &score, &out);
    }
    return out;
}

cz_compared *cz_compare(cz_arena *arena, const cz_plan_view *view,
                        const cz_stage_time *times, int *n)
{
    static const cz_solve_baseline_kind kinds[] = {
        CZ_BASELINE_ROUND_ROBIN, CZ_BASELINE_LPT_ELEMENTS, CZ_BASELINE_EQUAL,
        CZ_BASELINE_GREEDY};
    enum { N_KINDS = sizeof kinds / sizeof *kinds };
    comparer c = {.arena = arena, .view = view};
    c.has_machine = cz_machine_of(arena, view, &c.machine);
    cz_compared *list = CZ_NEW(arena, cz_compared, N_KINDS + 1);
    *n = 0;
    if (!make_problems(&c, times) || c.n_placements == 0)
        return list;
    list[(*n)++] = compare_replicated(&c);
    for (int k = 0; k < N_KINDS; k++)
        list[(*n)++] = compare_kind(&c, kinds[k]);
    return list;
}
