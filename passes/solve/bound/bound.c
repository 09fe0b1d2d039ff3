/* Lower bounds, each a few lines of arithmetic on its own. */
#include "passes/solve/bound/bound.h"

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"

cz_solve_bound cz_solve_bound_find(const cz_solve_problem *problem)
{
    const int n_slots = problem->n_ranks * problem->n_hosts;
    cz_solve_bound bound = {.item = -1};
    int64_t total = 0, least = problem->initial_ps ? INT64_MAX : 0;
    for (int s = 0; problem->initial_ps && s < n_slots; s++) {
        total += problem->initial_ps[s];
        least = cz_solve_min(least, problem->initial_ps[s]);
    }
    for (int i = 0; i < problem->n_items; i++) {
        const cz_solve_class *c = &problem->classes[problem->class_of[i]];
        total += c->divisible
                     ? problem->n_hosts * c->cost_ps
                     : c->cost_ps + problem->n_hosts * c->coordinate_ps;
        if (c->divisible ||
            (bound.item >= 0 && c->cost_ps + c->coordinate_ps <= bound.item_ps))
            continue;
        bound.item = i;
        bound.item_ps = c->cost_ps + c->coordinate_ps;
    }
    bound.mean_ps = cz_ceil_div(total, n_slots);
    bound.item_ps += bound.item >= 0 ? least : 0;
    bound.max_ps = cz_solve_max(bound.mean_ps, bound.item_ps);
    return bound;
}
