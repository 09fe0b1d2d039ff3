/* Eigenvectors of a symmetric matrix in f32, where most of LAPACK's time is
 * spent in products. */
#ifndef CZR_MATH_EIGH_H
#define CZR_MATH_EIGH_H

#include <stdbool.h>
#include <stddef.h>

/* As czr_library_eigh_f32: a [n, n] row by row, of which the lower triangle
 * counts, gets eigenvectors for rows, with the same workspace.  Four fifths of
 * the time from some 128 on; signs, and vectors of eigenvalues that lie close
 * together, are others.  False: it did not converge. */
bool czr_eigh_f32(size_t n, float *a, float *values, float *work, size_t n_work,
                  int *integers, size_t n_integers);

#endif
