/* What the solver is asked about one placement: classes of parameters with
 * their predicted times and state bytes, in buckets. */
#ifndef CZ_PASSES_PLACE_PROBLEM_H
#define CZ_PASSES_PLACE_PROBLEM_H

#include "passes/cost/plan_time.h"
#include "passes/grid/placement.h"
#include "passes/place/run.h"
#include "passes/solve/problem.h"

/* One placement and the solver's problem about it; item i is params[i], and
 * what lies behind that in its run. */
typedef struct cz_placement_problem {
    cz_placement placement;
    int *params;              /* [items] by reduction, then as gradients come */
    cz_solve_problem problem; /* kinds of classes are types */
    const int64_t *shard_ps;  /* as it was made with */
    const cz_place_runs *runs;
} cz_placement_problem;

/* [n_patterns] of the update of a matrix on each of the ranks that shard it,
 * where they had better share it as its shards lie; -1: of all others.  That is
 * so where it needs no product, and no part of the matrix that other ranks have
 * but sums over it: those travel, and the matrix does not.  Not where the
 * schedule says how matrices are updated. */
const int64_t *cz_place_shard_times(cz_arena *arena, const cz_plan_view *view,
                                    const cz_machine *machine);

/* times: of all stages; shard_ps: cz_place_shard_times(), or NULL: matrices
 * have owners; runs: cz_place_runs_find(), or NULL: each parameter is an item,
 * and lies anywhere.  False after reporting that sums of time, memory or
 * elements do not fit. */
bool cz_place_problem_make(cz_arena *arena, const cz_plan_view *view,
                           const cz_stage_time *times, const int64_t *shard_ps,
                           const cz_place_runs *runs, cz_diags *diags,
                           const cz_placement *placement,
                           cz_placement_problem *out);

/* Gives the problem the policy's geometry and, where that is not uneven slices,
 * the price of its wire: gradients one way, parameters back, at the rate of the
 * link that its reduction uses. */
void cz_place_price(const cz_plan_view *view, const cz_machine *machine,
                    cz_placement_problem *placement);

/* Lets owners of few matrices be chosen by what they compute together. */
void cz_place_batch(cz_arena *arena, const cz_plan_view *view,
                    const cz_stage_time *times,
                    cz_placement_problem *placement);

/* Buckets of `most` elements in place of those that the policy says: one that
 * holds enough is closed, as Megatron does it.  What is reduced behind the
 * backward pass, and gathered before the next, waits for nobody: at the end a
 * bucket takes no more than half of what is left.  Where runs are kept, buckets
 * are filled as passes/solve/padded.h says. */
void cz_place_fill_buckets(cz_arena *arena, const cz_plan_view *view,
                           int64_t most, cz_placement_problem *placement);

#endif
