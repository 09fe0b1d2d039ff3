/* Public optimizers on all placements at once: placements that are placed one
 * after the other may get in each other's way. */
#include "passes/place/baselines.h"

#include "passes/solve/baseline.h"

void cz_place_add(cz_arena *scratch, cz_place_all *all, int placement)
{
    const cz_placement_problem *it = &all->placements[placement];
    cz_solve_problem problem = it->problem;
    problem.initial_ps = problem.initial_bytes = NULL;
    const cz_solve_score score =
        cz_solve_evaluate(scratch, &problem, &all->plans[placement]);
    for (int cell = 0; cell < all->n_grid_cells; cell++) {
        const int slot = it->placement.slot_of_grid_cell[cell];
        if (slot < 0)
            continue;
        all->grid_cell_ps[cell] += score.load_ps[slot];
        all->grid_cell_bytes[cell] += score.state_bytes[slot / problem.n_hosts];
    }
}

static int64_t largest(const int64_t *values, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

static bool is_better(const cz_place_all *a, const cz_place_all *b,
                      int64_t cap_bytes)
{
    const int64_t state[] = {largest(a->grid_cell_bytes, a->n_grid_cells),
                             largest(b->grid_cell_bytes, b->n_grid_cells)};
    const int64_t excess[] = {state[0] > cap_bytes ? state[0] - cap_bytes : 0,
                              state[1] > cap_bytes ? state[1] - cap_bytes : 0};
    return excess[0] != excess[1]
               ? excess[0] < excess[1]
               : largest(a->grid_cell_ps, a->n_grid_cells) <
                     largest(b->grid_cell_ps, b->n_grid_cells);
}

static cz_place_all make(cz_arena *arena, const cz_place_all *all,
                         cz_solve_baseline_kind kind)
{
    cz_place_all out = *all;
    out.plans = CZ_NEW(arena, cz_solve_plan, all->n_placements + 1);
    out.grid_cell_ps = CZ_NEW(arena, int64_t, all->n_grid_cells);
    out.grid_cell_bytes = CZ_NEW(arena, int64_t, all->n_grid_cells);
    for (int d = 0; d < all->n_placements; d++) {
        out.plans[d] =
            cz_solve_baseline_plan(arena, &all->placements[d].problem, kind);
        cz_place_add(arena, &out, d);
    }
    return out;
}

static bool keeps_order(const cz_place_all *all)
{
    for (int d = 0; d < all->n_placements; d++)
        if (all->placements[d].problem.order == CZ_ORDER_TRAINER)
            return true;
    return false;
}

void cz_place_try_baselines(cz_arena *arena, int64_t cap_bytes,
                            cz_place_all *all)
{
    const int n = keeps_order(all) ? CZ_N_BASELINES_IN_ORDER : CZ_N_BASELINES;
    for (int k = 0; k < n; k++) {
        const cz_place_all other = make(arena, all, cz_solve_baseline_kinds[k]);
        if (is_better(&other, all, cap_bytes))
            *all = other;
    }
}
