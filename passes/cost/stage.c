/* Costs of a whole stage. */
#include "passes/cost/stage.h"

#include <string.h>

#include "passes/cost/step.h"
#include "passes/cost/time.h"

static void sum_steps(const cz_step_cost *costs, int n, cz_stage_cost *out)
{
    *out = (cz_stage_cost){0};
    for (int s = 0; s < n; s++) {
        const int64_t wire = costs[s].wire_ps;
        out->time_ps =
            cz_time_add(out->time_ps, cz_time_add(costs[s].compute_ps, wire));
        out->wire_ps = cz_time_add(out->wire_ps, wire);
        out->flops = cz_time_add(out->flops, costs[s].flops);
        out->bytes = cz_time_add(out->bytes, costs[s].bytes);
        out->wire_bytes = cz_time_add(out->wire_bytes, costs[s].wire_bytes);
    }
}

/* ---- measured times ---- */

/* The matrix as the optimizer sees it. */
static bool is_time_of(const cz_plan_view *view, const cz_stage_call *call,
                       const cz_machine_time *time)
{
    const cz_fact_rule *rule = view->rules[call->stage->rule].fact;
    const cz_fact_use *use = view->uses[view->rules[call->stage->rule].use];
    const bool t = rule->transposed != 0;
    return rule->shape.n == 2 && time->rows == rule->shape.v[t] &&
           time->columns == rule->shape.v[!t] && time->batch == call->batch &&
           time->subgroup_size == call->subgroup_size &&
           strcmp(time->optimizer, use->optimizer) == 0;
}

static void override(const cz_plan_view *view, const cz_machine *machine,
                     const cz_stage_call *call, cz_stage_cost *out)
{
    for (int i = 0; i < machine->n_times; i++)
        if (is_time_of(view, call, &machine->times[i])) {
            out->time_ps = machine->times[i].time_ps;
            out->is_measured = true;
        }
}

bool cz_cost_stage(cz_arena *scratch, const cz_plan_view *view,
                   const cz_machine *machine, const cz_stage_call *call,
                   cz_stage_cost *out)
{
    const cz_view_stage *stage = call->stage;
    cz_step_cut *step_cuts = CZ_NEW(scratch, cz_step_cut, stage->n_steps);
    cz_step_cost *costs = CZ_NEW(scratch, cz_step_cost, stage->n_steps);
    if (call->subgroup_size > 1 &&
        !cz_step_cuts_find(scratch, stage, call->cut, step_cuts, NULL))
        return false;
    cz_cost_steps(scratch, machine, call, step_cuts, costs);
    sum_steps(costs, stage->n_steps, out);
    if (view->rules[stage->rule].n_phases == 0)
        override(view, machine, call, out);
    return true;
}

/* ---- phases ---- */

/* total += cost * times, of every part. */
static void add_times(cz_wide total[5], const cz_stage_cost *cost,
                      int64_t times)
{
    const int64_t parts[] = {cost->time_ps, cost->wire_ps, cost->flops,
                             cost->bytes, cost->wire_bytes};
    for (int i = 0; i < 5; i++)
        total[i] += (cz_wide)parts[i] * times;
}

static cz_stage_cost mean_of(const cz_wide total[5], int64_t updates)
{
    int64_t mean[5];
    for (int i = 0; i < 5; i++)
        mean[i] = (int64_t)((total[i] + updates - 1) / updates);
    return (cz_stage_cost){.time_ps = mean[0],
                           .wire_ps = mean[1],
                           .flops = mean[2],
                           .bytes = mean[3],
                           .wire_bytes = mean[4]};
}

int64_t cz_cost_frequencies(const cz_plan_view *view,
                            const cz_view_stage *stage, int64_t *counts)
{
    const cz_view_rule *rule = &view->rules[stage->rule];
    uint32_t phases[CZ_MAX_PHASES];
    counts[0] = 1;
    if (stage->n_variants == 0)
        return 1;
    for (int i = 0; i < rule->n_phases; i++)
        phases[i] = rule->phases[i].fires;
    return cz_events_counts(rule->events, rule->n_events, phases,
                            rule->n_phases, counts);
}

bool cz_cost_stage_mean(cz_arena *scratch, const cz_plan_view *view,
                        const cz_machine *machine, const cz_stage_call *call,
                        cz_stage_cost *out)
{
    int64_t counts[CZ_MAX_PHASES];
    cz_wide total[5] = {0};
    if (call->stage->n_variants == 0)
        return cz_cost_stage(scratch, view, machine, call, out);
    const int64_t updates = cz_cost_frequencies(view, call->stage, counts);
    for (int i = 0; i < call->stage->n_variants; i++) {
        cz_stage_call variant = *call;
        variant.stage = &call->stage->variants[i];
        if (!cz_cost_stage(scratch, view, machine, &variant, out))
            return false;
        add_times(total, out, counts[i]);
    }
    *out = mean_of(total, updates);
    return true;
}
