/* Stages as tables of steps, which the runtime puts on a stream. */
#include "codegen/common/stage.h"

#include "dsl/plan/within.h"

#include <string.h>

/* A stage, and where its table goes. */
typedef struct table_printer {
    cz_stage_printer p;
    cz_text *out;
} table_printer;

/* ---- operands ---- */

/* What lies there, so many elements of which are a rank's part. */
static void put_place(const table_printer *t, cz_place place, cz_dtype dtype,
                      int64_t part_elements)
{
    const int n_in = t->p.stage->n_in;
    const int slot = (int)place.within - 1;
    const char *kind = slot < 0 ? "WORK" : slot < n_in ? "IN" : "OUT";

    cz_text_printf(t->out, "{CZR_CUDA_%s, %d, %lld, %lld}", kind,
                   slot < 0      ? 0
                   : slot < n_in ? slot
                                 : slot - n_in,
                   (long long)place.offset,
                   (long long)part_elements * cz_dtype_bytes(dtype));
}

static void put_value(const table_printer *t, int value, int64_t part_elements)
{
    if (t->p.places[value].within < 0)
        cz_text_printf(t->out, "{CZR_CUDA_SCALAR, %d, 0, 0}",
                       value - t->p.stage->n_in);
    else
        put_place(t, t->p.places[value], t->p.dtypes[value], part_elements);
}

static void put_accumulator(const table_printer *t, const cz_view_step *step)
{
    put_place(t, (cz_place){cz_view_within(step, 1), step->offsets[1]}, CZ_F32,
              0);
}

/* ---- steps ---- */

static void put_loop(const table_printer *t, const cz_loop *loop, int number,
                     int first_result)
{
    const cz_view_step *step = loop->step;
    const bool is_shaped = cz_view_is_shaped(t->p.stage);
    const char *comma = "";

    cz_text_printf(t->out,
                   "    {.kind = CZR_CUDA_LOOP_STEP, .of.loop = {\n"
                   "        .loop = %d, .rows = %lld, .columns = %lld, "
                   ".operands = (const czr_cuda_operand[]){\n"
                   "            ",
                   number, is_shaped ? (long long)step->rows : 0,
                   is_shaped ? (long long)step->columns : 0);
    if (step->is_product) {
        put_accumulator(t, step);
        comma = ", ";
    }
    for (int i = step->is_product ? 2 : 0; i < step->n_in; i++) {
        if (cz_loop_written_by(loop, i) >= 0)
            continue;
        cz_text_puts(t->out, comma);
        put_value(t, step->in[i], cz_stage_rank_offset(step, step->access[i]));
        comma = ", ";
    }
    for (int o = 0; o < step->n_out; o++, comma = ", ") {
        cz_text_puts(t->out, comma);
        put_value(t, first_result + o,
                  cz_stage_rank_offset(step, step->out_access[o]));
    }
    cz_text_puts(t->out, "}}},\n");
}

static void put_product(const table_printer *t, const cz_loop *loop,
                        int first_result)
{
    const cz_view_step *step = loop->step;
    const bool is_affine = cz_stage_is_affine(step);
    const bool has_addend = is_affine && step->beta != 0;

    cz_text_printf(
        t->out,
        "    {.kind = CZR_CUDA_PRODUCT_STEP, .of.product = {\n"
        "        .shape = {.m = %lld, .n = %lld, .k = %lld%s%s%s",
        (long long)step->rows, (long long)step->columns, (long long)step->inner,
        step->transpose_a ? ", .transpose_a = 1" : "",
        step->transpose_b ? ", .transpose_b = 1" : "",
        step->symmetric && step->partition <= 1 ? ", .symmetric = 1" : "");
    if (step->blocks.inner > 1)
        cz_text_printf(t->out, ", .blocks = %lld%s",
                       (long long)step->blocks.inner,
                       step->narrow ? ", .narrow = 1" : "");
    cz_text_printf(
        t->out,
        ",\n            .a_dtype = %s, .b_dtype = %s, .out_dtype = %s,\n"
        "            .alpha = ",
        cz_dtype_czr_tag(loop->in_dtype[0]),
        cz_dtype_czr_tag(loop->in_dtype[1]),
        cz_dtype_czr_tag(is_affine ? step->out_dtype[0] : CZ_F32));
    cz_emit_f32(t->out, is_affine ? (float)step->alpha : 1);
    if (has_addend) {
        cz_text_printf(t->out, ", .addend_dtype = %s, .beta = ",
                       cz_dtype_czr_tag(loop->in_dtype[2]));
        cz_emit_f32(t->out, (float)step->beta);
    }
    cz_text_puts(t->out, "},\n        .a = ");
    put_value(t, step->in[0],
              step->partition > 1 ? step->rows * step->inner : 0);
    cz_text_puts(t->out, ", .b = ");
    put_value(t, step->in[1], 0);
    cz_text_puts(t->out, ",\n        .out = ");
    if (cz_stage_has_accumulator(step) && !is_affine)
        put_accumulator(t, step);
    else
        put_value(t, first_result,
                  cz_stage_rank_offset(step, CZ_ACCESS_ELEMENT));
    if (has_addend) {
        cz_text_puts(t->out, ", .addend = ");
        put_value(t, step->in[2], cz_stage_rank_offset(step, step->access[2]));
    }
    cz_text_puts(t->out, "}},\n");
}

static void put_factor(const table_printer *t, const cz_view_step *step,
                       int first_result)
{
    const int n_parameters = cz_factor_n_parameters(step->factor);

    cz_text_printf(t->out,
                   "    {.kind = CZR_CUDA_FACTOR_STEP, .of.factor = {\n"
                   "        .shape = {.kind = %s, .m = %lld, .n = %lld, "
                   ".k = %lld",
                   cz_factor_czr_tag(step->factor), (long long)step->size.m,
                   (long long)step->size.n, (long long)step->size.k);
    for (int i = 0; i < n_parameters; i++) {
        cz_text_puts(t->out, i ? ", " : ",\n            .parameters = {");
        cz_emit_f64(t->out, step->parameters[i]);
    }
    cz_text_puts(t->out, n_parameters ? "}" : "");
    if (step->offsets[step->n_out] >= 0)
        cz_text_printf(
            t->out, ",\n            .work_bytes = %lld",
            (long long)cz_factor_work_bytes(step->factor, &step->size));
    cz_text_puts(t->out, "},\n        .a = ");
    put_value(t, step->in[0], 0);
    if (step->n_in > 1) {
        cz_text_puts(t->out, ", .b = ");
        put_value(t, step->in[1], 0);
    }
    cz_text_puts(t->out, ",\n        .out = {");
    for (int o = 0; o < step->n_out; o++) {
        cz_text_puts(t->out, o ? ", " : "");
        put_value(t, first_result + o, 0);
    }
    cz_text_puts(t->out, "}}},\n");
}

static void put_step(const table_printer *t, int s, int first_result)
{
    const cz_view_step *step = &t->p.stage->steps[s];
    const cz_loop loop = cz_stage_loop(&t->p, s, first_result);

    if (step->factor)
        put_factor(t, step, first_result);
    else if (step->is_product)
        put_product(t, &loop, first_result);
    if (t->p.loops[s] >= 0)
        put_loop(t, &loop, t->p.loops[s], first_result);
}

/* As in C. */
static void put_copies(const table_printer *t)
{
    const cz_view_stage *stage = t->p.stage;

    for (int i = 0; i < stage->n_out; i++) {
        const int value = stage->out_value[i];
        const cz_view_slot *slot = &stage->out[i];
        if (!strcmp(cz_stage_slot(t->p.emitter->arena, slot),
                    t->p.names[value]))
            continue;
        cz_text_puts(t->out, "    {.kind = CZR_CUDA_COPY_STEP, .of.copy = {\n"
                             "        .to = ");
        put_place(t, (cz_place){stage->n_in + i + 1, 0}, slot->dtype, 0);
        cz_text_puts(t->out, ", .from = ");
        put_value(t, value, 0);
        cz_text_printf(t->out, ",\n        .element_bytes = %d}},\n",
                       cz_dtype_bytes(slot->dtype));
    }
}

static void emit_variant(cz_emitter *emitter, int number, int variant,
                         cz_text *out)
{
    const table_printer t = {cz_stage_begin(emitter, number, variant), out};
    const cz_view_stage *stage = t.p.stage;
    int first_result = cz_stage_first_result(stage);

    cz_text_printf(out,
                   "/* %s. */\n"
                   "static const czr_cuda_stage_step %s[] = {\n",
                   cz_stage_title(emitter, stage),
                   cz_stage_name(emitter, number, variant));
    for (int s = 0; s < stage->n_steps; s++) {
        if (cz_stage_is_own(stage, s))
            put_step(&t, s, first_result);
        first_result += stage->steps[s].n_out;
    }
    put_copies(&t);
    cz_text_puts(out, "    {.kind = CZR_CUDA_END}};\n\n");
}

void cz_emit_stage_table(cz_emitter *emitter, int number, cz_text *out)
{
    const cz_view_stage *stage = &emitter->view->stages[number];

    for (int i = 0; i < cz_view_n_bodies(stage); i++)
        if (cz_view_first_alike(stage, i) == i)
            emit_variant(emitter, number, i, out);
}
