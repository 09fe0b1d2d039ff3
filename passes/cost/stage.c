/* Costs of a whole stage. */
#include "passes/cost/stage.h"

#include <string.h>

#include "dsl/base/checked.h"
#include "passes/cost/time.h"

/* One step as one rank of the group computes it. */
typedef struct part {
    int64_t rows, columns, inner;
} part;

static int64_t limited_mul(int64_t a, int64_t b)
{
    int64_t product;
    const int64_t factors[] = {a, b};
    return cz_checked_product(factors, 2, &product) ? product : CZ_MAX_BYTES;
}

static int64_t limited_add(int64_t a, int64_t b)
{
    return cz_time_add(a, b);
}

static part part_of(const cz_view_step *step, const cz_step_share *share,
                    int64_t group)
{
    part p = {step->rows, step->columns, step->is_product ? step->inner : 0};
    if (share->space == CZ_CUT_ROWS)
        p.rows = cz_ceil_div(p.rows, group);
    if (share->space == CZ_CUT_COLUMNS)
        p.columns = cz_ceil_div(p.columns, group);
    if (share->inner)
        p.inner = cz_ceil_div(p.inner, group);
    return p;
}

/* ---- types of values ---- */

static void find_dtypes(const cz_view_stage *stage, cz_dtype *dtypes)
{
    int n = 0;
    for (int i = 0; i < stage->n_in; i++)
        dtypes[n++] = stage->in[i].dtype;
    for (int i = 0; i < stage->fact->scalars.n; i++)
        dtypes[n++] = CZ_F32;
    for (int s = 0; s < stage->n_steps; s++)
        for (int i = 0; i < stage->steps[s].n_out; i++)
            dtypes[n++] = stage->steps[s].out_dtype[i];
}

static int n_values(const cz_view_stage *stage)
{
    int n = stage->n_in + stage->fact->scalars.n;
    for (int s = 0; s < stage->n_steps; s++)
        n += stage->steps[s].n_out;
    return n;
}

/* ---- bytes ---- */

/* Elements of a value that is reached so from a space of `p`. */
static int64_t reached(cz_access access, part p)
{
    if (access == CZ_ACCESS_ELEMENT || access == CZ_ACCESS_TRANSPOSED)
        return limited_mul(p.rows, p.columns);
    if (access == CZ_ACCESS_ROW || access == CZ_SUM_ROWS)
        return p.rows;
    if (access == CZ_ACCESS_COLUMN || access == CZ_SUM_COLUMNS)
        return p.columns;
    return 1;
}

static bool is_seen_before(const cz_view_step *step, int i)
{
    for (int k = 0; k < i; k++)
        if (step->in[k] == step->in[i])
            return true;
    return false;
}

/* Every operand is read once and every result written once. */
static int64_t bytes_of(const cz_view_step *step, part p,
                        const cz_dtype *dtypes)
{
    int64_t bytes = 0;
    for (int i = 0; i < step->n_in; i++) {
        int64_t elements = reached(step->access[i], p);
        if (step->is_product && i < 2)
            elements = limited_mul(i == 0 ? p.rows : p.columns, p.inner);
        if (!is_seen_before(step, i))
            bytes = limited_add(
                bytes,
                limited_mul(elements, cz_dtype_bytes(dtypes[step->in[i]])));
    }
    for (int i = 0; i < step->n_out; i++)
        bytes =
            limited_add(bytes, limited_mul(reached(step->out_access[i], p),
                                           cz_dtype_bytes(step->out_dtype[i])));
    return bytes;
}

/* ---- the sum over steps ---- */

static void add_product(const cz_machine *machine, const cz_view_step *step,
                        part p, const cz_dtype *dtypes, int64_t batch,
                        int64_t bytes, cz_stage_cost *out)
{
    const cz_product_size size = {p.rows,
                                  p.columns,
                                  p.inner,
                                  batch,
                                  step->symmetric && p.rows == p.columns,
                                  dtypes[step->in[0]] == CZ_BF16 &&
                                          dtypes[step->in[1]] == CZ_BF16
                                      ? CZ_BF16
                                      : CZ_F32,
                                  bytes};
    int64_t columns = 2 * p.columns;
    if (size.symmetric && machine->symmetric)
        columns = p.columns + 1;
    const int64_t flops =
        limited_mul(limited_mul(limited_mul(p.rows, columns), p.inner), batch);
    out->flops = limited_add(out->flops, flops);
    out->time_ps = cz_time_add(out->time_ps, cz_time_product(machine, &size));
}

static void add_sum(const cz_machine *machine, const cz_stage_call *call,
                    int64_t sum_bytes, cz_stage_cost *out)
{
    const int64_t bytes = limited_mul(sum_bytes, call->batch);
    const cz_link_speed link = cz_machine_link(machine, call->link);
    const int64_t wire = cz_time_all_reduce(&link, call->group, bytes);
    out->wire_ps = cz_time_add(out->wire_ps, wire);
    out->time_ps = cz_time_add(out->time_ps, wire);
    out->wire_bytes = limited_add(
        out->wire_bytes,
        (int64_t)((cz_wide)bytes * 2 * (call->group - 1) / call->group));
}

static void sum_steps(const cz_machine *machine, const cz_stage_call *call,
                      const cz_step_share *shares, const cz_dtype *dtypes,
                      cz_stage_cost *out)
{
    *out = (cz_stage_cost){0};
    for (int s = 0; s < call->stage->n_steps; s++) {
        const cz_view_step *step = &call->stage->steps[s];
        const part p = part_of(step, &shares[s], call->group);
        const int64_t bytes = bytes_of(step, p, dtypes);
        const int64_t all = limited_mul(bytes, call->batch);
        out->bytes = limited_add(out->bytes, all);
        if (step->is_product)
            add_product(machine, step, p, dtypes, call->batch, bytes, out);
        else
            out->time_ps = cz_time_add(out->time_ps, cz_time_map(machine, all));
        if (shares[s].sum_bytes > 0)
            add_sum(machine, call, shares[s].sum_bytes, out);
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
           time->group == call->group &&
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
    cz_step_share *shares = CZ_NEW(scratch, cz_step_share, stage->n_steps);
    cz_dtype *dtypes = CZ_NEW(scratch, cz_dtype, n_values(stage));
    if (call->group > 1 && !cz_share_stage(scratch, stage, call->cut, shares))
        return false;
    find_dtypes(stage, dtypes);
    sum_steps(machine, call, shares, dtypes, out);
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

static int64_t frequencies(const cz_view_rule *rule, int64_t *counts)
{
    uint32_t phases[CZ_MAX_PHASES];
    for (int i = 0; i < rule->n_phases; i++)
        phases[i] = rule->phases[i].fires;
    return cz_events_counts(rule->events, rule->n_events, phases,
                            rule->n_phases, counts);
}

bool cz_cost_stage_mean(cz_arena *scratch, const cz_plan_view *view,
                        const cz_machine *machine, const cz_stage_call *call,
                        cz_stage_cost *out)
{
    const cz_view_rule *rule = &view->rules[call->stage->rule];
    int64_t counts[CZ_MAX_PHASES];
    cz_wide total[5] = {0};
    if (call->stage->n_variants == 0)
        return cz_cost_stage(scratch, view, machine, call, out);
    const int64_t updates = frequencies(rule, counts);
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
