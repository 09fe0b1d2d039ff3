/* Uses of optimizers and their rules, with their events and phases. */
#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"
#include "dsl/plan/state.h"

#include <string.h>

/* ---- uses ---- */

static bool read_uses(cz_view_builder *b)
{
    int n;
    const cz_fact_use *facts = CZ_VIEW_FACTS(b, use, &n);
    const cz_fact_use **uses = CZ_NEW(b->arena, const cz_fact_use *, n);
    bool ok = true;

    for (int i = 0; i < n; i++) {
        uses[i] = &facts[i];
        if (facts[i].defaults.n != facts[i].hypers.n)
            ok = cz_view_fail(b, "use '%s': %d values, %d defaults",
                              facts[i].sym_name, facts[i].hypers.n,
                              facts[i].defaults.n);
    }
    b->view->n_uses = n;
    b->view->uses = uses;
    return ok;
}

/* A whole one is a matrix of its own; a diagonal is that of a square one, and
 * so is symmetry; an extern is whole, in f32, without a first value. */
static bool check_state(cz_view_builder *b, const cz_fact_rule *rule, int state)
{
    const cz_ints shape = {cz_state_shape(rule, state), 2};
    const int64_t is_whole = shape.v[0] > 0;
    const int64_t is_square = is_whole && shape.v[0] == shape.v[1];
    const int64_t is_extern = rule->state_extern.v[state];
    bool ok =
        cz_view_all_in(b, "rule: state_shapes", &shape, 2, is_whole,
                       is_whole ? CZ_MAX_DIM : 0) &&
        cz_view_in(b, "rule: state_diagonal", rule->state_diagonal.v[state], 0,
                   is_square) &&
        cz_view_in(b, "rule: state_symmetric", rule->state_symmetric.v[state],
                   0, is_square && !is_extern) &&
        cz_view_in(b, "rule: state_extern", is_extern, 0,
                   is_whole &&
                       strcmp(rule->state_dtypes.v[state], "f32") == 0 &&
                       rule->state_init.v[state] == 0);
    int64_t elements;

    if (ok && is_whole &&
        (rule->shape.n != 2 || !cz_checked_product(shape.v, 2, &elements) ||
         elements > CZ_VIEW_MAX_NUMBER))
        ok = cz_view_fail(b,
                          "rule '%s': state %d is too large, or of a rule "
                          "that is not for matrices",
                          rule->sym_name, state);
    return ok;
}

static bool read_states(cz_view_builder *b, cz_view_rule *rule)
{
    const cz_fact_rule *fact = rule->fact;
    cz_dtype *states = CZ_NEW(b->arena, cz_dtype, fact->states.n + 1);
    bool ok = true;

    if (!cz_states_are_listed(fact))
        return cz_view_fail(b,
                            "rule '%s': states, their types, their first "
                            "values and their shapes differ in number",
                            fact->sym_name);
    for (int i = 0; i < fact->states.n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(fact->states.v[i], fact->states.v[k]) == 0)
                return cz_view_fail(b, "rule '%s': two states are called '%s'",
                                    fact->sym_name, fact->states.v[i]);
    for (int i = 0; i < fact->states.n; i++)
        ok &= cz_view_dtype(b, "rule: state_dtypes", fact->state_dtypes.v[i],
                            &states[i]) &&
              check_state(b, fact, i);
    rule->states = states;
    return ok;
}

static bool check_rule(cz_view_builder *b, const cz_fact_rule *rule)
{
    int64_t elements;
    if (!cz_view_in(b, "rule: rank", rule->shape.n, 0, CZ_IR_MAX_RANK))
        return false;
    return (cz_checked_product(rule->shape.v, rule->shape.n, &elements) &&
            elements <= CZ_VIEW_MAX_NUMBER) ||
           cz_view_fail(b, "rule '%s' is too large", rule->sym_name);
}

static bool check_prologue(cz_view_builder *b, const cz_view_rule *rule)
{
    const cz_view_body *body = &b->bodies[rule->prologue];
    const int n_hypers = b->view->uses[rule->use]->hypers.n;
    bool ok = body->n_in == CZ_PROLOGUE_HYPERS + n_hypers;

    for (int i = 0; i < body->n_in; i++)
        ok &= body->in[i] == CZ_F64;
    for (int i = 0; i < body->n_out; i++)
        ok &= body->out_dtype[i] == CZ_F32;
    return ok || cz_view_fail(b,
                              "rule '%s': the prologue must map t, clip "
                              "and %d values in f64 to results in f32",
                              rule->fact->sym_name, n_hypers);
}

/* Does the function have the arguments and results of the rule's update? */
static bool check_update(cz_view_builder *b, const cz_view_rule *rule,
                         const char *update)
{
    const cz_fact_rule *fact = rule->fact;
    const int n_tensors = 2 + fact->states.n;
    const int n_scalars = rule->n_scalars;
    cz_ir_op f;

    if (!cz_view_find_function(b, update, &f))
        return false;
    bool ok = cz_ir_function_n_in(f) == n_tensors + n_scalars &&
              cz_ir_function_n_out(f) == n_tensors - 1;
    for (int i = 0; ok && i < n_tensors; i++)
        ok = cz_ir_type_is_state(cz_ir_value_type(cz_ir_function_in(f, i)),
                                 fact, i - 2);
    for (int i = 0; ok && i < n_scalars; i++)
        ok = cz_ir_type_equal(
            cz_ir_value_type(cz_ir_function_in(f, n_tensors + i)),
            cz_ir_scalar_type(CZ_F32));
    for (int i = 0; ok && i < n_tensors - 1; i++)
        ok = cz_ir_type_is_state(cz_ir_function_out_type(f, i), fact, i - 1);
    return ok || cz_view_fail(b,
                              "rule '%s': '%s' does not have the "
                              "arguments and results of an update",
                              fact->sym_name, update);
}

/* The prologue's results, and the name if there are as many arguments. */
static int count_scalars(cz_view_builder *b, const cz_view_rule *rule)
{
    const int n = b->bodies[rule->prologue].n_out;
    const int n_named = 2 + rule->fact->states.n + n + CZ_NAME_SCALARS;
    const cz_ir_op f = cz_ir_find_function(b->ir, rule->fact->update);

    return f.p && cz_ir_function_n_in(f) == n_named ? n + CZ_NAME_SCALARS : n;
}

static bool read_rule(cz_view_builder *b, cz_view_rule *rule)
{
    bool ok = check_rule(b, rule->fact);
    ok &= read_states(b, rule);
    ok &= cz_view_find(b, CZ_FACT_use, rule->fact->use, &rule->use);
    ok &= cz_view_read_body(b, rule->fact->prologue, &rule->prologue);
    if (!ok || !check_prologue(b, rule))
        return false;
    rule->n_scalars = count_scalars(b, rule);
    rule->first_scalar = b->view->n_scalars;
    b->view->n_scalars += b->bodies[rule->prologue].n_out;
    return check_update(b, rule, rule->fact->update);
}

/* Of the matrix's shape, as stored, and whole. */
static bool is_settled(const cz_fact_rule *rule, cz_ints states, int i)
{
    const int64_t state = states.v[i];

    return state < rule->states.n && (i == 0 || states.v[i - 1] < state) &&
           rule->shape.n == 2 && cz_state_is_owned(rule, (int)state) &&
           memcmp(cz_state_shape(rule, (int)state), rule->shape.v,
                  2 * sizeof *rule->shape.v) == 0;
}

static bool read_settled(cz_view_builder *b, cz_view_rule *rules)
{
    int n, rule;
    const cz_fact_settled *facts = CZ_VIEW_FACTS(b, settled, &n);

    for (int f = 0; f < n; f++) {
        bool ok = cz_view_find(b, CZ_FACT_rule, facts[f].rule, &rule) &&
                  rules[rule].settled.n == 0;
        for (int i = 0; ok && i < facts[f].states.n; i++)
            ok = facts[f].states.v[i] >= 0 &&
                 is_settled(rules[rule].fact, facts[f].states, i);
        if (!ok)
            return cz_view_fail(b,
                                "settled: not the states of rule '%s' that "
                                "are whole and of its shape, once, ascending",
                                facts[f].rule);
        rules[rule].settled = facts[f].states;
    }
    return true;
}

bool cz_view_read_rules(cz_view_builder *b)
{
    int n;
    bool ok = read_uses(b);
    const cz_fact_rule *facts = CZ_VIEW_FACTS(b, rule, &n);
    cz_view_rule *rules = CZ_NEW(b->arena, cz_view_rule, n);

    for (int i = 0; ok && i < n; i++) {
        rules[i].fact = &facts[i];
        ok = read_rule(b, &rules[i]);
    }
    ok = ok && read_settled(b, rules);
    b->view->n_rules = n;
    b->view->rules = b->rules = rules;
    return ok;
}

/* ---- events and phases ---- */

static bool read_event(cz_view_builder *b, const cz_fact_event *fact,
                       cz_event *events, int number)
{
    int rule;

    if (!cz_view_find(b, CZ_FACT_rule, fact->rule, &rule) ||
        !cz_view_in(b, "event: stagger", fact->stagger, 0, fact->period > 1))
        return false;
    cz_view_rule *view = &b->rules[rule];
    if (view->n_events == 0)
        view->events = &events[number];
    if (view->n_events == CZ_MAX_EVENTS ||
        &view->events[view->n_events] != &events[number])
        return cz_view_fail(b,
                            "the events of rule '%s' do not stand together, "
                            "or are more than %d",
                            fact->rule, CZ_MAX_EVENTS);
    events[number] = (cz_event){fact->start, fact->period, fact->stagger != 0};
    view->n_events++;
    return true;
}

static bool read_phase(cz_view_builder *b, cz_view_phase *phases, int number)
{
    cz_view_phase *phase = &phases[number];
    const cz_fact_phase *fact = phase->fact;
    int rule;

    if (!cz_view_find(b, CZ_FACT_rule, fact->rule, &rule))
        return false;
    cz_view_rule *view = &b->rules[rule];
    if (view->n_phases == 0)
        view->phases = phase;
    if (&view->phases[view->n_phases] != phase)
        return cz_view_fail(b, "the phases of rule '%s' do not stand together",
                            fact->rule);
    if (!cz_view_all_in(b, "phase: fires", &fact->fires, fact->fires.n, 0,
                        view->n_events - 1))
        return false;
    for (int i = 0; i < fact->fires.n; i++)
        phase->fires |= (uint32_t)1 << fact->fires.v[i];
    view->n_phases++;
    return check_update(b, view, fact->update);
}

/* Each update finds its phase: those there are, in order, and no other. */
static bool check_phases(cz_view_builder *b, const cz_view_rule *rule)
{
    uint32_t phases[CZ_MAX_PHASES];
    int n;
    bool ok = cz_events_phases(rule->events, rule->n_events, phases, &n) ==
              CZ_PHASES_OK;

    if (rule->n_events == 0 && rule->n_phases == 0)
        return true;
    ok = ok && n == rule->n_phases && n > 1;
    for (int i = 0; ok && i < n; i++)
        ok = phases[i] == rule->phases[i].fires;
    ok = ok && strcmp(rule->phases[0].fact->update, rule->fact->update) == 0;
    return ok || cz_view_fail(b,
                              "the phases of rule '%s' are not those of its "
                              "events",
                              rule->fact->sym_name);
}

bool cz_view_read_phases(cz_view_builder *b)
{
    int n_events, n_phases;
    const cz_fact_event *facts = CZ_VIEW_FACTS(b, event, &n_events);
    const cz_fact_phase *given = CZ_VIEW_FACTS(b, phase, &n_phases);
    cz_event *events = CZ_NEW(b->arena, cz_event, n_events);
    cz_view_phase *phases = CZ_NEW(b->arena, cz_view_phase, n_phases);
    bool ok = true;

    for (int i = 0; ok && i < n_events; i++)
        ok = read_event(b, &facts[i], events, i);
    for (int i = 0; ok && i < n_phases; i++) {
        phases[i].fact = &given[i];
        ok = read_phase(b, phases, i);
    }
    for (int i = 0; ok && i < b->view->n_rules; i++)
        ok = check_phases(b, &b->view->rules[i]);
    return ok;
}
