/* Two problems on the same ranks, of which one sees them as fewer: experts
 * whose owners are alike for all ranks of one coordinate (outer), and dense
 * matrices, each owned by one rank (inner).  Plans of them are made together.
 */
#ifndef CZ_PASSES_SOLVE_SEARCH_JOINT_H
#define CZ_PASSES_SOLVE_SEARCH_JOINT_H

#include "passes/solve/solve.h"

typedef struct cz_joint_problem {
    cz_solve_problem inner, outer; /* in the engine's order; state_mean is of
                                    * both together */
    const int *outer_of; /* [inner slots] the outer slot of each; every outer
                          * slot has equally many */
} cz_joint_problem;

typedef struct cz_joint_solved {
    cz_solved inner, outer; /* scores: of each with the other's loads as
                             * initial ones; outer: the fullest of its ranks */
} cz_joint_solved;

/* A slot's load is the same for all inner slots of it, but for what inner items
 * add; so these come in bundles: as many items of one class as a outer slot
 * has inner ones.  Bundles are items of the outer problem.  What of a class is
 * no whole bundle goes where it adds least. */
cz_joint_solved cz_solve_joint(cz_arena *arena,
                               const cz_joint_problem *problem);

#endif
