/* Owners of equal items changed about, so that the work that comes in turns
 * comes evenly.  Nothing else of a plan changes: equal items of a bucket change
 * places, and with them owner and host. */
#ifndef CZ_PASSES_SOLVE_STAGGER_H
#define CZ_PASSES_SOLVE_STAGGER_H

#include "passes/solve/problem.h"

/* Of the problem's items.  An item's turn comes every `period` updates. */
typedef struct cz_solve_offsets {
    const int64_t *stagger_offset; /* [items] from 0 */
    const int64_t *period;         /* [classes] 1: it has none */
    const int64_t *extra_ps;       /* [classes] that its turn takes more */
} cz_solve_offsets;

/* Classes by what their turns take, the longest first; of each, in each bucket,
 * every item gets a place of the owner who has least work of its turn and then
 * most places left; of equals the first.  Then items change places while loads
 * become more even by the sum of their squares.  In the trainer's order, where
 * places are given, the plan as it is. */
cz_solve_plan cz_solve_stagger(cz_arena *arena, const cz_solve_problem *problem,
                               const cz_solve_offsets *offsets,
                               const cz_solve_plan *plan);

/* The most extra time of a rank in one turn, of items with this period. */
int64_t cz_solve_stagger_most(cz_arena *scratch,
                              const cz_solve_problem *problem,
                              const cz_solve_offsets *offsets,
                              const cz_solve_plan *plan, int64_t period);

#endif
