/* Workspace of one call of a stage: a place for every intermediate result and
 * accumulator, by liveness.  Plain C on the plan view. */
#ifndef CZ_PASSES_WORKSPACE_H
#define CZ_PASSES_WORKSPACE_H

#include "dsl/base/arena.h"
#include "dsl/plan_view.h"

#include <stdint.h>

/* (*offsets)[s] gets the entries of step s as cz_view_step has them: a byte
 * for each result, -1 where it is an output of the stage, and for a product
 * one more, its f32 accumulator, -1 where the result itself accumulates, for a
 * factorisation its own workspace, -1 where it needs none.
 * Returns the bytes in all.  What a step writes never overlaps what it
 * reads. */
int64_t cz_workspace_solve(cz_arena *arena, const cz_view_stage *stage,
                           int64_t ***offsets);

#endif
