/* cuSOLVER, opened when asked for, and the cuBLAS that it brings along:
 * factorisations of f32 matrices, eigenvalues in f64, too.  No header of CUDA
 * is needed.
 *
 * Matrices of ours lie by rows, and what the library has column by column is
 * said to lie by columns.  Each function but the rooms' puts its work behind
 * what the stream has; false: the library refuses.  Whether it came to an end
 * is said by *info then: 0 if it did. */
#ifndef CZR_CUDA_LIBRARY_CUSOLVER_H
#define CZR_CUDA_LIBRARY_CUSOLVER_H

#include "runtime/czr.h"

#include <stdbool.h>

/* The oldest that has the 64-bit API as we use it, of CUDA 12.0. */
enum { CZR_CUSOLVER_VERSION = 11402, CZR_CUSOLVER_MESSAGE = 256 };

typedef struct czr_cusolver czr_cusolver;

/* Bytes that a routine takes besides, aligned to 256. */
typedef struct czr_cusolver_workspace {
    size_t device, host;
} czr_cusolver_workspace;

/* What goes with each call: that much room, where its info goes (the device's),
 * and the stream. */
typedef struct czr_cusolver_call {
    czr_cusolver_workspace workspace;
    void *device, *host;
    int32_t *info;
    void *stream;
} czr_cusolver_call;

/* The library at `path`, or where that is NULL the one that the loader finds,
 * for the device whose context is current.  If it fails, *out is NULL and
 * `message` says why: CZR_ERR_NO_LIBRARY, CZR_ERR_NO_MEMORY. */
czr_status czr_cusolver_open(const char *path, czr_cusolver **out,
                             char message[CZR_CUSOLVER_MESSAGE]);
/* NULL is allowed. */
void czr_cusolver_close(czr_cusolver *cusolver);

/* Of a symmetric matrix [n, n], of which the triangle on and above the diagonal
 * counts: values ascend, and rows of a become vectors; all f32, or f64 where
 * is_wide.  info > 0: they did not converge. */
bool czr_cusolver_eigh_workspace(const czr_cusolver *c, bool is_wide, size_t n,
                                 czr_cusolver_workspace *out);
bool czr_cusolver_eigh(const czr_cusolver *c, bool is_wide, size_t n, void *a,
                       void *values, const czr_cusolver_call *call);

/* Of a positive matrix: its triangle on and below the diagonal becomes the
 * factor's, what is above is left as it was.  info > 0: it is not positive. */
bool czr_cusolver_cholesky_workspace(const czr_cusolver *c, size_t n,
                                     czr_cusolver_workspace *out);
bool czr_cusolver_cholesky(const czr_cusolver *c, size_t n, float *a,
                           const czr_cusolver_call *call);

/* a [m, n] by columns becomes r on and above the diagonal and reflectors below,
 * with tau [min(m, n)]; from these, what is there by columns becomes q
 * [m, min(m, n)].  Both take the same room. */
bool czr_cusolver_qr_workspace(const czr_cusolver *c, size_t m, size_t n,
                               czr_cusolver_workspace *out);
bool czr_cusolver_qr(const czr_cusolver *c, size_t m, size_t n, float *a,
                     float *tau, const czr_cusolver_call *call);
bool czr_cusolver_qr_vectors(const czr_cusolver *c, size_t m, size_t n,
                             float *a, const float *tau,
                             const czr_cusolver_call *call);

/* x [n, k] becomes op(a)^-1 x, a [n, n] triangular.  No room, no info. */
bool czr_cusolver_solve(const czr_cusolver *c, size_t n, size_t k,
                        const float *a, bool is_upper, bool is_transposed,
                        float *x, void *stream);
/* c = a' a, all [n, n], of c the triangle on and above the diagonal.  No room,
 * no info. */
bool czr_cusolver_gram(const czr_cusolver *cusolver, size_t n, const float *a,
                       float *c, void *stream);

#endif
