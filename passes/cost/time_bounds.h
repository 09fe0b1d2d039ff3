/* What no plan with these strategies can be faster than on its busiest rank,
 * from times that the planner does not choose. */
#ifndef CZ_PASSES_COST_TIME_BOUNDS_H
#define CZ_PASSES_COST_TIME_BOUNDS_H

#include "passes/cost/plan_time.h"

/* Over all ranks; matrices are those that one rank of several updates, each
 * with the time that it, or each of those who share it, takes. */
typedef struct cz_time_bounds {
    int64_t max_ps, sum_ps; /* what ranks have in this plan */
    int64_t mean_ps;        /* the sum over ranks, rounded up */
    int64_t item_ps;        /* the longest matrix */
    int item;               /* that parameter; -1: none */
    /* Of the k n + 1 longest matrices on n ranks, k + 1 share one: k + 1 times
     * the shortest of them.  The k for which that is most. */
    int64_t pigeonhole_ps;
    int shared;       /* k + 1; -1: no more matrices than ranks */
    int64_t bound_ps; /* the largest of the three */
} cz_time_bounds;

cz_time_bounds cz_time_bounds_find(cz_arena *scratch, const cz_plan_view *view,
                                   const cz_stage_time *times,
                                   const int64_t *rank_ps);

#endif
