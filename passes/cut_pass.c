/* Pass: cut every rule into stages.
 *
 * requires: rules with update functions in math form; families
 * provides: stage facts, each with a function in math form; every rule serves
 *           families of one element type
 * breaks:   nothing; update functions stay as the reference */
#include "passes/cut.h"
#include "passes/math_form.h"
#include "passes/passes.h"

#include <string.h>

static const char *const where_names[CZ_N_WHERES] = {
    [CZ_WHERE_LOCAL] = "local",
    [CZ_WHERE_BEFORE] = "before",
    [CZ_WHERE_WHOLE] = "whole",
    [CZ_WHERE_AFTER] = "after",
};

/* ---- one element type per rule ---- */

/* The first rule before `n` that `rule` and `dtype` already have, or -1. */
static int find_clone(const cz_fact_rule *rules, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(rules[i].sym_name, name) == 0)
            return i;
    return -1;
}

/* The element type a rule keeps: that of its first family. */
static const char *dtype_of(const cz_fact_family *families, int n,
                            const char *rule)
{
    for (int i = 0; i < n; i++)
        if (strcmp(families[i].rule, rule) == 0)
            return families[i].dtype;
    return NULL;
}

static void move_to_clone(cz_ir *ir, cz_arena *arena, int number,
                          const cz_fact_family *family)
{
    int n_rules;
    const cz_fact_rule *rules = cz_ir_read_rule(ir, arena, &n_rules);
    cz_fact_rule rule = rules[find_clone(rules, n_rules, family->rule)];
    cz_fact_family moved = *family;

    rule.sym_name =
        cz_arena_printf(arena, "%s.%s", family->rule, family->dtype);
    if (find_clone(rules, n_rules, rule.sym_name) < 0)
        cz_ir_add_rule(ir, &rule);
    moved.rule = rule.sym_name;
    cz_ir_replace_family(ir, number, &moved);
}

/* A parameter's type decides what its last stage stores, so families of
 * other types than the first get a rule of their own with the same
 * functions. */
static void split_rules(cz_ir *ir, cz_arena *arena)
{
    int n;
    const cz_fact_family *families = cz_ir_read_family(ir, arena, &n);

    for (int i = 0; i < n; i++)
        if (strcmp(dtype_of(families, n, families[i].rule),
                   families[i].dtype) != 0)
            move_to_clone(ir, arena, i, &families[i]);
}

/* ---- stages ---- */

typedef struct cut_pass {
    cz_ir *ir;
    cz_arena *arena;
    cz_diags *diags;
    cz_dtype master;
    int n_families;
    const cz_fact_family *families;
} cut_pass;

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

static void write_stage(cut_pass *pass, const char *rule,
                        const cz_cut_stage *stage)
{
    cz_arena *arena = pass->arena;
    const char *name =
        cz_arena_printf(arena, "%s.%s", rule, where_names[stage->where]);
    cz_fact_stage fact = {.sym_name = name,
                          .rule = rule,
                          .where = where_names[stage->where],
                          .scalars = stage->scalars};

    fact.body = cz_arena_printf(arena, "%s.math", name);
    name_slots(arena, stage->in, stage->n_in, &fact.ins, &fact.in_dtypes);
    name_slots(arena, stage->out, stage->n_out, &fact.outs, &fact.out_dtypes);
    cz_ir_add_stage(pass->ir, &fact);
    cz_math_form_write(pass->ir, stage->graph, fact.body, stage->in_types,
                       stage->n_in, stage->scalars.n);
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

/* What the parameter slots of a rule hold. */
static bool find_storage(cut_pass *pass, const char *rule, cz_cut_rule *out)
{
    const char *name = dtype_of(pass->families, pass->n_families, rule);
    cz_dtype stored = CZ_F32;

    if (name && !dtypes_of(pass, &(cz_strings){&name, 1}, &stored))
        return false;
    out->has_stored = cz_dtype_bytes(pass->master) > cz_dtype_bytes(stored);
    out->stored = stored;
    out->param = out->has_stored ? pass->master : stored;
    return true;
}

/* grad, param and states, all of the rule's shape, to param and states. */
static bool is_update(const cz_graph *graph, const cz_fact_rule *rule)
{
    const cz_ir_type shape =
        rule->shape.n == 0
            ? cz_ir_tensor_type(CZ_F32, 1, (int64_t[]){1})
            : cz_ir_tensor_type(CZ_F32, rule->shape.n, rule->shape.v);
    int n_in = 0;

    for (int i = 0; i < graph->n; i++) {
        if (graph->nodes[i].kind != CZ_GRAPH_IN)
            continue;
        if (!cz_graph_same_shape(graph->nodes[i].type, shape))
            return false;
        n_in++;
    }
    for (int i = 0; i < graph->n_out; i++) {
        const cz_ir_type *type = &graph->nodes[graph->out[i]].type;
        if (type->is_bool || !cz_graph_same_shape(*type, shape))
            return false;
    }
    return n_in == rule->states.n + 2 && graph->n_out == rule->states.n + 1;
}

static bool cut_rule(cut_pass *pass, const cz_fact_rule *rule)
{
    cz_dtype *states = CZ_NEW(pass->arena, cz_dtype, rule->states.n);
    cz_cut_stage stages[CZ_CUT_MAX_STAGES];
    cz_cut_rule cut = {.n_states = rule->states.n, .states = states};
    int n;

    cut.update = cz_math_form_read(pass->arena,
                                   cz_ir_find_function(pass->ir, rule->update));
    if (rule->shape.n > CZ_IR_MAX_RANK || !cut.update ||
        !is_update(cut.update, rule)) {
        cz_diag_error(pass->diags, CZ_BAD_IR, (cz_span){0},
                      "rule '%s' has no update in math form", rule->sym_name);
        return false;
    }
    if (rule->state_dtypes.n != rule->states.n) {
        cz_diag_error(pass->diags, CZ_BAD_IR, (cz_span){0},
                      "rule '%s' has %d states and %d types of them",
                      rule->sym_name, rule->states.n, rule->state_dtypes.n);
        return false;
    }
    if (!dtypes_of(pass, &rule->state_dtypes, states) ||
        !find_storage(pass, rule->sym_name, &cut))
        return false;
    n = cz_cut_solve(pass->arena, &cut, stages);
    for (int s = 0; s < n; s++)
        write_stage(pass, rule->sym_name, &stages[s]);
    return true;
}

static bool cut_rules(cut_pass *pass)
{
    int n_rules, n_policies;
    const cz_fact_policy *policy =
        cz_ir_read_policy(pass->ir, pass->arena, &n_policies);
    const cz_fact_rule *rules;

    pass->master = CZ_F32;
    if (n_policies > 0 &&
        !dtypes_of(pass, &(cz_strings){&policy->master_dtype, 1},
                   &pass->master))
        return false;
    split_rules(pass->ir, pass->arena);
    pass->families =
        cz_ir_read_family(pass->ir, pass->arena, &pass->n_families);
    rules = cz_ir_read_rule(pass->ir, pass->arena, &n_rules);
    for (int i = 0; i < n_rules; i++)
        if (!cut_rule(pass, &rules[i]))
            return false;
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
