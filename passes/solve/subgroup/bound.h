/* What no plan of sub-groups can beat, from data that no planner chooses:
 * matrices, ways, ranks, caps.  Each bound names its witness. */
#ifndef CZ_PASSES_SOLVE_SUBGROUP_BOUND_H
#define CZ_PASSES_SOLVE_SUBGROUP_BOUND_H

#include "passes/solve/subgroup/subgroup.h"

typedef enum cz_subgroup_bound_kind {
    CZ_SUBGROUP_MEAN,   /* least rank-seconds of all matrices over all ranks */
    CZ_SUBGROUP_ITEM,   /* the least time of the slowest matrix */
    CZ_SUBGROUP_PIGEON, /* k n + 1 matrices of one rank each on n ranks: k + 1
                         * of them share a rank */
    CZ_SUBGROUP_LINK,   /* least link time of all matrices over all ranks */
    CZ_SUBGROUP_FIT,    /* the least time T in which loads that a rank can end
                         * by T, as many as there are ranks, hold all matrices
                         * and send no more than the cap */
    CZ_SUBGROUP_N_BOUNDS
} cz_subgroup_bound_kind;

typedef struct cz_subgroup_bound {
    int64_t time_ps;
    int of;        /* witness: the class that adds or takes most; -1: none */
    int64_t price; /* fit: of a byte, in 2^-20 ps of a rank, at the prices
                    * that refuted the last time; else 0 */
    int n;         /* pigeons: how many share a rank; else 0 */
} cz_subgroup_bound;

typedef struct cz_subgroup_bounds {
    cz_subgroup_bound of_kind[CZ_SUBGROUP_N_BOUNDS];
    cz_subgroup_bound_kind binding; /* the largest; ties: the first */
} cz_subgroup_bounds;

/* All bounds of a problem, but for fit whatever its caps.  Items of the
 * pigeonhole are those of classes whose ways all have g = 1.
 *
 * Fit (passes/solve/bound/fit.h): before a rank's first product comes the
 * gather of that job, after its last the scatter of that one, so that a load's
 * time is its compute, the least gather and the least scatter. */
cz_subgroup_bounds cz_subgroup_find_bounds(cz_arena *scratch,
                                           const cz_subgroup_problem *problem);

#endif
