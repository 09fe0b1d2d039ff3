/* Arithmetic in f32 whose rounding is drawn: how far results lie from those of
 * float64 says how far any rounding may move them. */
#include "dsl/reference/internal.h"

#include <math.h>
#include <string.h>

/* Bits of a double's significand that f32 does not have. */
#define BEYOND_F32 ((UINT64_C(1) << 29) - 1)
#define HALF_ULP 0x1p-24

/* splitmix64 (Steele, Lea and Flood 2014). */
static uint64_t draw(cz_reference_noise *noise)
{
    uint64_t x = noise->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* From -1 to 1. */
static double draw_unit(cz_reference_noise *noise)
{
    return (double)(int64_t)draw(noise) * 0x1p-63;
}

double cz_reference_scatter(cz_reference_noise *noise, double x)
{
    uint64_t bits;

    if (!noise->state || !isfinite(x))
        return x;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + (draw(noise) & BEYOND_F32)) & ~BEYOND_F32;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void cz_reference_matmul_noisy(cz_reference_noise *noise, const double *a,
                               const double *b, double *out, int64_t m,
                               int64_t k, int64_t n)
{
    memset(out, 0, (size_t)(m * n) * sizeof *out);
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++) {
                double *sum = &out[i * n + j];
                *sum = cz_reference_scatter(noise,
                                            *sum + a[i * k + l] * b[l * n + j]);
            }
}

/* ---- factorisations ---- */

/* Squares, summed, of n elements that lie `step` apart. */
static double norm_of(const double *x, int64_t n, int64_t step)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i * step] * x[i * step];
    return sqrt(sum);
}

/* Each element of a symmetric matrix by a part of the matrix's norm, as what
 * becomes of eigenvalues is (Golub and Van Loan, 8.3.1). */
static void move_symmetric(cz_reference_noise *noise, int64_t n, double *a)
{
    const double size = HALF_ULP * norm_of(a, n * n, 1);

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const double by = size * draw_unit(noise);
            a[i * n + j] += by;
            if (i != j)
                a[j * n + i] += by;
        }
}

/* By parts of sqrt(a_ii a_jj) (Higham 2002, Accuracy and Stability, 10.1). */
static void move_definite(cz_reference_noise *noise, int64_t n, double *a)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) {
            const double by = HALF_ULP * draw_unit(noise) *
                              sqrt(fabs(a[i * n + i] * a[j * n + j]));
            a[i * n + j] += by;
            a[j * n + i] += by;
        }
    for (int64_t i = 0; i < n; i++)
        a[i * n + i] *= 1 + HALF_ULP * draw_unit(noise);
}

/* By parts of each column's norm (Higham 2002, 19.3). */
static void move_columns(cz_reference_noise *noise, int64_t m, int64_t n,
                         double *a)
{
    for (int64_t j = 0; j < n; j++) {
        const double size = HALF_ULP * norm_of(a + j, m, n);
        for (int64_t i = 0; i < m; i++)
            a[i * n + j] += size * draw_unit(noise);
    }
}

/* By parts of each element: of triangles (Higham 2002, 8.1). */
static void move_elements(cz_reference_noise *noise, int64_t n, double *a)
{
    for (int64_t i = 0; i < n; i++)
        a[i] *= 1 + HALF_ULP * draw_unit(noise);
}

void cz_reference_factor_noise(cz_reference_noise *noise, cz_factor factor,
                               const cz_factor_size *size, double *operand)
{
    switch (factor) {
    case CZ_FACTOR_EIGH:
    case CZ_FACTOR_ROOT:
    case CZ_FACTOR_NEWTON_ROOT:
        move_symmetric(noise, size->n, operand);
        break;
    case CZ_FACTOR_CHOLESKY:
        move_definite(noise, size->n, operand);
        break;
    case CZ_FACTOR_QR:
        move_columns(noise, size->m, size->n, operand);
        break;
    case CZ_FACTOR_SOLVE_LOWER:
    case CZ_FACTOR_SOLVE_LOWER_T:
    case CZ_FACTOR_SOLVE_UPPER:
    case CZ_FACTOR_SOLVE_UPPER_T:
        move_elements(noise, size->m * size->n, operand);
        break;
    case CZ_FACTOR_NONE:
    case CZ_N_FACTORS:
        break;
    }
}
