/* The exact sum of squares of f32 numbers.  Squares are added as integers, so
 * no order of additions, and no way of cutting them over ranks, changes a bit
 * of the norm. */
#ifndef CZR_MATH_NORM_H
#define CZR_MATH_NORM_H

#include "runtime/czr.h"

#include <stdbool.h>

/* Digit d weighs 2^(32 d + CZR_NORM_LOWEST).  A square lies in
 * [2^-298, 2^256), so digit 0 stays empty and the top leaves room for 2^64. */
enum {
    CZR_NORM_LOWEST = -352,
    CZR_NORM_DIGITS = 21,
    CZR_NORM_INFINITIES = CZR_NORM_DIGITS, /* how many were met */
    CZR_NORM_NANS,
    CZR_NORM_NONFINITE, /* ranks with a gradient that is not finite, also in a
                         * copy that another rank counts */
    CZR_NORM_FAULTS,    /* ranks where a rule failed in an earlier step */
    CZR_NORM_WORDS
};

/* Summed over ranks word by word. */
typedef struct czr_norm {
    int64_t words[CZR_NORM_WORDS];
} czr_norm;

/* Adds the squares of x[n]. */
void czr_norm_add(czr_norm *norm, const float *x, size_t n);
bool czr_norm_is_finite(const czr_norm *norm);
/* The square root of the sum, which is rounded once before: infinite or NaN
 * as IEEE arithmetic would have it; NaN where only a copy is not finite. */
double czr_norm_root(const czr_norm *norm);

#endif
