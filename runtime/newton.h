/* Inverse roots without eigenvalues. */
#ifndef CZR_NEWTON_H
#define CZR_NEWTON_H

#include "runtime/czr.h"

/* NEWTON_ROOT of czr_factor_host, with its failures.  With k =
 * -1/parameters[0], A = a + parameters[1] I and z = (k + 1) / (2 |A|), the
 * Frobenius norm:
 *
 *   X = z^(1/k) I, M = z A;  T = ((k + 1) I - M) / k, X <- X T, M <- T^k M
 *
 * until no element of M - I is larger than the tolerance (Guo and Higham 2006,
 * SIAM J. Matrix Anal. Appl. 28(3), 788-804; CoupledNewtonConfig of
 * facebookresearch/optimizers).  Eigenvalues of M between 0 and k + 1 go to 1,
 * those below 0 away from it.  M = X^k A but for rounding. */
czr_status czr_newton_root(const czr_math *math, const czr_factor *factor);

#endif
