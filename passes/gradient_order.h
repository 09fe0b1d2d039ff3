/* The order in which the backward pass makes gradients. */
#ifndef CZ_PASSES_GRADIENT_ORDER_H
#define CZ_PASSES_GRADIENT_ORDER_H

#include "dsl/base/arena.h"
#include "dsl/plan_view.h"

/* Sort n parameters, by number.  Layers are the values of a pattern's first
 * index: families that agree up to it belong to one run of layers, whose
 * parameters come layer by layer, the last one first; runs, and what has no
 * layer, in reverse order of definition. */
void cz_gradient_order(cz_arena *scratch, const cz_plan_view *view, int *params,
                       int n);

#endif
