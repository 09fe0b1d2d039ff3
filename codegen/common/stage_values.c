/* What the values of a stage are called and where they lie: slots come with the
 * call, other results lie in the workspace. */
#include "codegen/common/stage.h"

#include "dsl/plan/within.h"

#include <inttypes.h>
#include <string.h>

const char *cz_stage_slot(cz_arena *arena, const cz_view_slot *slot)
{
    const char *word = cz_slot_kind_word(slot->kind);
    if (!cz_slot_has_index(slot->kind))
        return word;
    return cz_arena_printf(arena, "%s%d", word, slot->index);
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

static void name_values(cz_stage_printer *p)
{
    const cz_view_stage *stage = p->stage;
    const int n_scalars = stage->fact->scalars.n;
    cz_arena *arena = p->emitter->arena;

    p->n_values = cz_stage_first_result(stage);
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

int cz_stage_first_result(const cz_view_stage *stage)
{
    return stage->n_in + stage->fact->scalars.n;
}

bool cz_stage_is_own(const cz_view_stage *stage, int s)
{
    return !stage->subgroup ||
           stage->steps[s].segment == stage->subgroup->segment;
}

bool cz_stage_is_replaced(const cz_stage_printer *p, int in, int result)
{
    const cz_place *a = &p->places[in], *b = &p->places[result];

    if (in < p->stage->n_in && strcmp(p->names[in], p->names[result]) == 0)
        return true;
    return a->within >= 0 && a->within == b->within && a->offset == b->offset;
}

cz_loop cz_stage_loop(const cz_stage_printer *p, int s, int first_result)
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
            if (cz_stage_is_replaced(p, step->in[i], first_result + o))
                in_place[o] = i;
    }
    return (cz_loop){
        step,     in_dtype,
        in_place, cz_loop_is_flat(step),
        false,    cz_loop_checked_result(p->stage, step, first_result)};
}

int64_t cz_stage_rank_offset(const cz_view_step *step, cz_access access)
{
    if (step->partition <= 1)
        return 0;
    if (access == CZ_ACCESS_ELEMENT)
        return step->rows * step->columns;
    return access == CZ_ACCESS_ROW ? step->rows : 0;
}

bool cz_stage_is_affine(const cz_view_step *step)
{
    return cz_stage_has_accumulator(step) && step->body < 0;
}

bool cz_stage_has_accumulator(const cz_view_step *step)
{
    return step->is_product && step->offsets[1] >= 0;
}

/* The first tensor under a rule. */
static const char *example_of(const cz_plan_view *view, int rule)
{
    for (int f = 0; f < view->n_patterns; f++)
        if (view->patterns[f].rule == rule)
            return view->params[view->patterns[f].first_param].name;
    return "";
}

const char *cz_stage_title(const cz_emitter *emitter,
                           const cz_view_stage *stage)
{
    static const char *const where[CZ_N_WHERES] = {
        "all of the rule, on any run of elements", "on the shard, before",
        "on the whole matrix", "on the shard, after",
        "on a part of the matrix"};
    const cz_view_rule *rule = &emitter->view->rules[stage->rule];
    const cz_ints shape = rule->fact->shape;
    cz_text title = {0};

    /* Strings of C, which end no comment. */
    cz_emit_string(&title, emitter->view->uses[rule->use]->optimizer);
    if (shape.n == 2)
        cz_text_printf(&title, " of %" PRId64 " x %" PRId64, shape.v[0],
                       shape.v[1]);
    cz_text_puts(&title, ", as ");
    cz_emit_string(&title, example_of(emitter->view, stage->rule));
    cz_text_printf(&title, ": %s", where[stage->where]);
    const char *copy =
        cz_arena_copy(emitter->arena, cz_text_string(&title), title.n);
    cz_text_fini(&title);
    return copy;
}

/* Number of the loop of step `s`, which is emitted unless it is there. */
static int emit_loop(const cz_stage_printer *p, int s, int first_result)
{
    const cz_view_step *step = &p->stage->steps[s];
    const cz_loop loop = cz_stage_loop(p, s, first_result);

    if (step->factor)
        return -1;
    if (!step->is_product)
        return cz_emit_map_loop(p->emitter, &loop);
    return cz_stage_has_accumulator(step) && !cz_stage_is_affine(step)
               ? cz_emit_epilogue_loop(p->emitter, &loop)
               : -1;
}

cz_stage_printer cz_stage_begin(cz_emitter *emitter, int number, int variant)
{
    const cz_view_stage *stage =
        cz_view_variant(&emitter->view->stages[number], variant);
    cz_stage_printer p = {.emitter = emitter,
                          .stage = stage,
                          .loops = CZ_NEW(emitter->arena, int, stage->n_steps)};

    name_values(&p);
    for (int s = 0, v = cz_stage_first_result(stage); s < stage->n_steps;
         v += stage->steps[s++].n_out)
        p.loops[s] = cz_stage_is_own(stage, s) ? emit_loop(&p, s, v) : -1;
    return p;
}
