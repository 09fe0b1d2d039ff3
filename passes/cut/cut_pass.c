/* Pass: cut every rule into stages.
 *
 * requires: rules with update functions in math form; patterns
 * provides: states of the matrix's shape that are whole, where less travels
 *           then, and which; stage facts, each with a function in math form,
 * and a variant in each phase of its rule; every rule serves patterns of one
 * element type breaks:   nothing; update functions stay as the reference */
#include "dsl/plan/error_bound.h"
#include "dsl/plan/state.h"
#include "passes/cut/cut.h"
#include "passes/graph/math_form.h"
#include "passes/passes.h"
#include "passes/cut/phases.h"

#include <string.h>

/* ---- one element type per rule ---- */

/* The first rule before `n` that `rule` and `dtype` already have, or -1. */
static int find_clone(const cz_fact_rule *rules, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(rules[i].sym_name, name) == 0)
            return i;
    return -1;
}

/* The element type a rule keeps: that of its first pattern, else f32. */
static cz_dtype dtype_of(const cz_fact_pattern *patterns, int n,
                         const char *rule)
{
    for (int i = 0; i < n; i++)
        if (strcmp(patterns[i].rule, rule) == 0)
            return patterns[i].dtype;
    return CZ_F32;
}

static void clone_phases(cz_ir *ir, cz_arena *arena, const char *rule,
                         const char *clone)
{
    int n_events, n_phases;
    const cz_fact_event *events = cz_ir_read_event(ir, arena, &n_events);
    const cz_fact_phase *phases = cz_ir_read_phase(ir, arena, &n_phases);

    for (int i = 0; i < n_events; i++) {
        cz_fact_event event = events[i];
        event.rule = clone;
        if (strcmp(events[i].rule, rule) == 0)
            cz_ir_add_event(ir, &event);
    }
    for (int i = 0, number = 0; i < n_phases; i++) {
        cz_fact_phase phase = phases[i];
        if (strcmp(phases[i].rule, rule) != 0)
            continue;
        phase.sym_name = cz_arena_printf(arena, "%s.phase%d", clone, number++);
        phase.rule = clone;
        cz_ir_add_phase(ir, &phase);
    }
}

static void move_to_clone(cz_ir *ir, cz_arena *arena, int number,
                          const cz_fact_pattern *pattern)
{
    int n_rules;
    const cz_fact_rule *rules = cz_ir_read_rule(ir, arena, &n_rules);
    cz_fact_rule rule = rules[find_clone(rules, n_rules, pattern->rule)];
    cz_fact_pattern moved = *pattern;

    rule.sym_name = cz_arena_printf(arena, "%s.%s", pattern->rule,
                                    cz_dtype_name(pattern->dtype));
    if (find_clone(rules, n_rules, rule.sym_name) < 0) {
        cz_ir_add_rule(ir, &rule);
        clone_phases(ir, arena, pattern->rule, rule.sym_name);
    }
    moved.rule = rule.sym_name;
    cz_ir_replace_pattern(ir, number, &moved);
}

/* ---- stages ---- */

typedef struct cut_pass {
    cz_ir *ir;
    cz_arena *arena;
    cz_diags *diags;
    cz_dtype master;
    bool narrows;
    int n_patterns;
    const cz_fact_pattern *patterns;
    int n_phases;
    const cz_fact_phase *phases; /* of all rules */
} cut_pass;

/* A rule's own phases, in order; none where all its updates are alike. */
typedef struct phase_list {
    int n;
    const cz_fact_phase **list;
} phase_list;

static const char *slot_text(cz_arena *arena, const cz_view_slot *slot)
{
    switch (slot->kind) {
    case CZ_SLOT_GRAD:
        return "grad";
    case CZ_SLOT_PARAM:
        return "param";
    case CZ_SLOT_STORED:
        return "stored";
    case CZ_SLOT_STATE:
        return cz_arena_printf(arena, "state:%d", slot->index);
    case CZ_SLOT_GATHER:
        return cz_arena_printf(arena, "gather:%d", slot->index);
    case CZ_SLOT_SCATTER:
        return cz_arena_printf(arena, "scatter:%d", slot->index);
    case CZ_SLOT_TEMP:
        return cz_arena_printf(arena, "temp:%d", slot->index);
    case CZ_N_SLOTS:
        break;
    }
    return "";
}

static void name_slots(cz_arena *arena, const cz_view_slot *slots, int n,
                       cz_strings *names, cz_strings *dtypes)
{
    const char **name = CZ_NEW(arena, const char *, n);
    const char **dtype = CZ_NEW(arena, const char *, n);

    for (int i = 0; i < n; i++) {
        name[i] = slot_text(arena, &slots[i]);
        dtype[i] = cz_dtype_name(slots[i].dtype);
    }
    *names = (cz_strings){name, n};
    *dtypes = (cz_strings){dtype, n};
}

/* The function of a stage in phase p, unless an earlier phase has the same;
 * its name. */
static const char *write_body(cut_pass *pass, const char *name,
                              const cz_cut_stage *stage,
                              cz_graph *const *graphs,
                              const char *const *bodies, int p)
{
    const char *body =
        p == 0 ? cz_arena_printf(pass->arena, "%s.math", name)
               : cz_arena_printf(pass->arena, "%s.phase%d.math", name, p);

    for (int q = 0; q < p; q++)
        if (cz_graph_is_same(graphs[q], graphs[p]))
            return bodies[q];
    cz_math_form_write(pass->ir, graphs[p], body, stage->in_types, stage->n_in,
                       stage->scalars.n);
    return body;
}

/* graphs[p] is what the stage does in phase p; one where there are none. */
static void write_stage(cut_pass *pass, const char *rule,
                        const cz_cut_stage *stage, const phase_list *phases,
                        cz_graph *const *graphs)
{
    cz_arena *arena = pass->arena;
    const char **bodies = CZ_NEW(arena, const char *, phases->n + 1);
    const char *name =
        cz_arena_printf(arena, "%s.%s", rule, cz_where_word(stage->where));
    cz_fact_stage fact = {.sym_name = name,
                          .rule = rule,
                          .where = stage->where,
                          .scalars = stage->scalars};

    fact.body = cz_arena_printf(arena, "%s.math", name);
    name_slots(arena, stage->in, stage->n_in, &fact.ins, &fact.in_dtypes);
    name_slots(arena, stage->out, stage->n_out, &fact.outs, &fact.out_dtypes);
    cz_ir_add_stage(pass->ir, &fact);
    for (int p = 0; p == 0 || p < phases->n; p++)
        bodies[p] = write_body(pass, name, stage, graphs, bodies, p);
    for (int p = 0; p < phases->n; p++)
        cz_ir_add_variant(pass->ir,
                          &(cz_fact_variant){.stage = name,
                                             .phase = phases->list[p]->sym_name,
                                             .body = bodies[p]});
}

/* by_stage[s][p]: stage s in phase p. */
static void write_stages(cut_pass *pass, const char *rule,
                         const cz_cut_stage *stages, int n,
                         const phase_list *phases)
{
    cz_graph *by_phase[CZ_CUT_MAX_STAGES];
    cz_graph **by_stage[CZ_CUT_MAX_STAGES];

    for (int s = 0; s < n; s++) {
        by_stage[s] = CZ_NEW(pass->arena, cz_graph *, phases->n + 1);
        by_stage[s][0] = stages[s].graph;
    }
    for (int p = 0; p < phases->n; p++) {
        cz_phases_split(pass->arena, stages, n, p, by_phase);
        for (int s = 0; s < n; s++)
            by_stage[s][p] = by_phase[s];
    }
    for (int s = 0; s < n; s++)
        write_stage(pass, rule, &stages[s], phases, by_stage[s]);
}

static bool dtypes_of(cut_pass *pass, const cz_strings *names, cz_dtype *out)
{
    for (int i = 0; i < names->n; i++)
        if (!cz_dtype_find(names->v[i], &out[i])) {
            cz_diag_error(pass->diags, CZ_BAD_IR, (cz_span){0},
                          "no element type is called '%s'", names->v[i]);
            return false;
        }
    return true;
}

/* grad, param and states, of the shapes that the rule says, to param and
 * states. */
static bool is_update(const cz_graph *graph, const cz_fact_rule *rule)
{
    int n_in = 0;

    if (graph->n_out != rule->states.n + 1)
        return false;
    for (int i = 0; i < graph->n; i++) {
        const cz_graph_node *node = &graph->nodes[i];
        if (node->kind != CZ_GRAPH_IN)
            continue;
        if (node->index >= rule->states.n + 2 ||
            !cz_ir_type_is_state(node->type, rule, node->index - 2))
            return false;
        n_in++;
    }
    for (int i = 0; i < graph->n_out; i++)
        if (!cz_ir_type_is_state(graph->nodes[graph->out[i]].type, rule, i - 1))
            return false;
    return n_in == rule->states.n + 2;
}

static phase_list phases_of(cut_pass *pass, const cz_fact_rule *rule)
{
    phase_list own = {0};

    for (int i = 0; i < pass->n_phases; i++)
        if (strcmp(pass->phases[i].rule, rule->sym_name) == 0)
            /* The elements are pointers.
             * NOLINTNEXTLINE(bugprone-sizeof-expression) */
            *CZ_PUSH(pass->arena, own.list, own.n) = &pass->phases[i];
    return own;
}

static const cz_graph *read_update(cut_pass *pass, const cz_fact_rule *rule,
                                   const char *name)
{
    const cz_ir_op function = cz_ir_find_function(pass->ir, name);
    const cz_graph *graph = cz_math_form_read(pass->arena, function);

    if (rule->shape.n <= CZ_IR_MAX_RANK && graph && is_update(graph, rule))
        return graph;
    if (function.p && cz_math_form_is_long(function))
        cz_diag_error(pass->diags, CZ_TOO_LARGE, (cz_span){0},
                      "rule '%s' unrolls to more than %d operations on tensors",
                      rule->sym_name, CZ_MATH_FORM_MAX_OPS);
    else
        cz_diag_error(pass->diags, CZ_BAD_IR, (cz_span){0},
                      "rule '%s' has no update in math form", rule->sym_name);
    return NULL;
}

static bool have_same_types(const cz_graph *a, const cz_graph *b)
{
    for (int i = 0; i < a->n_out; i++)
        if (!cz_ir_type_equal(a->nodes[a->out[i]].type,
                              b->nodes[b->out[i]].type))
            return false;
    return true;
}

/* The update, or those of all phases as one. */
static const cz_graph *read_updates(cut_pass *pass, const cz_fact_rule *rule,
                                    const phase_list *phases)
{
    const cz_graph **updates =
        CZ_NEW(pass->arena, const cz_graph *, phases->n + 1);

    if (phases->n == 0)
        return read_update(pass, rule, rule->update);
    if (phases->n > CZ_MAX_PHASES) {
        cz_diag_error(pass->diags, CZ_BAD_IR, (cz_span){0},
                      "rule '%s' has more than %d phases", rule->sym_name,
                      CZ_MAX_PHASES);
        return NULL;
    }
    for (int p = 0; p < phases->n; p++) {
        updates[p] = read_update(pass, rule, phases->list[p]->update);
        if (!updates[p])
            return NULL;
        if (!have_same_types(updates[0], updates[p])) {
            cz_diag_error(pass->diags, CZ_BAD_IR, (cz_span){0},
                          "the phases of rule '%s' differ in types",
                          rule->sym_name);
            return NULL;
        }
    }
    return cz_phases_merge(pass->arena, updates, phases->n);
}

/* ---- states at the owner ---- */

/* Where the owner has states as it is, those of the matrix's shape may become
 * whole, too: such a rule is never shared, so no other form is lost. */
static void settle(cut_pass *pass, int number, cz_fact_rule *rule,
                   const cz_cut_rule *cut, bool *whole)
{
    const int n = rule->states.n;
    int64_t *shapes = CZ_NEW(pass->arena, int64_t, 2 * n);
    int64_t *states = CZ_NEW(pass->arena, int64_t, n);
    int n_settled = 0;

    if (!cz_state_any_owned(rule) || rule->shape.n != 2 ||
        cz_cut_settle(pass->arena, cut, whole) == 0)
        return;
    memcpy(shapes, rule->state_shapes.v, 2 * (size_t)n * sizeof *shapes);
    for (int s = 0; s < n; s++)
        if (whole[s] && !cz_state_is_owned(rule, s)) {
            memcpy(shapes + 2 * (size_t)s, rule->shape.v, 2 * sizeof *shapes);
            states[n_settled++] = s;
        }
    rule->state_shapes.v = shapes;
    cz_ir_replace_rule(pass->ir, number, rule);
    cz_ir_add_settled(pass->ir,
                      &(cz_fact_settled){.rule = rule->sym_name,
                                         .states = {states, n_settled}});
}

static bool cut_rule(cut_pass *pass, int number, cz_fact_rule *rule)
{
    cz_dtype *states = CZ_NEW(pass->arena, cz_dtype, rule->states.n);
    bool *whole = CZ_NEW(pass->arena, bool, rule->states.n);
    cz_cut_stage stages[CZ_CUT_MAX_STAGES];
    const phase_list phases = phases_of(pass, rule);
    cz_cut_rule cut = {.n_states = rule->states.n,
                       .states = states,
                       .full_matrix = whole,
                       .narrows = pass->narrows};
    int n;

    if (!cz_states_are_listed(rule)) {
        cz_diag_error(pass->diags, CZ_BAD_IR, (cz_span){0},
                      "rule '%s' has %d states and not as many types, first "
                      "values and shapes of them",
                      rule->sym_name, rule->states.n);
        return false;
    }
    for (int i = 0; i < rule->states.n; i++)
        whole[i] = cz_state_is_owned(rule, i);
    cut.update = read_updates(pass, rule, &phases);
    if (!cut.update)
        return false;
    if (!dtypes_of(pass, &rule->state_dtypes, states))
        return false;
    /* What the parameter slots of a rule hold. */
    const cz_dtype stored =
        dtype_of(pass->patterns, pass->n_patterns, rule->sym_name);

    cut.has_stored = cz_dtype_bytes(pass->master) > cz_dtype_bytes(stored);
    cut.stored = stored;
    cut.param = cut.has_stored ? pass->master : stored;
    settle(pass, number, rule, &cut, whole);
    n = cz_cut_solve(pass->arena, &cut, stages);
    write_stages(pass, rule->sym_name, stages, n, &phases);
    return true;
}

static bool cut_rules(cut_pass *pass)
{
    int n_rules, n_policies;
    const cz_fact_policy *policy =
        cz_ir_read_policy(pass->ir, pass->arena, &n_policies);
    const cz_fact_rule *rules;

    pass->master = n_policies > 0 ? policy->master_dtype : CZ_F32;
    pass->narrows = n_policies > 0 && cz_error_admits_bf16(policy);
    /* A parameter's type decides what its last stage stores, so patterns of
     * other types than the first get a rule of their own with the same
     * functions. */
    int n;
    const cz_fact_pattern *patterns =
        cz_ir_read_pattern(pass->ir, pass->arena, &n);

    for (int i = 0; i < n; i++)
        if (dtype_of(patterns, n, patterns[i].rule) != patterns[i].dtype)
            move_to_clone(pass->ir, pass->arena, i, &patterns[i]);
    pass->patterns =
        cz_ir_read_pattern(pass->ir, pass->arena, &pass->n_patterns);
    pass->phases = cz_ir_read_phase(pass->ir, pass->arena, &pass->n_phases);
    rules = cz_ir_read_rule(pass->ir, pass->arena, &n_rules);
    for (int i = 0; i < n_rules; i++) {
        cz_fact_rule rule = rules[i];
        if (!cut_rule(pass, i, &rule))
            return false;
    }
    return true;
}

bool cz_cut_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;
    cut_pass pass = {.ir = ir, .arena = &arena, .diags = diags};
    bool ok;

    cz_arena_init(&arena);
    ok = cut_rules(&pass);
    cz_arena_fini(&arena);
    return ok;
}
