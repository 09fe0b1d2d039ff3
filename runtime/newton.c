/* The coupled inverse Newton iteration, in f32 and, where that does not end, in
 * f64: products by the host's routine and by a BLAS, all else element by
 * element in f64. */
#include "runtime/newton.h"

#include "runtime/library.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

enum { N_MATRICES = 4 };

/* The matrices are functions of one symmetric matrix, so they commute and are
 * symmetric. */
typedef struct iteration {
    const czr_math *math;
    size_t n;
    int k;
    bool is_wide;            /* f64 */
    void *x, *m, *t, *other; /* [n, n]; the last is room for a product */
} iteration;

static double get(const iteration *it, const void *matrix, size_t i)
{
    return it->is_wide ? ((const double *)matrix)[i]
                       : (double)((const float *)matrix)[i];
}

static void put(const iteration *it, void *matrix, size_t i, double value)
{
    if (it->is_wide)
        ((double *)matrix)[i] = value;
    else
        ((float *)matrix)[i] = (float)value;
}

/* a <- b @ a for a whose place may change. */
static void multiply(iteration *it, const void *b, void **a)
{
    void *product = it->other;

    if (it->is_wide)
        czr_library_multiply_f64(it->n, b, *a, product);
    else
        it->math->product(it->math, &(czr_product){.m = it->n,
                                                   .n = it->n,
                                                   .k = it->n,
                                                   .a = b,
                                                   .b = *a,
                                                   .c = product,
                                                   .a_dtype = CZR_F32,
                                                   .b_dtype = CZR_F32,
                                                   .symmetric = 1});
    it->other = *a;
    *a = product;
}

/* Row by row: one after the other, so that a sum of squares that are not
 * representable in f32 is one here. */
static double norm_of(const czr_factor *f)
{
    double sum = 0;

    for (size_t i = 0; i < f->n * f->n; i++) {
        const double x =
            (double)f->a[i] + (i % (f->n + 1) == 0 ? f->parameters[1] : 0);
        sum += x * x;
    }
    return sqrt(sum);
}

static void start(iteration *it, const czr_factor *f, double norm)
{
    const double z = (it->k + 1) / (2 * norm), root = pow(z, 1.0 / it->k);

    for (size_t i = 0; i < f->n * f->n; i++) {
        const bool is_diagonal = i % (f->n + 1) == 0;
        const double shift = is_diagonal ? f->parameters[1] : 0;
        put(it, it->m, i, z * ((double)f->a[i] + shift));
        put(it, it->x, i, is_diagonal ? root : 0);
    }
}

/* The largest element of |M - I|, or infinity. */
static double distance(const iteration *it)
{
    double most = 0;

    for (size_t i = 0; i < it->n * it->n; i++) {
        const double off =
            fabs(get(it, it->m, i) - (i % (it->n + 1) == 0 ? 1 : 0));
        if (!(off <= most))
            most = isnan(off) ? (double)INFINITY : off;
    }
    return most;
}

static void step(iteration *it)
{
    const double k = it->k;

    for (size_t i = 0; i < it->n * it->n; i++)
        put(it, it->t, i,
            ((i % (it->n + 1) == 0 ? k + 1 : 0) - get(it, it->m, i)) / k);
    multiply(it, it->t, &it->x);
    for (int left = it->k; left > 0; left /= 2) {
        if (left % 2)
            multiply(it, it->t, &it->m);
        if (left > 1)
            multiply(it, it->t, &it->t);
    }
}

/* Where f32 or f64 gets. */
static czr_status iterate(iteration *it, const czr_factor *f, double norm)
{
    const double tolerance = f->parameters[2];
    double off;
    int left = (int)f->parameters[3];

    start(it, f, norm);
    for (off = distance(it); off > tolerance && left > 0; left--) {
        step(it);
        off = distance(it);
        if (off > it->k + 2)
            return CZR_ERR_NOT_POSITIVE;
    }
    return off <= tolerance ? CZR_OK : CZR_ERR_NO_CONVERGENCE;
}

static iteration iteration_of(const czr_math *math, const czr_factor *f,
                              bool is_wide)
{
    const size_t bytes =
        f->n * f->n * (is_wide ? sizeof(double) : sizeof(float));

    return (iteration){.math = math,
                       .n = f->n,
                       .k = (int)(0.5 - 1 / f->parameters[0]),
                       .is_wide = is_wide,
                       .x = f->work,
                       .m = f->work + bytes,
                       .t = f->work + 2 * bytes,
                       .other = f->work + 3 * bytes};
}

/* Both halves of the result are the lower one of X. */
static bool take_result(const iteration *it, float *out)
{
    bool is_finite = true;

    for (size_t i = 0; i < it->n; i++)
        for (size_t j = 0; j <= i; j++) {
            const float x = (float)get(it, it->x, i * it->n + j);
            is_finite &= isfinite(x) != 0;
            out[i * it->n + j] = out[j * it->n + i] = x;
        }
    return is_finite;
}

static czr_status try_in(const czr_math *math, const czr_factor *f, double norm,
                         bool is_wide)
{
    iteration it = iteration_of(math, f, is_wide);
    const czr_status status = iterate(&it, f, norm);

    if (status != CZR_OK)
        return status;
    return take_result(&it, f->out[0]) ? CZR_OK : CZR_ERR_NO_CONVERGENCE;
}

czr_status czr_newton_root(const czr_math *math, const czr_factor *factor)
{
    const size_t n = factor->n;

    if (factor->work_bytes < N_MATRICES * n * n * sizeof(double))
        return CZR_ERR_ARGUMENT;
    const double norm = norm_of(factor);
    if (!isfinite(norm))
        return CZR_ERR_NOT_FINITE;
    if (norm == 0)
        return CZR_ERR_NOT_POSITIVE;
    if (try_in(math, factor, norm, false) == CZR_OK)
        return CZR_OK;
    return try_in(math, factor, norm, true);
}
