/* The interpreter of a whole rule: its update function, or its stages with
 * slots between them. */
#include "dsl/interp.h"

#include "dsl/interp_internal.h"

#include <assert.h>
#include <string.h>

enum { MAX_SLOTS = 100 }; /* of a kind: dsl/plan_view_stage.c */

static size_t bytes_of(const cz_interp_call *call)
{
    return (size_t)call->count * sizeof(double);
}

/* ---- math form ---- */

static void run_math(const cz_ir *ir, const cz_view_rule *rule,
                     const cz_interp_call *call, const double *scalars,
                     int n_scalars, cz_arena *arena)
{
    const cz_ir_op update = cz_ir_find_function(ir, rule->fact->update);
    const int n_states = rule->fact->states.n;
    const double **in = CZ_NEW(arena, const double *, 2 + n_states + n_scalars);
    double **out = CZ_NEW(arena, double *, 1 + n_states);

    in[0] = call->grad;
    in[1] = call->param;
    for (int i = 0; i < n_states; i++)
        in[2 + i] = call->states[i];
    for (int i = 0; i < n_scalars; i++)
        in[2 + n_states + i] = &scalars[i];
    for (int i = 0; i <= n_states; i++)
        out[i] = CZ_NEW(arena, double, call->count);
    cz_interp_function(update, call->round,
                       rule->fact->shape.n ? 0 : call->count, in, out);
    memcpy(call->param_out, out[0], bytes_of(call));
    for (int i = 0; i < n_states; i++)
        memcpy(call->states_out[i], out[1 + i], bytes_of(call));
}

/* ---- stages ---- */

/* Contents of the slots of a rule, by kind and index; NULL: never written. */
typedef struct slots {
    const cz_interp_call *call;
    cz_arena *arena;
    double *data[CZ_N_SLOTS][MAX_SLOTS];
} slots;

static double *fresh(const slots *s)
{
    return CZ_NEW(s->arena, double, s->call->count);
}

static double *copy(const slots *s, const double *data)
{
    double *place = fresh(s);
    memcpy(place, data, bytes_of(s->call));
    return place;
}

/* A stage reads its inputs before it writes any output. */
static void run_stage(slots *s, const cz_plan_view *view, int number,
                      const double *scalars)
{
    const cz_view_stage *stage = &view->stages[number];
    const double **in = CZ_NEW(s->arena, const double *, stage->n_in);
    double **out = CZ_NEW(s->arena, double *, stage->n_out);

    for (int i = 0; i < stage->n_in; i++) {
        in[i] = s->data[stage->in[i].kind][stage->in[i].index];
        assert(in[i]);
    }
    for (int i = 0; i < stage->n_out; i++)
        out[i] = fresh(s);
    cz_interp_stage(view, number, s->call->round,
                    stage->where == CZ_WHERE_WHOLE ? 0 : s->call->count, in,
                    scalars, out);
    for (int i = 0; i < stage->n_out; i++)
        s->data[stage->out[i].kind][stage->out[i].index] = out[i];
}

static void run_stages(const cz_plan_view *view, const cz_view_rule *rule,
                       const cz_interp_call *call, const double *scalars,
                       cz_arena *arena)
{
    slots *s = CZ_NEW(arena, slots, 1);

    s->call = call;
    s->arena = arena;
    s->data[CZ_SLOT_GRAD][0] = copy(s, call->grad);
    s->data[CZ_SLOT_PARAM][0] = copy(s, call->param);
    for (int i = 0; i < rule->fact->states.n; i++)
        s->data[CZ_SLOT_STATE][i] = copy(s, call->states[i]);
    for (int i = 0; i < rule->n_stages; i++)
        run_stage(s, view, rule->first_stage + i, scalars);
    memcpy(call->param_out, s->data[CZ_SLOT_PARAM][0], bytes_of(call));
    for (int i = 0; i < rule->fact->states.n; i++)
        memcpy(call->states_out[i], s->data[CZ_SLOT_STATE][i], bytes_of(call));
}

/* ---- both ---- */

void cz_interp_rule(const cz_ir *ir, const cz_plan_view *view,
                    const cz_interp_call *call)
{
    const cz_view_rule *rule = &view->rules[call->rule];
    const int n_scalars = view->bodies[rule->prologue].n_out;
    cz_arena arena;

    cz_arena_init(&arena);
    double *scalars = CZ_NEW(&arena, double, n_scalars + 1);
    cz_interp_prologue(view, call->rule, call->round, call->t, call->clip,
                       call->hypers, scalars);
    if (call->form == CZ_INTERP_MATH)
        run_math(ir, rule, call, scalars, n_scalars, &arena);
    else
        run_stages(view, rule, call, scalars, &arena);
    cz_arena_fini(&arena);
}
