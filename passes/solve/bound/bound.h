/* What no plan can be below, each with its witness: from data that a planner
 * does not choose. */
#ifndef CZ_PASSES_SOLVE_BOUND_BOUND_H
#define CZ_PASSES_SOLVE_BOUND_BOUND_H

#include "passes/solve/problem.h"

typedef enum cz_solve_bound_kind {
    CZ_BOUND_MEAN,      /* all there is to do, over all ranks */
    CZ_BOUND_ITEM,      /* the longest whole item: `item` */
    CZ_BOUND_PIGEONHOLE /* of the n_longest longest whole items, k slots + 1
                         * of them, some rank has k + 1 */
} cz_solve_bound_kind;

typedef struct cz_solve_bound {
    int64_t mean_ps, item_ps, pigeonhole_ps; /* rounded up */
    int64_t max_ps;                          /* the largest of them */
    cz_solve_bound_kind binding;             /* which that is; ties: first */
    int item;                                /* -1: no whole item */
    int n_longest;                           /* 0: no more items than ranks */
} cz_solve_bound;

/* Bounds of the fullest rank's load, in any order and geometry.  Initial loads
 * count in the mean, and the least of them beside the items. */
cz_solve_bound cz_solve_bound_find(cz_arena *scratch,
                                   const cz_solve_problem *problem);

/* The least that padded_elements of any plan can be: per bucket n_ranks times
 * the larger of its longest whole item and its aligned length over ranks. */
int64_t cz_solve_bound_padded(const cz_solve_problem *problem);

#endif
