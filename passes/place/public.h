/* What public optimizers make of all domains, beside what was made of one
 * domain after the other. */
#ifndef CZ_PASSES_PLACE_PUBLIC_H
#define CZ_PASSES_PLACE_PUBLIC_H

#include "passes/place/problem.h"
#include "passes/solve/problem.h"

/* Plans of all domains, and what they amount to on each cell of the grid. */
typedef struct cz_place_all {
    int n_domains, n_cells;
    const cz_place_domain *domains; /* [n_domains] */
    cz_solve_plan *plans;           /* [n_domains] */
    int64_t *cell_ps, *cell_bytes;  /* [n_cells] */
} cz_place_all;

/* Adds to each cell what the domain's plan is there. */
void cz_place_add(cz_arena *scratch, cz_place_all *all, int domain);

/* Replaces `all` by the plans of the public optimizer that leaves cells least
 * above the state that they may have, and then the busiest cell least to do, if
 * that is better than all->plans. */
void cz_place_try_public(cz_arena *arena, int64_t cap_bytes, cz_place_all *all);

#endif
