/* Rooms of a stage, and what its steps keep in them. */
#include "dsl/plan/within.h"

int cz_view_n_places(const cz_view_step *step)
{
    return step->n_out + (step->is_product || step->factor ? 1 : 0);
}

int64_t cz_view_place_bytes(const cz_view_step *step, int i)
{
    if (i < step->n_out)
        return cz_view_result_elements(step, i) *
               cz_dtype_bytes(step->out_dtype[i]);
    return step->factor ? cz_factor_work_bytes(step->factor, &step->size)
                        : cz_view_accumulator_rows(step) * step->columns *
                              cz_dtype_bytes(CZ_F32);
}

int64_t cz_view_within(const cz_view_step *step, int i)
{
    return step->within ? step->within[i] : CZ_WITHIN_WORK;
}

int64_t cz_view_capacity(const cz_view_stage *stage, int64_t within)
{
    if (within == CZ_WITHIN_WORK)
        return stage->fact->work_bytes;
    return stage->capacity ? stage->capacity[within - 1] : 0;
}

static bool is_plain(cz_access access)
{
    return access == CZ_ACCESS_ELEMENT || cz_access_is_reduction(access);
}

bool cz_view_may_replace(const cz_view_step *step, int operand, int result)
{
    if (step->is_product || step->factor ||
        step->access[operand] != CZ_ACCESS_ELEMENT ||
        step->out_access[result] != CZ_ACCESS_ELEMENT)
        return false;
    for (int i = 0; i < step->n_in; i++)
        if (i != operand && step->in[i] == step->in[operand])
            return false;
    for (int i = 0; i < step->n_out; i++)
        if (!is_plain(step->out_access[i]))
            return false;
    return true;
}

bool cz_view_reuses(const cz_view_stage *stage, int in)
{
    for (int i = 0; i < cz_view_n_bodies(stage); i++) {
        const cz_view_stage *body = cz_view_variant(stage, i);
        for (int s = 0; s < body->n_steps; s++)
            for (int k = 0; k < cz_view_n_places(&body->steps[s]); k++)
                if (cz_view_within(&body->steps[s], k) == in + 1)
                    return true;
    }
    return false;
}

/* A map that reads and writes the same place, element by element, may do so in
 * place; so may what follows a product. */
static bool may_overwrite(const cz_view_step *step, int operand, int result)
{
    return step->access[operand] == CZ_ACCESS_ELEMENT &&
           step->out_access[result] == CZ_ACCESS_ELEMENT &&
           step->factor == CZ_FACTOR_NONE &&
           (!step->is_product || operand >= 2);
}

bool cz_view_conflicts(const cz_view_step *steps, int n_steps, int in, int at,
                       int result)
{
    for (int s = at; s < n_steps; s++)
        for (int i = 0; i < steps[s].n_in; i++)
            if (steps[s].in[i] == in &&
                (s > at || !may_overwrite(&steps[s], i, result)))
                return true;
    return false;
}
