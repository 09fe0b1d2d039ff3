/* The host's products: which way each goes. */
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "runtime/library.h"
#include "runtime/memory.h"
#include "runtime/product.h"

/* Processors for each rank; one where there are not enough. */
static int threads_per_rank(int n_ranks)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);

    return processors > n_ranks ? (int)(processors / n_ranks) : 1;
}

czr_status czr_host_math_open(czr_host_math *math, int strict, int n_ranks)
{
    math->math.product = strict ? czr_product_fixed_order : czr_product_library;
    math->n_threads = threads_per_rank(n_ranks);
    math->packed_a = czr_alloc((size_t)CZR_BLOCK_ROWS * CZR_BLOCK_DEPTH,
                               sizeof *math->packed_a);
    math->packed_b = czr_alloc((size_t)CZR_BLOCK_DEPTH * CZR_BLOCK_COLUMNS,
                               sizeof *math->packed_b);
    if (strict)
        math->parts = czr_alloc((size_t)CZR_PART_LEVELS * CZR_BLOCK_ROWS *
                                    CZR_BLOCK_COLUMNS,
                                sizeof *math->parts);
    else
        czr_library_set_threads(math->n_threads);
    return math->packed_a && math->packed_b && (math->parts || !strict)
               ? CZR_OK
               : CZR_ERR_NO_MEMORY;
}

void czr_host_math_close(czr_host_math *math)
{
    czr_free(math->packed_a);
    czr_free(math->packed_b);
    czr_free(math->parts);
}

static void multiply_f32(const czr_product *p)
{
    const czr_operand a = {p->a, p->transpose_a ? p->m : p->k,
                           p->transpose_a != 0};
    const czr_operand b = {p->b, p->transpose_b ? p->k : p->n,
                           p->transpose_b != 0};

    memset(p->c, 0, p->m * p->n * sizeof *p->c);
    czr_library_sgemm(p->m, p->n, p->k, &a, &b, p->c, p->n);
}

static void add_block(const czr_product *p, const czr_host_math *math,
                      const czr_block *block)
{
    const czr_operand a = {math->packed_a, CZR_BLOCK_DEPTH, false};
    const czr_operand b = {math->packed_b, CZR_BLOCK_COLUMNS, false};

    (void)p;
    czr_library_sgemm(block->n_rows, block->n_columns, block->n_depth, &a, &b,
                      block->c, block->stride);
}

/* Below this many multiplications, waking threads and having them spin costs
 * more than they save. */
static const double SHARED_WORK = 1e8;

static int threads_for(const czr_host_math *host, const czr_product *p)
{
    const double work = (double)p->m * (double)p->n * (double)p->k;

    return work < SHARED_WORK ? 1 : host->n_threads;
}

void czr_product_library(const czr_math *math, const czr_product *p)
{
    const czr_host_math *host = (const czr_host_math *)math;
    const int n_bf16 = (p->a_dtype == CZR_BF16) + (p->b_dtype == CZR_BF16);

    if (!p->m || !p->n || !p->k || !czr_library_has_sgemm())
        czr_product_fixed_order(math, p);
    else if (n_bf16 == 0)
        multiply_f32(p);
    else if (n_bf16 == 1 || !czr_library_bf16(p, threads_for(host, p)))
        czr_product_blocks(host, p, add_block);
}
