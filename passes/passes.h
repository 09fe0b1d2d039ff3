/* The passes from math form to a plan, as one table that is the pipeline. */
#ifndef CZ_PASSES_PASSES_H
#define CZ_PASSES_PASSES_H

#include "dsl/base/diag.h"
#include "dsl/ir/ir.h"

#include <stdbool.h>

/* A pass changes the module in place.  False after reporting; the module is
 * then of no further use. */
bool cz_simplify_pass(cz_ir *ir, cz_diags *diags);
bool cz_gram_pass(cz_ir *ir, cz_diags *diags);
/* Picoseconds that one matrix's update is predicted to take as it is, and by
 * Gram matrices in f16.  False: `form` is not auto, or nothing there is in f16.
 */
bool cz_gram_time(cz_ir *ir, const char *update, int64_t *before,
                  int64_t *after);
bool cz_cut_pass(cz_ir *ir, cz_diags *diags);
bool cz_kernel_pass(cz_ir *ir, cz_diags *diags);
bool cz_blocks_pass(cz_ir *ir, cz_diags *diags);
bool cz_workspace_pass(cz_ir *ir, cz_diags *diags);
bool cz_flops_pass(cz_ir *ir, cz_diags *diags);
bool cz_place_pass(cz_ir *ir, cz_diags *diags);
bool cz_strategy_pass(cz_ir *ir, cz_diags *diags);
bool cz_share_pass(cz_ir *ir, cz_diags *diags);
bool cz_schedule_pass(cz_ir *ir, cz_diags *diags);
/* Of a plan for a GPU alone: passes/gpu/gpu.h makes it one. */
bool cz_batch_pass(cz_ir *ir, cz_diags *diags);
bool cz_tiling_pass(cz_ir *ir, cz_diags *diags);

typedef struct cz_pass {
    const char *name;
    const char *needs, *provides; /* states of the module, for readers */
    bool (*run)(cz_ir *ir, cz_diags *diags);
} cz_pass;

extern const cz_pass cz_passes[]; /* in order; a NULL name ends */

/* The pass of that name, or NULL. */
const cz_pass *cz_passes_find(const char *name);

/* Run the pipeline up to and with the pass of that name (NULL: all of it).
 * False when a pass failed or left a module that does not verify. */
bool cz_passes_run(cz_ir *ir, const char *last, cz_diags *diags);
/* The two halves that a user may stop between: from math form to owners and
 * buckets; from there, edited by hand perhaps, to a schedule. */
bool cz_passes_assign(cz_ir *ir, cz_diags *diags);
bool cz_passes_schedule(cz_ir *ir, cz_diags *diags);
/* What a GPU adds to a plan that is scheduled, up to and with the pass of that
 * name (NULL: all of it). */
bool cz_passes_gpu(cz_ir *ir, const char *last, cz_diags *diags);
/* The passes from the one to the other, for one of many plans that are compared
 * and dropped: nothing between them verifies the module. */
bool cz_passes_try(cz_ir *ir, const char *first, const char *last,
                   cz_diags *diags);

#endif
