/* What the values of a stage are called and where they lie: slots come as
 * pointers of the call, other results lie in the workspace. */
#include "codegen/common/stage.h"

#include "dsl/plan/within.h"

#include <string.h>

const char *cz_stage_slot(cz_arena *arena, const cz_view_slot *slot)
{
    const char *word = cz_slot_kind_word(slot->kind);
    if (!cz_slot_has_index(slot->kind))
        return word;
    return cz_arena_printf(arena, "%s%d", word, slot->index);
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

static void name_results(cz_stage_printer *p, int value)
{
    cz_arena *arena = p->emitter->arena;

    for (int s = 0; s < p->stage->n_steps; s++) {
        const cz_view_step *step = &p->stage->steps[s];
        for (int i = 0; i < step->n_out; i++, value++) {
            const int output = output_of(p->stage, value);
            p->dtypes[value] = step->out_dtype[i];
            p->places[value] =
                output >= 0
                    ? (cz_place){p->stage->n_in + output + 1, 0}
                    : (cz_place){cz_view_within(step, i), step->offsets[i]};
            p->names[value] = output >= 0
                                  ? cz_stage_slot(arena, &p->stage->out[output])
                                  : cz_arena_printf(arena, "w%d", value);
        }
    }
}

void cz_stage_name_values(cz_stage_printer *p)
{
    const cz_view_stage *stage = p->stage;
    const int n_scalars = stage->fact->scalars.n;
    cz_arena *arena = p->emitter->arena;

    p->n_values = stage->n_in + n_scalars;
    for (int s = 0; s < stage->n_steps; s++)
        p->n_values += stage->steps[s].n_out;
    p->names = CZ_NEW(arena, const char *, p->n_values);
    p->dtypes = CZ_NEW(arena, cz_dtype, p->n_values);
    p->places = CZ_NEW(arena, cz_place, p->n_values);
    for (int i = 0; i < stage->n_in; i++) {
        p->places[i] = (cz_place){i + 1, 0};
        p->names[i] = cz_stage_slot(arena, &stage->in[i]);
        p->dtypes[i] = stage->in[i].dtype;
    }
    for (int i = 0; i < n_scalars; i++) {
        p->names[stage->n_in + i] =
            cz_arena_printf(arena, "call->scalars[%d]", i);
        p->dtypes[stage->n_in + i] = CZ_F32;
        p->places[stage->n_in + i] = (cz_place){-1, -1};
    }
    name_results(p, stage->n_in + n_scalars);
}

bool cz_stage_is_own(const cz_view_stage *stage, int s)
{
    return !stage->shared || stage->steps[s].segment == stage->shared->segment;
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
    int value = stage->n_in + stage->fact->scalars.n;

    for (int s = 0; s < stage->n_steps; value += stage->steps[s++].n_out)
        if (stage->out_value[output] < value + stage->steps[s].n_out)
            return is_named(stage, s, stage->out_value[output]);
    return true;
}

/* Whether a result takes an operand's place: a slot that has both, or the same
 * bytes. */
static bool is_overwritten(const cz_stage_printer *p, int in, int result)
{
    const cz_place *a = &p->places[in], *b = &p->places[result];

    if (in < p->stage->n_in && strcmp(p->names[in], p->names[result]) == 0)
        return true;
    return a->within >= 0 && a->within == b->within && a->offset == b->offset;
}

/* Whether a step is handed the value under a name of its own: not where all
 * that read it put a result in its place, and take that for both. */
static bool is_passed(const cz_stage_printer *p, int value)
{
    int result = p->stage->n_in + p->stage->fact->scalars.n;

    for (int s = 0; s < p->stage->n_steps; result += p->stage->steps[s++].n_out)
        for (int i = 0;
             cz_stage_is_own(p->stage, s) && i < p->stage->steps[s].n_in; i++) {
            bool is_replaced = p->stage->steps[s].in[i] != value;
            for (int o = 0; o < p->stage->steps[s].n_out; o++)
                is_replaced =
                    is_replaced || is_overwritten(p, value, result + o);
            if (!is_replaced)
                return true;
        }
    return false;
}

static void declare_slots(cz_stage_printer *p)
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
                           cz_stage_slot(p->emitter->arena, &stage->out[i]), i);
}

const char *cz_stage_address(const cz_stage_printer *p,
                             const cz_view_step *step, int entry)
{
    const long long slot = cz_view_within(step, entry) - 1;
    const bool is_in = slot < p->stage->n_in;

    if (slot < 0)
        return cz_arena_printf(p->emitter->arena, "(void *)(call->work + %lld)",
                               (long long)step->offsets[entry]);
    return cz_arena_printf(p->emitter->arena, "%s%s_bytes(call, %lld, %lld)",
                           p->dialect->address, is_in ? "in" : "out",
                           is_in ? slot : slot - p->stage->n_in,
                           (long long)step->offsets[entry]);
}

static void declare_workspace(cz_stage_printer *p)
{
    int value = p->stage->n_in + p->stage->fact->scalars.n;

    for (int s = 0; s < p->stage->n_steps; s++) {
        const cz_view_step *step = &p->stage->steps[s];
        for (int i = 0; i < step->n_out; i++, value++)
            if (step->offsets[i] >= 0 && is_named(p->stage, s, value))
                cz_text_printf(p->out, "    %s *const %s = %s;\n",
                               cz_c_type(p->dtypes[value]), p->names[value],
                               cz_stage_address(p, step, i));
        if (step->is_product && step->offsets[1] >= 0 &&
            cz_stage_is_own(p->stage, s))
            cz_text_printf(p->out, "    float *const acc%d = %s;\n", s,
                           cz_stage_address(p, step, 1));
    }
}

void cz_stage_declare(cz_stage_printer *p)
{
    declare_slots(p);
    declare_workspace(p);
}

cz_loop cz_stage_loop(cz_stage_printer *p, int s, int first_result)
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

int64_t cz_stage_rank_offset(const cz_view_step *step, cz_access access)
{
    if (step->deal <= 1)
        return 0;
    if (access == CZ_ACCESS_ELEMENT)
        return step->rows * step->columns;
    return access == CZ_ACCESS_ROW ? step->rows : 0;
}

const char *cz_stage_at_rank(const cz_stage_printer *p, const char *name,
                             int64_t elements)
{
    return elements == 0
               ? name
               : cz_arena_printf(p->emitter->arena, "%s + call->part * %lld",
                                 name, (long long)elements);
}

void cz_stage_arguments(cz_stage_printer *p, const cz_loop *loop,
                        int first_result, const char *before, const char *after)
{
    const cz_view_step *step = loop->step;

    for (int i = step->is_product ? 2 : 0; i < step->n_in; i++)
        if (cz_loop_written_by(loop, i) < 0)
            cz_text_printf(
                p->out, "%s%s%s", before,
                cz_stage_at_rank(p, p->names[step->in[i]],
                                 cz_stage_rank_offset(step, step->access[i])),
                after);
    for (int o = 0; o < step->n_out; o++)
        cz_text_printf(
            p->out, "%s%s%s", before,
            cz_stage_at_rank(p, p->names[first_result + o],
                             cz_stage_rank_offset(step, step->out_access[o])),
            after);
}
