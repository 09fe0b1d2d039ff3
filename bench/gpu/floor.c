/* What Newton-Schulz takes at least. */
#include "bench/gpu/plan.h"

/* Of an H200, measured by others: bf16 with sums in f32, and its memory. */
static const double flops_per_us = 790e6, bytes_per_us = 4.3e6;
enum { STEPS = 5, ELEMENT_BYTES = 2 };

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Five times g = x x', b + c g g, and that times x: the two symmetric products
 * are half of the work, and every operand is read from memory again. */
static double standard_us(double m, double n)
{
    const double flops = STEPS * (3 * m * m * n + m * m * m);
    const double elements = STEPS * (3 * m * n + 4 * m * m);

    return larger(flops / flops_per_us,
                  elements * ELEMENT_BYTES / bytes_per_us);
}

/* By the Gram matrix, which is computed anew once: two products with x, whose
 * rest is m x m and may stay in the L2 cache. */
static double gram_us(double m, double n)
{
    const double flops = 6 * m * m * n + 14 * m * m * m;

    return larger(flops / flops_per_us,
                  6 * m * n * ELEMENT_BYTES / bytes_per_us);
}

double gpu_schulz_floor_us(const gpu_schulz *of)
{
    const double m = of->rows, n = of->columns;
    const double standard = standard_us(m, n), gram = gram_us(m, n);

    return of->batch * (standard < gram ? standard : gram);
}
