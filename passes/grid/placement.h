/* Placements: parameters that one problem of the solver places.  Their
 * gradients are reduced to owners over the same axes, the same ranks have them,
 * and their matrices are sharded over the same axes.  A *slot* of a placement
 * is a split coordinate and a shard coordinate, which is one rank or several
 * that do the same to different tensors (experts) or to copies. */
#ifndef CZ_PASSES_GRID_PLACEMENT_H
#define CZ_PASSES_GRID_PLACEMENT_H

#include "passes/grid/owned.h"

typedef struct cz_placement {
    int n_params;
    const int *params; /* in the order in which gradients come */
    int n_splits;      /* split coordinates */
    int n_shards;      /* shard coordinates of its sharded matrices; or 1 */
    const int
        *slot_of_grid_cell; /* [rows * columns of the grid] split * n_shards +
                             * shard; -1: no rank, or not resident */
} cz_placement;

/* Every trained parameter is in one placement.  Placements are in the order of
 * their first patterns.  They live in the arena. */
cz_placement *cz_placements_find(cz_arena *arena, const cz_plan_view *view,
                                 const cz_owner_grid *grid, int *n);

/* For each slot of `inner` the slot of `outer` that has all of its ranks.
 * NULL unless that is so for all, every outer slot has equally many inner
 * ones, at least two, and as many of each inner split coordinate. */
const int *cz_placement_refine(cz_arena *arena, const cz_placement *inner,
                               const cz_placement *outer, int n_grid_cells);

#endif
