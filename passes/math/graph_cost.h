/* What a graph costs on one rank, as if all of it ran on whole matrices: by its
 * kernel form and the time model of passes/cost. */
#ifndef CZ_PASSES_MATH_GRAPH_COST_H
#define CZ_PASSES_MATH_GRAPH_COST_H

#include "passes/cost/machine.h"
#include "passes/graph/graph.h"

typedef struct cz_graph_cost {
    int64_t flops;   /* of products, symmetric ones by one triangle, and of
                      * factorisations; at most CZ_MAX_BYTES */
    int64_t time_ps; /* of one matrix by itself; 0 without a machine */
} cz_graph_cost;

/* `machine` may be NULL.  Strict: as strict programs compute it. */
cz_graph_cost cz_graph_cost_of(cz_arena *scratch, const cz_graph *graph,
                               const cz_machine *machine, bool is_strict);

#endif
