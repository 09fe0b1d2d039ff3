/* Equal matrices of a baseline: the update of a placement is one operation,
 * whose batches are those that a plan's operation would have. */
#ifndef CZ_PASSES_BASELINE_BATCHES_H
#define CZ_PASSES_BASELINE_BATCHES_H

#include "passes/cost/plan_time.h"
#include "passes/place/problem.h"

/* Who computes a matrix that is gathered; of others, all hosts of the owner's
 * coordinate do. */
typedef enum cz_compared_owners {
    CZ_COMPARED_NONE, /* an operation of its own */
    CZ_COMPARED_HOST, /* the plan's host */
    CZ_COMPARED_ROW,  /* all hosts of the owner's coordinate alike */
    CZ_COMPARED_ALL   /* all slots, and what is not gathered likewise */
} cz_compared_owners;

/* load_ps[slots] has time_ps of each matrix; it gets what batches take in place
 * of that.  Matrices of the classes that `is_left_out` has, if it is not NULL,
 * are not looked at. */
void cz_compare_batches(const cz_plan_view *view, const cz_stage_time *times,
                        const cz_placement_problem *placement,
                        const cz_solve_plan *plan, cz_compared_owners gathered,
                        const bool *is_left_out, int64_t *load_ps);

#endif
