/* Buckets: parameters that travel together, in one buffer.  A solver on plain
 * arrays; knows nothing of names, types or the IR. */
#ifndef CZ_PASSES_BUCKET_H
#define CZ_PASSES_BUCKET_H

#include "dsl/base/arena.h"

#include <stdint.h>

/* Starts of parameters and bounds of slices are multiples of this many
 * elements: 32 bytes of bf16, so that vector loads stay aligned. */
enum { CZ_BUCKET_ALIGN = 16 };

typedef struct cz_bucket_item {
    int64_t param;    /* what the result names it by */
    int64_t elements; /* of one rank's shard */
    int kind;         /* only items of one kind share a bucket; from 0 */
    int owner;        /* slice that must hold it all; -1: may be cut anywhere,
                       * which then holds for all items of its kind */
} cz_bucket_item;

typedef struct cz_bucket {
    int kind;
    int64_t length;  /* elements, padding included */
    int64_t *slices; /* [n_slices + 1] */
    int n;
    int64_t *params, *offsets; /* [n], offsets ascending */
} cz_bucket;

typedef struct cz_bucket_problem {
    int n_items;
    const cz_bucket_item *items; /* in the order in which gradients come */
    int n_kinds;
    const int *n_slices; /* [n_kinds] */
    int64_t capacity;    /* a bucket that holds this many elements is closed */
} cz_bucket_problem;

/* Buckets in the order in which they close.  Owned items are sorted by owner,
 * stable, so that every slice is contiguous; cut buckets have slices of equal
 * length, the last ones shorter or empty.  Elements of all items together
 * must stay below 2^62.  The result belongs to the arena. */
cz_bucket *cz_bucket_solve(cz_arena *arena, const cz_bucket_problem *problem,
                           int *n_buckets);

#endif
