/* Floating point operations of a stage.  Plain C on the plan view. */
#ifndef CZ_PASSES_KERNEL_FLOPS_H
#define CZ_PASSES_KERNEL_FLOPS_H

#include "dsl/plan/plan.h"

#include <stdint.h>

/* Of one call: per matrix for `whole`, per element for the others, whose
 * space is one element.  A product counts 2 * rows * columns * inner, also
 * when it is symmetric; every operation of a body but constants counts one
 * per element, and so does a sum.  At most 2^62. */
int64_t cz_flops_stage(const cz_plan_view *view, const cz_view_stage *stage);

/* The variant of a stage with most of them, once they are counted. */
int cz_flops_most_variant(const cz_plan_view *view, const cz_view_stage *stage);

#endif
