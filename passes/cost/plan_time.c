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

/* The largest batch, where nothing caps memory. */
static int most_together(const cz_plan_view *view, const cz_view_stage *stage)
{
    const int64_t group = view->policy->micro_group_bytes;
    const int64_t cap = group > 0 ? group : CZ_TIMED_BYTES;
    const int64_t bytes = stage->fact->work_bytes;
    const int64_t n = bytes > 0 ? cap / bytes : CZ_TIMED_BATCH;
    if (view->program->strict || n < 1)
        return 1;
    return n < CZ_TIMED_BATCH ? (int)n : CZ_TIMED_BATCH;
}

/* [n] of a stage, or of one body of it. */
static const int64_t *batch_times(cz_arena *arena, const cz_plan_view *view,
                                  const cz_machine *machine,
                                  const cz_view_stage *body, int n,
                                  bool *is_measured)
{
    int64_t *times = CZ_NEW(arena, int64_t, n);
    int largest = 0; /* that is measured */
    cz_arena scratch;
    cz_arena_init(&scratch);
    for (int i = 0; i < n; i++) {
        const cz_stage_call call = {
            .stage = body, .batch = i + 1, .subgroup_size = 1};
        cz_stage_cost cost;
        cz_cost_stage_mean(&scratch, view, machine, &call, &cost);
        cz_arena_clear(&scratch);
        is_measured[i] = cost.is_measured;
        if (cost.is_measured)
            largest = i + 1;
        times[i] = cost.is_measured || largest == 0
                       ? cost.time_ps
                       : cz_time_add(times[largest - 1], times[i - largest]);
    }
    cz_arena_fini(&scratch);
    return times;
}

/* Whether a batch has nothing beside measured ones. */
static bool is_all_measured(const bool *is_measured, int64_t batch)
{
    for (int64_t b = batch; b > 0; b--)
        while (is_measured[b - 1] && b <= batch)
            batch -= b;
    return batch == 0;
}

static cz_stage_time whole_time(cz_arena *arena, const cz_plan_view *view,
                                const cz_machine *machine,
                                const cz_view_stage *stage)
{
    const int64_t on_rank = matrices_on_rank(view, stage->rule);
    const int n = most_together(view, stage);
    bool *is_measured = CZ_NEW(arena, bool, n);
    cz_stage_time out = {
        .batch = 1, .n_batches = n, .is_measured_batch = is_measured};
    while (out.batch * 2 <= on_rank && out.batch * 2 <= n)
        out.batch *= 2;
    out.batch_ps = batch_times(arena, view, machine, stage, n, is_measured);
    out.time_ps = cz_ceil_div(out.batch_ps[out.batch - 1], out.batch);
    out.is_measured = is_all_measured(is_measured, out.batch);
    if (view->policy->memory_bytes > 0)
        out.n_batches = 1;
    if (stage->n_variants == 0)
        return out;
    int64_t *phase_ps = CZ_NEW(arena, int64_t, stage->n_variants);
    out.phase_ps = phase_ps;
    out.phase_batch_ps = CZ_NEW(arena, const int64_t *, stage->n_variants);
    for (int i = 0; i < stage->n_variants; i++) {
        out.phase_batch_ps[i] = batch_times(
            arena, view, machine, &stage->variants[i], n, is_measured);
        phase_ps[i] =
            cz_ceil_div(out.phase_batch_ps[i][out.batch - 1], out.batch);
    }
    return out;
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
    cz_stage_call call = {
        .stage = stage, .batch = CZ_TIMED_ELEMENTS, .subgroup_size = 1};
    cz_stage_cost cost;
    int64_t *phase_ps = CZ_NEW(arena, int64_t, stage->n_variants + 1);
    without_launch.launch = 0;
    cz_cost_stage_mean(arena, view, &without_launch, &call, &cost);
    const int64_t time_ps = cost.time_ps;
    for (int i = 0; i < stage->n_variants; i++) {
        call.stage = &stage->variants[i];
        cz_cost_stage(arena, view, &without_launch, &call, &cost);
        phase_ps[i] = cost.time_ps;
    }
    return (cz_stage_time){.batch = 1,
                           .time_ps = time_ps,
                           .phase_ps = stage->n_variants > 0 ? phase_ps : NULL};
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

int64_t cz_stage_time_rows(const cz_stage_time *time, int64_t n_rows)
{
    return time->n_batches > 0
               ? cz_time_batches(time->batch_ps, time->n_batches, n_rows)
               : cz_time_limit((cz_wide)time->time_ps * n_rows);
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
        if (cz_view_runs(view, stage, param))
            sum = cz_time_add(sum, times[s].time_ps);
    }
    return sum;
}

/* ---- ranks ---- */

/* Rows of one coordinate, of each stage together. */
static int64_t coordinate_ps(const cz_plan_view *view,
                             const cz_view_table *table, int64_t coordinate,
                             const cz_stage_time *times, int64_t *amounts)
{
    int64_t sum = 0;
    for (int s = 0; s < view->n_stages; s++)
        amounts[s] = 0;
    for (int64_t i = table->starts[coordinate];
         i < table->starts[coordinate + 1]; i++) {
        const cz_view_kernel_entry *row = &table->rows.kernel[i];
        amounts[row->stage] +=
            cz_view_is_shaped(&view->stages[row->stage]) ? 1 : row->count;
    }
    for (int s = 0; s < view->n_stages; s++)
        if (amounts[s] > 0)
            sum = cz_time_add(
                sum, cz_view_is_shaped(&view->stages[s])
                         ? cz_stage_time_rows(&times[s], amounts[s])
                         : cz_stage_time_elements(&times[s], amounts[s]));
    return sum;
}

int64_t *cz_rank_times(cz_arena *arena, const cz_plan_view *view,
                       const cz_stage_time *times)
{
    int64_t *ranks = CZ_NEW(arena, int64_t, view->n_ranks + 1);
    int64_t *amounts = CZ_NEW(arena, int64_t, view->n_stages + 1);
    for (int o = 0; o < view->n_ops; o++) {
        const cz_view_op *op = &view->ops[o];
        if (op->table < 0 || view->tables[op->table].kind != CZ_ENTRY_KERNEL)
            continue;
        const cz_view_table *table = &view->tables[op->table];
        int64_t *sums = CZ_NEW(arena, int64_t, table->n_coordinates + 1);
        for (int c = 0; c < table->n_coordinates; c++)
            sums[c] = coordinate_ps(view, table, c, times, amounts);
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
