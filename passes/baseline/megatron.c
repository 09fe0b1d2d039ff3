/* Buckets and owners as Megatron-LM's layout makes them, then what each rank of
 * a row does. */
#include "passes/baseline/megatron.h"

#include "dsl/base/arithmetic.h"
#include "passes/baseline/batches.h"
#include "passes/cost/candidates.h"
#include "passes/cost/time.h"
#include "passes/kernel/outline.h"
#include "passes/baseline/micro_groups.h"
#include "passes/solve/padded.h"

#include <stdlib.h>

typedef struct maker {
    cz_arena *arena;
    const cz_plan_view *view;
    const cz_machine *machine; /* NULL: none */
    const cz_stage_time *times;
    cz_megatron *out;
} maker;

static const cz_solve_class *class_of(const maker *m, int item)
{
    const cz_solve_problem *problem = &m->out->placement.problem;
    return &problem->classes[problem->class_of[item]];
}

static const cz_view_pattern *pattern_of(const maker *m, int item)
{
    return &m->view->patterns[m->view->params[m->out->placement.params[item]]
                                  .pattern];
}

/* ---- buckets ---- */

/* Of each reduction first matrices, then what is element-wise. */
static void sort_items(maker *m, const cz_placement_problem *placement)
{
    const cz_solve_problem *from = &placement->problem;
    cz_placement_problem *to = &m->out->placement;
    int *params = CZ_NEW(m->arena, int, from->n_items + 1);
    int *classes = CZ_NEW(m->arena, int, from->n_items + 1);
    int n = 0, end = 0;
    for (int first = 0; first < from->n_items; first = end) {
        const int reduction = pattern_of(m, first)->reduction;
        for (end = first;
             end < from->n_items && pattern_of(m, end)->reduction == reduction;)
            end++;
        for (int divisible = 0; divisible < 2; divisible++)
            for (int i = first; i < end; i++) {
                if (from->classes[from->class_of[i]].divisible != divisible)
                    continue;
                params[n] = placement->params[i];
                classes[n++] = from->class_of[i];
            }
    }
    to->params = params;
    to->problem.class_of = classes;
    to->problem.geometry = CZ_SLICES_UNEVEN;
    to->problem.order = CZ_ORDER_ENGINE;
}

static void fill_buckets(maker *m, int64_t most)
{
    cz_solve_problem *problem = &m->out->placement.problem;
    int *reductions = CZ_NEW(m->arena, int, problem->n_items + 1);
    for (int i = 0; i < problem->n_items; i++)
        reductions[i] = pattern_of(m, i)->reduction;
    cz_padded_fill(m->arena, problem, reductions, most);
}

/* ---- owners ---- */

static void lay_out(maker *m)
{
    const cz_solve_problem *problem = &m->out->placement.problem;
    cz_solve_plan *plan = &m->out->plan;
    int64_t *load = CZ_NEW(m->arena, int64_t, problem->n_ranks);
    *plan = cz_solve_plan_make(m->arena, problem);
    m->out->longest = CZ_NEW(m->arena, int64_t, problem->n_buckets + 1);
    for (int b = 0; b < problem->n_buckets; b++)
        if (!class_of(m, problem->bucket_start[b])->divisible)
            m->out->longest[b] =
                cz_padded_owners(m->arena, problem, b, load, plan->owner);
    cz_solve_plan_sort(m->arena, problem, plan);
    cz_solve_plan_lay_out(problem, plan);
    cz_solve_plan equal = *plan;
    equal.slices =
        CZ_NEW(m->arena, int64_t,
               (size_t)problem->n_buckets * ((size_t)problem->n_ranks + 1));
    cz_solve_plan_slice(problem, plan);
    cz_solve_plan_slice_equally(problem, &equal);
    for (int b = 0; b < problem->n_buckets; b++)
        for (int r = 0; m->out->longest[b] == 0 && r <= problem->n_ranks; r++) {
            const size_t at =
                (size_t)b * ((size_t)problem->n_ranks + 1) + (size_t)r;
            plan->slices[at] = equal.slices[at];
        }
    cz_solve_plan_host(m->arena, problem, plan);
}

/* ---- one row ---- */

/* What each of all who shard matrices of a class computes, and adds up. */
typedef struct distributed {
    int most; /* the largest batch; 0: they cannot be shared like that */
    int64_t *batch_ps; /* [most] kernels of 1, 2, ... matrices */
    int key; /* matrices of other classes that have it are in the batch */
    int64_t link_ps; /* of each */
} distributed;

static int64_t kernels_ps(const maker *m, const cz_candidates_call *call,
                          int batch, cz_subgroup_candidate form[2])
{
    int64_t sum = 0;
    cz_cost_forms(m->arena, m->view, m->machine, call, batch, call->width,
                  form);
    for (int p = 0; p < form->n_segments; p++)
        sum = cz_time_add(sum, form->segments[p].compute_ps);
    return sum;
}

static distributed distribute(const maker *m, int item, cz_link link)
{
    const cz_placement_problem *placement = &m->out->placement;
    const int pattern = m->view->params[placement->params[item]].pattern;
    const int rule = m->view->patterns[pattern].rule;
    const int n = placement->problem.n_hosts;
    const int number = cz_rule_stages_find(m->view, rule).full_matrix;
    const cz_candidates_call call = {
        .stage = &m->view->stages[number],
        .sharded = cz_candidates_sharded_along(m->view, pattern),
        .width = n,
        .n_near = link == CZ_LINK_NODE ? n : 1,
        .max_g = n};
    const int64_t latency = cz_machine_link(m->machine, link).latency;
    cz_outline outline;
    cz_subgroup_candidate form[2];
    if (cz_view_is_uneven(pattern_of(m, item)) ||
        cz_outline_check(m->arena, m->view, call.stage,
                         m->view->rules[rule].fact->shape.v, call.sharded, n,
                         &outline) != CZ_OUTLINE_OK)
        return (distributed){0};
    /* Parts that are cut another way are no batch with those. */
    distributed out = {.most = m->times[number].n_batches,
                       .key = 2 * number + (outline.cut == CZ_CUT_ROWS)};
    out.batch_ps = CZ_NEW(m->arena, int64_t, out.most);
    for (int b = out.most; b >= 1; b--)
        out.batch_ps[b - 1] = kernels_ps(m, &call, b, form);
    out.link_ps = cz_subgroup_alone_ps(form, latency) - out.batch_ps[0];
    return out;
}

/* Of a matrix that all who shard it compute alike, one by one. */
static int64_t alike_ps(const maker *m, int item, cz_link link)
{
    const cz_link_speed speed = cz_machine_link(m->machine, link);
    const cz_timeline_item it =
        cz_compare_item(m->view, &m->out->placement, item, speed.rate);
    return cz_time_add(it.compute_ps, cz_time_add(speed.latency, it.gather_ps));
}

/* Nobody has a matrix for himself. */
static void compute_alike(maker *m, cz_megatron_mode mode, cz_link link)
{
    cz_megatron *out = m->out;
    const cz_placement_problem *placement = &out->placement;
    const int n_hosts = placement->problem.n_hosts;
    cz_solve_problem rest = placement->problem;
    cz_solve_class *classes =
        CZ_NEW(m->arena, cz_solve_class, rest.n_classes + 1);
    int64_t *of_class = CZ_NEW(m->arena, int64_t, rest.n_classes + 1);
    distributed *all = CZ_NEW(m->arena, distributed, rest.n_classes + 1);
    bool *is_distributed = CZ_NEW(m->arena, bool, rest.n_classes + 1);
    int64_t **counts = CZ_NEW(m->arena, int64_t *, 2 * m->view->n_stages + 1);
    for (int c = 0; c < rest.n_classes; c++) {
        classes[c] = rest.classes[c];
        if (!classes[c].divisible)
            classes[c].cost_ps = 0;
        of_class[c] = -1;
    }
    rest.classes = classes;
    out->score = cz_solve_evaluate(m->arena, &rest, &out->plan);
    for (int i = 0; i < rest.n_items; i++) {
        const int c = rest.class_of[i], owner = out->plan.owner[i];
        if (!cz_compare_is_gathered(m->view, placement, i))
            continue;
        if (of_class[c] < 0) {
            if (mode == CZ_MEGATRON_DISTRIBUTED)
                all[c] = distribute(m, i, link);
            is_distributed[c] = all[c].most > 0;
            of_class[c] =
                is_distributed[c] ? all[c].link_ps : alike_ps(m, i, link);
        }
        if (is_distributed[c] && !counts[all[c].key])
            counts[all[c].key] = CZ_NEW(m->arena, int64_t, rest.n_ranks);
        if (is_distributed[c])
            counts[all[c].key][owner]++;
        for (int h = 0; h < n_hosts; h++) {
            int64_t *load = &out->score.load_ps[owner * n_hosts + h];
            *load = cz_time_add(*load, of_class[c]);
        }
    }
    for (int c = 0; c < rest.n_classes; c++) {
        const int64_t *count = is_distributed[c] ? counts[all[c].key] : NULL;
        for (int s = 0; count && s < rest.n_ranks * n_hosts; s++)
            out->score.load_ps[s] =
                cz_time_add(out->score.load_ps[s],
                            cz_time_batches(all[c].batch_ps, all[c].most,
                                            count[s / n_hosts]));
        if (count)
            counts[all[c].key] = NULL;
    }
    cz_compare_batches(m->view, m->times, placement, &out->plan,
                       CZ_COMPARED_ROW, is_distributed, out->score.load_ps);
}

/* Of each row, by link: all matrices gather, and all scatter. */
typedef struct moved {
    int64_t *gather, *scatter; /* [n_hosts] */
} moved;

static void add_moved(const maker *m, int item, int64_t rate, moved *own,
                      moved *other)
{
    const cz_timeline_item it =
        cz_compare_item(m->view, &m->out->placement, item, rate);
    const int host = m->out->plan.host[item];
    for (int h = 0; h < m->out->placement.problem.n_hosts; h++) {
        moved *of = h == host ? own : other;
        of->gather[h] = cz_time_add(
            of->gather[h], h == host ? it.gather_ps : it.gather_other_ps);
        of->scatter[h] = cz_time_add(
            of->scatter[h], h == host ? it.scatter_ps : it.scatter_other_ps);
    }
}

/* Every matrix has a rank of its owner's row.  Who sends and receives takes the
 * longer of both. */
static void compute_sharded(maker *m, cz_link link)
{
    const cz_link_speed speed = cz_machine_link(m->machine, link);
    const cz_solve_problem *problem = &m->out->placement.problem;
    const int n = problem->n_hosts;
    m->out->score = cz_solve_evaluate(m->arena, problem, &m->out->plan);
    cz_compare_batches(m->view, m->times, &m->out->placement, &m->out->plan,
                       CZ_COMPARED_HOST, NULL, m->out->score.load_ps);
    for (int row = 0; row < problem->n_ranks; row++) {
        moved own = {CZ_NEW(m->arena, int64_t, n),
                     CZ_NEW(m->arena, int64_t, n)};
        moved other = {CZ_NEW(m->arena, int64_t, n),
                       CZ_NEW(m->arena, int64_t, n)};
        int64_t *load = m->out->score.load_ps + (size_t)row * (size_t)n;
        int64_t gather = 0, compute = 0, scatter = 0;
        bool any = false;
        for (int i = 0; i < problem->n_items; i++)
            if (m->out->plan.owner[i] == row &&
                cz_compare_is_gathered(m->view, &m->out->placement, i)) {
                add_moved(m, i, speed.rate, &own, &other);
                any = true;
            }
        for (int h = 0; h < n; h++) {
            gather = cz_solve_max(gather,
                                  cz_solve_max(own.gather[h], other.gather[h]));
            scatter = cz_solve_max(
                scatter, cz_solve_max(own.scatter[h], other.scatter[h]));
            compute = cz_solve_max(compute, load[h]);
        }
        if (any)
            compute = cz_time_add(cz_time_add(compute, 2 * speed.latency),
                                  cz_time_add(gather, scatter));
        for (int h = 0; h < n; h++)
            load[h] = compute;
    }
}

cz_megatron cz_compare_megatron(cz_arena *arena, const cz_plan_view *view,
                                const cz_machine *machine,
                                const cz_stage_time *times,
                                const cz_placement_problem *placement,
                                cz_megatron_mode mode, int64_t most)
{
    cz_megatron out = {.placement = *placement};
    maker m = {arena, view, machine, times, &out};
    sort_items(&m, placement);
    fill_buckets(&m, most);
    lay_out(&m);
    if (!machine || !cz_compare_has_micro_groups(view, &out.placement)) {
        out.score = cz_solve_evaluate(arena, &out.placement.problem, &out.plan);
        cz_compare_batches(view, times, &out.placement, &out.plan,
                           CZ_COMPARED_HOST, NULL, out.score.load_ps);
    } else if (mode == CZ_MEGATRON_SHARDED) {
        compute_sharded(&m, cz_compare_link(view, machine, placement));
    } else {
        compute_alike(&m, mode, cz_compare_link(view, machine, placement));
    }
    return out;
}
