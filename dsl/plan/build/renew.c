/* Outputs of a stage that take the place of an input. */
#include "dsl/plan/build/stage.h"

/* A map that reads and writes the same place, element by element, may do so in
 * place; so may what follows a product. */
static bool may_overwrite(const cz_view_step *step, int operand, int result)
{
    return step->access[operand] == CZ_ACCESS_ELEMENT &&
           step->out_access[result] == CZ_ACCESS_ELEMENT &&
           step->factor == CZ_FACTOR_NONE &&
           (!step->is_product || operand >= 2);
}

bool cz_view_is_in_the_way(const cz_view_step *steps, int n_steps, int in,
                           int at, int result)
{
    for (int s = at; s < n_steps; s++)
        for (int i = 0; i < steps[s].n_in; i++)
            if (steps[s].in[i] == in &&
                (s > at || !may_overwrite(&steps[s], i, result)))
                return true;
    return false;
}

/* Whether output `out`, which takes the place of input `in`, may. */
static bool may_renew(const cz_view_stage *stage, int out, int in)
{
    int first = stage->n_in + stage->fact->scalars.n, s = 0;

    while (stage->out_value[out] >= first + stage->steps[s].n_out)
        first += stage->steps[s++].n_out;
    return !cz_view_is_in_the_way(stage->steps, stage->n_steps, in, s,
                                  stage->out_value[out] - first);
}

bool cz_view_check_renewed(cz_view_builder *b, const cz_view_stage *stage)
{
    for (int i = 0; i < stage->n_out; i++)
        for (int k = 0; k < stage->n_in; k++)
            if (stage->out[i].kind == stage->in[k].kind &&
                stage->out[i].index == stage->in[k].index &&
                !may_renew(stage, i, k))
                return cz_view_fail(b,
                                    "stage '%s': output %d takes the place of "
                                    "an input that is still read",
                                    stage->fact->sym_name, i);
    return true;
}
