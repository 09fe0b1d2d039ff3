/* The grid: rows of equal content are planned once, and of each row's front
 * the lightest plan is taken that is as fast as the slowest row must be. */
#include "passes/solve/subgroup/kinds.h"

#include "dsl/base/arithmetic.h"

enum {
    N_STAGES = 16,
    AIM_PARTS = 50 /* a fiftieth below */
};

/* The kind whose fastest plan takes longest, if that is all the time there is;
 * else the bytes of all of them are in the way: each in turn. */
static int kind_in_the_way(const cz_subgroup_kinds *k, int64_t time_ps,
                           int turn)
{
    const cz_subgroup_aim sooner = {time_ps - 1, INT64_MAX};
    for (int kind = 0; kind < k->n; kind++)
        if (!cz_subgroup_kinds_row(k, kind, &sooner))
            return kind;
    return turn % k->n;
}

/* All kinds of rows aim a little below what all of them reach together. */
static void search_all(const cz_subgroup_problem *problem,
                       const cz_subgroup_kinds *k)
{
    const int effort = cz_subgroup_effort(problem);
    for (int turn = 0; turn < N_STAGES * k->n; turn++) {
        bool is_feasible;
        const int64_t time = cz_subgroup_kinds_time(k, &is_feasible);
        const int64_t target = time < 0 ? 0 : time - time / AIM_PARTS;
        const int kind =
            turn < 2 * k->n ? turn % k->n : kind_in_the_way(k, time, turn);
        cz_subgroup_search_on(k->kinds[kind].search, target, effort / N_STAGES);
    }
}

static void take(cz_subgroup_plan *plan, int row, const cz_subgroup_row *from)
{
    plan->rows[row] = *from;
    plan->time_ps = cz_solve_max(plan->time_ps, from->cost.time_ps);
    plan->wire_bytes += from->cost.wire_bytes;
    plan->staging_bytes =
        cz_solve_max(plan->staging_bytes, from->cost.staging_bytes);
    plan->state_bytes = cz_solve_max(plan->state_bytes, from->cost.state_bytes);
}

cz_subgroup_plan cz_subgroup_solve(cz_arena *arena,
                                   const cz_subgroup_problem *problem)
{
    cz_subgroup_plan plan = {0};
    int *counts = CZ_NEW(arena, int, problem->n_rows * problem->n_classes);
    plan.rows = CZ_NEW(arena, cz_subgroup_row, problem->n_rows);
    cz_subgroup_deal(arena, problem, counts);
    cz_subgroup_kinds k = cz_subgroup_kinds_make(arena, problem, counts);
    search_all(problem, &k);
    cz_subgroup_aim aim = {cz_subgroup_kinds_time(&k, &plan.is_feasible),
                           INT64_MAX};
    if (problem->n_redeals > 0 && plan.is_feasible)
        aim = cz_subgroup_redeal(&k, aim.time_ps, problem->n_redeals);
    for (int row = 0; row < problem->n_rows && aim.time_ps >= 0; row++)
        take(&plan, row, cz_subgroup_kinds_row(&k, k.of_row[row], &aim));
    return plan;
}
