/* Stages: one C function each, a call per map and product.  Slots come as
 * pointers of the call; other results lie in the workspace. */
#include "codegen/codegen_internal.h"

#include "dsl/plan_view_within.h"

#include <stdio.h>
#include <string.h>

/* What a value lies in, as `within` says, and from which byte on; -1: it is a
 * scalar. */
typedef struct place {
    int64_t within, offset;
} place;

/* A stage while it is printed: what every value is in C. */
typedef struct stage_printer {
    cz_emitter *emitter;
    cz_text *out;
    const cz_view_stage *stage;
    int n_values;
    const char **names; /* [n_values] */
    cz_dtype *dtypes;
    place *places;
} stage_printer;

static const char *const slot_names[CZ_N_SLOTS] = {
    [CZ_SLOT_GRAD] = "grad",     [CZ_SLOT_PARAM] = "param",
    [CZ_SLOT_STATE] = "state",   [CZ_SLOT_STORED] = "stored",
    [CZ_SLOT_GATHER] = "gather", [CZ_SLOT_SCATTER] = "scatter",
    [CZ_SLOT_TEMP] = "temp",
};

static const char *slot_name(cz_arena *arena, const cz_view_slot *slot)
{
    if (slot->kind == CZ_SLOT_GRAD || slot->kind == CZ_SLOT_PARAM ||
        slot->kind == CZ_SLOT_STORED)
        return slot_names[slot->kind];
    return cz_arena_printf(arena, "%s%d", slot_names[slot->kind], slot->index);
}

/* The output slot that overwrites input `in`, or -1. */
static int overwrites(const cz_view_stage *stage, int in)
{
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == stage->in[in].kind &&
            stage->out[i].index == stage->in[in].index)
            return i;
    return -1;
}

/* The first output that value feeds, or -1. */
static int output_of(const cz_view_stage *stage, int value)
{
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out_value[i] == value)
            return i;
    return -1;
}

static void name_results(stage_printer *p, int value)
{
    cz_arena *arena = p->emitter->arena;

    for (int s = 0; s < p->stage->n_steps; s++) {
        const cz_view_step *step = &p->stage->steps[s];
        for (int i = 0; i < step->n_out; i++, value++) {
            const int output = output_of(p->stage, value);
            p->dtypes[value] = step->out_dtype[i];
            p->places[value] =
                output >= 0
                    ? (place){p->stage->n_in + output + 1, 0}
                    : (place){cz_view_within(step, i), step->offsets[i]};
            p->names[value] = output >= 0
                                  ? slot_name(arena, &p->stage->out[output])
                                  : cz_arena_printf(arena, "w%d", value);
        }
    }
}

static void name_values(stage_printer *p)
{
    const cz_view_stage *stage = p->stage;
    const int n_scalars = stage->fact->scalars.n;
    cz_arena *arena = p->emitter->arena;

    p->n_values = stage->n_in + n_scalars;
    for (int s = 0; s < stage->n_steps; s++)
        p->n_values += stage->steps[s].n_out;
    p->names = CZ_NEW(arena, const char *, p->n_values);
    p->dtypes = CZ_NEW(arena, cz_dtype, p->n_values);
    p->places = CZ_NEW(arena, place, p->n_values);
    for (int i = 0; i < stage->n_in; i++) {
        p->places[i] = (place){i + 1, 0};
        p->names[i] = slot_name(arena, &stage->in[i]);
        p->dtypes[i] = stage->in[i].dtype;
    }
    for (int i = 0; i < n_scalars; i++) {
        p->names[stage->n_in + i] =
            cz_arena_printf(arena, "call->scalars[%d]", i);
        p->dtypes[stage->n_in + i] = CZ_F32;
        p->places[stage->n_in + i] = (place){-1, -1};
    }
    name_results(p, stage->n_in + n_scalars);
}

/* Of a shared stage, the steps of its own segment; of others, all. */
static bool is_own(const cz_view_stage *stage, int s)
{
    return !stage->shared || stage->steps[s].segment == stage->shared->segment;
}

/* A stage with phases may have inputs that only another phase needs, and a
 * segment values of others. */
static bool is_read(const cz_view_stage *stage, int value)
{
    for (int s = 0; s < stage->n_steps; s++)
        for (int i = 0; is_own(stage, s) && i < stage->steps[s].n_in; i++)
            if (stage->steps[s].in[i] == value)
                return true;
    return false;
}

/* Values [first, first + n_out) of step `s` have a name in the function if it
 * makes or reads them. */
static bool is_named(const cz_view_stage *stage, int s, int value)
{
    return is_own(stage, s) || is_read(stage, value);
}

static bool is_output_named(const cz_view_stage *stage, int output)
{
    int value = stage->n_in + stage->fact->scalars.n;

    for (int s = 0; s < stage->n_steps; value += stage->steps[s++].n_out)
        if (stage->out_value[output] < value + stage->steps[s].n_out)
            return is_named(stage, s, stage->out_value[output]);
    return true;
}

/* Whether a result takes an operand's place: a slot that has both, or the same
 * bytes. */
static bool is_overwritten(const stage_printer *p, int in, int result)
{
    const place *a = &p->places[in], *b = &p->places[result];

    if (in < p->stage->n_in && strcmp(p->names[in], p->names[result]) == 0)
        return true;
    return a->within >= 0 && a->within == b->within && a->offset == b->offset;
}

/* Whether a step is handed the value under a name of its own: not where all
 * that read it put a result in its place, and take that for both. */
static bool is_passed(const stage_printer *p, int value)
{
    int result = p->stage->n_in + p->stage->fact->scalars.n;

    for (int s = 0; s < p->stage->n_steps; result += p->stage->steps[s++].n_out)
        for (int i = 0; is_own(p->stage, s) && i < p->stage->steps[s].n_in;
             i++) {
            bool is_replaced = p->stage->steps[s].in[i] != value;
            for (int o = 0; o < p->stage->steps[s].n_out; o++)
                is_replaced =
                    is_replaced || is_overwritten(p, value, result + o);
            if (!is_replaced)
                return true;
        }
    return false;
}

static void declare_slots(stage_printer *p)
{
    const cz_view_stage *stage = p->stage;

    for (int i = 0; i < stage->n_in; i++)
        if (overwrites(stage, i) < 0 && is_passed(p, i))
            cz_text_printf(p->out, "    const %s *const %s = call->in[%d];\n",
                           cz_c_type(stage->in[i].dtype), p->names[i], i);
    for (int i = 0; i < stage->n_out; i++)
        if (is_output_named(stage, i))
            cz_text_printf(p->out, "    %s *const %s = call->out[%d];\n",
                           cz_c_type(stage->out[i].dtype),
                           slot_name(p->emitter->arena, &stage->out[i]), i);
}

static const char *address_of(const stage_printer *p, const cz_view_step *step,
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

static void declare_workspace(stage_printer *p)
{
    int value = p->stage->n_in + p->stage->fact->scalars.n;

    for (int s = 0; s < p->stage->n_steps; s++) {
        const cz_view_step *step = &p->stage->steps[s];
        for (int i = 0; i < step->n_out; i++, value++)
            if (step->offsets[i] >= 0 && is_named(p->stage, s, value))
                cz_text_printf(p->out, "    %s *const %s = %s;\n",
                               cz_c_type(p->dtypes[value]), p->names[value],
                               address_of(p, step, i));
        if (step->is_product && step->offsets[1] >= 0 && is_own(p->stage, s))
            cz_text_printf(p->out, "    float *const acc%d = %s;\n", s,
                           address_of(p, step, 1));
    }
}

/* Operands of step `s` and which of them its outputs overwrite. */
static cz_loop make_loop(stage_printer *p, int s, int first_result)
{
    const cz_view_step *step = &p->stage->steps[s];
    cz_arena *arena = p->emitter->arena;
    cz_dtype *in_dtype = CZ_NEW(arena, cz_dtype, step->n_in);
    int *in_place = CZ_NEW(arena, int, step->n_out);

    for (int i = 0; i < step->n_in; i++)
        in_dtype[i] = p->dtypes[step->in[i]];
    for (int o = 0; o < step->n_out; o++) {
        in_place[o] = -1;
        for (int i = 0; i < step->n_in; i++)
            if (is_overwritten(p, step->in[i], first_result + o))
                in_place[o] = i;
    }
    return (cz_loop){
        step,     in_dtype,
        in_place, cz_loop_is_flat(step),
        false,    cz_loop_checked_result(p->stage, step, first_result)};
}

/* How far from its start the rank's part of an operand, or of a result, lies
 * that belongs to all rows of a step which deals them out. */
static int64_t part_elements(const cz_view_step *step, cz_access access)
{
    if (step->deal <= 1)
        return 0;
    if (access == CZ_ACCESS_ELEMENT)
        return step->rows * step->columns;
    return access == CZ_ACCESS_ROW ? step->rows : 0;
}

static const char *part_of(const stage_printer *p, const char *name,
                           int64_t elements)
{
    return elements == 0
               ? name
               : cz_arena_printf(p->emitter->arena, "%s + call->part * %lld",
                                 name, (long long)elements);
}

/* The extents that a loop function takes first. */
static void put_extents(stage_printer *p, const cz_loop *loop)
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

static void put_arguments(stage_printer *p, const cz_loop *loop, int first_in,
                          int first_result)
{
    const cz_view_step *step = loop->step;

    for (int i = first_in; i < step->n_in; i++) {
        bool is_output = false;
        for (int o = 0; o < step->n_out; o++)
            is_output = is_output || loop->in_place[o] == i;
        if (!is_output)
            cz_text_printf(p->out, ", %s",
                           part_of(p, p->names[step->in[i]],
                                   part_elements(step, step->access[i])));
    }
    for (int o = 0; o < step->n_out; o++)
        cz_text_printf(p->out, ", %s",
                       part_of(p, p->names[first_result + o],
                               part_elements(step, step->out_access[o])));
    cz_text_puts(p->out, loop->checked < 0 ? ");\n" : ", call->status);\n");
}

/* Whether a product ends in alpha * c + beta * s, which it does itself. */
static bool is_affine(const cz_view_step *step)
{
    return step->is_product && step->body < 0 && step->offsets[1] >= 0;
}

static void put_affine(stage_printer *p, const cz_loop *loop, int first_result)
{
    const cz_view_step *step = loop->step;

    cz_text_printf(p->out,
                   ", .room_rows = %lld,\n"
                   "        .out = %s, .out_dtype = %s, .alpha = ",
                   (long long)cz_view_accumulator_rows(step),
                   part_of(p, p->names[first_result],
                           part_elements(step, CZ_ACCESS_ELEMENT)),
                   cz_dtype_czr_tag(step->out_dtype[0]));
    cz_emit_f32(p->out, (float)step->alpha);
    if (step->beta == 0)
        return;
    cz_text_printf(
        p->out, ",\n        .addend = %s, .addend_dtype = %s, .beta = ",
        part_of(p, p->names[step->in[2]], part_elements(step, step->access[2])),
        cz_dtype_czr_tag(loop->in_dtype[2]));
    cz_emit_f32(p->out, (float)step->beta);
}

static void put_product(stage_printer *p, const cz_loop *loop,
                        const char *target, int first_result)
{
    const cz_view_step *step = loop->step;

    cz_text_printf(p->out,
                   "    czr_multiply(call, &(czr_product){\n"
                   "        .m = %lld, .n = %lld, .k = %lld, .c = %s,\n"
                   "        .a = %s, .a_dtype = %s, .transpose_a = %d,\n"
                   "        .b = %s, .b_dtype = %s, .transpose_b = %d,\n"
                   "        .symmetric = %d",
                   (long long)step->rows, (long long)step->columns,
                   (long long)step->inner, target,
                   part_of(p, p->names[step->in[0]],
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

static void put_parameters(stage_printer *p, const cz_view_step *step)
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

static void put_work(stage_printer *p, const cz_view_step *step)
{
    if (step->offsets[step->n_out] < 0)
        return;
    cz_text_printf(p->out, ",\n        .work = %s, .work_bytes = %lld",
                   address_of(p, step, step->n_out),
                   (long long)cz_factor_work_bytes(step->factor, &step->size));
}

/* A call that fails ends the stage: what follows has nothing to work on. */
static void put_call(stage_printer *p, const cz_view_step *step,
                     int first_result)
{
    cz_text_printf(p->out,
                   "    if (!czr_factorise(call, &(czr_factor){\n"
                   "        .kind = %s, .m = %lld, .n = %lld, .k = %lld,\n"
                   "        .a = %s",
                   cz_factor_czr_tag(step->factor), (long long)step->size.m,
                   (long long)step->size.n, (long long)step->size.k,
                   p->names[step->in[0]]);
    if (step->n_in > 1)
        cz_text_printf(p->out, ", .b = %s", p->names[step->in[1]]);
    cz_text_printf(p->out, ", .out = {%s", p->names[first_result]);
    if (step->n_out > 1)
        cz_text_printf(p->out, ", %s", p->names[first_result + 1]);
    cz_text_puts(p->out, "}");
    put_parameters(p, step);
    put_work(p, step);
    cz_text_puts(p->out, "}))\n        return;\n");
}

/* Loop functions precede the stage, so they are emitted in a first round
 * (number < 0 asks for it) and called in a second. */
static void put_step(stage_printer *p, int s, int first_result, int number)
{
    const cz_view_step *step = &p->stage->steps[s];
    const cz_loop loop = make_loop(p, s, first_result);
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
                         : part_of(p, p->names[first_result],
                                   part_elements(step, CZ_ACCESS_ELEMENT)),
                    first_result);
    if (step->is_product && (!*acc || is_affine(step)))
        return;
    cz_text_printf(p->out, "    loop_%d(", number);
    if (step->is_product)
        cz_text_printf(p->out, "%s, ", acc);
    put_extents(p, &loop);
    put_arguments(p, &loop, step->is_product ? 2 : 0, first_result);
}

static int emit_loop(stage_printer *p, int s, int first_result)
{
    const cz_view_step *step = &p->stage->steps[s];
    const cz_loop loop = make_loop(p, s, first_result);

    if (step->factor)
        return -1;
    if (!step->is_product)
        return cz_emit_map_loop(p->emitter, &loop);
    return step->offsets[1] >= 0 && !is_affine(step)
               ? cz_emit_epilogue_loop(p->emitter, &loop)
               : -1;
}

/* An output that no step wrote where it belongs is copied there. */
static void put_copies(stage_printer *p)
{
    const cz_view_stage *stage = p->stage;

    for (int i = 0; i < stage->n_out; i++) {
        const char *name = slot_name(p->emitter->arena, &stage->out[i]);
        const char *value = p->names[stage->out_value[i]];
        if (strcmp(name, value) != 0)
            cz_text_printf(p->out,
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
    static const char *const where[CZ_N_WHERES] = {
        "all of the rule, on any run of elements", "on the shard, before",
        "on the whole matrix", "on the shard, after",
        "on a part of the matrix"};
    const cz_view_stage *stage =
        cz_view_variant(&emitter->view->stages[number], variant);
    stage_printer p = {.emitter = emitter, .out = emitter->out, .stage = stage};
    int *loops = CZ_NEW(emitter->arena, int, stage->n_steps);
    int first_result = stage->n_in + stage->fact->scalars.n;

    name_values(&p);
    for (int s = 0, v = first_result; s < stage->n_steps;
         v += stage->steps[s++].n_out)
        if (is_own(stage, s))
            loops[s] = emit_loop(&p, s, v);
    cz_text_printf(p.out, "/* Rule %d: %s. */\n", stage->rule,
                   where[stage->where]);
    cz_text_printf(p.out, "static void %s(const czr_call *call)\n{\n",
                   cz_stage_name(emitter, number, variant));
    declare_slots(&p);
    declare_workspace(&p);
    cz_text_puts(p.out, "\n");
    for (int s = 0; s < stage->n_steps; s++) {
        if (is_own(stage, s))
            put_step(&p, s, first_result, loops[s]);
        first_result += stage->steps[s].n_out;
    }
    put_copies(&p);
    cz_text_puts(p.out, is_empty(stage) ? "    (void)call;\n}\n\n" : "}\n\n");
}

void cz_emit_stage(cz_emitter *emitter, int number)
{
    const cz_view_stage *stage = &emitter->view->stages[number];

    for (int i = 0; i < cz_view_n_bodies(stage); i++)
        if (cz_view_first_alike(stage, i) == i)
            emit_variant(emitter, number, i);
}
