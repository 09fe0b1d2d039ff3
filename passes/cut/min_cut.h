/* Cheapest set of nodes that separates sources from sinks in a small graph
 * without cycles.  Knows only numbers. */
#ifndef CZ_PASSES_CUT_MIN_CUT_H
#define CZ_PASSES_CUT_MIN_CUT_H

#include "dsl/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum { CZ_CUT_NEVER = -1 }; /* capacity of a node that must not be cut */

typedef struct cz_min_cut {
    int n;
    const int64_t *capacity; /* price of cutting a node, or CZ_CUT_NEVER */
    const bool *source, *sink;
    int n_edges;
    const int (*edges)[2]; /* from, to */
    bool near_sink; /* of equally cheap cuts take the one nearest to the sinks;
                     * else the one nearest to the sources */
} cz_min_cut;

/* Marks the cut in cut[n]: every path from a source to a sink meets a marked
 * node (perhaps its first or last).  Ford-Fulkerson with shortest augmenting
 * paths.  False when every separation needs a node that must not be cut. */
bool cz_min_cut_solve(cz_arena *arena, const cz_min_cut *problem, bool *cut);

#endif
