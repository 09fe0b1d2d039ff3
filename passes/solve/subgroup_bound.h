/* What no plan of sub-groups can beat, from data that no planner chooses:
 * matrices, ways, ranks, caps.  Each bound names its witness. */
#ifndef CZ_PASSES_SOLVE_SUBGROUP_BOUND_H
#define CZ_PASSES_SOLVE_SUBGROUP_BOUND_H

#include "passes/solve/subgroup.h"

typedef enum cz_subgroup_bound_kind {
    CZ_SUBGROUP_MEAN,   /* least rank-seconds of all matrices over all ranks */
    CZ_SUBGROUP_ITEM,   /* the least time of the slowest matrix */
    CZ_SUBGROUP_PIGEON, /* k n + 1 matrices of one rank each on n ranks: k + 1
                         * of them share a rank */
    CZ_SUBGROUP_LINK,   /* least link time of all matrices over all ranks */
    CZ_SUBGROUP_FIT,    /* the least time T in which all ranks together can do
                         * all matrices, each in a way that alone ends by T,
                         * and with no more on the wire than its cap */
    CZ_SUBGROUP_N_BOUNDS
} cz_subgroup_bound_kind;

typedef struct cz_subgroup_bound {
    int64_t time_ps;
    int of;        /* witness: the class that adds or takes most; -1: none */
    int64_t price; /* fit: of a byte, in 2^-20 ps, at which it shows; else 0 */
    int n;         /* pigeons: how many share a rank; else 0 */
} cz_subgroup_bound;

typedef struct cz_subgroup_bounds {
    cz_subgroup_bound of_kind[CZ_SUBGROUP_N_BOUNDS];
    cz_subgroup_bound_kind binding; /* the largest; ties: the first */
} cz_subgroup_bounds;

/* All bounds of a problem, but for fit whatever its caps.  Items of the
 * pigeonhole are those of classes whose ways all have g = 1.
 *
 * Fit: a plan that ends by T has only ways that alone take at most T, and at
 * most the cap's bytes; on each rank, before its first product comes the
 * gather of that job, and after its last a scatter, and a job is first, or
 * last, on at most its g ranks.  So for any prices p, u, v >= 0 of a byte, a
 * first gather and a last scatter, u + v <= T,
 *
 *     sum of least (work + p bytes - g max(0, u - gather)
 *                               - g max(0, v - scatter)) over those ways
 *         <= n_ranks (T - u - v) + p cap:
 *
 * Lagrange's relaxation of the choice of ways.  T is the least time that no
 * prices on a grid refute, to a part in 4096 (less). */
cz_subgroup_bounds cz_subgroup_find_bounds(cz_arena *scratch,
                                           const cz_subgroup_problem *problem);

#endif
