/* Pass: count the operations of stages.
 *
 * requires: stages in kernel form
 * provides: `flops` of variants, and of stages: those of the costliest phase,
 *           since the ranks of a step wait for each other
 * breaks:   nothing */
#include "dsl/plan/build/build.h"
#include "passes/kernel/flops.h"
#include "passes/passes.h"

bool cz_flops_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;
    const cz_plan_view *view;
    int variant = 0;

    cz_arena_init(&arena);
    view = cz_plan_view_build(&arena, ir, diags);
    for (int i = 0; view && i < view->n_stages; i++) {
        cz_fact_stage fact = *view->stages[i].fact;
        /* Counts every body of a stage; variants from number *variant on are
         * its. */
        const cz_view_stage *stage = &view->stages[i];
        const cz_view_rule *rule = &view->rules[stage->rule];
        int64_t most = 0;

        for (int j = 0; j < cz_view_n_bodies(stage); j++) {
            const cz_view_stage *it = cz_view_variant(stage, j);
            const int64_t flops = cz_flops_stage(view, it);
            if (flops > most)
                most = flops;
            if (stage->n_variants > 0)
                cz_ir_replace_variant(
                    ir, variant++,
                    &(cz_fact_variant){.stage = stage->fact->sym_name,
                                       .phase = rule->phases[j].fact->sym_name,
                                       .body = it->fact->body,
                                       .flops = flops});
        }
        fact.flops = most;
        cz_ir_replace_stage(ir, i, &fact);
    }
    cz_arena_fini(&arena);
    return view != NULL;
}
