/* Pass: count the operations of stages.
 *
 * requires: stages in kernel form
 * provides: `flops` of the stages
 * breaks:   nothing */
#include "dsl/plan_view_build.h"
#include "passes/flops.h"
#include "passes/passes.h"

bool cz_flops_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;
    const cz_plan_view *view;

    cz_arena_init(&arena);
    view = cz_plan_view_build(&arena, ir, diags);
    for (int i = 0; view && i < view->n_stages; i++) {
        cz_fact_stage fact = *view->stages[i].fact;
        fact.flops = cz_flops_stage(view, &view->stages[i]);
        cz_ir_replace_stage(ir, i, &fact);
    }
    cz_arena_fini(&arena);
    return view != NULL;
}
