/* States of a step: as they are, as bases, or as turned by these. */
#include "frontend/run/run.h"

#include "dsl/base/arena.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Spread in parts of a state from which on rounding decides what it is. */
#define UNSETTLED 0.1

static double norm_of(const double *x, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static double distance(const cz_run_state *s)
{
    double sum = 0;

    for (int64_t i = 0; i < s->rows * s->columns; i++)
        sum += (s->got[i] - s->want[i]) * (s->got[i] - s->want[i]);
    return sqrt(sum);
}

static bool is_near(const cz_run_state *s, double bound)
{
    return distance(s) <= bound * norm_of(s->want, s->rows * s->columns);
}

static bool is_symmetric(const cz_run_state *s, double bound)
{
    double sum = 0;

    for (int64_t i = 0; s->rows == s->columns && i < s->rows; i++)
        for (int64_t j = 0; j < i; j++) {
            const double off =
                s->want[i * s->columns + j] - s->want[j * s->columns + i];
            sum += off * off;
        }
    return s->rows == s->columns &&
           sqrt(sum) <= bound * norm_of(s->want, s->rows * s->columns);
}

/* (q' s q)[i][j], or (q' q)[i][j] without s. */
static double form(const double *q, const double *s, int64_t n, int64_t i,
                   int64_t j)
{
    double sum = 0;

    for (int64_t a = 0; a < n; a++) {
        double image = s ? 0 : q[a * n + j];
        for (int64_t b = 0; s && b < n; b++)
            image += s[a * n + b] * q[b * n + j];
        sum += q[a * n + i] * image;
    }
    return sum;
}

static bool is_orthonormal(const double *q, int64_t n, double bound)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            if (!(fabs(form(q, NULL, n, i, j) - (i == j)) <= bound))
                return false;
    return true;
}

/* The norm of what is beside the diagonal of q' s q. */
static double beside(const double *q, const double *s, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const double x = i == j ? 0 : form(q, s, n, i, j);
            sum += x * x;
        }
    return sqrt(sum);
}

static bool is_basis(const cz_run_state *states, int n, int k, double bound)
{
    const cz_run_state *q = &states[k];
    const int64_t size = q->rows;

    if (q->rows != q->columns || !is_orthonormal(q->got, size, bound) ||
        !is_orthonormal(q->want, size, bound))
        return false;
    for (int i = 0; i < n; i++) {
        const cz_run_state *s = &states[i];
        if (i == k || s->rows != size || !is_symmetric(s, bound))
            continue;
        const double ours = beside(q->got, s->want, size);
        const double theirs = beside(q->want, s->want, size);
        if (!(fabs(ours - theirs) <= bound * norm_of(s->want, size * size)))
            return false;
    }
    return true;
}

/* ---- powers below 0 ---- */

static void square(const double *a, int64_t n, double *out)
{
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++)
            for (int64_t j = 0; j < n; j++)
                out[i * n + j] += a[i * n + k] * a[k * n + j];
}

/* a^-4 of n x n; its condition too, in the Frobenius norm.  NULL: a is not
 * positive definite. */
static const double *fourth_inverse(cz_arena *arena, const double *a, int64_t n,
                                    double *condition)
{
    double *inverse = CZ_NEW(arena, double, n *n);
    double *squared = CZ_NEW(arena, double, n *n);

    memcpy(inverse, a, (size_t)(n * n) * sizeof *a);
    /* a [n, n] becomes its inverse, if it is symmetric and positive definite:
     * the pivots of Gauss and Jordan are positive then, and only then. */
    for (int64_t k = 0; k < n; k++) {
        const double pivot = inverse[k * n + k];
        if (!(pivot > 0))
            return NULL;
        inverse[k * n + k] = 1;
        for (int64_t j = 0; j < n; j++)
            inverse[k * n + j] /= pivot;
        for (int64_t i = 0; i < n; i++) {
            const double by = i == k ? 0 : inverse[i * n + k];
            inverse[i * n + k] = i == k ? inverse[i * n + k] : 0;
            for (int64_t j = 0; j < n; j++)
                inverse[i * n + j] -= by * inverse[k * n + j];
        }
    }
    *condition = norm_of(a, n * n) * norm_of(inverse, n * n);
    square(inverse, n, squared);
    square(squared, n, inverse);
    return inverse;
}

/* Whether a power below 0 of a matrix is that of one as good as the same.  A
 * root of a singular matrix is as large as rounding makes it, but that matrix
 * it gives back; f32 moves it by 2^-24 of its norm, its inverse by that times
 * the condition, and the fourth power by four times as much. */
static bool is_power_of_the_same(const cz_run_state *s, double bound)
{
    const int64_t n = s->rows;
    double condition, other;
    bool is = false;
    cz_arena arena;

    cz_arena_init(&arena);
    const double *got = fourth_inverse(&arena, s->got, n, &condition);
    const double *want = fourth_inverse(&arena, s->want, n, &other);
    if (got && want) {
        const cz_run_state powers = {n, n, got, want, 0};
        is = is_near(&powers, bound + 4 * condition * 0x1p-24);
    }
    cz_arena_fini(&arena);
    return is;
}

/* Eigenvectors move as far as they like: what they span counts, not how far. */
static bool is_near_but_for_rounding(const cz_run_state *s, double bound)
{
    const double size = norm_of(s->want, s->rows * s->columns);

    if (is_symmetric(s, bound) && s->rounding > UNSETTLED * size)
        return is_power_of_the_same(s, bound);
    return isfinite(s->rounding) && distance(s) <= bound * size + s->rounding &&
           (s->rows != s->columns || !is_orthonormal(s->want, s->rows, bound));
}

/* In bases of its own a gradient is diagonal, of either sign. */
static bool is_near_but_for_signs(const cz_run_state *s, double bound)
{
    const int64_t n = s->rows * s->columns;
    double sum = 0;

    for (int64_t i = 0; i < n; i++) {
        const double off = fabs(s->got[i]) - fabs(s->want[i]);
        sum += off * off;
    }
    return sqrt(sum) <= bound * norm_of(s->want, n);
}

static bool has_norm(const cz_run_state *s, double bound)
{
    const int64_t n = s->rows * s->columns;
    const double ours = norm_of(s->got, n), theirs = norm_of(s->want, n);

    return fabs(ours - theirs) <= bound * theirs;
}

bool cz_run_state_agrees(const cz_run_state *states, int n, int k, double bound)
{
    const cz_run_state *s = &states[k];

    if (is_near(s, bound) || is_near_but_for_rounding(s, bound) ||
        is_basis(states, n, k, bound))
        return true;
    if (!(is_symmetric(s, bound) ? is_near_but_for_signs(s, bound)
                                 : has_norm(s, bound)))
        return false;
    for (int i = 0; i < n; i++)
        if (!is_near(&states[i], bound) && is_basis(states, n, i, bound))
            return true;
    return false;
}
