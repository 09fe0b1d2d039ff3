/* What public optimizers do: plans that cut no tensor. */
#include "passes/solve/baseline.h"
#include "passes/solve/choice.h"
#include "passes/solve/padded.h"

/* Those that keep the order of gradients come first. */
static const cz_solve_baseline_kind kinds[] = {
    CZ_BASELINE_GREEDY, CZ_BASELINE_EQUAL, CZ_BASELINE_ROUND_ROBIN,
    CZ_BASELINE_LPT_ELEMENTS};
enum { N_KINDS = sizeof kinds / sizeof *kinds, N_IN_ORDER = 2 };

/* A plan of the undivided problem is one of the problem itself: its slices
 * cover all that they own. */
static void disown(const cz_solve_problem *problem, cz_solve_plan *plan)
{
    for (int i = 0; i < problem->n_items; i++)
        if (problem->classes[problem->class_of[i]].divisible)
            plan->owner[i] = plan->host[i] = -1;
}

/* What is divisible has no owner, and lies in one rank's slice. */
static cz_solve_plan plan_of(cz_arena *arena, const cz_solve_problem *problem,
                             cz_solve_baseline_kind kind)
{
    cz_solve_plan plan = cz_solve_baseline_make(arena, problem, kind, 100).plan;
    disown(problem, &plan);
    if (problem->geometry == CZ_SLICES_UNEVEN ||
        problem->order == CZ_ORDER_TRAINER)
        return plan;
    cz_solve_plan_sort(arena, problem, &plan);
    cz_solve_plan_lay_out(problem, &plan);
    cz_solve_plan_slice(problem, &plan);
    return plan;
}

/* As Megatron-LM has padded slices. */
static void offer_padded(cz_arena *arena, const cz_solve_problem *problem,
                         cz_solved *best)
{
    cz_solve_plan plan = cz_solve_plan_make(arena, problem);
    int64_t *load = CZ_NEW(arena, int64_t, problem->n_ranks);
    for (int b = 0; b < problem->n_buckets; b++)
        cz_padded_owners(arena, problem, b, load, plan.owner);
    cz_solve_plan_sort(arena, problem, &plan);
    cz_solve_plan_lay_out(problem, &plan);
    cz_solve_plan_slice(problem, &plan);
    cz_solve_plan_host(arena, problem, &plan);
    cz_choice_offer(arena, problem, best, &plan, "layer-wise");
}

void cz_choice_offer_baselines(cz_arena *arena, const cz_solve_problem *problem,
                               cz_solved *best)
{
    const int n = problem->order == CZ_ORDER_TRAINER ? N_IN_ORDER : N_KINDS;
    for (int k = 0; k < n; k++) {
        const cz_solve_plan plan = plan_of(arena, problem, kinds[k]);
        cz_choice_offer(arena, problem, best, &plan, plan.method);
    }
    if (problem->most_padded > 0)
        offer_padded(arena, problem, best);
}
