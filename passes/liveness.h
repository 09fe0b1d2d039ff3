/* Memory by liveness: buffers that never live at the same time may share
 * bytes.  A solver on plain arrays. */
#ifndef CZ_PASSES_LIVENESS_H
#define CZ_PASSES_LIVENESS_H

#include "dsl/base/arena.h"

#include <stdint.h>

/* One buffer, live from time `first` to time `last`, both included. */
typedef struct cz_live {
    int64_t bytes;
    int first, last;
    int64_t offset; /* result */
} cz_live;

/* Give every buffer an offset, a multiple of `align`; large ones first, each
 * at the lowest place that is free while it lives, empty ones at 0.  Returns
 * the bytes that hold them all, a multiple of `align`.  Bytes together must
 * stay below 2^62. O(n^2 log n). */
int64_t cz_liveness_place(cz_arena *scratch, cz_live *buffers, int n,
                          int64_t align);

#endif
