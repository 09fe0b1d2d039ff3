/* Checked arithmetic: every size that comes from the user goes through here.
 * All functions return false on overflow and then leave *out alone. */
#ifndef CZ_DSL_BASE_CHECKED_H
#define CZ_DSL_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

enum { CZ_MAX_DIM_BITS = 40, CZ_MAX_BYTES_BITS = 62 };
#define CZ_MAX_DIM ((int64_t)1 << CZ_MAX_DIM_BITS)
#define CZ_MAX_BYTES ((int64_t)1 << CZ_MAX_BYTES_BITS)

static inline bool cz_checked_add(int64_t a, int64_t b, int64_t *out)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}

static inline bool cz_checked_mul(int64_t a, int64_t b, int64_t *out)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

/* Product of n non-negative sizes, at most 2^62. */
static inline bool cz_checked_product(const int64_t *sizes, int n, int64_t *out)
{
    int64_t product = 1;
    for (int i = 0; i < n; i++)
        if (!cz_checked_mul(product, sizes[i], &product) ||
            product > CZ_MAX_BYTES)
            return false;
    *out = product;
    return true;
}

/* The sum and the product of two numbers from 0 to 2^62; 2^62 where they are
 * more. */
static inline int64_t cz_limited_add(int64_t a, int64_t b)
{
    return a < CZ_MAX_BYTES - b ? a + b : CZ_MAX_BYTES;
}

static inline int64_t cz_limited_mul(int64_t a, int64_t b)
{
    int64_t product;
    return cz_checked_mul(a, b, &product) && product < CZ_MAX_BYTES
               ? product
               : CZ_MAX_BYTES;
}

static inline int64_t cz_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

static inline int64_t cz_round_up(int64_t a, int64_t multiple)
{
    return cz_ceil_div(a, multiple) * multiple;
}

#endif
