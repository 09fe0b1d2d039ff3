/* A solved placement as facts: owners of its parameters, and buckets. */
#ifndef CZ_PASSES_PLACE_FACT_H
#define CZ_PASSES_PLACE_FACT_H

#include "dsl/ir/ir.h"
#include "passes/place/problem.h"
#include "passes/solve/problem.h"

/* One bucket of the module, before it has a number. */
typedef struct cz_place_bucket {
    int last; /* of its gradients: its place among all */
    int placement;
    cz_fact_bucket fact;
} cz_place_bucket;

/* Who updates each parameter, as the `assign` facts say it; [n_params]. */
typedef struct cz_place_owners {
    int64_t *split, *shard, *subgroup_size, *stride;
} cz_place_owners;

/* Nobody owns anything yet. */
cz_place_owners cz_place_owners_make(cz_arena *arena, const cz_plan_view *view);
/* The placement's matrices.  blocks: [n_items] of ranks that share each; NULL:
 * owners have them alone. */
void cz_place_owners_put(const cz_place_owners *owners,
                         const cz_placement_problem *placement,
                         const cz_solve_plan *plan, const cz_block *blocks,
                         const cz_plan_view *view);

/* The plan's buckets, each as one or more of the module: for each type one of
 * matrices and what else lies whole in one slice, and one of what is cut; in
 * the trainer's order one for each type, unless slices are padded.  gradients:
 * places of all (passes/grid/gradient_order.h); number: of the placement.
 * Appends to *list; arrays live in the arena. */
void cz_place_buckets(cz_arena *arena, const cz_placement_problem *placement,
                      const cz_solve_plan *plan, const cz_plan_view *view,
                      const int *gradients, int number, cz_place_bucket **list,
                      int *n);

#endif
