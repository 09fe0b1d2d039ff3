/* Pass: workspace of stages.
 *
 * requires: stages in kernel form
 * provides: `offsets` and `within` of their steps, `work_bytes` of the stages
 * breaks:   nothing */
#include "dsl/plan/build/build.h"
#include "dsl/plan/within.h"
#include "passes/passes.h"
#include "passes/kernel/workspace.h"

static void write_places(cz_ir *ir, const cz_view_stage *stage,
                         const cz_places *places)
{
    cz_ir_op op = cz_ir_first_op(cz_ir_find_function(ir, stage->fact->body));

    for (int s = 0; s < stage->n_steps; s++, op = cz_ir_next_op(op)) {
        const int n = cz_view_n_places(&stage->steps[s]);
        cz_ir_op_set_ints(op, "offsets", (cz_ints){places->offsets[s], n});
        if (places->within[s])
            cz_ir_op_set_ints(op, "within", (cz_ints){places->within[s], n});
    }
}

bool cz_workspace_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;
    const cz_plan_view *view;

    cz_arena_init(&arena);
    view = cz_plan_view_build(&arena, ir, diags);
    for (int i = 0; view && i < view->n_stages; i++) {
        cz_fact_stage fact = *view->stages[i].fact;
        /* Lays out every body of a stage; the bytes that the largest takes. */
        const cz_view_stage *stage = &view->stages[i];
        int64_t most = 0;

        for (int j = 0; j < cz_view_n_bodies(stage); j++) {
            const cz_view_stage *variant = cz_view_variant(stage, j);
            cz_places places;
            const int64_t bytes = cz_workspace_solve(&arena, variant, &places);
            write_places(ir, variant, &places);
            if (bytes > most)
                most = bytes;
        }
        fact.work_bytes = most;
        cz_ir_replace_stage(ir, i, &fact);
    }
    cz_arena_fini(&arena);
    return view != NULL;
}
