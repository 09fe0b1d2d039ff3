/* What each step of a whole stage costs one rank of the group that shares it:
 * its kernel, then the collective that adds up partial sums or gathers rows
 * that were dealt out. */
#ifndef CZ_PASSES_COST_STEP_H
#define CZ_PASSES_COST_STEP_H

#include "passes/cost/stage.h"
#include "passes/cost/time.h"

/* For the whole batch; meanings as in cz_stage_cost. */
typedef struct cz_step_cost {
    int64_t compute_ps; /* the kernel */
    int64_t wire_ps;    /* the collective after it; 0: none */
    int64_t flops, bytes, wire_bytes;
} cz_step_cost;

/* costs[n_steps] for these shares; with a group of 1 they are not read. */
void cz_cost_steps(cz_arena *scratch, const cz_machine *machine,
                   const cz_stage_call *call, const cz_step_cut *step_cuts,
                   cz_step_cost *costs);

/* The type of every value of a stage, cz_step_cuts_n_values() of them. */
cz_dtype *cz_cost_value_dtypes(cz_arena *scratch, const cz_view_stage *stage);

/* A kernel of one call of a stage on one matrix. */
typedef struct cz_step_kernel {
    bool is_product;
    cz_product_size product; /* batch 1; of others the bytes alone */
    cz_factor factor;        /* or none */
    cz_call_size call;       /* of a factorisation */
} cz_step_kernel;

/* kernels[n_steps], of each of the `group` ranks with these shares; with a
 * group of 1 they are not read. */
void cz_cost_kernels(cz_arena *scratch, const cz_view_stage *stage,
                     const cz_step_cut *step_cuts, int64_t subgroup_size,
                     cz_step_kernel *kernels);

/* How often each body of a stage runs, in the long run: counts[i] of so many
 * updates as are returned.  counts[CZ_MAX_PHASES]. */
int64_t cz_cost_frequencies(const cz_plan_view *view,
                            const cz_view_stage *stage, int64_t *counts);

#endif
