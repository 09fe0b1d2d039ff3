/* The steps of a stage that call a factorisation, read and checked. */
#include "dsl/plan/build/stage.h"

/* The schema has seen to name, parameters and types. */
static void fill(cz_arena *arena, cz_ir_op op, cz_view_step *step)
{
    static const cz_access access[] = {CZ_ACCESS_ELEMENT, CZ_ACCESS_ELEMENT};
    static const cz_dtype dtypes[] = {CZ_F32, CZ_F32};
    cz_ir_type types[CZ_FACTOR_OPERANDS];

    step->body = -1;
    step->factor = cz_factor_find(cz_ir_op_string(op, "factor"));
    step->parameters = cz_ir_op_reals(op, "parameters", arena).v;
    step->n_in = cz_ir_op_n_operands(op);
    step->n_out = cz_ir_op_n_results(op);
    for (int i = 0; i < step->n_in; i++)
        types[i] = cz_ir_value_type(cz_ir_op_operand(op, i));
    step->size = cz_ir_factor_size(types, step->n_in);
    step->rows = step->size.m;
    step->columns = step->size.n;
    step->access = step->out_access = access;
    step->out_dtype = dtypes;
}

const char *cz_view_read_call(cz_view_builder *b, const cz_view_stage *stage,
                              cz_ir_op op, cz_view_step *step)
{
    const cz_ints offsets = cz_ir_op_ints(op, "offsets", b->arena);

    if (stage->where != CZ_WHERE_WHOLE)
        return "a factorisation of what is no whole matrix";
    fill(b->arena, op, step);
    step->offsets = offsets.v;
    if (offsets.n != step->n_out + 1)
        return "an array of the wrong length";
    return NULL;
}
