/* LAPACK's ssyevd in its three steps: tridiagonal form, divide and conquer, and
 * vectors turned back.  The last is n / BLOCK pairs of products here, by
 * whatever multiplies best; LAPACK makes triangular products and copies of
 * them, and those by a BLAS that may know the CPU less well. */
#include "runtime/math/eigh.h"

#include "runtime/math/library.h"

#include <math.h>

enum { BLOCK = 32, SMALLEST = 128 };
_Static_assert(SMALLEST *(SMALLEST + 4) >= 3 * BLOCK * SMALLEST + BLOCK * BLOCK,
               "blocks fit where divide and conquer has worked");

/* Reflectors [first, first + n_block) of those that made the form: 1 - V' T V,
 * rows of V of n_columns numbers. */
typedef struct block {
    size_t first, n_block, n_columns;
    float *v;      /* [n_block, n_columns] */
    float *t;      /* [n_block, n_block] */
    float *scaled; /* t' v */
    float *turned; /* [n, n_block] */
} block;

/* Rows of x become what the block's reflectors make of them. */
static void reflect(const block *b, size_t n, float *x)
{
    const size_t k = b->n_block, m = b->n_columns;

    czr_library_sgemm(&(czr_gemm){.m = k,
                                  .n = m,
                                  .k = k,
                                  .a = {b->t, k, false},
                                  .b = {b->v, m, false},
                                  .c = b->scaled,
                                  .c_stride = m,
                                  .alpha = 1});
    czr_library_sgemm(&(czr_gemm){.m = n,
                                  .n = k,
                                  .k = m,
                                  .a = {x, n, false},
                                  .b = {b->v, m, true},
                                  .c = b->turned,
                                  .c_stride = k,
                                  .alpha = 1});
    czr_library_sgemm(&(czr_gemm){.m = n,
                                  .n = m,
                                  .k = k,
                                  .a = {b->turned, k, false},
                                  .b = {b->scaled, m, false},
                                  .c = x,
                                  .c_stride = n,
                                  .alpha = -1,
                                  .beta = 1});
}

/* LAPACK scales matrices of other sizes before it begins. */
static bool is_moderate(size_t n, const float *a)
{
    float most = 0;

    for (size_t i = 0; i < n * n; i++)
        most = fmaxf(most, fabsf(a[i]));
    return most > 0x1p-50F && most < 0x1p50F;
}

bool czr_eigh_f32(size_t n, float *a, float *values, float *work, size_t n_work,
                  int *integers, size_t n_integers)
{
    if (n < SMALLEST || !czr_library_has_cblas() || !is_moderate(n, a))
        return czr_library_eigh_f32(n, a, values, work, n_work, integers,
                                    n_integers);
    float *vectors = work, *tau = vectors + n * n, *beside = tau + n;
    float *rest = beside + n;
    const size_t n_rest = n_work - n * n - 2 * n;

    czr_library_tridiagonal(n, a, values, beside, tau, rest, n_rest);
    if (!czr_library_tridiagonal_eigh(n, values, beside, vectors, rest, n_rest,
                                      integers, n_integers))
        return false;
    /* The n - 1 reflectors in `a`, first to last; work: 3 BLOCK n + BLOCK^2. */
    for (size_t first = 0; first + 1 < n; first += BLOCK) {
        const size_t left = n - 1 - first, k = left < BLOCK ? left : BLOCK;
        const block b = {.first = first,
                         .n_block = k,
                         .n_columns = first + k,
                         .v = rest,
                         .scaled = rest + n * BLOCK,
                         .turned = rest + 2 * n * BLOCK,
                         .t = rest + 3 * n * BLOCK};
        /* Reflector i has 1 at i, and zeros behind it. */
        for (size_t j = 0; j < b.n_block; j++) {
            const size_t i = b.first + j;
            float *row = b.v + j * b.n_columns;
            memcpy(row, a + (i + 1) * n, i * sizeof *row);
            row[i] = 1;
            memset(row + i + 1, 0, (b.n_columns - i - 1) * sizeof *row);
        }
        czr_library_reflectors(b.n_columns, k, b.v, tau + first, b.t);
        reflect(&b, n, vectors);
    }
    memcpy(a, vectors, n * n * sizeof *a);
    return true;
}
