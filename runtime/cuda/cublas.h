/* cuBLASLt, opened when asked for: products in f32 and bf16 with sums in f32,
 * each by one algorithm that is chosen once.  No header of CUDA is needed. */
#ifndef CZR_CUDA_CUBLAS_H
#define CZR_CUDA_CUBLAS_H

#include "runtime/czr.h"

#include <stdbool.h>

/* The oldest version that knows all we need: 10000 major + 100 minor. */
enum {
    CZR_CUBLAS_VERSION = 120000,
    CZR_CUBLAS_MESSAGE = 256,
    /* Of operands and results, in bytes. */
    CZR_CUBLAS_ALIGNMENT = 16
};

typedef struct czr_cublas czr_cublas;
typedef struct czr_cublas_plan czr_cublas_plan;

/* The library at `path`, or where that is NULL the one that the loader finds,
 * for the device whose context is current.  If it fails, *out is NULL and
 * `message` says why: CZR_ERR_NO_LIBRARY, CZR_ERR_NO_MEMORY. */
czr_status czr_cublas_open(const char *path, czr_cublas **out,
                           char message[CZR_CUBLAS_MESSAGE]);
/* NULL is allowed; its plans are closed before. */
void czr_cublas_close(czr_cublas *cublas);

/* c = op(a) @ op(b) of the product, f32 and not symmetric to the bit, with at
 * most `workspace` bytes besides.  No TF32.  Only sizes, types and transposes
 * count, a and b have one type, and nothing is empty.  As czr_cublas_open;
 * CZR_ERR_UNSUPPORTED: there is no algorithm. */
czr_status czr_cublas_plan_open(czr_cublas *cublas, const czr_product *product,
                                size_t workspace, czr_cublas_plan **out,
                                char message[CZR_CUBLAS_MESSAGE]);
/* NULL is allowed. */
void czr_cublas_plan_close(czr_cublas_plan *plan);
/* Bytes that czr_cublas_put takes besides, aligned to 256. */
size_t czr_cublas_plan_workspace(const czr_cublas_plan *plan);

/* Behind what the stream has; all pointers are the device's, aligned to
 * CZR_CUBLAS_ALIGNMENT.  False: the library refuses. */
bool czr_cublas_put(const czr_cublas_plan *plan, const void *a, const void *b,
                    float *c, void *workspace, void *stream);

#endif
