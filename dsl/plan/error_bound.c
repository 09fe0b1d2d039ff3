/* Which arithmetic a rule has. */
#include "dsl/plan/error_bound.h"

bool cz_error_admits_bf16(const cz_fact_policy *policy)
{
    return policy->tolerance * CZ_ERROR_UNIT >= CZ_ERROR_BF16;
}

bool cz_error_admits_gram(const cz_fact_policy *policy)
{
    return policy->tolerance * CZ_ERROR_UNIT >= CZ_ERROR_GRAM;
}

static bool makes_narrow(const cz_view_stage *stage)
{
    for (int k = 0; k < stage->n_steps; k++)
        for (int o = 0; o < stage->steps[k].n_out; o++)
            if (cz_dtype_is_narrow(stage->steps[k].out_dtype[o]))
                return true;
    return false;
}

int64_t cz_error_bound(const cz_plan_view *view, int rule)
{
    for (int s = 0; s < view->n_stages; s++) {
        const cz_view_stage *stage = &view->stages[s];
        for (int i = 0; stage->rule == rule && i < cz_view_n_bodies(stage); i++)
            if (makes_narrow(cz_view_variant(stage, i)))
                return CZ_ERROR_BF16;
    }
    return CZ_ERROR_F32;
}
