/* The interpreter's factorisations, in float64 by algorithms of its own: cyclic
 * Jacobi, Householder reflections, plain Cholesky and substitution (Golub and
 * Van Loan, Matrix Computations, 4th ed., 8.5, 5.2, 4.2, 3.1).  What has no
 * result is NaN. */
#include "dsl/reference/internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MOST_SWEEPS = 60 };

static void fill(double *out, int64_t n, double value)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = value;
}

/* ---- eigenvalues ---- */

typedef struct rotation {
    int64_t p, q;
    double c, s;
} rotation;

static void rotate_columns(double *a, int64_t n, const rotation *r)
{
    for (int64_t k = 0; k < n; k++) {
        const double x = a[k * n + r->p], y = a[k * n + r->q];
        a[k * n + r->p] = r->c * x - r->s * y;
        a[k * n + r->q] = r->s * x + r->c * y;
    }
}

/* Whether the element counts beside the diagonal; NaN does not. */
static bool is_large(const double *a, int64_t n, int64_t p, int64_t q)
{
    const double scale = sqrt(fabs(a[p * n + p])) * sqrt(fabs(a[q * n + q]));

    return fabs(a[p * n + q]) > 1e-17 * scale && fabs(a[p * n + q]) > 1e-300;
}

/* One sweep over the pairs; false when nothing was left to do. */
static bool sweep(double *a, double *vectors, int64_t n)
{
    bool changed = false;

    for (int64_t p = 0; p < n; p++)
        for (int64_t q = p + 1; q < n; q++) {
            if (!is_large(a, n, p, q))
                continue;
            /* The rotation that makes a[p][q] zero, by the smaller of two
             * angles. */
            const double theta =
                (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
            const double t =
                copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1));
            const double c = 1 / sqrt(t * t + 1);

            const rotation r = (rotation){p, q, c, t * c};
            for (int64_t k = 0; k < n; k++) {
                const double x = a[r.p * n + k], y = a[r.q * n + k];
                a[r.p * n + k] = r.c * x - r.s * y;
                a[r.q * n + k] = r.s * x + r.c * y;
            }
            rotate_columns(a, n, &r);
            rotate_columns(vectors, n, &r);
            a[p * n + q] = a[q * n + p] = 0;
            changed = true;
        }
    return changed;
}

static void run_eigh(cz_arena *arena, const double *in, int64_t n,
                     double *values, double *vectors)
{
    double *a = CZ_NEW(arena, double, n *n);

    memcpy(a, in, (size_t)(n * n) * sizeof *a);
    memset(vectors, 0, (size_t)(n * n) * sizeof *vectors);
    for (int64_t i = 0; i < n; i++)
        vectors[i * n + i] = 1.0;
    for (int i = 0; i < MOST_SWEEPS && sweep(a, vectors, n); i++)
        ;
    /* The diagonal of `a` and the columns of `vectors`, ascending. */
    for (int64_t i = 0; i < n; i++) {
        int64_t least = i;
        for (int64_t k = i + 1; k < n; k++)
            if (a[k * n + k] < a[least * n + least])
                least = k;
        const double value = a[i * n + i];
        a[i * n + i] = a[least * n + least];
        a[least * n + least] = value;
        for (int64_t k = 0; least != i && k < n; k++) {
            const double x = vectors[k * n + i];
            vectors[k * n + i] = vectors[k * n + least];
            vectors[k * n + least] = x;
        }
    }
    for (int64_t i = 0; i < n; i++)
        values[i] = a[i * n + i];
}

/* ---- roots ---- */

/* `lifts`: a least eigenvalue below 0 becomes 0 before the shift.  The result
 * is symmetric bit by bit, as IR promises. */
static void run_root(cz_arena *arena, const double *in, int64_t n, bool lifts,
                     const double *parameters, double *out)
{
    double *w = CZ_NEW(arena, double, n);
    double *q = CZ_NEW(arena, double, n *n);
    double *scaled = CZ_NEW(arena, double, n *n);
    double *turned = CZ_NEW(arena, double, n *n);

    run_eigh(arena, in, n, w, q);
    const double low = lifts && w[0] < 0 ? w[0] : 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            scaled[i * n + k] =
                q[i * n + k] * pow(w[k] - low + parameters[1], parameters[0]);
    cz_reference_transpose(q, turned, n, n);
    cz_reference_matmul(scaled, turned, out, n, n, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = i + 1; k < n; k++)
            out[i * n + k] = out[k * n + i];
}

/* ---- qr ---- */

/* x - 2 v (v'x) / (v'v) in columns [first, columns) of rows [from, m). */
static void reflect(double *a, int64_t m, int64_t columns, int64_t first,
                    int64_t from, const double *v)
{
    double square = 0;

    for (int64_t i = from; i < m; i++)
        square += v[i] * v[i];
    for (int64_t j = first; square > 0 && j < columns; j++) {
        double dot = 0;
        for (int64_t i = from; i < m; i++)
            dot += v[i] * a[i * columns + j];
        for (int64_t i = from; i < m; i++)
            a[i * columns + j] -= 2 * dot / square * v[i];
    }
}

/* The vector whose reflection leaves nothing of column k below row k. */
static void find_reflector(const double *a, int64_t m, int64_t n, int64_t k,
                           double *v)
{
    double norm = 0;

    for (int64_t i = k; i < m; i++) {
        v[i] = a[i * n + k];
        norm = hypot(norm, v[i]);
    }
    v[k] += copysign(norm, v[k]);
}

static void run_qr(cz_arena *arena, const double *in, int64_t m, int64_t n,
                   double *q, double *r)
{
    const int64_t s = m < n ? m : n;
    double *a = CZ_NEW(arena, double, m *n);
    double *v = CZ_NEW(arena, double, s *m);

    memcpy(a, in, (size_t)(m * n) * sizeof *a);
    for (int64_t k = 0; k < s; k++) {
        find_reflector(a, m, n, k, v + k * m);
        reflect(a, m, n, k, k, v + k * m);
    }
    for (int64_t i = 0; i < s; i++)
        for (int64_t j = 0; j < n; j++)
            r[i * n + j] = j < i ? 0 : a[i * n + j];
    for (int64_t i = 0; i < m * s; i++)
        q[i] = i / s == i % s;
    for (int64_t k = s - 1; k >= 0; k--)
        reflect(q, m, s, 0, k, v + k * m);
    for (int64_t i = 0; i < s; i++) {
        const double sign = r[i * n + i] < 0 ? -1 : 1;
        for (int64_t j = i; j < n; j++)
            r[i * n + j] *= sign;
        for (int64_t k = 0; k < m; k++)
            q[k * s + i] *= sign;
    }
}

/* ---- triangles ---- */

static void run_cholesky(const double *a, int64_t n, double *l)
{
    memset(l, 0, (size_t)(n * n) * sizeof *l);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            double sum = a[i * n + j];
            for (int64_t k = 0; k < j; k++)
                sum -= l[i * n + k] * l[j * n + k];
            if (i == j && !(sum > 0)) {
                fill(l, n * n, NAN);
                return;
            }
            l[i * n + j] = i == j ? sqrt(sum) : sum / l[j * n + j];
        }
}

/* Element (i, j) of the triangle as it is solved with. */
static double element(const double *a, int64_t n, bool is_transposed, int64_t i,
                      int64_t j)
{
    return is_transposed ? a[j * n + i] : a[i * n + j];
}

/* Rows of x one after the other, from the first or from the last one. */
static void run_solve(const double *a, const double *b,
                      const cz_factor_size *size, bool is_transposed,
                      bool from_last, double *x)
{
    const int64_t n = size->n, columns = size->k;

    for (int64_t step = 0; step < n; step++) {
        const int64_t i = from_last ? n - 1 - step : step;
        for (int64_t c = 0; c < columns; c++) {
            double sum = b[i * columns + c];
            for (int64_t before = 0; before < step; before++) {
                const int64_t j = from_last ? n - 1 - before : before;
                sum -= element(a, n, is_transposed, i, j) * x[j * columns + c];
            }
            x[i * columns + c] = sum / a[i * n + i];
        }
    }
}

/* ---- all ---- */

void cz_reference_factor(cz_factor factor, const cz_factor_size *size,
                         const double *parameters, const double *const *in,
                         double *const *out)
{
    cz_arena arena;

    cz_arena_init(&arena);
    switch (factor) {
    case CZ_FACTOR_EIGH:
        run_eigh(&arena, in[0], size->n, out[0], out[1]);
        break;
    case CZ_FACTOR_QR:
        run_qr(&arena, in[0], size->m, size->n, out[0], out[1]);
        break;
    case CZ_FACTOR_CHOLESKY:
        run_cholesky(in[0], size->n, out[0]);
        break;
    case CZ_FACTOR_SOLVE_LOWER:
        run_solve(in[0], in[1], size, false, false, out[0]);
        break;
    case CZ_FACTOR_SOLVE_LOWER_T:
        run_solve(in[0], in[1], size, true, true, out[0]);
        break;
    case CZ_FACTOR_SOLVE_UPPER:
        run_solve(in[0], in[1], size, false, true, out[0]);
        break;
    case CZ_FACTOR_SOLVE_UPPER_T:
        run_solve(in[0], in[1], size, true, false, out[0]);
        break;
    case CZ_FACTOR_ROOT:
    case CZ_FACTOR_NEWTON_ROOT:
        run_root(&arena, in[0], size->n, factor == CZ_FACTOR_ROOT, parameters,
                 out[0]);
        break;
    case CZ_FACTOR_NONE:
    case CZ_N_FACTORS:
        assert(!"a factorisation");
        break;
    }
    cz_arena_fini(&arena);
}
