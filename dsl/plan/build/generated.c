/* What the body of a step takes besides its operands, and from nowhere. */
#include "dsl/plan/build/stage.h"

static bool fail(cz_view_builder *b, const cz_view_stage *stage,
                 const char *what)
{
    return cz_view_fail(b, "stage '%s', step %d: %s", stage->fact->sym_name,
                        stage->n_steps, what);
}

/* A run of elements has no rows and columns, and a rank's part of a matrix
 * not those of the matrix. */
bool cz_view_read_generated(cz_view_builder *b, const cz_view_stage *stage,
                            cz_ir_op op, cz_view_step *step)
{
    if (!cz_ir_op_has(op, "generated"))
        return true;
    const cz_ints list = cz_ir_op_ints(op, "generated", b->arena);
    cz_generator *generated = CZ_NEW(b->arena, cz_generator, list.n);
    for (int i = 0; i < list.n; i++) {
        if (list.v[i] < 0 || list.v[i] >= CZ_N_GENERATORS)
            return fail(b, stage, "an input that nothing generates");
        generated[i] = (cz_generator)list.v[i];
    }
    if (list.n == 0 || stage->where != CZ_WHERE_WHOLE)
        return fail(b, stage, "generated inputs of what is no whole matrix");
    if (step->rows > CZ_IR_MAX_INDEX || step->columns > CZ_IR_MAX_INDEX)
        return fail(b, stage, "numbers of rows that f32 cannot tell apart");
    step->n_generated = list.n;
    step->generated = generated;
    return true;
}
