/* Statements of a rule, one after the other: loops unrolled, conditions
 * decided. */
#include "frontend/rule/internal.h"
#include "frontend/rule/path.h"
#include "frontend/rule/expand/expand.h"

#include <inttypes.h>
#include <string.h>

typedef void (*assigner)(cz_rule *, const cz_node *statement,
                         const cz_node *target, cz_rule_value *);

static void run_statement(cz_rule *rule, const cz_node *statement);

void cz_rule_run(cz_rule *rule, const cz_node *block)
{
    for (int i = 0; i < cz_n_items(block) && !rule->frame->result; i++)
        run_statement(rule, cz_item(block, i));
}

/* ---- a = e, (a, b) = e ---- */

/* Hand a value, or the parts of a tuple, to the names of a target.  Each part
 * of something open is as open. */
static void assign(cz_rule *rule, const cz_node *statement,
                   const cz_node *target, cz_rule_value *value, assigner to)
{
    if (target->kind != CZ_AST_TUPLE) {
        to(rule, statement, target, value);
        return;
    }
    const bool fits =
        value->kind == CZ_RULE_TUPLE && value->n_items == cz_n_items(target);
    const bool open = cz_rule_is_open(value);
    if (!fits && !open && value->kind != CZ_RULE_ERROR)
        cz_rule_error(rule, CZ_BAD_TYPE, target,
                      "%d names cannot take apart %s", cz_n_items(target),
                      cz_rule_text(rule, value));
    for (int i = 0; i < cz_n_items(target); i++)
        to(rule, statement, cz_item(target, i),
           fits   ? value->items[i]
           : open ? value
                  : cz_rule_absorb());
}

/* A name that a loop binds again keeps its type. */
static cz_rule_value *keep_type(cz_rule *rule, const char *name,
                                cz_rule_value *value)
{
    const cz_rule_value *old = cz_rule_find_local(rule, name);
    const bool keeps = rule->frame->n_loops > 0 && old &&
                       old->kind == CZ_RULE_TENSOR &&
                       value->kind == CZ_RULE_TENSOR && !old->tensor.is_bool &&
                       !value->tensor.is_bool;
    return keeps ? cz_rule_cast(rule, value, old->tensor.dtype)
                 : cz_rule_round(rule, value);
}

static void bind_name(cz_rule *rule, const cz_node *statement,
                      const cz_node *target, cz_rule_value *value)
{
    (void)statement;
    const cz_rule_slot *slot = cz_rule_find_slot(rule, target->text);
    if (slot)
        cz_rule_error(rule, CZ_NOT_WRITABLE, target,
                      slot->is_extern
                          ? "'%s' is an extern, which the trainer gives"
                          : "'%s' is kept between steps; `<-` writes it",
                      target->text);
    else
        cz_rule_bind(rule, target->text, keep_type(rule, target->text, value),
                     target);
}

/* What follows belongs to the first name of a statement of the rule itself, for
 * readers of generated code: "mom", "gpt.cz":21.  What was before. */
static const char *name_value(cz_rule *rule, const cz_node *statement)
{
    const char *before = rule->builder.name;
    const cz_node *target = cz_assign_target(statement);
    const cz_span *place = &statement->span;
    if (target->kind == CZ_AST_TUPLE)
        target = cz_item(target, 0);
    if (rule->frame->call || !place->source)
        return before;
    const char *file = strrchr(place->source->name, '/');
    rule->builder.name =
        cz_arena_printf(rule->arena, "\"%s\", \"%s\":%d", target->text,
                        file ? file + 1 : place->source->name, place->line);
    return before;
}

static void run_bind(cz_rule *rule, const cz_node *statement)
{
    const char *before = name_value(rule, statement);
    /* A call whose value gets a name gives that name to its states. */
    const cz_node *target = cz_assign_target(statement);
    const cz_node *call = cz_sole_call(cz_assign_value(statement));
    if (call && target->kind == CZ_AST_NAME) {
        rule->bound_call = call;
        rule->bound_name = target->text;
    }
    cz_rule_value *value = cz_rule_eval(rule, cz_assign_value(statement));
    assign(rule, statement, cz_assign_target(statement), value, bind_name);
    rule->builder.name = before;
}

/* ---- a <- e ---- */

static void refuse_write(cz_rule *rule, const cz_node *target)
{
    const char **names = CZ_NEW(rule->arena, const char *, rule->n_slots);
    int n = 0;
    for (int i = 0; i < rule->n_slots; i++)
        if (!rule->slots[i].is_extern)
            names[n++] = rule->slots[i].name;
    const char *nearest =
        rule->frame->call ? NULL : cz_diag_nearest(target->text, names, n);
    cz_rule_error_near(rule, CZ_NOT_WRITABLE, target, nearest,
                       "`<-` writes the parameter or a state, and '%s' is "
                       "neither",
                       target->text);
}

static void write_slot(cz_rule *rule, const cz_node *statement,
                       const cz_node *target, cz_rule_value *value)
{
    cz_rule_slot *slot = cz_rule_find_slot(rule, target->text);
    if (!slot || slot->is_extern) {
        const cz_rule_value *local = cz_rule_find_local(rule, target->text);
        if (!local || local->kind != CZ_RULE_ERROR)
            refuse_write(rule, target);
        return;
    }
    if (slot->written) {
        cz_rule_error(rule, CZ_WRITTEN_TWICE, target,
                      "'%s' is written a second time", target->text);
        cz_diag_note(rule->diags, slot->written->span,
                     "the first time is here");
    }
    slot->written = statement;
    if (value->kind == CZ_RULE_ERROR)
        slot->value = value;
    else if ((value->kind != CZ_RULE_NUMBER && value->kind != CZ_RULE_TENSOR) ||
             cz_rule_is_bool(value))
        slot->value = cz_rule_error(rule, CZ_BAD_TYPE, statement,
                                    "%s cannot be written to '%s'",
                                    cz_rule_text(rule, value), target->text);
    else if (slot->value->kind == CZ_RULE_TENSOR)
        slot->value =
            cz_rule_convert(rule, statement, value, &slot->value->tensor);
}

static void run_write(cz_rule *rule, const cz_node *statement)
{
    const char *before = name_value(rule, statement);
    cz_rule_value *value = cz_rule_eval(rule, cz_assign_value(statement));
    assign(rule, statement, cz_assign_target(statement), value, write_slot);
    rule->builder.name = before;
}

/* ---- for, if, return ---- */

static void absorb_name(cz_rule *rule, const cz_node *statement,
                        const cz_node *target, cz_rule_value *value)
{
    (void)statement;
    cz_rule_slot *slot = cz_rule_find_slot(rule, target->text);
    if (slot)
        slot->value = value;
    else
        cz_rule_bind(rule, target->text, value, target);
}

static void absorb_statement(cz_rule *rule, const cz_node *statement)
{
    const cz_kind kind = statement->kind;
    if (kind == CZ_AST_BIND || kind == CZ_AST_WRITE || kind == CZ_AST_FOR)
        assign(rule, statement, cz_assign_target(statement), cz_rule_absorb(),
               absorb_name);
    if (kind == CZ_AST_STATE || kind == CZ_AST_EXTERN)
        cz_rule_bind(rule, statement->text, cz_rule_absorb(), statement);
    if (kind == CZ_AST_RETURN && rule->frame->call)
        rule->frame->result = cz_rule_absorb();
    for (int i = 0; i < cz_n_children(statement); i++)
        if (cz_child(statement, i)->kind == CZ_AST_BLOCK)
            cz_rule_absorb_block(rule, cz_child(statement, i));
}

void cz_rule_absorb_block(cz_rule *rule, const cz_node *block)
{
    for (int i = 0; i < cz_n_items(block); i++)
        absorb_statement(rule, cz_item(block, i));
}

static bool is_row_source(const cz_rule_value *value)
{
    return value->kind == CZ_RULE_TABLE || value->kind == CZ_RULE_TUPLE;
}

static void run_rows(cz_rule *rule, const cz_node *statement,
                     cz_rule_value *const *rows, int n)
{
    rule->frame->n_loops++;
    for (int i = 0; i < n && !rule->frame->result; i++) {
        assign(rule, statement, cz_assign_target(statement), rows[i],
               bind_name);
        cz_rule_run(rule, cz_for_block(statement));
        if (rule->failed)
            break; /* the next row would say the same */
    }
    rule->frame->n_loops--;
}

/* Of rows that nobody knows, there is one that absorbs. */
static void run_for(cz_rule *rule, const cz_node *statement)
{
    cz_rule_value *table = cz_rule_eval(rule, cz_for_rows(statement));
    if (is_row_source(table))
        run_rows(rule, statement, table->items, table->n_items);
    else if (table->kind == CZ_RULE_ERROR || cz_rule_is_open(table))
        run_rows(rule, statement, &table, 1);
    else {
        cz_rule_error(rule, CZ_BAD_TYPE, cz_for_rows(statement),
                      "`for` runs over the rows of a table, not over %s",
                      cz_rule_text(rule, table));
        absorb_statement(rule, statement);
    }
}

static void run_if(cz_rule *rule, const cz_node *statement)
{
    double truth;
    const cz_node *condition = cz_if_condition(statement);
    const cz_rule_value *value = cz_rule_eval(rule, condition);
    bool good = cz_rule_constant(rule, condition, value,
                                 "the condition of `if`", &truth);
    if (good && !cz_rule_is_bool(value)) {
        cz_rule_error(rule, CZ_BAD_TYPE, condition,
                      "the condition of `if` must be a truth, not a number");
        good = false;
    }
    if (!good) {
        absorb_statement(rule, statement);
        return;
    }
    const bool holds = cz_rule_decide(rule, value->number);
    const cz_node *branch =
        holds ? cz_if_then(statement) : cz_if_else(statement);
    if (branch)
        cz_rule_run(rule, branch);
}

static void run_return(cz_rule *rule, const cz_node *statement)
{
    if (!rule->frame->call) {
        cz_rule_error(rule, CZ_BAD_TYPE, statement,
                      "an optimizer returns nothing; `<-` writes its results");
        return;
    }
    rule->frame->result = cz_rule_eval(rule, cz_return_value(statement));
}

/* ---- all of them ---- */

typedef void (*runner)(cz_rule *, const cz_node *);

static const runner runners[CZ_AST_N_KINDS] = {
    [CZ_AST_BIND] = run_bind,
    [CZ_AST_WRITE] = run_write,
    [CZ_AST_STATE] = cz_rule_run_state,
    [CZ_AST_FOR] = run_for,
    [CZ_AST_IF] = run_if,
    [CZ_AST_RETURN] = run_return,
    [CZ_AST_EXTERN] = cz_rule_run_extern,
    [CZ_AST_FIRST] = cz_rule_run_first,
    [CZ_AST_EVERY] = cz_rule_run_every,
};

static void run_statement(cz_rule *rule, const cz_node *statement)
{
    if (runners[statement->kind])
        runners[statement->kind](rule, statement);
    else
        rule->failed = true; /* reported by the parser */
}
