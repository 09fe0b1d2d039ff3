/* Statements of a rule, one after the other: loops unrolled, conditions
 * decided. */
#include "frontend/rule/internal.h"

#include <inttypes.h>
#include <string.h>

typedef void (*assigner)(cz_rule *, const cz_node *statement,
                         const cz_node *target, cz_rule_value *);

static void run_statement(cz_rule *rule, const cz_node *statement);

void cz_rule_run(cz_rule *rule, const cz_node *block)
{
    for (int i = 0; i < block->n_kids && !rule->frame->result; i++)
        run_statement(rule, block->kids[i]);
}

/* ---- a = e, (a, b) = e ---- */

/* Hand a value, or the parts of a tuple, to the names of a target. */
static void assign(cz_rule *rule, const cz_node *statement,
                   const cz_node *target, cz_rule_value *value, assigner to)
{
    if (target->kind != CZ_AST_TUPLE) {
        to(rule, statement, target, value);
        return;
    }
    const bool fits =
        value->kind == CZ_RULE_TUPLE && value->n_items == target->n_kids;
    if (!fits && value->kind != CZ_RULE_ERROR)
        cz_rule_error(rule, CZ_BAD_TYPE, target,
                      "%d names cannot take apart %s", target->n_kids,
                      cz_rule_text(rule, value));
    for (int i = 0; i < target->n_kids; i++)
        to(rule, statement, target->kids[i],
           fits ? value->items[i] : cz_rule_absorb());
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
    if (cz_rule_find_slot(rule, target->text))
        cz_rule_error(rule, CZ_NOT_WRITABLE, target,
                      "'%s' is kept between steps; `<-` writes it",
                      target->text);
    else
        cz_rule_bind(rule, target->text, keep_type(rule, target->text, value));
}

static void run_bind(cz_rule *rule, const cz_node *statement)
{
    cz_rule_value *value = cz_rule_eval(rule, statement->kids[1]);
    assign(rule, statement, statement->kids[0], value, bind_name);
}

/* ---- a <- e ---- */

static void refuse_write(cz_rule *rule, const cz_node *target)
{
    const char **names = CZ_NEW(rule->arena, const char *, rule->n_slots);
    for (int i = 0; i < rule->n_slots; i++)
        names[i] = rule->slots[i].name;
    const char *nearest =
        rule->frame->call ? NULL
                          : cz_diag_nearest(target->text, names, rule->n_slots);
    cz_rule_error_near(rule, CZ_NOT_WRITABLE, target, nearest,
                       "`<-` writes the parameter or a state, and '%s' is "
                       "neither",
                       target->text);
}

static void write_slot(cz_rule *rule, const cz_node *statement,
                       const cz_node *target, cz_rule_value *value)
{
    cz_rule_slot *slot = cz_rule_find_slot(rule, target->text);
    if (!slot) {
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
        slot->value = cz_rule_fit(rule, statement, value, &slot->value->tensor);
}

static void run_write(cz_rule *rule, const cz_node *statement)
{
    cz_rule_value *value = cz_rule_eval(rule, statement->kids[1]);
    assign(rule, statement, statement->kids[0], value, write_slot);
}

/* ---- state a : f32[m, n] = 0 ---- */

/* The dimensions must be those of the parameter. */
static bool check_dims(cz_rule *rule, const cz_node *type)
{
    double dims[2];
    const cz_tensor *param = &rule->slots[0].value->tensor;
    const int n_dims = cz_rule_is_any(rule) ? 0 : 2;
    if (type->n_kids != n_dims) {
        cz_rule_error(rule, CZ_UNSUPPORTED, type,
                      n_dims ? "a state without the parameter's dimensions is "
                               "not supported yet"
                             : "a state of a rule `for any` has the "
                               "parameter's shape: write no dimensions");
        return false;
    }
    for (int i = 0; i < n_dims; i++) {
        const cz_rule_value *value = cz_rule_eval(rule, type->kids[i]);
        if (!cz_rule_constant(rule, type->kids[i], value, "a dimension",
                              &dims[i]))
            return false;
        if (dims[i] != (double)cz_rule_extent(param, i)) {
            cz_rule_error(rule, CZ_UNSUPPORTED, type,
                          "a state of another shape than the parameter's is "
                          "not supported yet");
            return false;
        }
    }
    return true;
}

static bool find_dtype(cz_rule *rule, const cz_node *type, cz_dtype *dtype)
{
    if (!cz_dtype_find(type->text, dtype))
        cz_rule_error(rule, CZ_BAD_TYPE, type,
                      "'%s' is no element type; there are f32 and bf16",
                      type->text);
    else if (*dtype == CZ_F64)
        cz_rule_error(rule, CZ_UNSUPPORTED, type,
                      "a state in f64 is not supported yet");
    else
        return true;
    return false;
}

static void add_state(cz_rule *rule, const cz_node *statement, cz_dtype dtype,
                      double init)
{
    cz_rule_slot *slot = CZ_PUSH(rule->arena, rule->slots, rule->n_slots);
    *slot =
        (cz_rule_slot){.name = statement->text, .dtype = dtype, .init = init};
    /* after the gradient and the slots before it */
    slot->value = cz_rule_argument(rule, rule->n_slots, dtype);
}

static void run_state(cz_rule *rule, const cz_node *statement)
{
    double init;
    cz_dtype dtype = CZ_F32;
    const cz_node *type = statement->kids[0];
    if (rule->frame->call || rule->frame->n_loops || rule->n_conditional) {
        cz_rule_error(rule, CZ_BAD_TYPE, statement,
                      "states are declared by the optimizer itself, outside "
                      "of loops, `first` and `every`");
        return;
    }
    if (cz_rule_find_local(rule, statement->text)) {
        cz_rule_error(rule, CZ_DUPLICATE_NAME, statement,
                      "'%s' is already the name of something else here",
                      statement->text);
        return;
    }
    const cz_rule_value *value = cz_rule_eval(rule, statement->kids[1]);
    const bool constant = cz_rule_constant(
        rule, statement->kids[1], value, "the initial value of a state", &init);
    const bool typed = find_dtype(rule, type, &dtype);
    const bool fits = check_dims(rule, type);
    /* An ill-formed one is absorbed where it is read. */
    if (constant && typed && fits)
        add_state(rule, statement, dtype, init);
    else
        cz_rule_bind(rule, statement->text, cz_rule_absorb());
}

/* ---- for, if, return ---- */

static void run_for(cz_rule *rule, const cz_node *statement)
{
    const cz_rule_value *table = cz_rule_eval(rule, statement->kids[1]);
    if (table->kind == CZ_RULE_ERROR)
        return;
    if (table->kind != CZ_RULE_TABLE && table->kind != CZ_RULE_TUPLE) {
        cz_rule_error(rule, CZ_BAD_TYPE, statement->kids[1],
                      "`for` runs over the rows of a table, not over %s",
                      cz_rule_text(rule, table));
        return;
    }
    rule->frame->n_loops++;
    for (int i = 0; i < table->n_items && !rule->frame->result; i++) {
        assign(rule, statement, statement->kids[0], table->items[i], bind_name);
        cz_rule_run(rule, statement->kids[2]);
        if (rule->failed)
            break; /* the next row would say the same */
    }
    rule->frame->n_loops--;
}

static void run_if(cz_rule *rule, const cz_node *statement)
{
    double truth;
    const cz_rule_value *value = cz_rule_eval(rule, statement->kids[0]);
    if (!cz_rule_constant(rule, statement->kids[0], value,
                          "the condition of `if`", &truth))
        return;
    const cz_node *branch = cz_node_kid(statement, truth != 0 ? 1 : 2);
    if (!cz_rule_is_bool(value))
        cz_rule_error(rule, CZ_BAD_TYPE, statement->kids[0],
                      "the condition of `if` must be a truth, not a number");
    else if (branch)
        cz_rule_run(rule, branch);
}

static void run_return(cz_rule *rule, const cz_node *statement)
{
    if (!rule->frame->call) {
        cz_rule_error(rule, CZ_BAD_TYPE, statement,
                      "an optimizer returns nothing; `<-` writes its results");
        return;
    }
    rule->frame->result = cz_rule_eval(rule, statement->kids[0]);
}

/* ---- all of them ---- */

static void refuse(cz_rule *rule, const cz_node *statement)
{
    cz_rule_error(rule, CZ_UNSUPPORTED, statement,
                  "`%s` in a rule is not supported yet",
                  cz_kind_name(statement->kind));
}

typedef void (*runner)(cz_rule *, const cz_node *);

static const runner runners[CZ_AST_N_KINDS] = {
    [CZ_AST_BIND] = run_bind,
    [CZ_AST_WRITE] = run_write,
    [CZ_AST_STATE] = run_state,
    [CZ_AST_FOR] = run_for,
    [CZ_AST_IF] = run_if,
    [CZ_AST_RETURN] = run_return,
    [CZ_AST_EXTERN] = refuse,
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
