/* One element of a CUDA kernel: the body called as in C, and a term more for
 * each reduction. */
#include "codegen/cuda/internal.h"

#include <stdarg.h>

void cz_cuda_line(const cz_cuda_kernel *k, const char *format, ...)
{
    va_list args;

    for (int i = 0; i < k->depth; i++)
        cz_text_puts(k->out, "    ");
    va_start(args, format);
    cz_text_vprintf(k->out, format, args);
    va_end(args);
    cz_text_puts(k->out, "\n");
}

int cz_cuda_first_in(const cz_cuda_kernel *k)
{
    return k->is_epilogue ? 2 : 0;
}

bool cz_cuda_makes(const cz_cuda_kernel *k, int i)
{
    return k->by_columns == cz_loop_reduces_to(k->loop, i, CZ_ACCESS_COLUMN);
}

bool cz_cuda_reduces(const cz_cuda_kernel *k)
{
    for (int i = 0; i < k->loop->step->n_out; i++)
        if (cz_cuda_makes(k, i) &&
            cz_access_is_reduction(k->loop->step->out_access[i]))
            return true;
    return false;
}

bool cz_cuda_is_wide(const cz_cuda_kernel *k)
{
    return k->form == CZ_CUDA_ROWS ||
           (k->form == CZ_CUDA_RUN && k->loop->step->blocks.columns <= 1);
}

bool cz_cuda_is_sum(const cz_cuda_kernel *k, int i)
{
    return cz_cuda_makes(k, i) &&
           cz_access_is_reduction(cz_cuda_step(k)->out_access[i]);
}

bool cz_cuda_is_largest(const cz_cuda_kernel *k, int i)
{
    return cz_access_is_largest(cz_cuda_step(k)->out_access[i]);
}

void cz_cuda_sums_begin(const cz_cuda_kernel *k)
{
    for (int i = 0; i < cz_cuda_step(k)->n_out; i++)
        if (cz_cuda_is_sum(k, i))
            cz_cuda_line(k, "double sum%d = %s;", i,
                         cz_cuda_is_largest(k, i) ? "-INFINITY" : "0");
}

/* Where an array is reached: of neighbours in registers, or in memory. */
static void put_array(const cz_cuda_kernel *k, const char *name, int number,
                      cz_access access)
{
    const bool is_element = access == CZ_ACCESS_ELEMENT;

    if (cz_cuda_is_wide(k) && (is_element || access == CZ_ACCESS_COLUMN))
        cz_text_printf(k->out, "w%s%d.v[k]", name, number);
    else if (k->form == CZ_CUDA_SQUARES && access == CZ_ACCESS_TRANSPOSED)
        cz_text_printf(k->out, "t%d[x][y]", number);
    else
        cz_text_printf(k->out, "%s%d%s", name, number,
                       is_element && k->form == CZ_CUDA_RUN
                           ? "[at]"
                           : cz_loop_index(access, false));
}

static void put_operand(const cz_cuda_kernel *k, int in)
{
    const int overwritten = cz_loop_written_by(k->loop, in);
    const cz_access access = k->loop->step->access[in];

    if (overwritten >= 0)
        put_array(k, "y", overwritten, access);
    else
        put_array(k, "x", in, access);
}

static void put_target(const cz_cuda_kernel *k, int i)
{
    const cz_access access = k->loop->step->out_access[i];

    if (!cz_cuda_makes(k, i))
        cz_text_printf(k->out, "none%d", i);
    else if (cz_access_is_reduction(access))
        cz_text_printf(k->out, "term%d", i);
    else
        put_array(k, "y", i, access);
}

static const char *accumulator(const cz_cuda_kernel *k)
{
    return cz_cuda_is_wide(k) ? "wacc.v[k]" : "acc[i * columns + j]";
}

static const char *const generators[CZ_N_GENERATORS] = {
    [CZ_GENERATE_ROW] = "(float)(int)i",
    [CZ_GENERATE_COLUMN] = "(float)(int)j",
};

/* The call that cz_emit_map_loop prints in C. */
static void put_call(const cz_cuda_kernel *k)
{
    const cz_view_step *step = k->loop->step;
    const char *comma = "";

    for (int i = 0; i < k->depth; i++)
        cz_text_puts(k->out, "    ");
    if (step->n_out == 1) {
        put_target(k, 0);
        cz_text_puts(k->out, " = ");
    }
    cz_text_printf(k->out, "body_%d(", step->body);
    if (k->is_epilogue) {
        cz_text_puts(k->out, accumulator(k));
        comma = ", ";
    }
    for (int i = cz_cuda_first_in(k); i < step->n_in; i++, comma = ", ") {
        cz_text_puts(k->out, comma);
        put_operand(k, i);
    }
    for (int i = 0; i < step->n_generated; i++, comma = ", ")
        cz_text_printf(k->out, "%s%s", comma, generators[step->generated[i]]);
    for (int i = 0; step->n_out > 1 && i < step->n_out; i++, comma = ", ") {
        cz_text_printf(k->out, "%s&", comma);
        put_target(k, i);
    }
    cz_text_puts(k->out, ");\n");
}

static void declare_targets(const cz_cuda_kernel *k)
{
    const cz_view_step *step = k->loop->step;

    for (int i = 0; i < step->n_out; i++)
        if (!cz_cuda_makes(k, i))
            cz_cuda_line(k, "%s none%d;", cz_c_type(step->out_dtype[i]), i);
        else if (cz_access_is_reduction(step->out_access[i]))
            cz_cuda_line(k, "double term%d;", i);
}

static void put_check(const cz_cuda_kernel *k)
{
    const int checked = k->loop->checked;

    if (checked < 0 || !cz_cuda_makes(k, checked))
        return;
    for (int i = 0; i < k->depth; i++)
        cz_text_puts(k->out, "    ");
    cz_text_printf(k->out, "wild |= czr_nonfinite_%s(",
                   cz_dtype_name(k->loop->step->out_dtype[checked]));
    put_target(k, checked);
    cz_text_puts(k->out, ");\n");
}

void cz_cuda_element(const cz_cuda_kernel *k)
{
    const cz_view_step *step = k->loop->step;

    declare_targets(k);
    put_call(k);
    put_check(k);
    for (int i = 0; i < step->n_out; i++) {
        if (!cz_cuda_makes(k, i) ||
            !cz_access_is_reduction(step->out_access[i]))
            continue;
        if (cz_access_is_largest(step->out_access[i]))
            cz_cuda_line(k, "sum%d = larger(sum%d, term%d);", i, i, i);
        else
            cz_cuda_line(k, "sum%d += term%d;", i, i);
    }
}
