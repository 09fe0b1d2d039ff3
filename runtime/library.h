/* Matrix libraries, opened when first asked for: a machine without them runs
 * all the same. */
#ifndef CZR_LIBRARY_H
#define CZR_LIBRARY_H

#include "runtime/czr.h"

#include <stdbool.h>

/* An f32 operand of a row-major product: x or its transpose, rows `stride`
 * elements apart as stored. */
typedef struct czr_operand {
    const float *data;
    size_t stride;
    bool is_transposed;
} czr_operand;

/* Threads that one call may use; of the whole process, so ranks that are
 * threads must agree. */
void czr_library_set_threads(int n);

/* c += a @ b by a CBLAS; c's rows are `stride` apart.  Only where there is
 * one. */
bool czr_library_has_sgemm(void);
void czr_library_sgemm(size_t m, size_t n, size_t k, const czr_operand *a,
                       const czr_operand *b, float *c, size_t stride);

/* c = a @ b by oneDNN, operands bf16, accumulated in f32.  false, and c is not
 * the product: it is not there, or this CPU has no bf16 arithmetic. */
bool czr_library_bf16(const czr_product *product, int n_threads);

#endif
