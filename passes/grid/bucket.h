/* The layout of one bucket: parameters that travel together, in one buffer.
 * Plain arrays; knows nothing of names, types or the IR. */
#ifndef CZ_PASSES_GRID_BUCKET_H
#define CZ_PASSES_GRID_BUCKET_H

#include "dsl/base/diag.h"
#include "dsl/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Starts of parameters and bounds of slices are multiples of this many
 * elements: 32 bytes of bf16, so that vector loads stay aligned. */
enum { CZ_BUCKET_ALIGN = 16 };
/* Of so many where Megatron-core's DDP has the buffers. */
enum { CZ_BUCKET_ALIGN_TRAINER = 64 };

typedef struct cz_bucket_item {
    int64_t param;    /* what the result names it by */
    int64_t elements; /* of one rank's shard */
    int owner; /* slice that must hold it all; -1: may be cut anywhere, which
                * then holds for all items */
} cz_bucket_item;

typedef struct cz_bucket_problem {
    int n_items; /* at least 1 */
    const cz_bucket_item *items;
    int n_slices;
    int64_t align;  /* starts of items, and bounds, are multiples; at least 1 */
    bool is_padded; /* all slices are as long as the longest has to be */
    const int64_t *amounts; /* [n_slices] of what may be cut: aligned, as much
                             * as there is of it.  NULL, or padded: equal
                             * slices, the last ones shorter or empty */
} cz_bucket_problem;

typedef struct cz_bucket {
    int64_t length;  /* elements, padding included */
    int64_t *slices; /* [n_slices + 1] */
    int n;
    int64_t *params, *offsets; /* [n], offsets ascending */
} cz_bucket;

/* Owned items are sorted by owner, stable, so that every slice is contiguous;
 * others keep their order.  Elements of all items together, times slices where
 * padded, must stay below 2^62.  The result belongs to the arena. */
cz_bucket cz_bucket_lay_out(cz_arena *arena, const cz_bucket_problem *problem);

/* Waits of a schedule take time that grows with the square of their number. */
enum { CZ_MAX_BUCKETS = 4096 };

/* False after reporting that a plan would have more. */
bool cz_buckets_check(int64_t n, cz_diags *diags);

#endif
