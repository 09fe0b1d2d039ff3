/* Matrix libraries, opened when first asked for: a machine without them runs
 * all the same. */
#ifndef CZR_MATH_LIBRARY_H
#define CZR_MATH_LIBRARY_H

#include "runtime/czr.h"

#include <stdbool.h>

/* An operand of a row-major product as stored: x, or its transpose; rows lie
 * `stride` elements apart. */
typedef struct czr_operand {
    const void *data;
    size_t stride;
    bool is_transposed;
} czr_operand;

/* c = alpha * op(a) @ op(b) + beta * c, or a block of it: op(a) is [m, k],
 * op(b) [k, n], c [m, n] with rows c_stride apart.  With beta 0 c is not read.
 */
typedef struct czr_gemm {
    size_t m, n, k;
    czr_operand a, b;
    void *c;
    size_t c_stride;
    float alpha, beta;
} czr_gemm;

/* Threads that one call may use; of the whole process, so ranks that are
 * threads must agree. */
void czr_library_set_threads(int n);

/* By a CBLAS, where there is one: all is f32.  One thread may multiply by
 * oneDNN instead. */
bool czr_library_has_cblas(void);
void czr_library_sgemm(const czr_gemm *gemm);
/* The lower triangle of c = alpha * op(a) @ op(a)' + beta * c with its
 * diagonal; b and n are not used. */
void czr_library_ssyrk(const czr_gemm *gemm);

/* By oneDNN: operands bf16, c of type `c_dtype`, added up in f32 and rounded
 * once.  false, and c is not the product: it is not there, or this CPU has no
 * bf16 arithmetic. */
bool czr_library_bf16(const czr_gemm *gemm, czr_dtype c_dtype, int n_threads);

/* Threads that oneDNN keeps: those of others would compete with them, who wait
 * by spinning.  Runs body(user, thread) on up to so many at once, on the
 * caller's as thread 0, and returns when all are done. */
bool czr_library_has_threads(void);
void czr_library_run_threads(int n_threads,
                             void (*body)(void *user, int thread), void *user);

/* In words, for people: which of them was opened, or why none. */
void czr_library_describe_cblas(char *out, size_t n);
void czr_library_describe_dnnl(char *out, size_t n);

/* czr_library_sgemm by oneDNN and one thread, where that is the faster; else
 * false, and c is as it was. */
bool czr_library_dnnl_sgemm(const czr_gemm *gemm);

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
/* Its steps.  a becomes what its tridiagonal form is made by: reflector i, of n
 * - 1, has the first i numbers of row i + 1, a one, and zeros; `beside` and tau
 * have n - 1 numbers.  Then eigenvalues in `values`, which held the diagonal,
 * and the form's vectors in rows of `vectors`; the lengths are 1 + 4 n + n^2
 * and 3 + 5 n.  Of k reflectors, rows of v [k, n], t' [k, k]: applied one after
 * the other they make x - x v' t' v of rows of x. */
void czr_library_tridiagonal(size_t n, float *a, float *values, float *beside,
                             float *tau, float *work, size_t n_work);
bool czr_library_tridiagonal_eigh(size_t n, float *values, float *beside,
                                  float *vectors, float *work, size_t n_work,
                                  int *integers, size_t n_integers);
void czr_library_reflectors(size_t n, size_t k, const float *v,
                            const float *tau, float *t);
/* The lower triangle of a becomes that of l; what is above it stays. */
bool czr_library_cholesky(size_t n, float *a);
/* a [m, n]: on and above the diagonal r, and what the vectors are made of, with
 * tau [min(m, n)]; then the vectors, the first min(m, n) of each row.  At least
 * n numbers of work, and better 64 n. */
void czr_library_qr(size_t m, size_t n, float *a, float *tau, float *work,
                    size_t n_work);
void czr_library_qr_vectors(size_t m, size_t n, float *a, const float *tau,
                            float *work, size_t n_work);
/* c = a @ b in f64, all [n, n] and equal to their transposes. */
void czr_library_multiply_f64(size_t n, const double *a, const double *b,
                              double *c);
/* x [n, k] becomes that of op(a) x = what it was. */
void czr_library_solve(size_t n, size_t k, const float *a, bool is_upper,
                       bool is_transposed, float *x);

#endif
