/* Inverse roots without eigenvalues, wherever the matrices lie. */
#ifndef CZR_MATH_NEWTON_H
#define CZR_MATH_NEWTON_H

#include "runtime/czr.h"

#include <stdbool.h>

/* Symmetric matrices [n, n] of an iteration; the last is room for a product.
 * Those who compute stand this first in what they know of their own. */
typedef struct czr_newton {
    const struct czr_newton_calls *calls;
    int k; /* the iteration's own, as below */
    void *x, *m, *t, *other;
} czr_newton;

/* What computes an iteration in one precision.  What fails is kept by those who
 * compute; they do nothing then, and their distance is infinite. */
typedef struct czr_newton_calls {
    /* M <- z (a + shift I), X <- root I */
    void (*start)(czr_newton *it, double z, double root);
    /* T <- ((k + 1) I - M) / k */
    void (*mirror_step)(czr_newton *it);
    /* product <- b @ a, symmetric */
    void (*multiply)(czr_newton *it, const void *b, const void *a,
                     void *product);
    /* The largest element of |M - I|, infinity where one is NaN. */
    double (*distance)(czr_newton *it);
    /* The result, both halves of it the lower one of X.  False: it is not
     * finite. */
    bool (*take)(czr_newton *it);
} czr_newton_calls;

enum { CZR_NEWTON_N_MATRICES = 4 };

/* The iteration of NEWTON_ROOT in one precision.  With k = -1/parameters[0],
 * A = a + parameters[1] I, `norm` its Frobenius norm and z = (k + 1) / (2
 * norm):
 *
 *   X = z^(1/k) I, M = z A;  T = ((k + 1) I - M) / k, X <- X T, M <- T^k M
 *
 * until no element of M - I is larger than the tolerance, parameters[2], at
 * most parameters[3] times, or until rounding keeps them from falling (Guo and
 * Higham 2006, SIAM J. Matrix Anal. Appl. 28(3), 788-804; CoupledNewtonConfig
 * of facebookresearch/optimizers). Eigenvalues of M between 0 and k + 1 go to
 * 1, those below 0 away from it. M = X^k A but for rounding.
 *
 * CZR_ERR_NOT_POSITIVE: iterates run away.  CZR_ERR_NO_CONVERGENCE: the
 * tolerance was not reached, or the result is not finite. */
czr_status czr_newton_iterate(czr_newton *it, const czr_factor *factor,
                              double norm);

/* Of a in the host's memory, row by row in f64: of finite numbers none is
 * infinite. */
double czr_newton_norm(const czr_factor *factor);
/* What such a norm says of the matrix: CZR_ERR_NOT_FINITE; that of zeros,
 * CZR_ERR_NOT_POSITIVE. */
czr_status czr_newton_check_norm(double norm);

/* NEWTON_ROOT of czr_factor_host, with its failures: in f32, and where that
 * does not end, once more in f64. */
czr_status czr_newton_root(const czr_math *math, const czr_factor *factor);

#endif
