/* How long the stages of a plan take, and what each rank computes in a step of
 * the optimizer: the times that matrices are dealt out by. */
#ifndef CZ_PASSES_COST_PLAN_TIME_H
#define CZ_PASSES_COST_PLAN_TIME_H

#include "dsl/base/arena.h"
#include "dsl/plan/plan.h"
#include "passes/cost/machine.h"

#include <stdbool.h>

/* Element-wise stages are timed by so many elements. */
#define CZ_TIMED_ELEMENTS ((int64_t)1 << 20)

/* No larger batch: what it gains is little. */
enum { CZ_TIMED_BATCH = 16 };

/* Equal matrices of an operation are computed in batches (cz_time_batches):
 * no larger than CZ_TIMED_BATCH, nor than the cap of `group` has workspaces
 * for, CZ_TIMED_BYTES without one; one by one where the plan is strict or caps
 * memory. */
#define CZ_TIMED_BYTES ((int64_t)1 << 30)

typedef struct cz_stage_time {
    int64_t batch;    /* full_matrix: the power of two that a rank has, if all
                       * have as many, or less; else 1 */
    int64_t time_ps;  /* full_matrix: of one matrix of such a batch, rounded up,
                       * by which owners are chosen; shared: of one row, in the
                       * longest phase; else of CZ_TIMED_ELEMENTS, without
                       * launches.  With phases, the mean of updates in the long
                       * run */
    bool is_measured; /* all of its batch */
    const int64_t *phase_ps; /* [variants] the same of each phase; NULL: none */
    int n_batches;           /* full_matrix: the largest batch; else 0 */
    const int64_t *batch_ps; /* [n_batches] of 1, 2, ... matrices */
    const bool *is_measured_batch;
    const int64_t **phase_batch_ps; /* [variants][n_batches]; NULL: none */
} cz_stage_time;

/* times[n_stages].  A batch is the largest measured one of it and a batch of
 * what is left; by the model where none is measured. */
cz_stage_time *cz_stage_times(cz_arena *arena, const cz_plan_view *view,
                              const cz_machine *machine);

/* So many rows of a shaped stage in an operation. */
int64_t cz_stage_time_rows(const cz_stage_time *time, int64_t n_rows);

/* What a rank computes of an owned matrix that it owns, or shares. */
int64_t cz_matrix_time(const cz_plan_view *view, const cz_stage_time *times,
                       int param);

/* So many elements of an element-wise stage, rounded up. */
int64_t cz_stage_time_elements(const cz_stage_time *time, int64_t elements);

/* [n_ranks] the sum over the rows of all kernels of a scheduled plan. */
int64_t *cz_rank_times(cz_arena *arena, const cz_plan_view *view,
                       const cz_stage_time *times);

typedef struct cz_rank_load {
    int64_t max_ps, sum_ps, mean_ps; /* the mean rounded up */
} cz_rank_load;

/* n ranks, one at least. */
cz_rank_load cz_rank_load_of(const int64_t *rank_ps, int n);

#endif
