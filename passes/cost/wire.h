/* Bytes that no plan chooses: what any of them has to send, what the trainer
 * sends besides, and what layer-wise optimizers send of matrices. */
#ifndef CZ_PASSES_COST_WIRE_H
#define CZ_PASSES_COST_WIRE_H

#include "dsl/plan/plan.h"
#include "passes/cost/machine.h"

/* What any plan has to send: gradients are summed, and parameters come back,
 * whoever owns what, in whatever geometry.
 *
 * An element of which n ranks have a summand each is sent n - 1 times before
 * there is a sum, and n - 1 times before all n ranks have the parameter.  Of
 * each, where the ranks lie in m nodes, m - 1 are sent between nodes; and none
 * travels faster than within a node.  What strategies of matrices need besides
 * is theirs to choose, and not counted. */
typedef struct cz_wire_bound {
    int64_t bytes;   /* NETWORK: between nodes; NODE: in all; of all ranks */
    int64_t rank_ps; /* of the busiest rank at least: an even share */
    int pattern;     /* witness: the one that sends most; -1: none */
} cz_wire_bound;

/* bounds[CZ_N_LINKS], of one update.  O(patterns * ranks). */
void cz_wire_bounds_find(const cz_plan_view *view, const cz_machine *machine,
                         cz_wire_bound *bounds);

/* Bytes that the trainer sends itself, so that gradients arrive as the source
 * says and every rank has the parameters it computes with.  The plan sends none
 * of them; whoever compares bytes of plans adds them to both.
 *
 * Of one step and all ranks, if it sends each of these once and no element
 * more often than it has to.  Among n ranks whose gradients differ (along dp,
 * fsdp, cp and pp; of experts along edp and pp) and that
 *   - shard a parameter, as FSDP does: n - 1 times each element of its
 *     gradient, in the type in which it arrives, and of the parameter;
 *   - hold it alike and get its gradient summed: 2 (n - 1) times each element
 *     of the gradient.
 * Activations, and gradients that arrive as partial sums, are no part of it. */
typedef struct cz_trainer_wire {
    int64_t gradient_bytes, parameter_bytes;
} cz_trainer_wire;

/* O(patterns). */
cz_trainer_wire cz_trainer_wire_find(const cz_plan_view *view);

/* What sharded matrices would send if each rank that shards one got all of its
 * gradients as f32 and updated it whole, as layer-wise optimizers do.
 *
 * Bytes of all ranks in one step: of each matrix that has a whole stage and p
 * shards, p - 1 times its elements, times four, for every set of ranks that
 * have the shards of one owner's coordinate.  O(patterns). */
int64_t cz_gradient_gather_bytes(const cz_plan_view *view);

#endif
