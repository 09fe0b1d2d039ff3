/* Products by libraries.  Of a symmetric one they compute the lower triangle,
 * by a routine made for it or strip by strip, and the rest is mirrored. */
#include "runtime/math/library.h"
#include "runtime/math/product.h"

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

/* Whether c = x @ x': where both are x as it is, it is symmetric itself. */
static bool is_own_square(const czr_product *p)
{
    return p->symmetric && p->a == p->b;
}

/* Below this many multiplications, waking threads and having them spin costs
 * more than they save. */
static const double SHARED_WORK = 1e8;

static int threads_for(const czr_host_math *math, size_t m, size_t n, size_t k)
{
    return (double)m * (double)n * (double)k < SHARED_WORK ? 1
                                                           : math->n_threads;
}

/* Whether one thread makes a symmetric product of f32. */
static bool is_syrk_f32(const czr_host_math *math, const czr_product *p)
{
    return math->panels && p->symmetric &&
           threads_for(math, p->m, p->n, p->k) == 1;
}

static void make_syrk_f32(const czr_host_math *math, const czr_product *p)
{
    czr_product with = *p;

    if (p->out && p->addend && p->addend_dtype != CZR_F32) {
        czr_product_preload(p);
        with.addend = p->out;
        with.addend_dtype = CZR_F32;
        with.beta = 1;
    }
    czr_product_syrk_f32(math, &with);
}

/* Into the result itself, which holds what is to be added before. */
static void multiply_f32(const czr_host_math *math, const czr_product *p)
{
    czr_gemm gemm = gemm_of(p);

    if (is_syrk_f32(math, p)) {
        make_syrk_f32(math, p);
        return;
    }
    if (p->out) {
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
}

/* ---- strip by strip ---- */

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

static bool multiply_bf16(const czr_host_math *math, const czr_gemm *gemm,
                          czr_dtype c_dtype)
{
    return czr_library_bf16(gemm, c_dtype,
                            threads_for(math, gemm->m, gemm->n, gemm->k));
}

/* Whether oneDNN may scale, add and round: what is added has the type of the
 * result, and lies elsewhere, so that it is there still if oneDNN fails.  Not
 * where half of the result is enough. */
static bool rounds_itself(const czr_product *p)
{
    return p->out && p->out_dtype != CZR_F16 && !is_own_square(p) &&
           (!p->addend ||
            (p->addend_dtype == p->out_dtype && p->addend != p->out));
}

/* What is to be added, to where oneDNN adds: a share of it by each thread. */
typedef struct copy {
    char *to;
    const char *from;
    size_t bytes, each;
} copy;

static void copy_share(void *user, int thread)
{
    const copy *c = user;
    const size_t first = (size_t)thread * c->each;

    if (first < c->bytes)
        memcpy(c->to + first, c->from + first,
               c->bytes - first < c->each ? c->bytes - first : c->each);
}

static void copy_addend(const czr_host_math *math, const czr_product *p)
{
    const int n_threads =
        czr_library_has_threads() ? threads_for(math, p->m, p->n, p->k) : 1;
    const size_t bytes = p->m * p->n * czr_dtype_bytes(p->out_dtype);
    copy all = {p->out, p->addend, bytes, bytes / (size_t)n_threads + 1};

    if (n_threads > 1)
        czr_library_run_threads(n_threads, copy_share, &all);
    else
        copy_share(&all, 0);
}

static bool multiply_directly(const czr_host_math *math, const czr_product *p)
{
    czr_gemm gemm = gemm_of(p);

    if (!rounds_itself(p))
        return false;
    gemm.c = p->out;
    gemm.alpha = p->alpha;
    gemm.beta = p->addend ? p->beta : 0;
    if (p->addend)
        copy_addend(math, p);
    return multiply_bf16(math, &gemm, p->out_dtype);
}

static bool has_operands(const czr_product *p, czr_dtype dtype)
{
    return p->a_dtype == dtype && p->b_dtype == dtype;
}

/* Whether threads of ours make x @ x' of bf16. */
static bool is_syrk(const czr_host_math *math, const czr_product *p)
{
    return math->pairs && is_own_square(p) && has_operands(p, CZR_BF16) &&
           threads_for(math, p->m, p->n, p->k) <= math->n_syrk;
}

/* Where nothing multiplies bf16: block by block in f32. */
static void make_rows(const czr_host_math *math, const czr_product *p,
                      const czr_rows *rows)
{
    /* op(a) from a row on; op(b) up to a column.  Where both are one symmetric
     * matrix its transpose will do, of which fewer columns are contiguous. */
    czr_gemm gemm = gemm_of(p);
    const size_t step = gemm.a.is_transposed ? 1 : gemm.a.stride;
    const size_t bytes = rows->first * step * czr_dtype_bytes(p->a_dtype);

    gemm.m = rows->n_rows;
    gemm.n = rows->n_columns;
    gemm.a.data = (const char *)p->a + bytes;
    if (is_own_square(p))
        gemm.b.is_transposed = !gemm.a.is_transposed;
    gemm.c = rows->c;
    gemm.c_stride = rows->stride;

    if (is_syrk(math, p))
        czr_product_syrk(math, p, rows);
    else if (has_operands(p, CZR_F32))
        czr_library_sgemm(&gemm);
    else if (!has_operands(p, CZR_BF16) || !multiply_bf16(math, &gemm, CZR_F32))
        czr_product_blocks(math, p, rows, add_block);
}

void czr_product_library(const czr_math *math, const czr_product *p)
{
    const czr_host_math *host = (const czr_host_math *)math;

    if (!p->m || !p->n || !p->k || !czr_library_has_cblas())
        czr_product_fixed_order(math, p);
    else if (has_operands(p, CZR_F32) && (!p->out || p->out_dtype == CZR_F32))
        multiply_f32(host, p);
    else if (!has_operands(p, CZR_BF16) || !multiply_directly(host, p))
        czr_product_by_strips(
            host, p, is_syrk(host, p) ? threads_for(host, p->m, p->n, p->k) : 1,
            make_rows);
}
