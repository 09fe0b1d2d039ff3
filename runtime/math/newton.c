/* The coupled inverse Newton iteration, and its matrices on the host: products
 * by the host's routine and by a BLAS, all else element by element in f64. */
#include "runtime/math/newton.h"

#include "runtime/math/library.h"

#include <math.h>

/* ---- the iteration ------------------------------------------------------ */

/* Matrices are functions of one symmetric matrix, so they commute and are
 * symmetric.  *a <- b @ *a, whose place is another then. */
static void multiply(czr_newton *it, const void *b, void **a)
{
    void *const product = it->other;

    it->calls->multiply(it, b, *a, product);
    it->other = *a;
    *a = product;
}

static void step(czr_newton *it)
{
    it->calls->mirror_step(it);
    multiply(it, it->t, &it->x);
    for (int left = it->k; left > 0; left /= 2) {
        if (left % 2)
            multiply(it, it->t, &it->m);
        if (left > 1)
            multiply(it, it->t, &it->t);
    }
}

czr_status czr_newton_iterate(czr_newton *it, const czr_factor *f, double norm)
{
    const int k = it->k = (int)(0.5 - 1 / f->parameters[0]);
    const double z = (k + 1) / (2 * norm), tolerance = f->parameters[2];
    double off;
    int left = (int)f->parameters[3];

    it->calls->start(it, z, pow(z, 1.0 / k));
    for (off = it->calls->distance(it); off > tolerance && left > 0; left--) {
        const double before = off;
        step(it);
        off = it->calls->distance(it);
        if (off > k + 2)
            return CZR_ERR_NOT_POSITIVE;
        /* But for rounding a step makes it at most n times its square, here
         * at most half: no other will come nearer. */
        if (off >= before && 2 * (double)f->n * before <= 1)
            break;
    }
    return off <= tolerance && it->calls->take(it) ? CZR_OK
                                                   : CZR_ERR_NO_CONVERGENCE;
}

/* One after the other, so that a sum of squares that are not representable in
 * f32 is one here. */
double czr_newton_norm(const czr_factor *f)
{
    double sum = 0;

    for (size_t i = 0; i < f->n * f->n; i++) {
        const double x =
            (double)f->a[i] + (i % (f->n + 1) == 0 ? f->parameters[1] : 0);
        sum += x * x;
    }
    return sqrt(sum);
}

czr_status czr_newton_check_norm(double norm)
{
    if (!isfinite(norm))
        return CZR_ERR_NOT_FINITE;
    return norm == 0 ? CZR_ERR_NOT_POSITIVE : CZR_OK;
}

/* ---- on the host -------------------------------------------------------- */

typedef struct iteration {
    czr_newton newton;
    const czr_math *math;
    const czr_factor *f;
    bool is_wide; /* f64 */
} iteration;

static iteration *host_of(czr_newton *it)
{
    return (iteration *)it;
}

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

static bool is_diagonal(const iteration *it, size_t i)
{
    return i % (it->f->n + 1) == 0;
}

static void start(czr_newton *newton, double z, double root)
{
    const iteration *it = host_of(newton);
    const czr_factor *f = it->f;

    for (size_t i = 0; i < f->n * f->n; i++) {
        const double shift = is_diagonal(it, i) ? f->parameters[1] : 0;
        put(it, newton->m, i, z * ((double)f->a[i] + shift));
        put(it, newton->x, i, is_diagonal(it, i) ? root : 0);
    }
}

static void turn(czr_newton *newton)
{
    const iteration *it = host_of(newton);
    const double k = newton->k;

    for (size_t i = 0; i < it->f->n * it->f->n; i++)
        put(it, newton->t, i,
            ((is_diagonal(it, i) ? k + 1 : 0) - get(it, newton->m, i)) / k);
}

static void multiply_on_host(czr_newton *newton, const void *b, const void *a,
                             void *product)
{
    const iteration *it = host_of(newton);
    const size_t n = it->f->n;

    if (it->is_wide)
        czr_library_multiply_f64(n, b, a, product);
    else
        it->math->product(it->math, &(czr_product){.m = n,
                                                   .n = n,
                                                   .k = n,
                                                   .a = b,
                                                   .b = a,
                                                   .c = product,
                                                   .a_dtype = CZR_F32,
                                                   .b_dtype = CZR_F32,
                                                   .symmetric = 1});
}

static double distance(czr_newton *newton)
{
    const iteration *it = host_of(newton);
    double most = 0;

    for (size_t i = 0; i < it->f->n * it->f->n; i++) {
        const double off =
            fabs(get(it, newton->m, i) - (is_diagonal(it, i) ? 1 : 0));
        if (!(off <= most))
            most = isnan(off) ? (double)INFINITY : off;
    }
    return most;
}

static bool take(czr_newton *newton)
{
    const iteration *it = host_of(newton);
    const size_t n = it->f->n;
    float *out = it->f->out[0];
    bool is_finite = true;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            const float x = (float)get(it, newton->x, i * n + j);
            is_finite &= isfinite(x) != 0;
            out[i * n + j] = out[j * n + i] = x;
        }
    return is_finite;
}

static czr_status try_in(const czr_math *math, const czr_factor *f, double norm,
                         bool is_wide)
{
    static const czr_newton_calls calls = {start, turn, multiply_on_host,
                                           distance, take};
    const size_t bytes =
        f->n * f->n * (is_wide ? sizeof(double) : sizeof(float));
    iteration it = {.newton = {.calls = &calls,
                               .x = f->work,
                               .m = f->work + bytes,
                               .t = f->work + 2 * bytes,
                               .other = f->work + 3 * bytes},
                    .math = math,
                    .f = f,
                    .is_wide = is_wide};

    return czr_newton_iterate(&it.newton, f, norm);
}

czr_status czr_newton_root(const czr_math *math, const czr_factor *factor)
{
    const size_t n = factor->n;

    if (factor->work_bytes < CZR_NEWTON_N_MATRICES * n * n * sizeof(double))
        return CZR_ERR_ARGUMENT;
    const double norm = czr_newton_norm(factor);
    const czr_status status = czr_newton_check_norm(norm);
    if (status != CZR_OK || try_in(math, factor, norm, false) == CZR_OK)
        return status;
    return try_in(math, factor, norm, true);
}
