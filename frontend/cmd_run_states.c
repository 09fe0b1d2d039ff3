/* States of a step: as they are, as bases, or as turned by these. */
#include "frontend/cmd_run_states.h"

#include <math.h>
#include <stddef.h>

static double norm_of(const double *x, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static bool is_near(const cz_run_state *s, double bound)
{
    const int64_t n = s->rows * s->columns;
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += (s->got[i] - s->want[i]) * (s->got[i] - s->want[i]);
    return sqrt(sum) <= bound * norm_of(s->want, n);
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

static bool is_some_basis_another(const cz_run_state *states, int n,
                                  double bound)
{
    for (int i = 0; i < n; i++)
        if (!is_near(&states[i], bound) && is_basis(states, n, i, bound))
            return true;
    return false;
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

    if (is_near(s, bound) || is_basis(states, n, k, bound))
        return true;
    return (is_symmetric(s, bound) ? is_near_but_for_signs(s, bound)
                                   : has_norm(s, bound)) &&
           is_some_basis_another(states, n, bound);
}
