/* Tries the methods that a problem's order and geometry allow. */
#include "passes/solve/solve.h"

#include "passes/solve/choice.h"

void cz_choice_offer(cz_arena *arena, const cz_solve_problem *problem,
                     cz_solved *best, const cz_solve_plan *plan,
                     const char *method)
{
    const cz_solve_score score = cz_solve_evaluate(arena, problem, plan);
    if (best->n_tried++ > 0 &&
        cz_solve_compare(problem, &score, &best->score) >= 0)
        return;
    best->plan = *plan;
    best->plan.method = method;
    best->score = score;
}

cz_solved cz_solve(cz_arena *arena, const cz_solve_problem *problem)
{
    const cz_solve_problem evened = cz_solve_evened(arena, problem);
    cz_solved best = {.n_tried = 0};
    if (problem->order == CZ_ORDER_ENGINE)
        cz_solve_free(arena, &evened, &best);
    else
        cz_solve_fixed(arena, &evened, &best);
    return best;
}
