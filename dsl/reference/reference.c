/* The interpreter of a whole rule: its update function, or its stages with
 * slots between them. */
#include "dsl/reference/reference.h"

#include "dsl/reference/internal.h"
#include "dsl/plan/state.h"

#include <assert.h>
#include <string.h>

/* What is known while one rule runs. */
typedef struct frame {
    cz_arena *arena;
    const cz_ir *ir;          /* of both math forms */
    const cz_plan_view *view; /* of kernel form; else NULL */
    const cz_reference_call *call;
    const cz_fact_rule *rule;
    const cz_fact_phase *phase; /* of math form; NULL: all updates are alike */
    double *scalars;
} frame;

static double *fresh(const frame *f, int64_t elements)
{
    return CZ_NEW(f->arena, double, elements);
}

/* Elements of a state, or, below 0, of what has the parameter's shape. */
static int64_t elements_of(const frame *f, int state)
{
    return state >= 0 && cz_state_is_owned(f->rule, state)
               ? cz_state_elements(f->rule, state)
               : f->call->count;
}

static size_t bytes_of(const frame *f, int state)
{
    return (size_t)elements_of(f, state) * sizeof(double);
}

/* ---- scalars ---- */

/* The parts of the parameter's name, behind the prologue's n results. */
static void put_name(frame *f, int n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = f->call->name ? f->call->name : ""; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    f->scalars[n] = (double)(hash >> 40);
    f->scalars[n + 1] = (double)(hash >> 16 & 0xffffff);
}

static void run_prologue(frame *f)
{
    const cz_ir_op prologue = cz_ir_find_function(f->ir, f->rule->prologue);
    const int n_in = cz_ir_function_n_in(prologue);
    const int n_out = cz_ir_function_n_out(prologue);
    const double **in = CZ_NEW(f->arena, const double *, n_in);
    double **out = CZ_NEW(f->arena, double *, n_out + 1);

    in[CZ_PROLOGUE_T] = &f->call->t;
    in[CZ_PROLOGUE_CLIP] = &f->call->clip;
    for (int i = CZ_PROLOGUE_HYPERS; i < n_in; i++)
        in[i] = &f->call->hypers[i - CZ_PROLOGUE_HYPERS];
    f->scalars = CZ_NEW(f->arena, double, n_out + CZ_NAME_SCALARS);
    for (int i = 0; i < n_out; i++)
        out[i] = &f->scalars[i];
    cz_reference_function(prologue, f->call->round, 0, in, out);
    put_name(f, n_out);
}

/* ---- math form ---- */

static void run_math(const frame *f)
{
    const cz_reference_call *call = f->call;
    const cz_ir_op update = cz_ir_find_function(
        f->ir, f->phase ? f->phase->update : f->rule->update);
    const int n_states = f->rule->states.n;
    const int n_in = cz_ir_function_n_in(update);
    const double **in = CZ_NEW(f->arena, const double *, n_in);
    double **out = CZ_NEW(f->arena, double *, 1 + n_states);
    const double **settled = CZ_NEW(f->arena, const double *, 1 + n_states);

    in[0] = call->grad;
    in[1] = call->param;
    for (int i = 0; i < n_states; i++)
        in[2 + i] = call->states[i];
    for (int i = 2 + n_states; i < n_in; i++)
        in[i] = &f->scalars[i - 2 - n_states];
    for (int i = 0; i <= n_states; i++)
        out[i] = fresh(f, elements_of(f, i - 1));
    for (int i = 0; call->settled && i < n_states; i++)
        settled[1 + i] = call->settled[i];
    const cz_reference_mode mode = {call->round, call->noise, settled};
    cz_reference_function_in_mode(update, &mode,
                                  f->rule->shape.n ? 0 : call->count, in, out);
    memcpy(call->param_out, out[0], bytes_of(f, -1));
    for (int i = 0; i < n_states; i++)
        memcpy(call->states_out[i], out[1 + i], bytes_of(f, i));
}

/* ---- stages ---- */

/* Contents of the slots that were written, by the names that stages use. */
typedef struct slots {
    int n;
    struct slot {
        const char *name;
        const double *data;
    } * list;
} slots;

static const double *find_slot(const slots *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->list[i].name, name) == 0)
            return s->list[i].data;
    return NULL;
}

static void write_slot(const frame *f, slots *s, const char *name,
                       const double *data)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->list[i].name, name) == 0) {
            s->list[i].data = data;
            return;
        }
    *CZ_PUSH(f->arena, s->list, s->n) = (struct slot){name, data};
}

static const char *state_slot(const frame *f, int state)
{
    return cz_arena_printf(f->arena, "state:%d", state);
}

/* Elements of a slot, by its name. */
static int64_t slot_elements(const frame *f, const char *name)
{
    for (int i = 0; i < f->rule->states.n; i++)
        if (strcmp(name, state_slot(f, i)) == 0)
            return elements_of(f, i);
    return f->call->count;
}

/* A stage reads its inputs before it writes any output. */
static void run_stage(const frame *f, slots *s, const cz_fact_stage *fact,
                      const cz_view_stage *variant)
{
    const int64_t count =
        fact->where == CZ_WHERE_FULL_MATRIX ? 0 : f->call->count;
    const double **in = CZ_NEW(f->arena, const double *, fact->ins.n);
    double **out = CZ_NEW(f->arena, double *, fact->outs.n);

    for (int i = 0; i < fact->ins.n; i++) {
        in[i] = find_slot(s, fact->ins.v[i]);
        assert(in[i]);
    }
    for (int i = 0; i < fact->outs.n; i++)
        out[i] = fresh(f, slot_elements(f, fact->outs.v[i]));
    if (variant)
        cz_reference_variant(f->view, variant, f->call->round, count, in,
                             f->scalars, out);
    else {
        /* The body of a stage in math form takes its scalars behind the slots.
         */
        const int n_in = fact->ins.n;
        const double **all =
            CZ_NEW(f->arena, const double *, n_in + fact->scalars.n);

        for (int i = 0; i < n_in; i++)
            all[i] = in[i];
        for (int i = 0; i < fact->scalars.n; i++)
            all[n_in + i] = &f->scalars[fact->scalars.v[i]];
        cz_reference_function(
            cz_ir_find_function(
                f->ir, cz_reference_body_in(f->ir, f->arena, fact, f->phase)),
            f->call->round, count, all, out);
    }
    for (int i = 0; i < fact->outs.n; i++)
        write_slot(f, s, fact->outs.v[i], out[i]);
}

static void run_stages(const frame *f, slots *s)
{
    if (f->view) {
        const cz_view_rule *rule = &f->view->rules[f->call->rule];
        const int phase = cz_view_phase_at(rule, f->call->stagger_offset,
                                           (int64_t)f->call->t);
        for (int i = 0; i < rule->n_stages; i++) {
            const cz_view_stage *stage =
                &f->view->stages[rule->first_stage + i];
            if (stage->where != CZ_WHERE_SUBGROUP)
                run_stage(f, s, stage->fact, cz_view_variant(stage, phase));
        }
        return;
    }
    int n;
    const cz_fact_stage *facts = cz_ir_read_stage(f->ir, f->arena, &n);
    for (int i = 0; i < n; i++)
        if (strcmp(facts[i].rule, f->rule->sym_name) == 0 &&
            facts[i].where != CZ_WHERE_SUBGROUP)
            run_stage(f, s, &facts[i], NULL);
}

static void run_slots(const frame *f)
{
    const cz_reference_call *call = f->call;
    const int n_states = f->rule->states.n;
    slots s = {0};

    write_slot(f, &s, "grad", call->grad);
    write_slot(f, &s, "param", call->param);
    for (int i = 0; i < n_states; i++)
        write_slot(f, &s, state_slot(f, i), call->states[i]);
    run_stages(f, &s);
    const double *stored = find_slot(&s, "stored");
    if (stored && call->stored_out)
        memcpy(call->stored_out, stored, bytes_of(f, -1));
    memmove(call->param_out, find_slot(&s, "param"), bytes_of(f, -1));
    for (int i = 0; i < n_states; i++)
        memmove(call->states_out[i], find_slot(&s, state_slot(f, i)),
                bytes_of(f, i));
}

/* ---- all forms ---- */

static void begin(frame *f)
{
    const cz_reference_call *call = f->call;
    int n;

    if (!f->view) {
        f->rule = &cz_ir_read_rule(f->ir, f->arena, &n)[call->rule];
        f->phase =
            cz_reference_phase(f->ir, f->arena, f->rule->sym_name,
                               f->call->stagger_offset, (int64_t)call->t);
        run_prologue(f);
        return;
    }
    const cz_view_rule *rule = &f->view->rules[call->rule];
    f->rule = rule->fact;
    f->scalars =
        CZ_NEW(f->arena, double,
               f->view->bodies[rule->prologue].n_out + CZ_NAME_SCALARS);
    cz_reference_prologue(f->view, call->rule, call->round, call->t, call->clip,
                          call->hypers, f->scalars);
    put_name(f, f->view->bodies[rule->prologue].n_out);
}

void cz_reference_rule(const cz_ir *ir, const cz_plan_view *view,
                       const cz_reference_call *call)
{
    cz_arena arena;
    frame f = {.arena = &arena, .ir = ir, .call = call};

    cz_arena_init(&arena);
    f.view = call->form == CZ_REFERENCE_STAGES ? view : NULL;
    begin(&f);
    if (call->form == CZ_REFERENCE_MATH)
        run_math(&f);
    else
        run_slots(&f);
    cz_arena_fini(&arena);
}
