/* The steps of a stage that call a factorisation, read and checked. */
#include "dsl/plan_view_stage.h"

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

/* Whether so many bytes from there on are of the workspace. */
static bool is_inside(int64_t offset, int64_t bytes, int64_t room)
{
    return offset == -1 ||
           (offset >= 0 && offset <= room && offset % CZ_ALIGN_BYTES == 0 &&
            bytes <= room - offset);
}

static bool has_places(const cz_view_step *step, int64_t room)
{
    for (int i = 0; i < step->n_out; i++)
        if (!is_inside(step->offsets[i],
                       cz_view_result_elements(step, i) *
                           cz_dtype_bytes(CZ_F32),
                       room))
            return false;
    return is_inside(step->offsets[step->n_out],
                     cz_factor_work_bytes(step->factor, &step->size), room);
}

const char *cz_view_read_call(cz_view_builder *b, const cz_view_stage *stage,
                              cz_ir_op op, cz_view_step *step)
{
    const cz_ints offsets = cz_ir_op_ints(op, "offsets", b->arena);
    const bool is_placed = cz_ir_count(b->ir, CZ_FACT_bucket) > 0;

    if (stage->where != CZ_WHERE_WHOLE)
        return "a factorisation of what is no whole matrix";
    fill(b->arena, op, step);
    step->offsets = offsets.v;
    if (offsets.n != step->n_out + 1)
        return "an array of the wrong length";
    if (!has_places(step, stage->fact->work_bytes))
        return "a result that does not lie in the workspace";
    if (is_placed && offsets.v[step->n_out] == -1 &&
        cz_factor_work_bytes(step->factor, &step->size) > 0)
        return "a factorisation without its workspace";
    return NULL;
}
