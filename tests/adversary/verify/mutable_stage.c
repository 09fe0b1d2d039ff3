/* Copying the stages and bodies of a view. */
#include "tests/adversary/verify/mutable_plan.h"

#include <string.h>

static void *copy(cz_arena *arena, const void *list, int n, size_t size)
{
    void *own = cz_arena_alloc(arena, (size_t)n + 1, size);

    if (n > 0)
        memcpy(own, list, (size_t)n * size);
    return own;
}

#define COPY(arena, list, n) copy(arena, list, n, sizeof *(list))

static const cz_fact_stage *copy_fact(cz_arena *arena,
                                      const cz_fact_stage *fact)
{
    cz_fact_stage *own = COPY(arena, fact, 1);

    own->scalars.v = COPY(arena, fact->scalars.v, fact->scalars.n);
    return own;
}

static cz_view_stage copy_stage(cz_arena *arena, const cz_view_stage *stage)
{
    cz_view_stage own = *stage;
    cz_view_step *steps = COPY(arena, stage->steps, stage->n_steps);
    cz_view_stage *variants = COPY(arena, stage->variants, stage->n_variants);

    own.fact = copy_fact(arena, stage->fact);
    own.in = COPY(arena, stage->in, stage->n_in);
    own.out = COPY(arena, stage->out, stage->n_out);
    own.out_value = COPY(arena, stage->out_value, stage->n_out);
    for (int s = 0; s < stage->n_steps; s++) {
        steps[s].in = COPY(arena, steps[s].in, steps[s].n_in);
        steps[s].generated =
            COPY(arena, steps[s].generated, steps[s].n_generated);
    }
    own.steps = steps;
    for (int p = 0; p < stage->n_variants; p++) {
        const char *body = variants[p].fact->body;
        variants[p] = copy_stage(arena, &variants[p]);
        union {
            const cz_fact_stage *given;
            cz_fact_stage *made;
        } fact = {.given = variants[p].fact};
        fact.made->scalars = own.fact->scalars; /* those of the stage */
        fact.made->body = body;
    }
    own.variants = variants;
    return own;
}

void mutable_stages_copy(mutable_plan *plan)
{
    const cz_plan_view *view = plan->origin;

    plan->stages = CZ_NEW(plan->arena, cz_view_stage, view->n_stages + 1);
    plan->bodies = COPY(plan->arena, view->bodies, view->n_bodies);
    for (int i = 0; i < view->n_stages; i++)
        plan->stages[i] = copy_stage(plan->arena, &view->stages[i]);
    for (int i = 0; i < view->n_bodies; i++)
        plan->bodies[i].exprs =
            COPY(plan->arena, view->bodies[i].exprs, view->bodies[i].n_exprs);
}
