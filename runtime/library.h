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

/* LAPACK; only where there is one.  Matrices are row-major and contiguous, work
 * has the length that LAPACK asks for.  False: it did not converge, or the
 * matrix is not positive definite. */
bool czr_library_has_lapack(void);
/* Eigenvectors of a replace its rows; the lengths are 1 + 6 n + 2 n^2, 3 + 5 n
 * and 3 n. */
bool czr_library_eigh_f32(size_t n, float *a, float *values, float *work,
                          size_t n_work, int *integers, size_t n_integers);
bool czr_library_eigh_f64(size_t n, double *a, double *values, double *work,
                          size_t n_work);
/* The lower triangle of a becomes that of l; what is above it stays. */
bool czr_library_cholesky(size_t n, float *a);
/* a [m, n]: on and above the diagonal r, and what the vectors are made of, with
 * tau [min(m, n)]; then the vectors, the first min(m, n) of each row.  At least
 * n numbers of work, and better 64 n. */
void czr_library_qr(size_t m, size_t n, float *a, float *tau, float *work,
                    size_t n_work);
void czr_library_qr_vectors(size_t m, size_t n, float *a, const float *tau,
                            float *work, size_t n_work);
/* x [n, k] becomes that of op(a) x = what it was. */
void czr_library_solve(size_t n, size_t k, const float *a, bool is_upper,
                       bool is_transposed, float *x);

#endif
