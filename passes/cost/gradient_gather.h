/* What sharded matrices would send if each rank that shards one got all of its
 * gradients as f32 and updated it whole, as layer-wise optimizers do.  The
 * plan's own bytes of matrices are compared with it. */
#ifndef CZ_PASSES_COST_GRADIENT_GATHER_H
#define CZ_PASSES_COST_GRADIENT_GATHER_H

#include "dsl/plan/plan.h"

/* Bytes of all ranks in one step: of each matrix that has a whole stage and p
 * shards, p - 1 times its elements, times four, for every set of ranks that
 * have the shards of one owner's coordinate.  O(families). */
int64_t cz_gradient_gather_bytes(const cz_plan_view *view);

#endif
