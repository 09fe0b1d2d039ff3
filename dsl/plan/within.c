/* Rooms of a stage, and what its steps keep in them. */
#include "dsl/plan/within.h"

#include "dsl/base/checked.h"
#include "dsl/plan/build/stage.h"

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

int64_t cz_view_room(const cz_view_stage *stage, int64_t within)
{
    if (within == CZ_WITHIN_WORK)
        return stage->fact->work_bytes;
    return stage->room ? stage->room[within - 1] : 0;
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

/* ---- reading ---- */

static int64_t bytes_of(cz_ir_value value)
{
    const cz_ir_type type = cz_ir_value_type(value);
    int64_t bytes = cz_dtype_bytes(type.dtype);

    for (int d = 0; d < type.rank; d++)
        if (!cz_checked_mul(bytes, type.shape[d], &bytes))
            return 0;
    return bytes;
}

void cz_view_read_rooms(cz_view_builder *b, cz_view_stage *stage,
                        cz_ir_op function)
{
    int64_t *room = CZ_NEW(b->arena, int64_t, stage->n_in + stage->n_out + 1);

    for (int i = 0; i < stage->n_in; i++)
        if (stage->in[i].kind == CZ_SLOT_GATHER)
            room[i] = bytes_of(cz_ir_function_in(function, i));
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == CZ_SLOT_SCATTER)
            room[stage->n_in + i] = bytes_of(cz_ir_function_out(function, i));
    stage->room = stage->where == CZ_WHERE_WHOLE ? room : NULL;
}

/* Whether the entry's bytes are of the room that it names. */
static bool is_inside(const cz_view_stage *stage, const cz_view_step *step,
                      int i)
{
    const int64_t offset = step->offsets[i];
    const int64_t within = cz_view_within(step, i);

    if (offset == -1)
        return within == CZ_WITHIN_WORK;
    if (within < 0 || within > stage->n_in + stage->n_out)
        return false;
    const int64_t room = cz_view_room(stage, within);
    return offset >= 0 && offset <= room && offset % CZ_ALIGN_BYTES == 0 &&
           cz_view_place_bytes(step, i) <= room - offset;
}

const char *cz_view_read_places(cz_view_builder *b, const cz_view_stage *stage,
                                cz_ir_op op, cz_view_step *step)
{
    const int n = cz_view_n_places(step);

    if (cz_ir_op_has(op, "within")) {
        const cz_ints within = cz_ir_op_ints(op, "within", b->arena);
        if (within.n != n)
            return "an array of the wrong length";
        step->within = within.v;
    }
    for (int i = 0; i < n; i++)
        if (!is_inside(stage, step, i))
            return step->within && step->within[i] != CZ_WITHIN_WORK
                       ? "a result that does not lie in the slot it names"
                       : "a result that does not lie in the workspace";
    if (step->factor && cz_ir_count(b->ir, CZ_FACT_bucket) > 0 &&
        step->offsets[n - 1] == -1 && cz_view_place_bytes(step, n - 1) > 0)
        return "a factorisation without its workspace";
    return NULL;
}
