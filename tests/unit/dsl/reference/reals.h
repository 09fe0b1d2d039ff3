/* Random doubles of a fixed seed, and doubles that must be close; behind
 * cmocka.h. */
#ifndef CZ_TESTS_UNIT_DSL_REALS_H
#define CZ_TESTS_UNIT_DSL_REALS_H

#include "tests/unit/unit.h"

static inline uint64_t random_bits(void)
{
    static uint64_t seed = 20260101;
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* In [-1, 1), a multiple of 2^-52. */
static inline double random_real(void)
{
    return (double)(random_bits() >> 11) * 0x1p-52 - 1.0;
}

static inline void fill(double *data, int n)
{
    for (int i = 0; i < n; i++)
        data[i] = random_real();
}

static inline void assert_close(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-14 * (1.0 + fabs(b[i]))))
            fail_msg("element %d: %.17g is not %.17g", i, a[i], b[i]);
}

#endif
