/* Places of one call of a stage for every intermediate result and accumulator,
 * by liveness: in its workspace, or in slots that travel.  Plain C on the plan
 * view. */
#ifndef CZ_PASSES_KERNEL_WORKSPACE_H
#define CZ_PASSES_KERNEL_WORKSPACE_H

#include "dsl/base/arena.h"
#include "dsl/plan/plan.h"

#include <stdint.h>

/* Of step s, [s][entry]: entries are those of dsl/plan/within.h. */
typedef struct cz_places {
    int64_t **offsets; /* -1: an output of the stage, or nothing is needed */
    int64_t **within;  /* NULL where all are in the workspace */
} cz_places;

/* Returns the bytes of the workspace.  What a step writes never overlaps what
 * is still to be read, nor what it reads itself, but where a map takes the
 * place of an operand element by element.  A slot of the stage (its `room`)
 * holds results after the last step that reads what was gathered, and before
 * the step that makes what is scattered.  Of four ways to fill them the one
 * that leaves the least for the workspace. */
int64_t cz_workspace_solve(cz_arena *arena, const cz_view_stage *stage,
                           cz_places *places);

#endif
