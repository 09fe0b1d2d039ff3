/* Counting operations. */
#include "passes/kernel/flops.h"

#include "dsl/base/checked.h"

static int64_t body_flops(const cz_view_body *body)
{
    int64_t n = 0;

    for (int i = 0; i < body->n_exprs; i++)
        n += body->exprs[i].op != CZ_OP_CONSTANT;
    return n;
}

/* alpha * acc + beta * s, where factors of 1 are free. */
static int64_t affine_flops(const cz_view_step *step)
{
    return (step->alpha != 1) + (step->beta != 0) +
           (step->beta != 0 && step->beta != 1);
}

static int64_t per_element(const cz_plan_view *view, const cz_view_step *step)
{
    int64_t n = 0;

    for (int i = 0; i < step->n_out; i++)
        n += cz_access_is_reduction(step->out_access[i]);

    if (step->body >= 0)
        n += body_flops(&view->bodies[step->body]);
    if (step->is_product)
        n += 2 * step->inner + (step->body < 0 ? affine_flops(step) : 0);
    return n;
}

int64_t cz_flops_stage(const cz_plan_view *view, const cz_view_stage *stage)
{
    int64_t sum = 0;

    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        const int64_t factors[] = {step->rows, step->columns,
                                   per_element(view, step)};
        int64_t flops;
        if (stage->subgroup && step->segment != stage->subgroup->segment)
            continue;
        if (step->factor)
            flops = cz_factor_flops(step->factor, &step->size);
        else if (!cz_checked_product(factors, 3, &flops))
            return CZ_MAX_BYTES;
        if (!cz_checked_add(sum, flops, &sum) || sum > CZ_MAX_BYTES)
            return CZ_MAX_BYTES;
    }
    return sum;
}

int cz_flops_most_variant(const cz_plan_view *view, const cz_view_stage *stage)
{
    for (int i = 0; i < stage->n_variants; i++)
        if (cz_flops_stage(view, &stage->variants[i]) == stage->fact->flops)
            return i;
    return 0;
}
