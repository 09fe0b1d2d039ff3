/* Domains: parameters that one problem of the solver places.  Their gradients
 * are reduced to owners over the same axes, the same ranks have them, and
 * their matrices are sharded over the same axes.  A *slot* of a domain is a
 * split coordinate and a shard coordinate, which is one rank or several that
 * do the same to different tensors (experts) or to copies. */
#ifndef CZ_PASSES_GRID_DOMAIN_H
#define CZ_PASSES_GRID_DOMAIN_H

#include "passes/grid/owned.h"

typedef struct cz_domain {
    int n_params;
    const int *params; /* in the order in which gradients come */
    int n_splits;      /* split coordinates */
    int n_shards;      /* shard coordinates of its sharded matrices; or 1 */
    const int *slot_of_cell; /* [rows * columns of the grid] split * n_shards +
                              * shard; -1: no rank, or not at home */
} cz_domain;

/* Every trained parameter is in one domain.  Domains are in the order of
 * their first families.  They live in the arena. */
cz_domain *cz_domains_find(cz_arena *arena, const cz_plan_view *view,
                           const cz_owner_grid *grid, int *n);

/* For each slot of `fine` the slot of `coarse` that has all of its ranks.
 * NULL unless that is so for all, every coarse slot has equally many fine
 * ones, at least two, and as many of each fine split coordinate. */
const int *cz_domain_refine(cz_arena *arena, const cz_domain *fine,
                            const cz_domain *coarse, int n_cells);

#endif
