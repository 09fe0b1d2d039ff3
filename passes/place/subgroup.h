/* Whether ranks that shard a placement's matrices had better share some of
 * them: where there are few matrices on each row of ranks, one that a single
 * rank computes is what all others wait for. */
#ifndef CZ_PASSES_PLACE_SUBGROUP_H
#define CZ_PASSES_PLACE_SUBGROUP_H

#include "passes/place/problem.h"
#include "passes/solve/solve.h"

typedef struct cz_place_subgroups {
    cz_solve_plan plan; /* hosts: the first rank of each matrix's block */
    cz_block *blocks;   /* [n_items] of ranks that share it; of 1: its owner */
} cz_place_subgroups;

/* Plans the placement with sub-groups (passes/solve/subgroup/subgroup.h). False
 * where that is not possible, or no better than owners alone by the same
 * simulation: an even number of ranks has the matrices' shards, all of one
 * dimension.  Nor where states are beyond their cap and beyond `alone`, in
 * bytes, which the fullest rank has of owners alone. */
bool cz_place_subgroups_find(cz_arena *arena, const cz_plan_view *view,
                             const cz_machine *machine,
                             cz_placement_problem *placement, int64_t alone,
                             cz_place_subgroups *out);

#endif
