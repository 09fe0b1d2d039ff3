/* cuBLASLt, opened when asked for: products of f32, bf16 and f16 with sums in
 * f32, each by one algorithm that is chosen once.  No header of CUDA is needed.
 */
#ifndef CZR_CUDA_LIBRARY_CUBLAS_H
#define CZR_CUDA_LIBRARY_CUBLAS_H

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

/* d = alpha op(a) @ op(b) + beta c of the product, c and d of type `result`,
 * f32 or, where a and b are bf16 or f16, that: summed in f32, also where k is
 * in parts, and rounded once.  Not symmetric to the bit; no TF32.  At most
 * `workspace` bytes are taken besides.  Only sizes, types and transposes of a
 * and b count, which have one type, and nothing is empty.  As czr_cublas_open;
 * CZR_ERR_UNSUPPORTED: there is no algorithm. */
czr_status czr_cublas_plan_open(czr_cublas *cublas, const czr_product *product,
                                czr_dtype result, size_t workspace,
                                czr_cublas_plan **out,
                                char message[CZR_CUBLAS_MESSAGE]);
/* NULL is allowed. */
void czr_cublas_plan_close(czr_cublas_plan *plan);
/* Bytes that czr_cublas_put takes besides, aligned to 256. */
size_t czr_cublas_plan_workspace(const czr_cublas_plan *plan);

/* c NULL: beta is 0. */
typedef struct czr_cublas_operands {
    const void *a, *b, *c;
    void *d; /* c, or where no operand lies */
    float alpha, beta;
} czr_cublas_operands;

/* Behind what the stream has; all pointers are the device's, aligned to
 * CZR_CUBLAS_ALIGNMENT.  False: the library refuses. */
bool czr_cublas_put(const czr_cublas_plan *plan, const czr_cublas_operands *of,
                    void *workspace, void *stream);

#endif
