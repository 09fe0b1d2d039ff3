/* In which order gradients come: that of definition, backwards.  A pattern
 * counts all layers one after the other, the model computes layer by layer. */
#ifndef CZ_PASSES_GRID_GRADIENT_ORDER_H
#define CZ_PASSES_GRID_GRADIENT_ORDER_H

#include "dsl/base/arena.h"
#include "dsl/plan/plan.h"

/* [n_params] the place of each parameter among all, as their gradients come.
 * Its layer is the first segment of its name that is a number, behind some
 * prefix; parameters of one prefix go layer by layer, in a layer as they are
 * defined; others, and prefixes, where they are defined first. */
int *cz_gradient_order(cz_arena *arena, const cz_plan_view *view);

#endif
