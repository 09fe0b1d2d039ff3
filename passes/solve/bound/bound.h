/* What no plan can be below, each with its witness: from data that a planner
 * does not choose. */
#ifndef CZ_PASSES_SOLVE_BOUND_BOUND_H
#define CZ_PASSES_SOLVE_BOUND_BOUND_H

#include "passes/solve/problem.h"

typedef struct cz_solve_bound {
    int64_t mean_ps; /* all there is to do, over all ranks; rounded up */
    int64_t item_ps; /* the longest whole item */
    int item;        /* the first of these; -1: no whole item */
    int64_t max_ps;  /* the larger of the two */
} cz_solve_bound;

/* Bounds of the fullest rank's load, in any order and geometry.  Initial loads
 * count in the mean, and the least of them beside the item. */
cz_solve_bound cz_solve_bound_find(const cz_solve_problem *problem);

#endif
