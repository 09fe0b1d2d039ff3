/* What one rank can do in a given time: a knapsack of items of matrices. */
#ifndef CZ_PASSES_SOLVE_BOUND_LOAD_H
#define CZ_PASSES_SOLVE_BOUND_LOAD_H

#include "dsl/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* What each rank of a block does for a matrix, or a batch, in one way. */
typedef struct cz_bin_item {
    int of, g, batch;
    int64_t compute_ps;            /* above 0 */
    int64_t gather_ps, scatter_ps; /* with latency; 0: none */
    int64_t alone_ps, wire_bytes;  /* of the whole block's job */
    int64_t worth; /* set by who asks; a rank full of it has less
                    * than 2^60 */
} cz_bin_item;

enum { CZ_BIN_MAX_LOAD = 12 };

/* A rank's load: so many of each of these items, and divisible work. */
typedef struct cz_bin_load {
    int64_t divisible_ps;
    int n;
    struct {
        const cz_bin_item *item;
        int64_t times;
    } of[CZ_BIN_MAX_LOAD];
} cz_bin_load;

/* Work that may be cut anywhere, and needs no gather and no scatter. */
typedef struct cz_bin_divisible {
    int64_t time_ps; /* all of it on one rank; 0: none */
    int64_t worth;   /* all of it; a rank full of it has less than 2^60 */
} cz_bin_divisible;

/* Room for searches among n items, which the caller owns. */
typedef struct cz_bin_loader cz_bin_loader;
cz_bin_loader *cz_bin_loader_make(cz_arena *arena, const cz_bin_item *items,
                                  int n);

/* No load that one rank ends by time_ps is worth more than what is returned,
 * were there as many of each item, and as much of what is divisible, as one
 * likes.
 * A rank's time is all compute of its load, the gather of the item that is
 * computed first, and the scatter of the last one; what is divisible may be
 * computed meanwhile.  `best` gets a load worth that but for a part in 2^14,
 * unless the search was cut short. */
int64_t cz_bin_most_worth(cz_bin_loader *loader,
                          const cz_bin_divisible *divisible, int64_t time_ps,
                          cz_bin_load *best);

#endif
