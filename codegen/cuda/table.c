/* Rows of NAME_cuda.c that tell a launcher what a loop's kernels take and which
 * grid they want. */
#include "codegen/cuda/internal.h"

#include <string.h>

typedef struct rows {
    cz_text *kernels;
    int n;
} rows;

/* Operands that are parameters of the loop in C, before operand `end`. */
static int n_pointers(const cz_cuda_kernel *k, int end)
{
    int n = k->is_epilogue;

    for (int i = cz_cuda_first_in(k); i < end; i++)
        n += cz_loop_written_by(k->loop, i) < 0;
    return n;
}

/* The number of a parameter among the loop's pointers in C, from 0. */
static void put_argument(const cz_cuda_kernel *k, cz_cuda_role role, int i)
{
    const char *kind = role != CZ_CUDA_SCALAR && cz_cuda_most_entries(k)
                           ? "CZR_CUDA_ENTRY + "
                           : "";

    if (role == CZ_CUDA_PARTIAL)
        kind = cz_cuda_is_largest(k, i) ? "CZR_CUDA_LARGEST + "
                                        : "CZR_CUDA_SUM + ";
    if (role == CZ_CUDA_ACCUMULATOR)
        cz_text_printf(k->out, "%s0, ", kind);
    else if (role == CZ_CUDA_SCALAR || role == CZ_CUDA_OPERAND)
        cz_text_printf(k->out, "%s%d, ", kind, n_pointers(k, i));
    else
        cz_text_printf(k->out, "%s%d, ", kind,
                       n_pointers(k, cz_cuda_step(k)->n_in) + i);
}

static const char *const forms[] = {
    [CZ_CUDA_RUN] = "RUN",
    [CZ_CUDA_ROWS] = "ROWS",
    [CZ_CUDA_SQUARES] = "SQUARES",
    [CZ_CUDA_COLUMNS] = "COLUMNS",
};

static void put_row(cz_cuda_kernel *k, void *user)
{
    const bool by_rows = cz_cuda_step(k)->blocks.rows > 1;
    const char *columns = k->by_columns ? "_columns" : "";
    const bool has_parts = cz_cuda_reduces(k) && k->blocks > 1;
    rows *r = user;

    cz_text_printf(k->out, "static const uint16_t loop_%d%s_arguments[] = {",
                   k->number, columns);
    cz_cuda_parameters(k, put_argument);
    cz_text_puts(k->out,
                 cz_cuda_is_checked(k) ? "CZR_CUDA_STATUS};\n" : "};\n");
    cz_text_printf(r->kernels,
                   "    {\"loop_%d%s\", loop_%d%s_arguments, "
                   "sizeof loop_%d%s_arguments / sizeof(uint16_t), "
                   "CZR_CUDA_%s, %d, %d, %d, %d, %d},\n",
                   k->number, columns, k->number, columns, k->number, columns,
                   forms[k->form], k->loop->flat, k->width,
                   has_parts && by_rows ? k->blocks : 1,
                   has_parts && !by_rows ? k->blocks : 1,
                   cz_cuda_most_entries(k));
    r->n++;
}

int cz_emit_cuda_rows(cz_text *arguments, cz_text *kernels, const cz_loop *loop,
                      int number, bool is_epilogue)
{
    rows r = {kernels, 0};

    cz_cuda_kernels(arguments, loop, number, is_epilogue, put_row, &r);
    return r.n;
}
