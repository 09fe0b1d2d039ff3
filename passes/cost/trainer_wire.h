/* Bytes that the trainer sends itself, so that gradients arrive as the source
 * says and every rank has the parameters it computes with.  The plan sends
 * none of them; whoever compares bytes of plans adds them to both. */
#ifndef CZ_PASSES_COST_TRAINER_WIRE_H
#define CZ_PASSES_COST_TRAINER_WIRE_H

#include "dsl/plan/plan.h"

/* Of one step and all ranks, if it sends each of these once and no element
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

/* O(families). */
cz_trainer_wire cz_trainer_wire_find(const cz_plan_view *view);

#endif
