/* From patterns to classes, items and buckets. */
#include "passes/place/problem.h"

#include "dsl/base/arithmetic.h"
#include "dsl/base/checked.h"
#include "dsl/plan/state.h"
#include "passes/grid/bucket.h"
#include "passes/cost/time.h"
#include "passes/cost/candidates.h"
#include "passes/kernel/outline.h"
#include "passes/solve/padded.h"

#include <assert.h>

typedef struct maker {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_stage_time *times; /* [stages] */
    cz_placement_problem *out;
    int *pattern_of; /* [classes] the first pattern that has it */
    int *class_of;   /* [patterns] -1: none yet */
    cz_solve_class *classes;
    int n_classes;
} maker;

/* ---- classes ---- */

/* Whole states lie at one of the ranks that shard the matrix: so much on each
 * in the mean, rounded up. */
static int64_t whole_bytes(const maker *m, int pattern)
{
    const cz_fact_rule *rule =
        m->view->rules[m->view->patterns[pattern].rule].fact;
    return cz_ceil_div(cz_state_owned_bytes(rule),
                       cz_pattern_shards(m->view, pattern));
}

static int64_t state_bytes(const maker *m, int pattern)
{
    const cz_view_pattern *f = &m->view->patterns[pattern];
    const cz_fact_rule *rule = m->view->rules[f->rule].fact;
    const cz_dtype master = m->view->policy->master_dtype;
    int64_t bytes = cz_state_shard_bytes(rule);
    if (cz_dtype_bytes(master) > cz_dtype_bytes(f->dtype))
        bytes += cz_dtype_bytes(master);
    return bytes * f->local_elements + whole_bytes(m, pattern);
}

/* Which way shards cut matrices that have owners; else no matter. */
static cz_cut_of cut_of(const maker *m, int pattern)
{
    return cz_pattern_is_owned(m->view, pattern) &&
                   cz_pattern_shards(m->view, pattern) > 1
               ? cz_candidates_sharded_along(m->view, pattern)
               : CZ_CUT_NONE;
}

static int64_t shard_ps(const maker *m, int pattern)
{
    return m->out->shard_ps ? m->out->shard_ps[pattern] : -1;
}

static int behind(const maker *m, int pattern)
{
    return m->out->runs ? m->out->runs->next[pattern] : -1;
}

/* Families that are alike in all that counts. */
static bool is_alike(const maker *m, int a, int b)
{
    const cz_view_pattern *f = &m->view->patterns[a];
    const cz_view_pattern *g = &m->view->patterns[b];
    const int next = behind(m, a), other = behind(m, b);
    return f->rule == g->rule && f->dtype == g->dtype &&
           f->local_elements == g->local_elements &&
           cz_pattern_shards(m->view, a) == cz_pattern_shards(m->view, b) &&
           cut_of(m, a) == cut_of(m, b) && shard_ps(m, a) == shard_ps(m, b) &&
           (next < 0) == (other < 0) && (next < 0 || is_alike(m, next, other));
}

static void number_class(maker *m, int pattern)
{
    for (int c = 0; c < m->n_classes; c++)
        if (is_alike(m, m->pattern_of[c], pattern)) {
            m->class_of[pattern] = c;
            return;
        }
    m->class_of[pattern] = m->n_classes;
    m->pattern_of[m->n_classes++] = pattern;
}

static cz_solve_class make_class_of(const maker *m, int pattern)
{
    const cz_view_pattern *f = &m->view->patterns[pattern];
    const cz_rule_stages stages =
        cz_rule_stages_find(m->view, m->view->patterns[pattern].rule);
    cz_solve_class c = {.elements = f->local_elements,
                        .state_bytes = state_bytes(m, pattern),
                        .divisible = !cz_pattern_is_owned(m->view, pattern),
                        .kind = (int)f->dtype};
    if (c.divisible) {
        c.cost_ps =
            cz_stage_time_elements(&m->times[stages.local], f->local_elements);
        return c;
    }
    const int64_t part = shard_ps(m, pattern);
    const int64_t whole =
        part >= 0 ? part : m->times[stages.full_matrix].time_ps;
    c.coordinate_ps =
        cz_stage_time_elements(&m->times[stages.before], f->local_elements);
    if (stages.after >= 0)
        c.coordinate_ps = cz_time_add(
            c.coordinate_ps,
            cz_stage_time_elements(&m->times[stages.after], f->local_elements));
    if (cz_pattern_shards(m->view, pattern) > 1 && part < 0)
        c.cost_ps = whole;
    else
        c.coordinate_ps = cz_time_add(c.coordinate_ps, whole);
    return c;
}

/* A run is one item: its owner updates all pieces, one by one. */
static cz_solve_class make_class(const maker *m, int number)
{
    cz_solve_class c = make_class_of(m, m->pattern_of[number]);
    for (int f = m->pattern_of[number]; (f = behind(m, f)) >= 0;) {
        const cz_solve_class piece = make_class_of(m, f);
        c.elements += piece.elements;
        c.state_bytes += piece.state_bytes;
        c.cost_ps = cz_time_add(c.cost_ps, piece.cost_ps);
        c.coordinate_ps = cz_time_add(c.coordinate_ps, piece.coordinate_ps);
    }
    return c;
}

static void make_classes(maker *m)
{
    const cz_plan_view *view = m->view;
    const cz_placement *d = &m->out->placement;
    m->class_of = CZ_NEW(m->arena, int, view->n_patterns + 1);
    m->pattern_of = CZ_NEW(m->arena, int, view->n_patterns + 1);
    for (int f = 0; f < view->n_patterns; f++)
        m->class_of[f] = -1;
    for (int i = 0; i < d->n_params; i++) {
        const int pattern = view->params[d->params[i]].pattern;
        if (m->class_of[pattern] < 0)
            number_class(m, pattern);
    }
    m->classes = CZ_NEW(m->arena, cz_solve_class, m->n_classes + 1);
    for (int c = 0; c < m->n_classes; c++)
        m->classes[c] = make_class(m, c);
}

/* ---- items ---- */

static bool is_behind(const maker *m, int pattern)
{
    return m->out->runs && m->out->runs->is_behind[pattern];
}

/* Where the trainer's buffers are padded, matrices have one of their own. */
static bool is_last(const maker *m, int pattern)
{
    return m->out->runs && !cz_pattern_is_owned(m->view, pattern);
}

/* The first of each item, stable by reduction: a bucket has one. */
static int *sort_params(const maker *m, int *n_items)
{
    const cz_placement *d = &m->out->placement;
    int *sorted = CZ_NEW(m->arena, int, d->n_params + 1);
    int n = 0;
    for (int k = 0; k < 2 * m->view->n_reductions; k++)
        for (int i = 0; i < d->n_params; i++) {
            const int pattern = m->view->params[d->params[i]].pattern;
            if (2 * m->view->patterns[pattern].reduction +
                        is_last(m, pattern) ==
                    k &&
                !is_behind(m, pattern))
                sorted[n++] = d->params[i];
        }
    *n_items = n;
    return sorted;
}

static int reduction_of(const cz_plan_view *view,
                        const cz_placement_problem *placement, int item)
{
    return view->patterns[view->params[placement->params[item]].pattern]
        .reduction;
}

static int64_t elements_of(const cz_solve_problem *problem, int item)
{
    return problem->classes[problem->class_of[item]].elements;
}

/* Elements of item i and of those of its reduction behind it. */
static int64_t *elements_left(cz_arena *arena, const cz_plan_view *view,
                              const cz_placement_problem *placement)
{
    const cz_solve_problem *problem = &placement->problem;
    int64_t *left = CZ_NEW(arena, int64_t, problem->n_items + 1);
    for (int i = problem->n_items - 1; i >= 0; i--) {
        const bool is_last = i + 1 == problem->n_items ||
                             reduction_of(view, placement, i) !=
                                 reduction_of(view, placement, i + 1);
        left[i] = elements_of(problem, i) + (is_last ? 0 : left[i + 1]);
    }
    return left;
}

/* Of all buckets, as Megatron-LM has them. */
static int64_t padded_elements(cz_arena *arena, const cz_solve_problem *problem)
{
    int64_t *load = CZ_NEW(arena, int64_t, problem->n_ranks), sum = 0;
    for (int b = 0; b < problem->n_buckets; b++)
        sum +=
            problem->n_ranks * cz_padded_owners(arena, problem, b, load, NULL);
    return sum;
}

/* As Megatron-LM does it. */
static void fill_padded(cz_arena *arena, const cz_plan_view *view, int64_t most,
                        cz_placement_problem *placement)
{
    cz_solve_problem *problem = &placement->problem;
    int *reductions = CZ_NEW(arena, int, problem->n_items + 1);
    for (int i = 0; i < problem->n_items; i++)
        reductions[i] = reduction_of(view, placement, i);
    cz_padded_fill(arena, problem, reductions, most);
    problem->most_padded = padded_elements(arena, problem);
}

void cz_place_fill_buckets(cz_arena *arena, const cz_plan_view *view,
                           int64_t most, cz_placement_problem *placement)
{
    enum { SMALLEST = 16 }; /* of the capacity, the part */
    cz_solve_problem *problem = &placement->problem;
    const int64_t *left = elements_left(arena, view, placement);
    int *start = CZ_NEW(arena, int, problem->n_items + 2);
    int64_t filled = 0, capacity = 0;
    int n = 0;
    if (placement->runs) {
        fill_padded(arena, view, most, placement);
        return;
    }
    for (int i = 0; i < problem->n_items; i++) {
        const bool is_first = i == 0 || filled >= capacity ||
                              reduction_of(view, placement, i) !=
                                  reduction_of(view, placement, i - 1);
        if (is_first) {
            start[n++] = i;
            filled = 0;
            capacity = cz_solve_max(left[i] / 2, most / SMALLEST);
            capacity = cz_solve_min(capacity, most);
        }
        filled += elements_of(problem, i);
    }
    start[n] = problem->n_items;
    problem->n_buckets = n;
    problem->bucket_start = start;
}

/* ---- the wire ---- */

void cz_place_price(const cz_plan_view *view, const cz_machine *machine,
                    cz_placement_problem *placement)
{
    enum { UNIT = 1024 }; /* the wire is priced per so many elements */
    static const cz_solve_geometry geometries[] = {
        [CZ_GEOMETRY_UNEVEN] = CZ_SLICES_UNEVEN,
        [CZ_GEOMETRY_PADDED] = CZ_SLICES_PADDED,
        [CZ_GEOMETRY_EQUAL] = CZ_SLICES_EQUAL};
    cz_solve_problem *problem = &placement->problem;
    const cz_ints *axes = &cz_view_pattern_reduction(
                               view, view->params[placement->params[0]].pattern)
                               ->split_axes;
    const cz_link link =
        cz_machine_link_over(machine, cz_view_mesh_axes(view),
                             cz_view_set_of(axes), (cz_block){0, 0});
    cz_wide elements = 0, bytes = 0; /* gradients and parameters */
    problem->geometry = geometries[view->policy->geometry];
    if (problem->geometry == CZ_SLICES_UNEVEN)
        return;
    for (int i = 0; i < problem->n_items; i++) {
        const int pattern = view->params[placement->params[i]].pattern;
        const int64_t n = elements_of(problem, i);
        const cz_fact_reduction *how = cz_view_pattern_reduction(view, pattern);
        elements += n;
        bytes += (cz_wide)n * (how->n_grads * cz_dtype_bytes(how->dtype) +
                               cz_dtype_bytes(view->patterns[pattern].dtype));
    }
    assert(elements > 0); /* no problem is without parameters */
    problem->wire_ps = cz_time_of(bytes * UNIT / (2 * elements),
                                  cz_machine_link(machine, link).rate);
    /* Both ways, padded to the longest slice, below 2^62. */
    const cz_wide most =
        CZ_MAX_PS / (elements / UNIT + 1) / problem->n_ranks / 4;
    if (problem->wire_ps > most)
        problem->wire_ps = (int64_t)most;
}

/* ---- batches ---- */

void cz_place_batch(cz_arena *arena, const cz_plan_view *view,
                    const cz_stage_time *times, cz_placement_problem *placement)
{
    enum { MOST = 1 << 14 }; /* items times slots */
    cz_solve_problem *problem = &placement->problem;
    cz_solve_class *classes =
        CZ_NEW(arena, cz_solve_class, problem->n_classes + 1);
    if ((int64_t)problem->n_items * problem->n_ranks * problem->n_hosts > MOST)
        return;
    for (int c = 0; c < problem->n_classes; c++)
        classes[c] = problem->classes[c];
    for (int i = 0; i < problem->n_items; i++) {
        cz_solve_class *c = &classes[problem->class_of[i]];
        const int pattern = view->params[placement->params[i]].pattern;
        const cz_rule_stages stages =
            cz_rule_stages_find(view, view->patterns[pattern].rule);
        if (c->divisible ||
            (placement->runs && placement->runs->next[pattern] >= 0) ||
            (placement->shard_ps && placement->shard_ps[pattern] >= 0))
            continue;
        const cz_stage_time *time = &times[stages.full_matrix];
        c->n_batches = time->n_batches;
        c->batch_ps = time->batch_ps;
        c->matrix_ps = time->time_ps;
    }
    problem->classes = classes;
    problem->is_joined =
        view->policy->joins_updates || placement->problem.n_hosts > 1;
}

/* ---- matrices that their shards' ranks update ---- */

/* -1: not so. */
static int64_t shard_time(cz_arena *scratch, const cz_plan_view *view,
                          const cz_machine *machine, int pattern)
{
    const cz_view_pattern *f = &view->patterns[pattern];
    const int n = (int)cz_pattern_shards(view, pattern);
    if (!cz_pattern_is_owned(view, pattern) || n == 1 || cz_view_is_uneven(f))
        return -1;
    const cz_candidates_call call = {
        .stage = &view->stages[cz_rule_stages_find(view, f->rule).full_matrix],
        .sharded = cz_candidates_sharded_along(view, pattern),
        .width = n,
        .n_near = n,
        .max_g = n};
    cz_outline outline;
    cz_subgroup_candidate forms[2];
    if (!cz_share_keeps_shards(scratch, view, call.stage, call.sharded) ||
        cz_outline_check(scratch, view, call.stage,
                         view->rules[f->rule].fact->shape.v, call.sharded, n,
                         &outline) != CZ_OUTLINE_OK)
        return -1;
    cz_cost_forms(scratch, view, machine, &call, 1, n, forms);
    return cz_subgroup_alone_ps(&forms[0], 0);
}

const int64_t *cz_place_shard_times(cz_arena *arena, const cz_plan_view *view,
                                    const cz_machine *machine)
{
    int64_t *times = CZ_NEW(arena, int64_t, view->n_patterns + 1);
    cz_arena scratch;
    cz_arena_init(&scratch);
    for (int f = 0; f < view->n_patterns; f++) {
        times[f] = view->policy->tp_strategy == CZ_STRATEGY_AUTO
                       ? shard_time(&scratch, view, machine, f)
                       : -1;
        cz_arena_clear(&scratch);
    }
    cz_arena_fini(&scratch);
    return times;
}

/* ---- the whole ---- */

/* Sums that are formed stay below 2^62: of time, over slots, where each item
 * has its own once and those of its coordinates on each host; of bytes and
 * elements, those of the fullest rank as often as there are ranks.  Each with
 * what is there before, twice. */
static bool fits(const cz_solve_problem *problem)
{
    const int64_t most = (int64_t)problem->n_ranks + problem->n_hosts;
    int64_t sums[3] = {0, 0, 0};
    for (int i = 0; i < problem->n_items; i++) {
        const cz_solve_class *c = &problem->classes[problem->class_of[i]];
        const int64_t parts[3] = {cz_time_add(c->cost_ps, c->coordinate_ps),
                                  c->state_bytes, c->elements + problem->align};
        for (int k = 0; k < 3; k++)
            if (!cz_checked_add(sums[k], parts[k], &sums[k]))
                return false;
    }
    for (int k = 0; k < 3; k++) {
        const int64_t factors[] = {sums[k], most, 4};
        int64_t product;
        if (!cz_checked_product(factors, 3, &product))
            return false;
    }
    return true;
}

bool cz_place_problem_make(cz_arena *arena, const cz_plan_view *view,
                           const cz_stage_time *times, const int64_t *shard_ps,
                           const cz_place_runs *runs, cz_diags *diags,
                           const cz_placement *placement,
                           cz_placement_problem *out)
{
    maker m = {.arena = arena, .view = view, .times = times, .out = out};
    out->placement = *placement;
    out->shard_ps = shard_ps;
    out->runs = runs;
    make_classes(&m);
    int n;
    out->params = sort_params(&m, &n);
    out->problem = (cz_solve_problem){.n_ranks = placement->n_splits,
                                      .n_hosts = placement->n_shards,
                                      .n_classes = m.n_classes,
                                      .classes = m.classes,
                                      .n_items = n,
                                      .align = runs ? CZ_BUCKET_ALIGN_TRAINER
                                                    : CZ_BUCKET_ALIGN};
    int *class_of = CZ_NEW(m.arena, int, n + 1);
    for (int i = 0; i < n; i++)
        class_of[i] = m.class_of[m.view->params[m.out->params[i]].pattern];
    out->problem.class_of = class_of;
    cz_place_fill_buckets(arena, view, view->policy->bucket_elements, out);
    if (fits(&out->problem))
        return true;
    cz_diag_error(diags, CZ_TOO_LARGE, (cz_span){0},
                  "the matrices take longer than 2^62 ps, or more memory than "
                  "2^62 bytes, to update");
    return false;
}
