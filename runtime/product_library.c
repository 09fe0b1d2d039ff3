/* Products by libraries.  Of a symmetric one they compute the lower triangle,
 * by a routine made for it or block by block, and the rest is mirrored. */
#include "runtime/library.h"
#include "runtime/product.h"

static czr_operand operand_of(const void *data, int transposed, size_t rows,
                              size_t columns)
{
    return (czr_operand){data, transposed ? rows : columns, transposed != 0};
}

/* The product alone, into c. */
static czr_gemm gemm_of(const czr_product *p)
{
    return (czr_gemm){.m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .a = operand_of(p->a, p->transpose_a, p->m, p->k),
                      .b = operand_of(p->b, p->transpose_b, p->k, p->n),
                      .c = p->c,
                      .c_stride = p->n,
                      .alpha = 1};
}

/* Whether the result may be written while operands are read. */
static bool is_apart(const czr_product *p)
{
    return p->out && p->out != p->a && p->out != p->b;
}

/* Whether c = x @ x': where both are x as it is, it is symmetric itself. */
static bool is_own_square(const czr_product *p)
{
    return p->symmetric && p->a == p->b;
}

static void multiply_f32(const czr_product *p)
{
    const bool is_direct = is_apart(p) && p->out_dtype == CZR_F32;
    czr_gemm gemm = gemm_of(p);

    if (is_direct) {
        gemm.c = p->out;
        gemm.alpha = p->alpha;
        gemm.beta = p->addend ? 1 : 0;
        if (p->addend)
            czr_product_preload(p);
    }
    if (is_own_square(p)) {
        czr_library_ssyrk(&gemm);
        czr_mirror_lower(gemm.c, CZR_F32, p->n);
    } else {
        czr_library_sgemm(&gemm);
    }
    if (p->out && !is_direct)
        czr_product_finish(p);
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

/* Squares on the diagonal that are computed whole: smaller ones save work,
 * larger ones calls; bench/host.md has what was measured.  Blocks begin at
 * multiples of a line. */
enum { DIAGONAL = 192, LINE = 32 };

typedef struct bf16_product {
    czr_gemm all;
    czr_dtype c_dtype;
    const czr_bf16 *addend; /* to be copied to c first, laid out like it */
    int n_threads;
} bf16_product;

static const void *bf16_at(const void *data, size_t element)
{
    return (const czr_bf16 *)data + element;
}

/* Rows [row, row + m) and columns likewise of a product. */
static czr_gemm block_of(const bf16_product *self, size_t row, size_t m,
                         size_t column, size_t n)
{
    const czr_gemm *all = &self->all;
    czr_gemm block = *all;

    block.m = m;
    block.n = n;
    block.c = (char *)all->c +
              (row * all->c_stride + column) * czr_dtype_bytes(self->c_dtype);
    block.a.data =
        bf16_at(all->a.data, row * (all->a.is_transposed ? 1 : all->a.stride));
    block.b.data = bf16_at(all->b.data,
                           column * (all->b.is_transposed ? all->b.stride : 1));
    return block;
}

static bool multiply_block(const bf16_product *self, size_t row, size_t m,
                           size_t column, size_t n)
{
    const czr_gemm block = block_of(self, row, m, column, n);
    const size_t stride = block.c_stride;

    for (size_t i = 0; self->addend && i < m; i++)
        memcpy((czr_bf16 *)block.c + i * stride,
               self->addend + (row + i) * stride + column,
               n * sizeof(czr_bf16));
    return czr_library_bf16(&block, self->c_dtype, self->n_threads);
}

/* The triangle from row and column `first` on: two of half the size, and the
 * square below them. */
static bool multiply_triangle(const bf16_product *self, size_t first, size_t n)
{
    const size_t half = (n / 2 + LINE - 1) / LINE * LINE;

    if (n <= DIAGONAL)
        return multiply_block(self, first, n, first, n);
    return multiply_block(self, first + half, n - half, first, half) &&
           multiply_triangle(self, first, half) &&
           multiply_triangle(self, first + half, n - half);
}

/* Whether oneDNN may round and scale: its addend has the type of the result,
 * and lies elsewhere, so that it is there still if oneDNN fails. */
static bool rounds_itself(const czr_product *p)
{
    return is_apart(p) && p->out_dtype == CZR_BF16 &&
           (!p->addend || (p->addend_dtype == CZR_BF16 && p->addend != p->out));
}

static bool multiply_bf16(const czr_product *p, int n_threads)
{
    const bool is_direct = rounds_itself(p), is_square = is_own_square(p);
    bf16_product self = {gemm_of(p), CZR_F32, NULL, n_threads};

    if (is_direct) {
        self.all.c = p->out;
        self.all.alpha = p->alpha;
        self.all.beta = p->addend ? p->beta : 0;
        self.addend = p->addend;
        self.c_dtype = CZR_BF16;
    }
    if (is_square) /* a symmetric x may be transposed, which is faster */
        self.all.b.is_transposed = !self.all.a.is_transposed;
    if (!(is_square ? multiply_triangle(&self, 0, p->n)
                    : multiply_block(&self, 0, p->m, 0, p->n)))
        return false;
    if (is_square)
        czr_mirror_lower(self.all.c, self.c_dtype, p->n);
    if (p->out && !is_direct)
        czr_product_finish(p);
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
                           .c_stride = block->stride,
                           .alpha = 1,
                           .beta = 1};

    (void)p;
    czr_library_sgemm(&gemm);
}

/* Where nothing multiplies bf16: block by block in f32. */
static void multiply_blocks(const czr_host_math *host, const czr_product *p)
{
    czr_product_blocks(host, p, add_block);
    if (p->symmetric)
        czr_mirror_lower(p->c, CZR_F32, p->n);
    if (p->out)
        czr_product_finish(p);
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
