/* Names in a rule: its own first, then what the compiler gives, then tables,
 * lets and defs of the files. */
#include "frontend/rule/internal.h"

#include <string.h>

enum { MAX_LOOKUPS = 32 }; /* of tables and lets that need each other */

void cz_rule_bind(cz_rule *rule, const char *name, cz_rule_value *value,
                  const cz_node *place)
{
    cz_rule_frame *frame = rule->frame;
    for (int i = 0; i < frame->n_bindings; i++)
        if (strcmp(frame->bindings[i].name, name) == 0) {
            frame->bindings[i].value = value;
            frame->bindings[i].place = place;
            return;
        }
    *CZ_PUSH(rule->arena, frame->bindings, frame->n_bindings) =
        (cz_rule_binding){name, value, place};
}

const cz_node *cz_rule_find_place(cz_rule *rule, const char *name)
{
    const cz_rule_frame *frame = rule->frame;
    for (int i = 0; i < frame->n_bindings; i++)
        if (strcmp(frame->bindings[i].name, name) == 0)
            return frame->bindings[i].place;
    const cz_rule_slot *slot = cz_rule_find_slot(rule, name);
    return slot ? slot->declared : NULL;
}

cz_rule_slot *cz_rule_find_slot(cz_rule *rule, const char *name)
{
    const cz_rule_frame *frame = rule->frame;
    if (frame->call && !frame->def)
        return NULL; /* a table or a let */
    for (int i = 0; i < rule->n_slots; i++) {
        cz_rule_slot *slot = &rule->slots[i];
        if (frame->def
                ? slot->frame == frame->id && strcmp(slot->local, name) == 0
                : strcmp(slot->name, name) == 0)
            return slot;
    }
    return NULL;
}

cz_rule_value *cz_rule_find_local(cz_rule *rule, const char *name)
{
    const cz_rule_frame *frame = rule->frame;
    for (int i = 0; i < frame->n_bindings; i++)
        if (strcmp(frame->bindings[i].name, name) == 0)
            return frame->bindings[i].value;
    const cz_rule_slot *slot = cz_rule_find_slot(rule, name);
    return slot ? slot->value : NULL;
}

/* A def is its own value; a table or a let is evaluated where no local name is
 * visible. */
static cz_rule_value *evaluate_definition(cz_rule *rule, const cz_node *name,
                                          const cz_node *definition)
{
    if (definition->kind == CZ_AST_DEF) {
        cz_rule_value *function = cz_rule_items(rule, CZ_RULE_DEF, NULL, 0);
        function->def = definition;
        return function;
    }
    cz_rule_frame *outer = rule->frame;
    cz_rule_frame empty = {
        .caller = outer, .call = name, .n_calls = outer->n_calls};
    if (rule->n_lookups >= MAX_LOOKUPS)
        return cz_rule_error(rule, CZ_CYCLE, name, "'%s' is defined by itself",
                             name->text);
    rule->n_lookups++;
    rule->frame = &empty;
    const cz_node *e = definition->kind == CZ_AST_TABLE
                           ? cz_table_value(definition)
                           : cz_let_value(definition);
    cz_rule_value *value = cz_rule_eval(rule, e);
    rule->frame = outer;
    rule->n_lookups--;
    return definition->kind == CZ_AST_TABLE
               ? cz_rule_go_on(rule, definition, value)
               : value;
}

static cz_rule_value *given(cz_rule *rule, const char *name)
{
    cz_dtype dtype;
    if (strcmp(name, "t") == 0 && rule->shape)
        return cz_rule_number(rule, cz_scalar_input(&rule->scalars, CZ_RULE_T));
    if (!cz_dtype_find(name, &dtype) || dtype == CZ_F64)
        return NULL;
    cz_rule_value *value = cz_rule_items(rule, CZ_RULE_DTYPE, NULL, 0);
    value->dtype = dtype;
    return value;
}

/* A name that could have been meant. */
static const char *suggest(cz_rule *rule, const char *name)
{
    const cz_rule_frame *frame = rule->frame;
    const char **names = NULL;
    int n = 0;
    for (int i = 0; i < frame->n_bindings; i++)
        *CZ_PUSH(rule->arena, names, n) = frame->bindings[i].name;
    for (int i = 0; i < rule->n_slots && !frame->call; i++)
        *CZ_PUSH(rule->arena, names, n) = rule->slots[i].name;
    static const cz_kind kinds[] = {CZ_AST_TABLE, CZ_AST_DEF, CZ_AST_LET};
    *CZ_PUSH(rule->arena, names, n) = "true";
    *CZ_PUSH(rule->arena, names, n) = "false";
    for (int i = 0; i < 3; i++) {
        const char *near = cz_scope_nearest(rule->use->scope, kinds[i], name);
        if (near)
            *CZ_PUSH(rule->arena, names, n) = near;
    }
    return cz_diag_nearest(name, names, n);
}

static cz_rule_value *unknown(cz_rule *rule, const cz_node *name)
{
    cz_rule_value *absorbed = cz_rule_error_near(
        rule, CZ_UNKNOWN_NAME, name, suggest(rule, name->text),
        "nothing here is called '%s'", name->text);
    if (strcmp(name->text, "T") == 0)
        cz_diag_note(rule->diags, (cz_span){0}, "a transpose is written x'");
    if (strcmp(name->text, "t") == 0)
        cz_diag_note(rule->diags, (cz_span){0},
                     "t is known in optimizers and their defs: a rate that "
                     "follows it is a line there (\"annealed\" in "
                     "dsl/LANGUAGE.md), or the trainer sets `lr` before each "
                     "step");
    cz_rule_note_skipped(rule, name->text);
    return absorbed;
}

cz_rule_value *cz_rule_lookup(cz_rule *rule, const cz_node *name)
{
    static const cz_kind kinds[] = {CZ_AST_TABLE, CZ_AST_LET, CZ_AST_DEF};
    enum { N_KINDS = sizeof kinds / sizeof *kinds };
    cz_rule_value *value = cz_rule_find_local(rule, name->text);
    if (!value)
        value = given(rule, name->text);
    for (int i = 0; i < N_KINDS && !value; i++) {
        const cz_node *definition =
            cz_scope_find(rule->use->scope, kinds[i], name->text);
        if (definition)
            value = evaluate_definition(rule, name, definition);
    }
    return value ? value : unknown(rule, name);
}
