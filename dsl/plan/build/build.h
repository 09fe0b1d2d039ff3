/* From a module to the plan view (dsl/plan/plan.h). */
#ifndef CZ_DSL_PLAN_BUILD_BUILD_H
#define CZ_DSL_PLAN_BUILD_BUILD_H

#include "dsl/ir/ir.h"
#include "dsl/plan/plan.h"

/* The view of a verified module, before scheduling too (then n_ops, n_buckets
 * and n_stages may be 0).  Checks the form of every fact: references, index
 * ranges, array lengths, names of kinds, sizes.  NULL after reporting at least
 * one E0601.  The view belongs to the arena and does not need the IR later. */
cz_plan_view *cz_plan_view_build(cz_arena *arena, const cz_ir *ir,
                                 cz_diags *diags);

#endif
