/* From counts to places of items, and from those to a plan in the engine's
 * order.  Private to the solvers. */
#ifndef CZ_PASSES_SOLVE_SEARCH_PLACE_H
#define CZ_PASSES_SOLVE_SEARCH_PLACE_H

#include "passes/solve/counts.h"

/* Which items a slot gets of the many that are alike, so that of each bucket
 * all ranks have about as much: bucket by bucket, longest kinds first, each
 * item to the slot that still wants some of its kind and has least of the
 * bucket.  Layers by bucket leave no such choice.  slot_of[n_items] gets
 * slots, and -1 for what is divisible.  O(B R + n log R). */
void cz_place_items(cz_arena *scratch, const cz_counts *counts, int *slot_of);

/* Each rank's part of each bucket's divisible elements, amounts[n_buckets *
 * n_ranks], aligned: water-filling, which evens loads out from the lowest
 * rank on, under the cap on state where that can be kept. */
void cz_place_fill(cz_arena *scratch, const cz_solve_problem *problem,
                   const int *slot_of, int64_t *amounts);

/* The plan of these places and amounts. */
cz_solve_plan cz_place_plan(cz_arena *arena, const cz_solve_problem *problem,
                            const int *slot_of, const int64_t *amounts);

#endif
