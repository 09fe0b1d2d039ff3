/* Padded slices as Megatron-LM's layer-wise layout makes them: when a
 * bucket of matrices is closed, and who owns what of it. */
#ifndef CZ_PASSES_SOLVE_PADDED_H
#define CZ_PASSES_SOLVE_PADDED_H

#include "passes/solve/problem.h"

/* Starts of matrices and lengths of slices are multiples, elements. */
enum { CZ_PADDED_ALIGN = 64 };

/* Sets n_buckets and bucket_start.  reduction_of: [n_items]; a bucket has whole
 * items of one reduction, or divisible ones of one.  It is closed when it has
 * `most` elements.  One of whole items has nine tenths, too, of what slices as
 * long as its largest would have, each item in the shortest slice, and is
 * closed in front of the one that would make the longest slice longer. */
void cz_padded_fill(cz_arena *arena, cz_solve_problem *problem,
                    const int *reduction_of, int64_t most);

/* Owners of a bucket's whole items: longest first, to the rank that has least
 * to do in all buckets so far, of those whose slice stays within 1.3 times the
 * mean; where there is none, to the shortest slice.  load [n_ranks]
 * gets what it adds; owner [n_items] may be NULL.  Returns the length of the
 * longest slice. */
int64_t cz_padded_owners(cz_arena *arena, const cz_solve_problem *problem,
                         int bucket, int64_t *load, int *owner);

#endif
