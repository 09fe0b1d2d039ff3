/* What public optimizers make of all placements, beside what was made of one
 * placement after the other. */
#ifndef CZ_PASSES_PLACE_BASELINES_H
#define CZ_PASSES_PLACE_BASELINES_H

#include "passes/place/problem.h"
#include "passes/solve/problem.h"

/* Plans of all placements, and what they amount to on each cell of the grid. */
typedef struct cz_place_all {
    int n_placements, n_grid_cells;
    const cz_placement_problem *placements;  /* [n_placements] */
    cz_solve_plan *plans;                    /* [n_placements] */
    int64_t *grid_cell_ps, *grid_cell_bytes; /* [n_grid_cells] */
} cz_place_all;

/* Adds to each cell what the placement's plan is there. */
void cz_place_add(cz_arena *scratch, cz_place_all *all, int placement);

/* Replaces `all` by the plans of the public optimizer that leaves cells least
 * above the state that they may have, and then the busiest cell least to do, if
 * that is better than all->plans. */
void cz_place_try_baselines(cz_arena *arena, int64_t cap_bytes,
                            cz_place_all *all);

#endif
