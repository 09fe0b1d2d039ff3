/* Public optimizers on all domains at once: domains that are placed one after
 * the other may get in each other's way. */
#include "passes/place/public.h"

#include "passes/solve/baseline.h"

void cz_place_add(cz_arena *scratch, cz_place_all *all, int domain)
{
    const cz_place_domain *it = &all->domains[domain];
    cz_solve_problem problem = it->problem;
    problem.initial_ps = problem.initial_bytes = NULL;
    const cz_solve_score score =
        cz_solve_evaluate(scratch, &problem, &all->plans[domain]);
    for (int cell = 0; cell < all->n_cells; cell++) {
        const int slot = it->domain.slot_of_cell[cell];
        if (slot < 0)
            continue;
        all->cell_ps[cell] += score.load_ps[slot];
        all->cell_bytes[cell] += score.state_bytes[slot / problem.n_hosts];
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
    const int64_t state[] = {largest(a->cell_bytes, a->n_cells),
                             largest(b->cell_bytes, b->n_cells)};
    const int64_t excess[] = {state[0] > cap_bytes ? state[0] - cap_bytes : 0,
                              state[1] > cap_bytes ? state[1] - cap_bytes : 0};
    return excess[0] != excess[1] ? excess[0] < excess[1]
                                  : largest(a->cell_ps, a->n_cells) <
                                        largest(b->cell_ps, b->n_cells);
}

static cz_place_all make(cz_arena *arena, const cz_place_all *all,
                         cz_solve_baseline_kind kind)
{
    cz_place_all out = *all;
    out.plans = CZ_NEW(arena, cz_solve_plan, all->n_domains + 1);
    out.cell_ps = CZ_NEW(arena, int64_t, all->n_cells);
    out.cell_bytes = CZ_NEW(arena, int64_t, all->n_cells);
    for (int d = 0; d < all->n_domains; d++) {
        out.plans[d] = cz_solve_public(arena, &all->domains[d].problem, kind);
        cz_place_add(arena, &out, d);
    }
    return out;
}

static bool keeps_order(const cz_place_all *all)
{
    for (int d = 0; d < all->n_domains; d++)
        if (all->domains[d].problem.order == CZ_ORDER_TRAINER)
            return true;
    return false;
}

void cz_place_try_public(cz_arena *arena, int64_t cap_bytes, cz_place_all *all)
{
    const int n = keeps_order(all) ? CZ_N_PUBLIC_IN_ORDER : CZ_N_PUBLIC;
    for (int k = 0; k < n; k++) {
        const cz_place_all other = make(arena, all, cz_solve_public_kinds[k]);
        if (is_better(&other, all, cap_bytes))
            *all = other;
    }
}
