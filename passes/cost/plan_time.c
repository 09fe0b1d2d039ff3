/* Times of stages, and of ranks. */
#include "passes/cost/plan_time.h"

#include "dsl/base/checked.h"
#include "passes/cost/stage.h"
#include "passes/cost/step.h"
#include "passes/cost/time.h"

/* ---- stages ---- */

/* Ranks that compute each matrix of a pattern alike: residents that split
 * and shard coordinates do not tell apart. */
static int64_t ranks_of_matrix(const cz_plan_view *view, int pattern)
{
    const cz_fact_pattern *fact = view->patterns[pattern].fact;
    const int64_t places =
        cz_view_extent(view,
                       &cz_view_pattern_reduction(view, pattern)->split_axes) *
        cz_view_set_extent(view, cz_view_shard_set(view, pattern));
    const int64_t homes = fact->resident_axes != 0 ? fact->residents.n : 1;
    return view->n_ranks / places * homes /
           cz_view_set_extent(view, fact->resident_axes);
}

/* Matrices under a rule that a rank has, if all have as many. */
static int64_t matrices_on_rank(const cz_plan_view *view, int rule)
{
    int64_t n = 0;
    for (int f = 0; f < view->n_patterns; f++)
        if (view->patterns[f].rule == rule)
            n += ranks_of_matrix(view, f) * view->patterns[f].n_params;
    return n / view->n_ranks;
}

/* Of each phase of a stage, of one of the batch that is called. */
static const int64_t *phase_times(cz_arena *arena, const cz_plan_view *view,
                                  const cz_machine *machine,
                                  const cz_stage_call *call, int64_t batch)
{
    const cz_view_stage *stage = call->stage;
    int64_t *times = CZ_NEW(arena, int64_t, stage->n_variants + 1);
    for (int i = 0; i < stage->n_variants; i++) {
        cz_stage_call variant = *call;
        cz_stage_cost cost;
        variant.stage = &stage->variants[i];
        cz_cost_stage(arena, view, machine, &variant, &cost);
        times[i] = cz_ceil_div(cost.time_ps, batch);
    }
    return stage->n_variants > 0 ? times : NULL;
}

static cz_stage_time whole_time(cz_arena *arena, const cz_plan_view *view,
                                const cz_machine *machine,
                                const cz_view_stage *stage)
{
    const int64_t on_rank = matrices_on_rank(view, stage->rule);
    cz_stage_call call = {.stage = stage, .batch = 1, .subgroup_size = 1};
    cz_stage_cost one, all;
    cz_cost_stage_mean(arena, view, machine, &call, &one);
    while (call.batch * 2 <= on_rank && call.batch < CZ_TIMED_BATCH)
        call.batch *= 2;
    cz_cost_stage_mean(arena, view, machine, &call, &all);
    if (one.is_measured && !all.is_measured)
        return (cz_stage_time){1, one.time_ps, true, NULL};
    return (cz_stage_time){
        call.batch, cz_ceil_div(all.time_ps, call.batch), all.is_measured,
        phase_times(arena, view, machine, &call, call.batch)};
}

/* A segment on one part of the matrix, in the phase with the longest. */
static cz_stage_time segment_time(cz_arena *arena, const cz_machine *machine,
                                  const cz_view_stage *stage)
{
    cz_stage_time out = {.batch = 1};
    for (int v = 0; v < cz_view_n_bodies(stage); v++) {
        const cz_view_stage *body = cz_view_variant(stage, v);
        const cz_stage_call call = {
            .stage = body, .batch = 1, .subgroup_size = 1};
        cz_step_cost *costs = CZ_NEW(arena, cz_step_cost, body->n_steps + 1);
        int64_t sum = 0;
        cz_cost_steps(arena, machine, &call, NULL, costs);
        for (int s = 0; s < body->n_steps; s++)
            if (body->steps[s].segment == stage->subgroup->segment)
                sum = cz_time_add(sum, costs[s].compute_ps);
        out.time_ps = sum > out.time_ps ? sum : out.time_ps;
    }
    return out;
}

static cz_stage_time part_time(cz_arena *arena, const cz_plan_view *view,
                               const cz_machine *machine,
                               const cz_view_stage *stage)
{
    cz_machine without_launch = *machine;
    const cz_stage_call call = {
        .stage = stage, .batch = CZ_TIMED_ELEMENTS, .subgroup_size = 1};
    cz_stage_cost cost;
    without_launch.launch = 0;
    cz_cost_stage_mean(arena, view, &without_launch, &call, &cost);
    return (cz_stage_time){1, cost.time_ps, false,
                           phase_times(arena, view, &without_launch, &call, 1)};
}

cz_stage_time *cz_stage_times(cz_arena *arena, const cz_plan_view *view,
                              const cz_machine *machine)
{
    cz_stage_time *times = CZ_NEW(arena, cz_stage_time, view->n_stages + 1);
    for (int s = 0; s < view->n_stages; s++) {
        const cz_view_stage *stage = &view->stages[s];
        times[s] = stage->where == CZ_WHERE_FULL_MATRIX
                       ? whole_time(arena, view, machine, stage)
                   : stage->where == CZ_WHERE_SUBGROUP
                       ? segment_time(arena, machine, stage)
                       : part_time(arena, view, machine, stage);
    }
    return times;
}

int64_t cz_stage_time_elements(const cz_stage_time *time, int64_t elements)
{
    return cz_time_limit(
        ((cz_wide)time->time_ps * elements + CZ_TIMED_ELEMENTS - 1) /
        CZ_TIMED_ELEMENTS);
}

int64_t cz_matrix_time(const cz_plan_view *view, const cz_stage_time *times,
                       int param)
{
    const cz_view_param *p = &view->params[param];
    const int rule = view->patterns[p->pattern].rule;
    const cz_view_rule *r = &view->rules[rule];
    int64_t sum = 0;
    for (int s = r->first_stage; s < r->first_stage + r->n_stages; s++) {
        const cz_view_stage *stage = &view->stages[s];
        const int64_t subgroup_size =
            stage->subgroup ? stage->subgroup->size : 1;
        if (cz_view_is_shaped(stage) && subgroup_size == p->subgroup_size)
            sum = cz_time_add(sum, times[s].time_ps);
    }
    return sum;
}

/* ---- ranks ---- */

/* Rows of one coordinate: matrices one by one, elements of each stage
 * together. */
static int64_t coordinate_ps(const cz_plan_view *view,
                             const cz_view_table *table, int64_t coordinate,
                             const cz_stage_time *times, int64_t *elements)
{
    int64_t sum = 0;
    for (int s = 0; s < view->n_stages; s++)
        elements[s] = 0;
    for (int64_t i = table->starts[coordinate];
         i < table->starts[coordinate + 1]; i++) {
        const cz_view_kernel_entry *row = &table->rows.kernel[i];
        if (cz_view_is_shaped(&view->stages[row->stage]))
            sum = cz_time_add(sum, times[row->stage].time_ps);
        else
            elements[row->stage] += row->count;
    }
    for (int s = 0; s < view->n_stages; s++)
        if (elements[s] > 0)
            sum = cz_time_add(sum,
                              cz_stage_time_elements(&times[s], elements[s]));
    return sum;
}

int64_t *cz_rank_times(cz_arena *arena, const cz_plan_view *view,
                       const cz_stage_time *times)
{
    int64_t *ranks = CZ_NEW(arena, int64_t, view->n_ranks + 1);
    int64_t *elements = CZ_NEW(arena, int64_t, view->n_stages + 1);
    for (int o = 0; o < view->n_ops; o++) {
        const cz_view_op *op = &view->ops[o];
        if (op->table < 0 || view->tables[op->table].kind != CZ_ENTRY_KERNEL)
            continue;
        const cz_view_table *table = &view->tables[op->table];
        int64_t *sums = CZ_NEW(arena, int64_t, table->n_coordinates + 1);
        for (int c = 0; c < table->n_coordinates; c++)
            sums[c] = coordinate_ps(view, table, c, times, elements);
        for (int rank = 0; rank < view->n_ranks; rank++)
            ranks[rank] = cz_time_add(
                ranks[rank],
                sums[cz_view_coordinate(view, &table->fact->selector, rank)]);
    }
    return ranks;
}

cz_rank_load cz_rank_load_of(const int64_t *rank_ps, int n)
{
    cz_rank_load load = {0};
    for (int r = 0; r < n; r++) {
        load.sum_ps = cz_time_add(load.sum_ps, rank_ps[r]);
        load.max_ps = rank_ps[r] > load.max_ps ? rank_ps[r] : load.max_ps;
    }
    load.mean_ps = cz_ceil_div(load.sum_ps, n);
    return load;
}
