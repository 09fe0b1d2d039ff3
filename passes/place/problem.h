/* What the solver is asked about one placement: classes of parameters with
 * their predicted times and state bytes, in buckets. */
#ifndef CZ_PASSES_PLACE_PROBLEM_H
#define CZ_PASSES_PLACE_PROBLEM_H

#include "passes/cost/plan_time.h"
#include "passes/grid/placement.h"
#include "passes/place/geometry.h"
#include "passes/solve/problem.h"

/* One placement and the solver's problem about it; item i is params[i]. */
typedef struct cz_placement_problem {
    cz_placement placement;
    int *params; /* [n_params] by reduction, then as gradients come */
    cz_solve_problem problem;   /* kinds of classes are types */
    cz_place_geometry geometry; /* whoever places the placement sets it */
} cz_placement_problem;

/* times: of all stages.  False after reporting that sums of time,
 * memory or elements do not fit. */
bool cz_place_problem_make(cz_arena *arena, const cz_plan_view *view,
                           const cz_stage_time *times, cz_diags *diags,
                           const cz_placement *placement,
                           cz_placement_problem *out);

/* Buckets of `most` elements in place of those that the policy says: one that
 * holds enough is closed, as Megatron does it.  What is reduced behind the
 * backward pass, and gathered before the next, waits for nobody: at the end a
 * bucket takes no more than half of what is left. */
void cz_place_fill_buckets(cz_arena *arena, const cz_plan_view *view,
                           int64_t most, cz_placement_problem *placement);

#endif
