/* What it is worth that a slot computes equal matrices together. */
#ifndef CZ_PASSES_SOLVE_BATCH_H
#define CZ_PASSES_SOLVE_BATCH_H

#include "passes/solve/counts.h"

/* Whether any matrices are computed together. */
bool cz_solve_has_batches(const cz_solve_problem *problem);

/* What n of a class take in batches, less what they take one by one. */
int64_t cz_solve_batch_extra(const cz_solve_class *c, int n);

/* Adds that to loads [slots] of items whose slots are slot_of [n_items]; -1:
 * none. */
void cz_solve_batch_add(cz_arena *scratch, const cz_solve_problem *problem,
                        const int *slot_of, int64_t *load_ps);

/* Descent: two slots exchange a matrix each in one layer, or one gives one,
 * while the sum of fourth powers of loads, batches included, falls.  State
 * above the cap, and elements above `most`, do not rise.  Loads of the counts
 * are then those with batches. */
void cz_counts_batch(cz_counts *counts);

#endif
