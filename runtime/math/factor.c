/* Factorisations: LAPACK's routines between checks of what goes in and out. */
#include "runtime/math/factor.h"

#include "runtime/math/eigh.h"
#include "runtime/math/library.h"
#include "runtime/math/newton.h"
#include "runtime/math/product.h"
#include "runtime/base/testing.h"

enum { ALIGN = 64, BLOCK = 64 }; /* LAPACK's blocks are not wider */

/* ---- workspace ---- */

typedef struct arena {
    unsigned char *next;
    size_t left;
    bool is_full;
} arena;

static arena arena_of(const czr_factor *f)
{
    return (arena){f->work, f->work_bytes, false};
}

static void *take(arena *a, size_t n, size_t size)
{
    const size_t bytes = (n * size + ALIGN - 1) / ALIGN * ALIGN;
    void *memory = a->next;

    if (a->is_full || bytes > a->left) {
        a->is_full = true;
        return NULL;
    }
    a->next += bytes;
    a->left -= bytes;
    return memory;
}

/* ---- checks ---- */

static bool is_finite(const float *x, size_t n)
{
    bool ok = true;

    for (size_t i = 0; i < n; i++)
        ok &= isfinite(x[i]) != 0;
    return ok;
}

/* ---- eigenvalues ---- */

static _Thread_local int n_failures; /* planted: calls that do not converge */

void czr_testing_fail_eigh(int n)
{
    n_failures = n;
}

static bool is_planted(void)
{
    return n_failures > 0 && n_failures--;
}

static void transpose(float *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            const float x = a[i * n + j];
            a[i * n + j] = a[j * n + i];
            a[j * n + i] = x;
        }
}

/* A root is the same whatever signs vectors have, and whichever of equal
 * eigenvalues; whoever asks for vectors gets those of LAPACK's routine. */
static bool eigh_f32(arena a, const czr_factor *f, float *values,
                     float *vectors)
{
    const size_t n = f->n;
    const size_t n_work = 1 + 6 * n + 2 * n * n, n_integers = 3 + 5 * n;
    float *work = take(&a, n_work, sizeof *work);
    int *integers = take(&a, n_integers, sizeof *integers);

    memcpy(vectors, f->a, n * n * sizeof *vectors);
    return (f->kind == CZR_FACTOR_ROOT ? czr_eigh_f32 : czr_library_eigh_f32)(
               n, vectors, values, work, n_work, integers, n_integers) &&
           !is_planted() && is_finite(values, n) && is_finite(vectors, n * n);
}

static bool eigh_f64(arena a, size_t n, const float *in, float *values,
                     float *vectors)
{
    double *wide = take(&a, n * n, sizeof *wide);
    double *wide_values = take(&a, n, sizeof *wide_values);
    double *work = take(&a, 3 * n, sizeof *work);

    for (size_t i = 0; i < n * n; i++)
        wide[i] = in[i];
    if (!czr_library_eigh_f64(n, wide, wide_values, work, 3 * n) ||
        is_planted())
        return false;
    for (size_t i = 0; i < n * n; i++)
        vectors[i] = (float)wide[i];
    for (size_t i = 0; i < n; i++)
        values[i] = (float)wide_values[i];
    return is_finite(values, n) && is_finite(vectors, n * n);
}

/* The most that either takes. */
static bool has_room(arena a, size_t n)
{
    return take(&a, 8 * n * n + 44 * n + 2 * (size_t)ALIGN, 1) != NULL;
}

/* Vectors in rows. */
static czr_status find_rows(arena a, const czr_factor *f, float *values,
                            float *vectors)
{
    if (!is_finite(f->a, f->n * f->n))
        return CZR_ERR_NOT_FINITE;
    if (!has_room(a, f->n))
        return CZR_ERR_ARGUMENT;
    return eigh_f32(a, f, values, vectors) ||
                   eigh_f64(a, f->n, f->a, values, vectors)
               ? CZR_OK
               : CZR_ERR_NO_CONVERGENCE;
}

static czr_status run_eigh(const czr_math *math, const czr_factor *f)
{
    const czr_status status = find_rows(arena_of(f), f, f->out[0], f->out[1]);

    (void)math;
    if (status == CZR_OK)
        transpose(f->out[1], f->n);
    return status;
}

/* ---- roots ---- */

/* What eigenvalue i becomes.  The least is taken away before eps is added,
 * which would else be lost beside it. */
static double lifted(const czr_factor *f, const float *values, size_t i)
{
    const double low = values[0] < 0 ? values[0] : 0;

    return (double)values[i] - low + f->parameters[1];
}

bool czr_factor_root_scales(const czr_factor *f, const float *values,
                            float *scales)
{
    const double least = values[0], most = values[f->n - 1];
    const double size = fabs(least) > fabs(most) ? fabs(least) : fabs(most);

    if (!(least >= -size * (double)f->n * 0x1p-22) ||
        !(lifted(f, values, 0) > 0))
        return false;
    for (size_t i = f->n; i-- > 0;)
        scales[i] = (float)pow(lifted(f, values, i), f->parameters[0] / 2);
    return true;
}

static czr_status run_root(const czr_math *math, const czr_factor *f)
{
    const size_t n = f->n;
    arena a = arena_of(f);
    float *vectors = take(&a, n * n, sizeof *vectors);
    float *values = take(&a, n, sizeof *values);

    if (a.is_full)
        return CZR_ERR_ARGUMENT;
    const czr_status status = find_rows(a, f, values, vectors);
    if (status != CZR_OK)
        return status;
    /* From the last to the first: each is read before it is replaced. */
    if (!czr_factor_root_scales(f, values, values))
        return CZR_ERR_NOT_POSITIVE;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            vectors[i * n + j] *= values[i];
    math->product(math, &(czr_product){.m = n,
                                       .n = n,
                                       .k = n,
                                       .a = vectors,
                                       .b = vectors,
                                       .c = f->out[0],
                                       .a_dtype = CZR_F32,
                                       .b_dtype = CZR_F32,
                                       .transpose_a = 1,
                                       .symmetric = 1});
    return CZR_OK;
}

/* ---- triangles ---- */

static czr_status run_cholesky(const czr_math *math, const czr_factor *f)
{
    const size_t n = f->n;
    float *l = f->out[0];

    (void)math;
    if (!is_finite(f->a, n * n))
        return CZR_ERR_NOT_FINITE;
    memcpy(l, f->a, n * n * sizeof *l);
    if (!czr_library_cholesky(n, l))
        return CZR_ERR_NOT_POSITIVE;
    for (size_t i = 0; i < n; i++)
        memset(l + i * n + i + 1, 0, (n - i - 1) * sizeof *l);
    return CZR_OK;
}

static czr_status run_solve(const czr_math *math, const czr_factor *f)
{
    const bool is_upper = f->kind == CZR_FACTOR_SOLVE_UPPER ||
                          f->kind == CZR_FACTOR_SOLVE_UPPER_T;
    const bool is_transposed = f->kind == CZR_FACTOR_SOLVE_LOWER_T ||
                               f->kind == CZR_FACTOR_SOLVE_UPPER_T;

    (void)math;
    if (!is_finite(f->a, f->n * f->n) || !is_finite(f->b, f->n * f->k))
        return CZR_ERR_NOT_FINITE;
    for (size_t i = 0; i < f->n; i++)
        if (f->a[i * f->n + i] == 0)
            return CZR_ERR_SINGULAR;
    memcpy(f->out[0], f->b, f->n * f->k * sizeof *f->b);
    czr_library_solve(f->n, f->k, f->a, is_upper, is_transposed, f->out[0]);
    return CZR_OK;
}

/* ---- qr ---- */

static czr_status run_qr(const czr_math *math, const czr_factor *f)
{
    const size_t s = f->m < f->n ? f->m : f->n, n_work = BLOCK * f->n;
    arena room = arena_of(f);
    float *a = take(&room, f->m * f->n, sizeof *a);
    float *tau = take(&room, s, sizeof *tau);
    float *signs = take(&room, s, sizeof *signs);
    float *work = take(&room, n_work, sizeof *work);

    (void)math;
    if (room.is_full)
        return CZR_ERR_ARGUMENT;
    if (!is_finite(f->a, f->m * f->n))
        return CZR_ERR_NOT_FINITE;
    memcpy(a, f->a, f->m * f->n * sizeof *a);
    czr_library_qr(f->m, f->n, a, tau, work, n_work);
    for (size_t i = 0; i < s; i++) {
        /* Row i of r, and the sign by which it was multiplied: so is column i
         * of q. */
        float *row = f->out[1] + i * f->n;
        const float sign = a[i * f->n + i] < 0 ? -1 : 1;

        memset(row, 0, i * sizeof *row);
        for (size_t j = i; j < f->n; j++)
            row[j] = sign * a[i * f->n + j];
        signs[i] = sign;
    }
    czr_library_qr_vectors(f->m, f->n, a, tau, work, n_work);
    for (size_t i = 0; i < s; i++) {
        const float sign = signs[i];
        for (size_t j = 0; j < f->m; j++)
            f->out[0][j * s + i] = sign * a[j * f->n + i];
    }
    return CZR_OK;
}

/* ---- all ---- */

czr_status czr_factor_host(const czr_math *math, const czr_factor *factor)
{
    static czr_status (*const routines[CZR_N_FACTORS])(const czr_math *,
                                                       const czr_factor *) = {
        [CZR_FACTOR_EIGH] = run_eigh,
        [CZR_FACTOR_QR] = run_qr,
        [CZR_FACTOR_CHOLESKY] = run_cholesky,
        [CZR_FACTOR_SOLVE_LOWER] = run_solve,
        [CZR_FACTOR_SOLVE_LOWER_T] = run_solve,
        [CZR_FACTOR_SOLVE_UPPER] = run_solve,
        [CZR_FACTOR_SOLVE_UPPER_T] = run_solve,
        [CZR_FACTOR_ROOT] = run_root,
        [CZR_FACTOR_NEWTON_ROOT] = czr_newton_root,
    };
    const czr_host_math *host = (const czr_host_math *)math;

    if (!czr_library_has_lapack())
        return CZR_ERR_NO_LIBRARY;
    if (host->partials)
        czr_library_set_threads(1);
    if (factor->work_bytes > 0) /* all of it counts as touched */
        ((unsigned char *)factor->work)[factor->work_bytes - 1] = 0;
    return routines[factor->kind](math, factor);
}
