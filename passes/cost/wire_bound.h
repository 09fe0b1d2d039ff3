/* Bytes that any plan has to send: gradients are summed, and parameters come
 * back, whoever owns what, in whatever geometry. */
#ifndef CZ_PASSES_COST_WIRE_BOUND_H
#define CZ_PASSES_COST_WIRE_BOUND_H

#include "dsl/base/arena.h"
#include "dsl/plan/plan.h"
#include "passes/cost/machine.h"

/* An element of which n ranks have a summand each is sent n - 1 times before
 * there is a sum, and n - 1 times before all n ranks have the parameter.  Of
 * each, where the ranks lie in m nodes, m - 1 are sent between nodes; and none
 * travels faster than within a node.  What strategies of matrices need besides
 * is theirs to choose, and not counted. */
typedef struct cz_wire_bound {
    int64_t bytes;   /* NETWORK: between nodes; NODE: in all; of all ranks */
    int64_t rank_ps; /* of the busiest rank at least: an even share */
    int family;      /* witness: the one that sends most; -1: none */
} cz_wire_bound;

/* bounds[CZ_N_LINKS], of one update.  O(families * ranks). */
void cz_wire_bounds_find(const cz_plan_view *view, const cz_machine *machine,
                         cz_wire_bound *bounds);

#endif
