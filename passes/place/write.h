/* What was placed as facts of the module: owners of all patterns, buckets in
 * the order in which they are complete. */
#ifndef CZ_PASSES_PLACE_WRITE_H
#define CZ_PASSES_PLACE_WRITE_H

#include "dsl/ir/ir.h"
#include "passes/place/fact.h"
#include "passes/place/problem.h"

/* Plans of all placements, [n_placements] each. */
typedef struct cz_place_all {
    int n_placements;
    const cz_placement_problem *placements;
    const cz_solve_plan *plans;
} cz_place_all;

/* One `assign` per pattern.  blocks_of: [n_placements] of ranks that share each
 * item; NULL: owners have them alone. */
void cz_place_write_owners(cz_arena *arena, const cz_plan_view *view,
                           const cz_place_all *all,
                           const cz_block *const *blocks_of, cz_ir *ir);

void cz_place_write_buckets(cz_arena *arena, const cz_plan_view *view,
                            const cz_place_all *all, cz_ir *ir);

#endif
