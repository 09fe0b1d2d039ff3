/* Factorisations on the host, by LAPACK in f32. */
#ifndef CZR_MATH_FACTOR_H
#define CZR_MATH_FACTOR_H

#include "runtime/czr.h"

#include <stdbool.h>

/* Operands and results as czr_factor says; operands stay as they are.  The
 * workspace is used and nothing else: no memory is taken.  One thread computes
 * where products are in a fixed order, so that equal operands have equal bits.
 * On failure results mean nothing:
 *   CZR_ERR_NO_LIBRARY      there is no LAPACK
 *   CZR_ERR_NOT_FINITE      an operand has infinities or NaN
 *   CZR_ERR_NOT_POSITIVE    CHOLESKY; ROOT, if the least eigenvalue is below 0
 *                           by more than n * 2^-22 of the largest, or the shift
 *                           leaves none above 0; NEWTON_ROOT, if iterates run
 *                           away in f64, as they do from an eigenvalue below 0
 *   CZR_ERR_SINGULAR        SOLVE_*: a zero on the diagonal
 *   CZR_ERR_NO_CONVERGENCE  EIGH and ROOT, in f64 neither; NEWTON_ROOT, after
 *                           as many iterations as it may take, in f64 neither
 *   CZR_ERR_ARGUMENT        less workspace than it takes */
czr_status czr_factor_host(const czr_math *math, const czr_factor *factor);

/* Of ROOT, whose eigenvalues are values [n], ascending: the factor of each
 * eigenvector, so that the root is the sum of their outer products.  Scales may
 * be values.  False: it is CZR_ERR_NOT_POSITIVE. */
bool czr_factor_root_scales(const czr_factor *factor, const float *values,
                            float *scales);

#endif
