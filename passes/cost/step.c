/* Costs of the steps of a whole stage. */
#include "passes/cost/step.h"

#include "dsl/base/checked.h"
#include "passes/cost/time.h"

/* One step as one rank of the group computes it. */
typedef struct part {
    int64_t rows, columns, inner;
} part;

static int64_t limited_mul(int64_t a, int64_t b)
{
    return cz_time_limit((cz_wide)a * b);
}

static part part_of(const cz_view_step *step, const cz_step_cut *share,
                    int64_t subgroup_size)
{
    part p = {step->rows, step->columns, step->is_product ? step->inner : 0};
    if (share->space == CZ_CUT_ROWS ||
        (share->gather_bytes > 0 && !share->scatter))
        p.rows = cz_ceil_div(p.rows, subgroup_size);
    if (share->space == CZ_CUT_COLUMNS)
        p.columns = cz_ceil_div(p.columns, subgroup_size);
    if (share->inner)
        p.inner = cz_ceil_div(p.inner, subgroup_size);
    return p;
}

/* ---- types of values ---- */

cz_dtype *cz_cost_value_dtypes(cz_arena *scratch, const cz_view_stage *stage)
{
    cz_dtype *dtypes = CZ_NEW(scratch, cz_dtype, cz_step_cuts_n_values(stage));
    int n = 0;
    for (int i = 0; i < stage->n_in; i++)
        dtypes[n++] = stage->in[i].dtype;
    for (int i = 0; i < stage->fact->scalars.n; i++)
        dtypes[n++] = CZ_F32;
    for (int s = 0; s < stage->n_steps; s++)
        for (int i = 0; i < stage->steps[s].n_out; i++)
            dtypes[n++] = stage->steps[s].out_dtype[i];
    return dtypes;
}

/* ---- bytes ---- */

/* Elements of a value that is reached so from a space of `p`. */
static int64_t reached(cz_access access, part p)
{
    const cz_access reach = cz_access_reach(access);
    if (reach == CZ_ACCESS_ELEMENT || reach == CZ_ACCESS_TRANSPOSED)
        return limited_mul(p.rows, p.columns);
    if (reach == CZ_ACCESS_ROW)
        return p.rows;
    if (reach == CZ_ACCESS_COLUMN)
        return p.columns;
    return 1;
}

/* Elements of operand i. */
static int64_t operand_elements(const cz_view_step *step, int i, part p)
{
    if (step->factor)
        return cz_factor_operand_elements(i, &step->size);
    if (step->is_product && i < 2)
        return limited_mul(i == 0 ? p.rows : p.columns, p.inner);
    return reached(step->access[i], p);
}

static int64_t result_elements(const cz_view_step *step, int i, part p)
{
    return step->factor
               ? cz_factor_result_elements(step->factor, i, &step->size)
               : reached(step->out_access[i], p);
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
        const int64_t elements = operand_elements(step, i, p);
        if (!is_seen_before(step, i))
            bytes = cz_time_add(
                bytes,
                limited_mul(elements, cz_dtype_bytes(dtypes[step->in[i]])));
    }
    for (int i = 0; i < step->n_out; i++)
        bytes =
            cz_time_add(bytes, limited_mul(result_elements(step, i, p),
                                           cz_dtype_bytes(step->out_dtype[i])));
    return bytes;
}

/* ---- one step ---- */

static cz_product_size size_of(const cz_view_step *step, part p,
                               const cz_dtype *dtypes, int64_t bytes)
{
    if (!step->is_product)
        return (cz_product_size){.bytes = bytes};
    const cz_dtype dtype = dtypes[step->in[0]];
    const bool is_narrow =
        cz_dtype_is_narrow(dtype) && dtypes[step->in[1]] == dtype;
    return (cz_product_size){p.rows,
                             p.columns,
                             p.inner,
                             1,
                             step->symmetric && p.rows == p.columns,
                             is_narrow ? dtype : CZ_F32,
                             bytes};
}

static void add_product(const cz_machine *machine, cz_product_size size,
                        int64_t batch, cz_step_cost *out)
{
    int64_t columns = 2 * size.columns;
    if (size.symmetric && machine->symmetric)
        columns = size.columns + 1;
    out->flops = limited_mul(
        limited_mul(limited_mul(size.rows, columns), size.inner), batch);
    size.batch = batch;
    out->compute_ps = cz_time_product(machine, &size);
}

static cz_call_size call_of(const cz_view_step *step, int64_t bytes)
{
    if (!step->factor)
        return (cz_call_size){0, 0, 0};
    return (cz_call_size){cz_factor_effort(step->factor, &step->size),
                          cz_factor_launches(step->factor, &step->size), bytes};
}

static void add_call(const cz_machine *machine, const cz_view_step *step,
                     int64_t bytes, int64_t batch, cz_step_cost *out)
{
    const cz_call_size size = call_of(step, bytes);

    out->flops = limited_mul(cz_factor_flops(step->factor, &step->size), batch);
    out->compute_ps = cz_time_call(machine, &size, batch);
}

static int64_t travelling(int64_t bytes, const cz_step_cut *share,
                          int64_t batch)
{
    return limited_mul(cz_view_band_elements(bytes, share->band), batch);
}

static void add_wire(const cz_machine *machine, const cz_stage_call *call,
                     const cz_step_cut *share, cz_step_cost *out)
{
    const int64_t n = call->subgroup_size;
    const int64_t sum = travelling(share->sum_bytes, share, call->batch);
    const int64_t rows = travelling(share->gather_bytes, share, call->batch);
    const cz_link_speed link = cz_machine_link(machine, call->link);
    if (sum > 0)
        out->wire_ps = share->scatter ? cz_time_reduce_scatter(&link, n, sum)
                                      : cz_time_all_reduce(&link, n, sum);
    if (rows > 0)
        out->wire_ps =
            cz_time_add(out->wire_ps, cz_time_all_gather(&link, n, rows));
    out->wire_bytes = cz_time_limit(
        ((cz_wide)sum * (share->scatter ? 1 : 2) + rows) * (n - 1) / n);
}

/* A rank alone has all of every step. */
static const cz_step_cut whole = {0};

void cz_cost_steps(cz_arena *scratch, const cz_machine *machine,
                   const cz_stage_call *call, const cz_step_cut *step_cuts,
                   cz_step_cost *costs)
{
    const cz_view_stage *stage = call->stage;
    const cz_dtype *dtypes = cz_cost_value_dtypes(scratch, stage);
    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        const cz_step_cut *share =
            call->subgroup_size > 1 ? &step_cuts[s] : &whole;
        const part p = part_of(step, share, call->subgroup_size);
        const int64_t bytes = bytes_of(step, p, dtypes);
        cz_step_cost *out = &costs[s];
        *out = (cz_step_cost){.bytes = limited_mul(bytes, call->batch)};
        if (step->factor)
            add_call(machine, step, bytes, call->batch, out);
        else if (step->is_product)
            add_product(machine, size_of(step, p, dtypes, bytes), call->batch,
                        out);
        else
            out->compute_ps = cz_time_map(machine, out->bytes);
        add_wire(machine, call, share, out);
    }
}

void cz_cost_kernels(cz_arena *scratch, const cz_view_stage *stage,
                     const cz_step_cut *step_cuts, int64_t subgroup_size,
                     cz_step_kernel *kernels)
{
    const cz_dtype *dtypes = cz_cost_value_dtypes(scratch, stage);
    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        const part p = part_of(step, subgroup_size > 1 ? &step_cuts[s] : &whole,
                               subgroup_size);
        const int64_t bytes = bytes_of(step, p, dtypes);
        kernels[s] =
            (cz_step_kernel){step->is_product, size_of(step, p, dtypes, bytes),
                             step->factor, call_of(step, bytes)};
    }
}
