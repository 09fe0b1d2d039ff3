/* Matrix products on the host: our own in a fixed order, and libraries. */
#ifndef CZR_PRODUCT_H
#define CZR_PRODUCT_H

#include "runtime/czr.h"

/* What a czr_math of ours is: with room to pack blocks of operands. */
typedef struct czr_host_math {
    czr_math math;
    float *packed_a, *packed_b;
    int n_threads; /* of a library, per call */
} czr_host_math;

/* `strict`: the fixed order.  Otherwise libraries where they are found. */
czr_status czr_host_math_open(czr_host_math *math, int strict, int n_ranks);
void czr_host_math_close(czr_host_math *math);

/* Each c[i][j] is summed over k upwards, one f32 multiplication and one
 * addition after the other: the bits depend on nothing but the operands. */
void czr_product_fixed_order(const czr_math *math, const czr_product *product);
/* By a CBLAS in f32, or oneDNN for bf16; bits depend on the library. */
void czr_product_library(const czr_math *math, const czr_product *product);

#endif
