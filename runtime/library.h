/* Matrix libraries, opened when first asked for: a machine without them runs
 * all the same. */
#ifndef CZR_LIBRARY_H
#define CZR_LIBRARY_H

#include "runtime/czr.h"

#include <stdbool.h>

/* An operand of a row-major product as stored: x, or its transpose; rows lie
 * `stride` elements apart. */
typedef struct czr_operand {
    const void *data;
    size_t stride;
    bool is_transposed;
} czr_operand;

/* A product or a block of one: op(a) is [m, k], op(b) [k, n], c [m, n] with
 * rows c_stride apart. */
typedef struct czr_gemm {
    size_t m, n, k;
    czr_operand a, b;
    float *c;
    size_t c_stride;
} czr_gemm;

/* Threads that one call may use; of the whole process, so ranks that are
 * threads must agree. */
void czr_library_set_threads(int n);

bool czr_library_has_cblas(void);
/* c = scale * c + a @ b by a CBLAS, operands f32; with scale 0 c is not read.
 * Only where there is a CBLAS. */
void czr_library_sgemm(const czr_gemm *gemm, float scale);
/* The triangle of c = a @ a' with its diagonal that lies below; b and n are not
 * used.  Only where there is a CBLAS. */
void czr_library_ssyrk(const czr_gemm *gemm);

/* c = a @ b by oneDNN, operands bf16, accumulated in f32.  false, and c is not
 * the product: it is not there, or this CPU has no bf16 arithmetic. */
bool czr_library_bf16(const czr_gemm *gemm, int n_threads);

#endif
