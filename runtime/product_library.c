/* Products by libraries.  Of a symmetric one they compute the lower triangle,
 * by a routine made for it or block by block, and the rest is mirrored. */
#include "runtime/library.h"
#include "runtime/product.h"

static czr_operand operand_of(const void *data, int transposed, size_t rows,
                              size_t columns)
{
    return (czr_operand){data, transposed ? rows : columns, transposed != 0};
}

static czr_gemm gemm_of(const czr_product *p)
{
    return (czr_gemm){.m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .a = operand_of(p->a, p->transpose_a, p->m, p->k),
                      .b = operand_of(p->b, p->transpose_b, p->k, p->n),
                      .c = p->c,
                      .c_stride = p->n};
}

/* Whether c = x @ x': where both are x as it is, it is symmetric itself. */
static bool is_own_square(const czr_product *p)
{
    return p->symmetric && p->a == p->b;
}

static void multiply_f32(const czr_product *p)
{
    const czr_gemm gemm = gemm_of(p);

    if (is_own_square(p)) {
        czr_library_ssyrk(&gemm);
        czr_mirror_lower(p->c, p->n);
    } else {
        czr_library_sgemm(&gemm, 0);
    }
}

/* ---- bf16 ---- */

/* Below this many multiplications, waking threads and having them spin costs
 * more than they save. */
static const double SHARED_WORK = 1e8;

static int threads_for(const czr_host_math *host, const czr_product *p)
{
    const double work = (double)p->m * (double)p->n * (double)p->k;

    return work < SHARED_WORK ? 1 : host->n_threads;
}

/* Squares on the diagonal that are computed whole, measured by `make
 * bench-host`: smaller ones save work, larger ones calls.  Blocks begin at
 * multiples of a line. */
enum { DIAGONAL = 192, LINE = 32 };

static const void *bf16_at(const void *data, size_t element)
{
    return (const czr_bf16 *)data + element;
}

/* Rows [row, row + m) and columns likewise of a product. */
static czr_gemm block_of(const czr_gemm *all, size_t row, size_t m,
                         size_t column, size_t n)
{
    czr_gemm block = *all;

    block.m = m;
    block.n = n;
    block.c += row * all->c_stride + column;
    block.a.data =
        bf16_at(all->a.data, row * (all->a.is_transposed ? 1 : all->a.stride));
    block.b.data = bf16_at(all->b.data,
                           column * (all->b.is_transposed ? all->b.stride : 1));
    return block;
}

/* The triangle from row and column `first` on: two of half the size, and the
 * square below them. */
static bool multiply_triangle(const czr_gemm *all, size_t first, size_t n,
                              int n_threads)
{
    const size_t half = (n / 2 + LINE - 1) / LINE * LINE;
    czr_gemm block;

    if (n <= DIAGONAL) {
        block = block_of(all, first, n, first, n);
        return czr_library_bf16(&block, n_threads);
    }
    block = block_of(all, first + half, n - half, first, half);
    return czr_library_bf16(&block, n_threads) &&
           multiply_triangle(all, first, half, n_threads) &&
           multiply_triangle(all, first + half, n - half, n_threads);
}

static bool multiply_bf16(const czr_product *p, int n_threads)
{
    czr_gemm gemm = gemm_of(p);

    if (!is_own_square(p))
        return czr_library_bf16(&gemm, n_threads);
    gemm.b.is_transposed = !gemm.a.is_transposed; /* a symmetric x: faster */
    if (!multiply_triangle(&gemm, 0, p->n, n_threads))
        return false;
    czr_mirror_lower(p->c, p->n);
    return true;
}

static void add_block(const czr_product *p, const czr_host_math *math,
                      const czr_block *block)
{
    const czr_gemm gemm = {.m = block->n_rows,
                           .n = block->n_columns,
                           .k = block->n_depth,
                           .a = {math->packed_a, CZR_BLOCK_DEPTH, false},
                           .b = {math->packed_b, CZR_BLOCK_COLUMNS, false},
                           .c = block->c,
                           .c_stride = block->stride};

    (void)p;
    czr_library_sgemm(&gemm, 1);
}

/* Where nothing multiplies bf16: block by block in f32. */
static void multiply_blocks(const czr_host_math *host, const czr_product *p)
{
    czr_product_blocks(host, p, add_block);
    if (p->symmetric)
        czr_mirror_lower(p->c, p->n);
}

void czr_product_library(const czr_math *math, const czr_product *p)
{
    const czr_host_math *host = (const czr_host_math *)math;
    const int n_bf16 = (p->a_dtype == CZR_BF16) + (p->b_dtype == CZR_BF16);

    if (!p->m || !p->n || !p->k || !czr_library_has_cblas())
        czr_product_fixed_order(math, p);
    else if (n_bf16 == 0)
        multiply_f32(p);
    else if (n_bf16 == 1 || !multiply_bf16(p, threads_for(host, p)))
        multiply_blocks(host, p);
}
