/* Baselines of a plan, placement by placement. */
#include "passes/baseline/compare.h"

#include "dsl/base/arithmetic.h"
#include "dsl/base/checked.h"
#include "passes/cost/time.h"
#include "passes/baseline/batches.h"
#include "passes/baseline/megatron.h"
#include "passes/baseline/micro_groups.h"
#include "passes/kernel/flops.h"
#include "passes/solve/baseline.h"

#include <string.h>

enum { ROWS_OF_LAUNCH = 64 }; /* as of ours: op_time.c */

typedef struct comparer {
    cz_arena *arena;
    const cz_plan_view *view;
    cz_owner_grid grid;
    const cz_stage_time *times;
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
        if (!cz_place_problem_make(c->arena, c->view, times, NULL, NULL, &diags,
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

/* Before that each matrix is gathered, one after the other. */
static void add_gathers(const comparer *c,
                        const cz_placement_problem *placement,
                        const cz_solve_plan *plan, cz_solve_score *score)
{
    const int n = placement->problem.n_hosts;
    if (!c->has_machine || !cz_compare_has_micro_groups(c->view, placement))
        return;
    const cz_link_speed link = cz_machine_link(
        &c->machine, cz_compare_link(c->view, &c->machine, placement));
    for (int i = 0; i < placement->problem.n_items; i++) {
        if (!cz_compare_is_gathered(c->view, placement, i))
            continue;
        const int64_t ps = cz_time_add(
            link.latency,
            cz_compare_item(c->view, placement, i, link.rate).gather_ps);
        for (int h = 0; h < n; h++) {
            int64_t *load = &score->load_ps[plan->owner[i] * n + h];
            *load = cz_time_add(*load, ps);
        }
    }
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

/* Of so many rows of a rule.  What is element-wise of matrices that nothing
 * shards comes batch by batch, as in our plans; of all else rows are together.
 */
static int64_t launches_of(const comparer *c, int rule, bool is_sharded,
                           int64_t n_rows)
{
    const cz_plan_view *view = c->view;
    const cz_rule_stages stages = cz_rule_stages_find(view, rule);
    const int beside[] = {stages.before, stages.after, stages.local};
    const int most =
        stages.full_matrix < 0 ? 0 : c->times[stages.full_matrix].n_batches;
    const bool is_whole = stages.full_matrix >= 0 && !is_sharded;
    int64_t n = 0;
    for (int i = 0; i < 3; i++) {
        const cz_view_stage *stage =
            beside[i] < 0 ? NULL : &view->stages[beside[i]];
        if (stage)
            n += cz_view_variant(stage, cz_flops_most_variant(view, stage))
                     ->n_steps;
    }
    return n * (is_whole ? cz_ceil_div(n_rows, most > 0 ? most : 1)
                         : cz_ceil_div(n_rows, ROWS_OF_LAUNCH));
}

/* Who shards a matrix computes what is element-wise of it: on its owner's
 * coordinate, or on all; of what has no owner all have one row at least. */
static void add_launches(const comparer *c,
                         const cz_placement_problem *placement,
                         const cz_solve_problem *problem,
                         const cz_solve_plan *plan, cz_compared *out)
{
    const int n = problem->n_ranks, n_rules = c->view->n_rules;
    int64_t *rows = CZ_NEW(c->arena, int64_t, n);
    int64_t *of = CZ_NEW(c->arena, int64_t, (size_t)(2 * n_rules * n));
    for (int i = 0; i < problem->n_items; i++) {
        const int64_t param = placement->params[i];
        const int pattern = (int)c->view->params[param].pattern;
        const int rule = (int)c->view->patterns[pattern].rule;
        const bool is_sharded = cz_pattern_shards(c->view, pattern) > 1;
        const bool is_cut = problem->classes[problem->class_of[i]].divisible;
        for (int r = 0; r < n; r++) {
            int64_t *at = &of[(rule * 2 + is_sharded) * n + r];
            if (is_cut)
                *at = *at > 0 ? *at : 1;
            else if (!out->gathers || plan->owner[i] == r)
                *at += 1;
        }
    }
    for (int rule = 0; rule < 2 * n_rules; rule++)
        for (int r = 0; r < n; r++)
            rows[r] += launches_of(c, rule / 2, rule % 2, of[rule * n + r]);
    add_to_ranks(c, placement, rows, problem->n_hosts, out->launches);
}

static void add_score(const comparer *c, const cz_placement_problem *placement,
                      const cz_solve_score *score, const int64_t *load_ps,
                      cz_compared *out)
{
    add_to_ranks(c, placement, load_ps, 1, out->time_ps);
    add_to_ranks(c, placement, score->state_bytes, placement->problem.n_hosts,
                 out->state_bytes);
}

static const cz_view_pattern *pattern_of(const comparer *c, int64_t param)
{
    return &c->view->patterns[c->view->params[param].pattern];
}

/* One of the plan's buckets; all slices as long as the longest, unless that is
 * 0. */
static void add_message(const comparer *c,
                        const cz_placement_problem *placement,
                        const cz_solve_plan *plan, int bucket, int64_t longest,
                        cz_compared *out)
{
    const cz_solve_problem *problem = &placement->problem;
    const int n = problem->n_ranks, first = problem->bucket_start[bucket];
    const int n_params = problem->bucket_start[bucket + 1] - first;
    int64_t *params = CZ_NEW(c->arena, int64_t, n_params);
    int64_t *slices = CZ_NEW(c->arena, int64_t, n);
    const int64_t *bounds = plan->slices + (size_t)bucket * ((size_t)n + 1);
    int64_t bytes = 0, elements = plan->length[bucket];
    for (int i = 0; i < n_params; i++) {
        params[i] = placement->params[first + i];
        const cz_view_pattern *f = pattern_of(c, params[i]);
        bytes += cz_round_up(f->local_elements, problem->align) *
                 cz_dtype_bytes(f->dtype);
    }
    for (int r = 0; r < n; r++)
        slices[r] = longest > 0 ? longest : bounds[r + 1] - bounds[r];
    if (longest > 0) {
        bytes += (n * longest - elements) *
                 cz_dtype_bytes(pattern_of(c, params[0])->dtype);
        elements = n * longest;
    }
    *CZ_PUSH(c->arena, out->messages, out->n_messages) =
        (cz_compared_message){.reduction = pattern_of(c, params[0])->reduction,
                              .n_params = n_params,
                              .params = params,
                              .elements = elements,
                              .bytes = bytes,
                              .n_slices = n,
                              .slices = slices};
}

static void add_messages(const comparer *c,
                         const cz_placement_problem *placement,
                         const cz_solve_plan *plan, const int64_t *longest,
                         cz_compared *out)
{
    for (int b = 0; b < placement->problem.n_buckets; b++)
        add_message(c, placement, plan, b, longest ? longest[b] : 0, out);
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

/* Spoils the score's loads, which know no batches. */
static void add_groupings(const comparer *c,
                          const cz_placement_problem *placement,
                          const cz_solve_plan *plan,
                          const cz_solve_score *score, cz_compared *out)
{
    const bool any = cz_compare_has_micro_groups(c->view, placement);
    if (any)
        cz_compare_ungroup(c->view, placement, plan, score->load_ps);
    cz_compare_batches(c->view, c->times, placement, plan,
                       any ? CZ_COMPARED_NONE : CZ_COMPARED_HOST, NULL,
                       score->load_ps);
    for (int g = 0; g < out->n_choices; g++) {
        cz_compared_micro_groups *groups = &out->micro_group_choices[g];
        add_to_ranks(c, placement, score->load_ps, 1, groups->time_ps);
        if (!any)
            continue;
        const cz_grouped_rows rows =
            cz_compare_micro_groups(c->arena, c->view, &c->machine, c->times,
                                    placement, plan, (cz_timeline_baseline)g);
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
        .launches = CZ_NEW(c->arena, int64_t, c->view->n_ranks),
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
        cz_compare_batches(c->view, c->times, placement, &plan, CZ_COMPARED_ALL,
                           NULL, score.load_ps);
        add_score(c, placement, &score, score.load_ps, &out);
        add_launches(c, placement, &placement->problem, &plan, &out);
        add_messages(c, placement, &plan, NULL, &out);
    }
    return out;
}

static cz_compared compare_kind(const comparer *c, cz_solve_baseline_kind kind,
                                const char *name)
{
    const bool is_older = kind == CZ_BASELINE_LPT_ELEMENTS;
    cz_compared out = open_one(c, name);
    out.all_reduces = out.is_exposed = is_older;
    if (!is_older)
        open_groupings(c, &out);
    for (int d = 0; d < c->n_placements; d++) {
        const cz_placement_problem *placement = &c->placements[d];
        const cz_solve_problem problem =
            is_older ? redundant(c->arena, &placement->problem)
                     : placement->problem;
        const cz_solve_baseline baseline =
            cz_solve_baseline_make(c->arena, &problem, kind, 100);
        cz_solve_score score =
            cz_solve_evaluate(c->arena, &baseline.problem, &baseline.plan);
        if (is_older)
            add_gathers(c, placement, &baseline.plan, &score);
        else
            add_traffic(c, placement, &baseline.plan, &out);
        const size_t n_slots = (size_t)placement->problem.n_ranks *
                               (size_t)placement->problem.n_hosts;
        int64_t *load_ps = CZ_NEW(c->arena, int64_t, n_slots);
        memcpy(load_ps, score.load_ps, n_slots * sizeof *load_ps);
        cz_compare_batches(c->view, c->times, placement, &baseline.plan,
                           is_older ? CZ_COMPARED_ROW : CZ_COMPARED_HOST, NULL,
                           load_ps);
        add_score(c, placement, &score, load_ps, &out);
        add_launches(c, placement, &baseline.problem, &baseline.plan, &out);
        add_messages(c, placement, &baseline.plan, NULL, &out);
        add_groupings(c, placement, &baseline.plan, &score, &out);
    }
    return out;
}

static cz_compared compare_megatron(const comparer *c, cz_megatron_mode mode,
                                    const char *name, int64_t bucket_elements)
{
    cz_compared out = open_one(c, name);
    for (int d = 0; d < c->n_placements; d++) {
        const cz_megatron of = cz_compare_megatron(
            c->arena, c->view, c->has_machine ? &c->machine : NULL, c->times,
            &c->placements[d], mode, bucket_elements);
        add_score(c, &of.placement, &of.score, of.score.load_ps, &out);
        add_launches(c, &of.placement, &of.placement.problem, &of.plan, &out);
        add_messages(c, &of.placement, &of.plan, of.longest, &out);
        if (mode == CZ_MEGATRON_SHARDED)
            add_traffic(c, &of.placement, &of.plan, &out);
    }
    return out;
}

/* ---- all of them ---- */

static bool is_gathered(const comparer *c)
{
    bool any = false;
    for (int d = 0; d < c->n_placements; d++)
        any = any || cz_compare_has_micro_groups(c->view, &c->placements[d]);
    return any;
}

static bool has_same_messages(const cz_compared *a, const cz_compared *b)
{
    bool same = a->n_messages == b->n_messages;
    for (int m = 0; same && m < a->n_messages; m++)
        same = a->messages[m].n_params == b->messages[m].n_params;
    return same;
}

typedef enum baseline_kind {
    REPLICATED,
    LEGACY,
    DUPLICATED,
    DISTRIBUTED,
    SHARDED,
    EQUAL,
    GREEDY,
    N_KINDS
} baseline_kind;

static cz_compared compare_one(const comparer *c, baseline_kind kind,
                               int64_t bucket_elements)
{
    cz_compared out;
    for (int d = 0; d < c->n_placements; d++)
        cz_place_fill_buckets(c->arena, c->view, bucket_elements,
                              &c->placements[d]);
    switch (kind) {
    case REPLICATED:
        out = compare_replicated(c);
        break;
    case LEGACY:
        out = compare_kind(c, CZ_BASELINE_LPT_ELEMENTS,
                           "Megatron layer-wise, legacy");
        break;
    case EQUAL:
        out = compare_kind(c, CZ_BASELINE_EQUAL, "equal slices");
        break;
    case DUPLICATED:
        out =
            compare_megatron(c, CZ_MEGATRON_DUPLICATED,
                             is_gathered(c) ? "Megatron layer-wise, duplicated"
                                            : "Megatron layer-wise",
                             bucket_elements);
        break;
    case DISTRIBUTED:
        out = compare_megatron(c, CZ_MEGATRON_DISTRIBUTED,
                               "Megatron layer-wise, distributed",
                               bucket_elements);
        break;
    case SHARDED:
        out = compare_megatron(c, CZ_MEGATRON_SHARDED,
                               "Megatron layer-wise, layer-sharded",
                               bucket_elements);
        break;
    case GREEDY:
    case N_KINDS:
        out = compare_kind(c, CZ_BASELINE_GREEDY, "published greedy");
        break;
    }
    out.bucket_elements = bucket_elements;
    return out;
}

cz_compared *cz_compare(cz_arena *arena, const cz_plan_view *view,
                        const cz_stage_time *times, bool in_all_buckets, int *n)
{
    const int64_t sizes[] = {view->policy->bucket_elements, 40000000, 100000000,
                             200000000, 400000000};
    const int n_sizes = in_all_buckets && view->policy->bucket_is_free
                            ? (int)(sizeof sizes / sizeof *sizes)
                            : 1;
    comparer c = {.arena = arena, .view = view, .times = times};
    c.has_machine = cz_machine_of(arena, view, &c.machine);
    cz_compared *list = NULL;
    *n = 0;
    if (!make_problems(&c, times) || c.n_placements == 0)
        return NULL;
    for (baseline_kind kind = REPLICATED; kind < N_KINDS; kind++) {
        const int first = *n;
        if ((kind == DISTRIBUTED || kind == SHARDED) && !is_gathered(&c))
            continue;
        for (int s = 0; s < n_sizes; s++) {
            const cz_compared one = compare_one(&c, kind, sizes[s]);
            bool is_new = true;
            for (int i = first; i < *n; i++)
                is_new = is_new && !has_same_messages(&list[i], &one);
            if (is_new)
                *CZ_PUSH(arena, list, *n) = one;
        }
    }
    return list;
}
