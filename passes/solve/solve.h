/* The planner's door: owners, and layout of buckets, together. */
#ifndef CZ_PASSES_SOLVE_SOLVE_H
#define CZ_PASSES_SOLVE_SOLVE_H

#include "passes/solve/evaluate.h"

typedef struct cz_solved {
    cz_solve_plan plan; /* passes cz_solve_check() */
    cz_solve_score score;
    int n_tried; /* plans that were compared */
} cz_solved;

/* The best plan, by cz_solve_compare(), of several methods; of equally good
 * ones the first.  In the engine's order:
 *
 * - by load: longest first and local search, buckets not looked at; then equal
 *   items are dealt out so that buckets are padded little;
 * - by bucket: items into even shares of each bucket, with more or less room,
 *   then local search inside buckets;
 * - in batches, where items have any: exchanges behind one of these (batch.h);
 *
 * each with what is divisible poured so that load comes out even, unless padded
 * slices or equal parts cut it.  In the trainer's order, contiguous slices by
 * coordinate descent (line.h), by time, elements, state and
 * mixtures of them.  In both, what public optimizers do (baseline.h).  A
 * problem without items, or with one rank, has a plan too. Everything belongs
 * to the arena. */
cz_solved cz_solve(cz_arena *arena, const cz_solve_problem *problem);

#endif
