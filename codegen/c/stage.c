/* Stages in C: one function each, a call per map and product. */
#include "codegen/common/stage.h"

#include "dsl/plan/within.h"

#include <stdio.h>
#include <string.h>

/* ---- what the function declares ---- */

/* The output slot that overwrites input `in`, or -1. */
static int overwrites(const cz_view_stage *stage, int in)
{
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == stage->in[in].kind &&
            stage->out[i].index == stage->in[in].index)
            return i;
    return -1;
}

/* A stage with phases may have inputs that only another phase needs, and a
 * segment values of others. */
static bool is_read(const cz_view_stage *stage, int value)
{
    for (int s = 0; s < stage->n_steps; s++)
        for (int i = 0; cz_stage_is_own(stage, s) && i < stage->steps[s].n_in;
             i++)
            if (stage->steps[s].in[i] == value)
                return true;
    return false;
}

/* Values [first, first + n_out) of step `s` have a name in the function if it
 * makes or reads them. */
static bool is_named(const cz_view_stage *stage, int s, int value)
{
    return cz_stage_is_own(stage, s) || is_read(stage, value);
}

static bool is_output_named(const cz_view_stage *stage, int output)
{
    int value = cz_stage_first_result(stage);

    for (int s = 0; s < stage->n_steps; value += stage->steps[s++].n_out)
        if (stage->out_value[output] < value + stage->steps[s].n_out)
            return is_named(stage, s, stage->out_value[output]);
    return true;
}

/* Whether a step is handed the value under a name of its own: not where all
 * that read it put a result in its place, and take that for both. */
static bool is_passed(const cz_stage_printer *p, int value)
{
    int result = cz_stage_first_result(p->stage);

    for (int s = 0; s < p->stage->n_steps; result += p->stage->steps[s++].n_out)
        for (int i = 0;
             cz_stage_is_own(p->stage, s) && i < p->stage->steps[s].n_in; i++) {
            bool is_replaced = p->stage->steps[s].in[i] != value;
            for (int o = 0; o < p->stage->steps[s].n_out; o++)
                is_replaced =
                    is_replaced || cz_stage_is_replaced(p, value, result + o);
            if (!is_replaced)
                return true;
        }
    return false;
}

/* The end of a slot's declaration, and of a state its name. */
static void end_slot(const cz_stage_printer *p, const cz_view_slot *slot)
{
    const cz_fact_rule *rule = p->emitter->view->rules[p->stage->rule].fact;

    cz_text_puts(p->emitter->out, ";");
    if (slot->kind == CZ_SLOT_STATE) {
        cz_text_puts(p->emitter->out, " /* ");
        cz_emit_string(p->emitter->out, rule->states.v[slot->index]);
        cz_text_puts(p->emitter->out, " */");
    }
    cz_text_puts(p->emitter->out, "\n");
}

static void declare_slots(const cz_stage_printer *p)
{
    const cz_view_stage *stage = p->stage;

    for (int i = 0; i < stage->n_in; i++)
        if (overwrites(stage, i) < 0 && is_passed(p, i)) {
            cz_text_printf(p->emitter->out,
                           "    const %s *const %s = call->in[%d]",
                           cz_c_type(stage->in[i].dtype), p->names[i], i);
            end_slot(p, &stage->in[i]);
        }
    for (int i = 0; i < stage->n_out; i++)
        if (is_output_named(stage, i)) {
            cz_text_printf(p->emitter->out, "    %s *const %s = call->out[%d]",
                           cz_c_type(stage->out[i].dtype),
                           cz_stage_slot(p->emitter->arena, &stage->out[i]), i);
            end_slot(p, &stage->out[i]);
        }
}

/* Where entry `entry` of a step lies. */
static const char *address(const cz_stage_printer *p, const cz_view_step *step,
                           int entry)
{
    const long long slot = cz_view_within(step, entry) - 1;
    const bool is_in = slot < p->stage->n_in;

    if (slot < 0)
        return cz_arena_printf(p->emitter->arena, "(void *)(call->work + %lld)",
                               (long long)step->offsets[entry]);
    return cz_arena_printf(p->emitter->arena, "czr_%s_bytes(call, %lld, %lld)",
                           is_in ? "in" : "out",
                           is_in ? slot : slot - p->stage->n_in,
                           (long long)step->offsets[entry]);
}

static void declare_workspace(const cz_stage_printer *p)
{
    int value = cz_stage_first_result(p->stage);

    for (int s = 0; s < p->stage->n_steps; s++) {
        const cz_view_step *step = &p->stage->steps[s];
        for (int i = 0; i < step->n_out; i++, value++)
            if (step->offsets[i] >= 0 && is_named(p->stage, s, value))
                cz_text_printf(p->emitter->out, "    %s *const %s = %s;\n",
                               cz_c_type(p->dtypes[value]), p->names[value],
                               address(p, step, i));
        if (cz_stage_has_accumulator(step) && cz_stage_is_own(p->stage, s))
            cz_text_printf(p->emitter->out, "    float *const acc%d = %s;\n", s,
                           address(p, step, 1));
    }
}

/* ---- loops and products ---- */

/* `name` so many elements on for each part. */
static const char *part_of(const cz_stage_printer *p, const char *name,
                           int64_t elements)
{
    return elements == 0 ? name
                         : cz_arena_printf(p->emitter->arena,
                                           "%s + call->equal_part * %lld", name,
                                           (long long)elements);
}

/* The call of loop `number`; of an epilogue `acc` is its accumulator. */
static void put_loop(const cz_stage_printer *p, const cz_loop *loop, int number,
                     const char *acc, int first_result)
{
    const cz_view_step *step = loop->step;
    cz_text *out = p->emitter->out;

    cz_text_printf(out, "    loop_%d(%s%s", number, acc, *acc ? ", " : "");
    if (!cz_view_is_shaped(p->stage))
        cz_text_puts(out, "call->count");
    else if (loop->flat)
        cz_text_printf(out, "%lld", (long long)(step->rows * step->columns));
    else
        cz_text_printf(out, "%lld, %lld", (long long)step->rows,
                       (long long)step->columns);
    for (int i = step->is_product ? 2 : 0; i < step->n_in; i++)
        if (cz_loop_written_by(loop, i) < 0)
            cz_text_printf(
                out, ", %s",
                part_of(p, p->names[step->in[i]],
                        cz_stage_rank_offset(step, step->access[i])));
    for (int o = 0; o < step->n_out; o++)
        cz_text_printf(
            out, ", %s",
            part_of(p, p->names[first_result + o],
                    cz_stage_rank_offset(step, step->out_access[o])));
    cz_text_puts(out, loop->checked < 0 ? ");\n" : ", call->status);\n");
}

static void put_affine(const cz_stage_printer *p, const cz_loop *loop,
                       int first_result)
{
    const cz_view_step *step = loop->step;

    cz_text_printf(p->emitter->out,
                   ", .held_rows = %lld,\n"
                   "        .out = %s, .out_dtype = %s, .alpha = ",
                   (long long)cz_view_accumulator_rows(step),
                   part_of(p, p->names[first_result],
                           cz_stage_rank_offset(step, CZ_ACCESS_ELEMENT)),
                   cz_dtype_czr_tag(step->out_dtype[0]));
    cz_emit_f32(p->emitter->out, (float)step->alpha);
    if (step->beta == 0)
        return;
    cz_text_printf(p->emitter->out,
                   ",\n        .addend = %s, .addend_dtype = %s, .beta = ",
                   part_of(p, p->names[step->in[2]],
                           cz_stage_rank_offset(step, step->access[2])),
                   cz_dtype_czr_tag(loop->in_dtype[2]));
    cz_emit_f32(p->emitter->out, (float)step->beta);
}

static void put_product(const cz_stage_printer *p, const cz_loop *loop,
                        const char *target, int first_result)
{
    const cz_view_step *step = loop->step;

    cz_text_printf(p->emitter->out,
                   "    czr_multiply(call, &(czr_product){\n"
                   "        .m = %lld, .n = %lld, .k = %lld, .c = %s,\n"
                   "        .a = %s, .a_dtype = %s, .transpose_a = %d,\n"
                   "        .b = %s, .b_dtype = %s, .transpose_b = %d,\n"
                   "        .symmetric = %d",
                   (long long)step->rows, (long long)step->columns,
                   (long long)step->inner, target,
                   part_of(p, p->names[step->in[0]],
                           step->partition > 1 ? step->rows * step->inner : 0),
                   cz_dtype_czr_tag(loop->in_dtype[0]), step->transpose_a,
                   p->names[step->in[1]], cz_dtype_czr_tag(loop->in_dtype[1]),
                   step->transpose_b, step->symmetric && step->partition <= 1);
    if (step->blocks.inner > 1)
        cz_text_printf(p->emitter->out, ", .blocks = %lld%s",
                       (long long)step->blocks.inner,
                       step->narrow ? ", .narrow = 1" : "");
    if (cz_stage_is_affine(step))
        put_affine(p, loop, first_result);
    cz_text_puts(p->emitter->out, "});\n");
}

/* ---- factorisations ---- */

static void put_parameters(const cz_stage_printer *p, const cz_view_step *step)
{
    const int n = cz_factor_n_parameters(step->factor);

    if (n == 0)
        return;
    cz_text_puts(p->emitter->out, ", .parameters = {");
    for (int i = 0; i < n; i++) {
        cz_text_puts(p->emitter->out, i ? ", " : "");
        cz_emit_f64(p->emitter->out, step->parameters[i]);
    }
    cz_text_puts(p->emitter->out, "}");
}

static void put_work(const cz_stage_printer *p, const cz_view_step *step)
{
    if (step->offsets[step->n_out] < 0)
        return;
    cz_text_printf(p->emitter->out, ",\n        .work = %s, .work_bytes = %lld",
                   address(p, step, step->n_out),
                   (long long)cz_factor_work_bytes(step->factor, &step->size));
}

/* A call that fails ends the stage: what follows has nothing to work on. */
static void put_factor(const cz_stage_printer *p, const cz_view_step *step,
                       int first_result)
{
    cz_text_printf(p->emitter->out,
                   "    if (!czr_factorise(call, &(czr_factor){\n"
                   "        .kind = %s, .m = %lld, .n = %lld, .k = %lld,\n"
                   "        .a = %s",
                   cz_factor_czr_tag(step->factor), (long long)step->size.m,
                   (long long)step->size.n, (long long)step->size.k,
                   p->names[step->in[0]]);
    if (step->n_in > 1)
        cz_text_printf(p->emitter->out, ", .b = %s", p->names[step->in[1]]);
    cz_text_printf(p->emitter->out, ", .out = {%s", p->names[first_result]);
    if (step->n_out > 1)
        cz_text_printf(p->emitter->out, ", %s", p->names[first_result + 1]);
    cz_text_puts(p->emitter->out, "}");
    put_parameters(p, step);
    put_work(p, step);
    cz_text_puts(p->emitter->out, "}))\n        return;\n");
}

/* ---- the function ---- */

static void put_step(const cz_stage_printer *p, int s, int first_result)
{
    const cz_view_step *step = &p->stage->steps[s];
    const cz_loop loop = cz_stage_loop(p, s, first_result);
    char acc[32] = "";

    if (step->factor) {
        put_factor(p, step, first_result);
        return;
    }
    if (cz_stage_has_accumulator(step))
        snprintf(acc, sizeof acc, "acc%d", s);
    if (step->is_product)
        put_product(
            p, &loop,
            *acc ? acc
                 : part_of(p, p->names[first_result],
                           cz_stage_rank_offset(step, CZ_ACCESS_ELEMENT)),
            first_result);
    if (p->loops[s] >= 0)
        put_loop(p, &loop, p->loops[s], acc, first_result);
}

/* An output that no step wrote where it belongs is copied there. */
static void put_copies(const cz_stage_printer *p)
{
    const cz_view_stage *stage = p->stage;

    for (int i = 0; i < stage->n_out; i++) {
        const char *name = cz_stage_slot(p->emitter->arena, &stage->out[i]);
        const char *value = p->names[stage->out_value[i]];
        if (strcmp(name, value) != 0)
            cz_text_printf(p->emitter->out,
                           "    memcpy(%s, %s, call->count * sizeof *%s);\n",
                           name, value, name);
    }
}

/* Before an owner that needs nothing of shards. */
static bool is_empty(const cz_view_stage *stage)
{
    return stage->n_in + stage->n_out + stage->n_steps == 0;
}

static void emit_variant(cz_emitter *emitter, int number, int variant)
{
    const cz_stage_printer p = cz_stage_begin(emitter, number, variant);
    const cz_view_stage *stage = p.stage;
    int first_result = cz_stage_first_result(stage);

    cz_text_printf(emitter->out,
                   "/* %s. */\n"
                   "static void %s(const czr_call *call)\n{\n",
                   cz_stage_title(emitter, stage),
                   cz_stage_name(emitter, number, variant));
    declare_slots(&p);
    declare_workspace(&p);
    cz_text_puts(emitter->out, "\n");
    for (int s = 0; s < stage->n_steps; s++) {
        if (cz_stage_is_own(stage, s))
            put_step(&p, s, first_result);
        first_result += stage->steps[s].n_out;
    }
    put_copies(&p);
    cz_text_puts(emitter->out,
                 is_empty(stage) ? "    (void)call;\n}\n\n" : "}\n\n");
}

void cz_emit_stage(cz_emitter *emitter, int number)
{
    const cz_view_stage *stage = &emitter->view->stages[number];

    for (int i = 0; i < cz_view_n_bodies(stage); i++)
        if (cz_view_first_alike(stage, i) == i)
            emit_variant(emitter, number, i);
}
