/* How long the `whole` stage of a rule takes: for one matrix or a batch of
 * equal ones, on one rank or shared out over a group. */
#ifndef CZ_PASSES_COST_STAGE_H
#define CZ_PASSES_COST_STAGE_H

#include "dsl/base/arena.h"
#include "dsl/plan/plan.h"
#include "passes/cost/machine.h"
#include "passes/cost/step_cut.h"

#include <stdbool.h>

typedef struct cz_stage_call {
    const cz_view_stage *stage; /* in kernel form */
    int64_t batch;              /* equal matrices, computed together */
    int64_t subgroup_size;      /* ranks that share each matrix; 1: owner */
    cz_cut_of cut;              /* by which dimension, if group > 1 */
    cz_link link;               /* between the ranks of the group */
} cz_stage_call;

/* Of each rank of the group, for the whole batch. */
typedef struct cz_stage_cost {
    int64_t time_ps; /* all of it; of which */
    int64_t wire_ps; /* adding up partial sums, not overlapped */
    int64_t flops;   /* of products; a symmetric one by the triangle where the
                      * machine can */
    int64_t bytes;   /* that kernels read and write */
    int64_t wire_bytes; /* that the rank sends */
    bool is_measured;   /* time_ps is an entry of the machine's table */
} cz_stage_cost;

/* The sum over the steps, one kernel each, and one collective for each step
 * that leaves partial sums.  Rows and columns of a cut dimension are those of
 * the largest share.  False when the stage cannot be shared out like that. */
bool cz_cost_stage(cz_arena *scratch, const cz_plan_view *view,
                   const cz_machine *machine, const cz_stage_call *call,
                   cz_stage_cost *out);

/* The same averaged over the phases of the rule: a stage with `every k` costs
 * what its variants do, by how often each fires in the long run. */
bool cz_cost_stage_mean(cz_arena *scratch, const cz_plan_view *view,
                        const cz_machine *machine, const cz_stage_call *call,
                        cz_stage_cost *out);

#endif
