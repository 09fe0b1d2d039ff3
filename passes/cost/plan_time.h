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

/* Equal matrices of a rank are computed together, about as many as it has if
 * all ranks have as many, but no more than this: what a larger batch gains is
 * little. */
enum { CZ_TIMED_BATCH = 16 };

typedef struct cz_stage_time {
    int64_t batch;   /* a power of two; 1 of element-wise stages */
    int64_t time_ps; /* whole: of one matrix of such a batch, rounded up;
                      * shared: of one row, in the longest phase; else
                      * of CZ_TIMED_ELEMENTS, without launches.  With phases,
                      * the mean of updates in the long run */
    bool is_measured;
    const int64_t *phase_ps; /* [variants] the same of each phase; NULL: none */
} cz_stage_time;

/* times[n_stages].  A measured time of the batch, or else of one matrix,
 * comes before the model. */
cz_stage_time *cz_stage_times(cz_arena *arena, const cz_plan_view *view,
                              const cz_machine *machine);

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
