/* The best plan so far.  Private to the solvers. */
#ifndef CZ_PASSES_SOLVE_CHOICE_H
#define CZ_PASSES_SOLVE_CHOICE_H

#include "passes/solve/counts.h"
#include "passes/solve/solve.h"

/* Keep the plan if it is the first or better than what is kept. */
void cz_choice_offer(cz_arena *arena, const cz_solve_problem *problem,
                     cz_solved *best, const cz_solve_plan *plan,
                     const char *method);

/* What public optimizers do (baseline.h), of which the layer-wise ones are no
 * plans in the trainer's order. */
void cz_choice_offer_baselines(cz_arena *arena, const cz_solve_problem *problem,
                               cz_solved *best);

/* The plan of these counts, with what is divisible poured. */
void cz_choice_offer_counts(cz_arena *arena, const cz_solve_problem *problem,
                            cz_solved *best, const cz_counts *counts,
                            const char *method);

/* The methods of each order. */
void cz_solve_free(cz_arena *arena, const cz_solve_problem *problem,
                   cz_solved *best);
void cz_solve_fixed(cz_arena *arena, const cz_solve_problem *problem,
                    cz_solved *best);

#endif
