/* Stages: one C function each, a call per map and product; and what C and CUDA
 * say alike of them. */
#include "codegen/common/stage.h"

#include <stdio.h>
#include <string.h>

/* The extents that a loop function takes first. */
static void put_extents(cz_stage_printer *p, const cz_loop *loop)
{
    if (!cz_view_is_shaped(p->stage))
        cz_text_puts(p->out, "call->count");
    else if (loop->flat)
        cz_text_printf(p->out, "%lld",
                       (long long)(loop->step->rows * loop->step->columns));
    else
        cz_text_printf(p->out, "%lld, %lld", (long long)loop->step->rows,
                       (long long)loop->step->columns);
}

static void put_c_loop(cz_stage_printer *p, const cz_loop *loop, int number,
                       const char *acc, int first_result)
{
    cz_text_printf(p->out, "    loop_%d(%s%s", number, acc, *acc ? ", " : "");
    put_extents(p, loop);
    cz_stage_arguments(p, loop, first_result, ", ", "");
    cz_text_puts(p->out, loop->checked < 0 ? ");\n" : ", call->status);\n");
}

const cz_dialect cz_dialect_c = {
    .call = "czr_call",
    .function = "static void ",
    .begin = "\n",
    .address = "czr_",
    .product = "    czr_multiply(call, &(czr_product)",
    .factor = "    if (!czr_factorise(call, &(czr_factor)",
    .factor_end = "))\n        return;\n",
    .copy = "    memcpy(",
    .end = "}\n\n",
    .put_loop = put_c_loop,
};

/* Whether a product ends in alpha * c + beta * s, which it does itself. */
static bool is_affine(const cz_view_step *step)
{
    return step->is_product && step->body < 0 && step->offsets[1] >= 0;
}

static void put_affine(cz_stage_printer *p, const cz_loop *loop,
                       int first_result)
{
    const cz_view_step *step = loop->step;

    cz_text_printf(
        p->out,
        ", .room_rows = %lld,\n"
        "        .out = %s, .out_dtype = %s, .alpha = ",
        (long long)cz_view_accumulator_rows(step),
        cz_stage_at_rank(p, p->names[first_result],
                         cz_stage_rank_offset(step, CZ_ACCESS_ELEMENT)),
        cz_dtype_czr_tag(step->out_dtype[0]));
    cz_emit_f32(p->out, (float)step->alpha);
    if (step->beta == 0)
        return;
    cz_text_printf(
        p->out, ",\n        .addend = %s, .addend_dtype = %s, .beta = ",
        cz_stage_at_rank(p, p->names[step->in[2]],
                         cz_stage_rank_offset(step, step->access[2])),
        cz_dtype_czr_tag(loop->in_dtype[2]));
    cz_emit_f32(p->out, (float)step->beta);
}

static void put_product(cz_stage_printer *p, const cz_loop *loop,
                        const char *target, int first_result)
{
    const cz_view_step *step = loop->step;

    cz_text_printf(
        p->out,
        "%s{\n"
        "        .m = %lld, .n = %lld, .k = %lld, .c = %s,\n"
        "        .a = %s, .a_dtype = %s, .transpose_a = %d,\n"
        "        .b = %s, .b_dtype = %s, .transpose_b = %d,\n"
        "        .symmetric = %d",
        p->dialect->product, (long long)step->rows, (long long)step->columns,
        (long long)step->inner, target,
        cz_stage_at_rank(p, p->names[step->in[0]],
                         step->deal > 1 ? step->rows * step->inner : 0),
        cz_dtype_czr_tag(loop->in_dtype[0]), step->transpose_a,
        p->names[step->in[1]], cz_dtype_czr_tag(loop->in_dtype[1]),
        step->transpose_b, step->symmetric && step->deal <= 1);
    if (step->blocks.inner > 1)
        cz_text_printf(p->out, ", .blocks = %lld%s",
                       (long long)step->blocks.inner,
                       step->narrow ? ", .narrow = 1" : "");
    if (is_affine(step))
        put_affine(p, loop, first_result);
    cz_text_puts(p->out, "});\n");
}

/* ---- factorisations ---- */

static void put_parameters(cz_stage_printer *p, const cz_view_step *step)
{
    const int n = cz_factor_n_parameters(step->factor);

    if (n == 0)
        return;
    cz_text_puts(p->out, ", .parameters = {");
    for (int i = 0; i < n; i++) {
        cz_text_puts(p->out, i ? ", " : "");
        cz_emit_f64(p->out, step->parameters[i]);
    }
    cz_text_puts(p->out, "}");
}

static void put_work(cz_stage_printer *p, const cz_view_step *step)
{
    if (step->offsets[step->n_out] < 0)
        return;
    cz_text_printf(p->out, ",\n        .work = %s, .work_bytes = %lld",
                   cz_stage_address(p, step, step->n_out),
                   (long long)cz_factor_work_bytes(step->factor, &step->size));
}

/* A call that fails ends the stage: what follows has nothing to work on. */
static void put_call(cz_stage_printer *p, const cz_view_step *step,
                     int first_result)
{
    cz_text_printf(p->out,
                   "%s{\n"
                   "        .kind = %s, .m = %lld, .n = %lld, .k = %lld,\n"
                   "        .a = %s",
                   p->dialect->factor, cz_factor_czr_tag(step->factor),
                   (long long)step->size.m, (long long)step->size.n,
                   (long long)step->size.k, p->names[step->in[0]]);
    if (step->n_in > 1)
        cz_text_printf(p->out, ", .b = %s", p->names[step->in[1]]);
    cz_text_printf(p->out, ", .out = {%s", p->names[first_result]);
    if (step->n_out > 1)
        cz_text_printf(p->out, ", %s", p->names[first_result + 1]);
    cz_text_puts(p->out, "}");
    put_parameters(p, step);
    put_work(p, step);
    cz_text_printf(p->out, "}%s", p->dialect->factor_end);
}

/* Loop functions precede the stage, so they are emitted in a first round
 * (number < 0 asks for it) and called in a second. */
static void put_step(cz_stage_printer *p, int s, int first_result, int number)
{
    const cz_view_step *step = &p->stage->steps[s];
    const cz_loop loop = cz_stage_loop(p, s, first_result);
    char acc[32] = "";

    if (step->factor) {
        put_call(p, step, first_result);
        return;
    }
    if (step->is_product && step->offsets[1] >= 0)
        snprintf(acc, sizeof acc, "acc%d", s);
    if (step->is_product)
        put_product(p, &loop,
                    *acc ? acc
                         : cz_stage_at_rank(
                               p, p->names[first_result],
                               cz_stage_rank_offset(step, CZ_ACCESS_ELEMENT)),
                    first_result);
    if (step->is_product && (!*acc || is_affine(step)))
        return;
    p->dialect->put_loop(p, &loop, number, acc, first_result);
}

static int emit_loop(cz_stage_printer *p, int s, int first_result)
{
    const cz_view_step *step = &p->stage->steps[s];
    const cz_loop loop = cz_stage_loop(p, s, first_result);

    if (step->factor)
        return -1;
    if (!step->is_product)
        return cz_emit_map_loop(p->emitter, &loop);
    return step->offsets[1] >= 0 && !is_affine(step)
               ? cz_emit_epilogue_loop(p->emitter, &loop)
               : -1;
}

/* An output that no step wrote where it belongs is copied there. */
static void put_copies(cz_stage_printer *p)
{
    const cz_view_stage *stage = p->stage;

    for (int i = 0; i < stage->n_out; i++) {
        const char *name = cz_stage_slot(p->emitter->arena, &stage->out[i]);
        const char *value = p->names[stage->out_value[i]];
        if (strcmp(name, value) != 0)
            cz_text_printf(p->out, "%s%s, %s, call->count * sizeof *%s);\n",
                           p->dialect->copy, name, value, name);
    }
}

/* Before an owner that needs nothing of shards. */
static bool is_empty(const cz_view_stage *stage)
{
    return stage->n_in + stage->n_out + stage->n_steps == 0;
}

static void emit_variant(cz_emitter *emitter, int number, int variant)
{
    static const char *const where[CZ_N_WHERES] = {
        "all of the rule, on any run of elements", "on the shard, before",
        "on the whole matrix", "on the shard, after",
        "on a part of the matrix"};
    const cz_view_stage *stage =
        cz_view_variant(&emitter->view->stages[number], variant);
    cz_stage_printer p = {
        .emitter = emitter,
        .dialect = emitter->launches ? &cz_dialect_cuda : &cz_dialect_c,
        .out = emitter->launches ? emitter->launches : emitter->out,
        .stage = stage};
    int *loops = CZ_NEW(emitter->arena, int, stage->n_steps);
    int first_result = stage->n_in + stage->fact->scalars.n;

    cz_stage_name_values(&p);
    for (int s = 0, v = first_result; s < stage->n_steps;
         v += stage->steps[s++].n_out)
        if (cz_stage_is_own(stage, s))
            loops[s] = emit_loop(&p, s, v);
    cz_text_printf(p.out, "/* Rule %d: %s. */\n", stage->rule,
                   where[stage->where]);
    cz_text_printf(p.out, "%s%s(const %s *call)\n{\n", p.dialect->function,
                   cz_stage_name(emitter, number, variant), p.dialect->call);
    cz_stage_declare(&p);
    cz_text_puts(p.out, p.dialect->begin);
    for (int s = 0; s < stage->n_steps; s++) {
        if (cz_stage_is_own(stage, s))
            put_step(&p, s, first_result, loops[s]);
        first_result += stage->steps[s].n_out;
    }
    put_copies(&p);
    cz_text_printf(p.out, "%s%s", is_empty(stage) ? "    (void)call;\n" : "",
                   p.dialect->end);
}

void cz_emit_stage(cz_emitter *emitter, int number)
{
    const cz_view_stage *stage = &emitter->view->stages[number];

    for (int i = 0; i < cz_view_n_bodies(stage); i++)
        if (cz_view_first_alike(stage, i) == i)
            emit_variant(emitter, number, i);
}
