/* Memory by liveness: buffers that never live at the same time may share
 * bytes.  A solver on plain arrays. */
#ifndef CZ_PASSES_KERNEL_LIVENESS_H
#define CZ_PASSES_KERNEL_LIVENESS_H

#include "dsl/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* One buffer, live from time `first` to time `last`, both included. */
typedef struct cz_live {
    int64_t bytes;
    int first, last;
    int64_t offset; /* result */
    int place;      /* result, where there are several */
} cz_live;

/* Bytes that buffers may lie in, but at times `first` to `last`, when they hold
 * something else; none such: first > last. */
typedef struct cz_live_place {
    int64_t bytes;
    int first, last;
} cz_live_place;

/* Give every buffer an offset, a multiple of `align`; large ones first, each
 * at the lowest place that is free while it lives, empty ones at 0.  Returns
 * the bytes that hold them all, a multiple of `align`.  Bytes together must
 * stay below 2^62. O(n^2 log n). */
int64_t cz_liveness_place(cz_arena *scratch, cz_live *buffers, int n,
                          int64_t align);

/* The same with rooms besides: every buffer lies in the first of them in which
 * it fits while it lives, and its `room` is that one's number, or behind all
 * the others, n_places, whose bytes are returned.  Of equal buffers the one
 * that lives first, or with `last_first` last, takes its place first. */
int64_t cz_liveness_place_among(cz_arena *scratch, cz_live *buffers, int n,
                                int64_t align, const cz_live_place *places,
                                int n_places, bool last_first);

#endif
