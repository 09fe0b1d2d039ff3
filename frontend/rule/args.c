/* Hyperparameters: which are run-time values, and what the others are. */
#include "frontend/rule/internal.h"
#include "frontend/rule/path.h"

#include <assert.h>
#include <string.h>

/* One formal with what the call says of it. */
typedef struct argument {
    const cz_node *formal;
    const cz_node *arg;      /* NULL: none, or a bare name */
    const cz_node *place;    /* where messages point */
    cz_rule_value *standard; /* the default; NULL: none */
    cz_rule_value *given;    /* NULL: none */
    bool is_bare, is_const;
} argument;

/* ---- adding them ---- */

static const cz_scalar *add_run_time(cz_rule *rule, const char *name,
                                     const cz_rule_value *value)
{
    const int input = CZ_RULE_FIRST_HYPER + rule->n_hypers;
    int n = rule->n_hypers;
    *CZ_PUSH(rule->arena, rule->hypers, n) = name;
    n = rule->n_hypers;
    *CZ_PUSH(rule->arena, rule->defaults, n) =
        value ? value->number->constant : 0;
    *CZ_PUSH(rule->arena, rule->has_default, rule->n_hypers) = value != NULL;
    return rule->path && !value ? cz_scalar_open(&rule->scalars, input)
                                : cz_scalar_input(&rule->scalars, input);
}

/* ---- checking them ---- */

static bool is_number(const cz_rule_value *value)
{
    return value->kind == CZ_RULE_NUMBER && !value->number->is_bool;
}

static bool is_integer(const cz_rule_value *value)
{
    return is_number(value) && value->number->is_integer;
}

static bool is_real(const cz_rule_value *value)
{
    return is_number(value) && !value->number->is_integer;
}

/* Numbers, at least one of them no integer. */
static bool is_real_tuple(const cz_rule_value *value)
{
    bool real = false;
    for (int i = 0; i < value->n_items; i++) {
        if (!is_number(value->items[i]))
            return false;
        real = real || is_real(value->items[i]);
    }
    return value->kind == CZ_RULE_TUPLE && real;
}

/* Whether an argument may stand where `standard` is the default: a number for
 * a float, an integer for an integer, else the same kind. */
static bool fits(const cz_rule_value *given, const cz_rule_value *standard)
{
    if (is_integer(standard))
        return is_integer(given);
    if (is_real(standard))
        return is_number(given);
    if (is_real_tuple(standard)) {
        if (given->kind != CZ_RULE_TUPLE || given->n_items != standard->n_items)
            return false;
        for (int i = 0; i < given->n_items; i++)
            if (!is_number(given->items[i]))
                return false;
        return true;
    }
    return given->kind == standard->kind &&
           cz_rule_is_bool(given) == cz_rule_is_bool(standard);
}

static const char *describe(cz_rule *rule, const cz_rule_value *value)
{
    if (is_number(value))
        return value->number->is_integer ? "an integer" : "a float";
    return cz_rule_text(rule, value);
}

/* Every number must be known now: exp(1) is not folded. */
static bool is_known(const cz_rule_value *value)
{
    if (value->kind == CZ_RULE_NUMBER)
        return cz_scalar_is_constant(value->number);
    for (int i = 0; i < value->n_items; i++)
        if (!is_known(value->items[i]))
            return false;
    return true;
}

static bool check_value(cz_rule *rule, const argument *hyper,
                        const cz_rule_value *value)
{
    if (!value || is_known(value))
        return true;
    cz_rule_error(rule, CZ_UNSUPPORTED, hyper->place,
                  "exp, log, tanh, cos, sin and broken powers in a "
                  "hyperparameter's value are not supported yet");
    return false;
}

/* ---- one by one ---- */

/* Evaluate where no name but those of files is visible, and, in what a use
 * gives, its index. */
static cz_rule_value *evaluate(cz_rule *rule, const cz_node *node,
                               const cz_node *index)
{
    cz_rule_frame *outer = rule->frame, frame = {0};
    if (!node)
        return NULL;
    rule->frame = &frame;
    if (index) {
        const double value = (double)rule->use->value;
        cz_rule_bind(
            rule, index->text,
            cz_rule_number(rule, cz_scalar_integer(&rule->scalars, value)),
            index);
    }
    cz_rule_value *value = cz_rule_eval(rule, node);
    rule->frame = outer;
    return value;
}

static bool is_bare_name(const cz_node *arg, const cz_node *formal)
{
    const cz_node *value = cz_arg_value(arg);
    return !arg->text && value->kind == CZ_AST_NAME &&
           strcmp(value->text, formal->text) == 0;
}

static argument gather(cz_rule *rule, const cz_node *formal, const cz_node *arg)
{
    argument hyper = {.formal = formal};
    hyper.is_bare = arg && is_bare_name(arg, formal);
    hyper.arg = hyper.is_bare ? NULL : arg;
    hyper.place = arg ? arg : formal;
    hyper.standard = evaluate(rule, cz_formal_default(formal), NULL);
    hyper.given =
        hyper.arg ? evaluate(rule, cz_arg_value(hyper.arg), rule->use->index)
                  : NULL;
    hyper.is_const = cz_node_has(formal, CZ_FLAG_CONST) ||
                     (arg && cz_node_has(arg, CZ_FLAG_CONST));
    return hyper;
}

/* A float, a tuple with a float, or nothing known at all. */
static bool is_run_time(const argument *hyper)
{
    const cz_rule_value *kind =
        hyper->standard ? hyper->standard : hyper->given;
    if (hyper->is_const)
        return false;
    if (!hyper->standard && (!kind || is_number(kind)))
        return true;
    return is_real(kind) || is_real_tuple(kind);
}

/* A truth that a use may set the other way is a symbol of the path. */
static cz_rule_value *symbol_of(cz_rule *rule, const argument *hyper,
                                cz_rule_value *value)
{
    const cz_scalar *symbol = NULL;
    assert(value); /* what is no run-time value is given or has a default */
    if (value->kind == CZ_RULE_NUMBER && value->number->is_bool)
        symbol =
            cz_rule_path_symbol(rule->path, &rule->scalars, hyper->formal->text,
                                true, value->number->constant);
    return symbol ? cz_rule_number(rule, symbol) : value;
}

static cz_rule_value *bind_formal(cz_rule *rule, const argument *hyper)
{
    cz_rule_value *value = hyper->given ? hyper->given : hyper->standard;
    if ((value && value->kind == CZ_RULE_ERROR))
        return cz_rule_absorb();
    const cz_rule_value *given = hyper->given, *standard = hyper->standard;
    if (!check_value(rule, hyper, given) || !check_value(rule, hyper, standard))
        return cz_rule_absorb();
    if (given && standard && !fits(given, standard)) {
        cz_rule_error(rule, CZ_BAD_TYPE, hyper->place,
                      "'%s' takes %s, as its default is; this is %s",
                      hyper->formal->text, describe(rule, standard),
                      describe(rule, given));
        if (is_integer(standard) && is_real(given))
            cz_diag_note(rule->diags, hyper->formal->span,
                         "an integer here is decided when the rule is "
                         "compiled: with a point, as %g.0, a trainer may "
                         "change it at every step",
                         standard->number->constant);
        return cz_rule_absorb();
    }
    if (!is_run_time(hyper) && hyper->is_bare)
        return cz_rule_error(rule, CZ_WRONG_ARGUMENT, hyper->place,
                             "'%s' is decided when the rule is compiled: it "
                             "needs a value",
                             hyper->formal->text);
    if (!is_run_time(hyper))
        return rule->path ? symbol_of(rule, hyper, value) : value;
    if (value && value->kind == CZ_RULE_TUPLE) {
        /* betas = (0.9, 0.999) is betas_0 and betas_1. */
        cz_rule_value **items =
            CZ_NEW(rule->arena, cz_rule_value *, value->n_items);
        for (int i = 0; i < value->n_items; i++) {
            const char *name =
                cz_arena_printf(rule->arena, "%s_%d", hyper->formal->text, i);
            items[i] = cz_rule_number(
                rule, add_run_time(rule, name,
                                   hyper->is_bare ? NULL : value->items[i]));
        }
        return cz_rule_items(rule, CZ_RULE_TUPLE, items, value->n_items);
    }
    return cz_rule_number(rule, add_run_time(rule, hyper->formal->text,
                                             hyper->is_bare ? NULL : value));
}

static bool is_taken(const cz_rule *rule, const char *name)
{
    static const char *const given[] = {"param", "grad", "t"};
    for (int i = 0; i < 3; i++)
        if (strcmp(given[i], name) == 0)
            return true;
    for (int i = 0; i < rule->n_formals; i++)
        if (strcmp(rule->formals[i].name, name) == 0)
            return true;
    return false;
}

/* Where a formal of the same name stands in front of this one. */
static void note_first(cz_rule *rule, const cz_node *formals,
                       const cz_node *formal)
{
    int i = 0;
    while (strcmp(cz_item(formals, i)->text, formal->text) != 0)
        i++;
    if (cz_item(formals, i) != formal)
        cz_diag_note(rule->diags, cz_item(formals, i)->span, "first here");
}

void cz_rule_bind_formals(cz_rule *rule)
{
    const cz_rule_use *use = rule->use;
    const cz_node *formals = cz_rule_formals(use->optimizer);
    const cz_node **chosen =
        CZ_NEW(rule->arena, const cz_node *, cz_n_items(formals));
    cz_rule_frame empty = {0};
    rule->frame = &empty;
    cz_rule_match(rule, use->optimizer, use->args, use->n_args, true, chosen);
    for (int i = 0; i < cz_n_items(formals); i++) {
        const cz_node *formal = cz_item(formals, i);
        const argument hyper = gather(rule, formal, chosen[i]);
        if (is_taken(rule, formal->text)) {
            cz_rule_error(rule, CZ_DUPLICATE_NAME, formal,
                          "'%s' is already the name of something else here",
                          formal->text);
            note_first(rule, formals, formal);
        }
        cz_rule_value *value = bind_formal(rule, &hyper);
        *CZ_PUSH(rule->arena, rule->formals, rule->n_formals) =
            (cz_rule_binding){formal->text, value,
                              chosen[i] ? chosen[i] : formal};
    }
    rule->frame = NULL;
}

/* ---- arguments to formals, by place and by name -------------------------- */

static int find_formal(const cz_node *formals, const char *name)
{
    for (int i = 0; i < cz_n_items(formals); i++)
        if (strcmp(cz_item(formals, i)->text, name) == 0)
            return i;
    return -1;
}

/* What other libraries call ours. */
static const struct brought {
    const char *theirs, *ours;
} brought[] = {
    {"weight_decay", "decay"},    {"wd", "decay"},
    {"learning_rate", "lr"},      {"beta1", "betas"},
    {"beta2", "betas"},           {"beta", "momentum"},
    {"mu", "momentum"},           {"epsilon", "eps"},
    {"ns_steps", "coefficients"}, {"ns_coefficients", "coefficients"}};

static const char *ours_for(const cz_node *formals, const char *name)
{
    for (size_t i = 0; i < sizeof brought / sizeof *brought; i++)
        if (strcmp(brought[i].theirs, name) == 0 &&
            find_formal(formals, brought[i].ours) >= 0)
            return brought[i].ours;
    return NULL;
}

static void report_unknown(cz_rule *rule, const cz_node *callee,
                           const cz_node *arg)
{
    const cz_node *formals = cz_rule_formals(callee);
    const int n = cz_n_items(formals);
    const char **names = CZ_NEW(rule->arena, const char *, n);
    const char *ours = ours_for(formals, arg->text), *list = "";
    for (int i = 0; i < n; i++) {
        const cz_span said = cz_item(formals, i)->span;
        names[i] = cz_item(formals, i)->text;
        list =
            cz_arena_printf(rule->arena, "%s%s%.*s", list, i ? ", " : "",
                            (int)said.length, said.source->bytes + said.offset);
    }
    cz_rule_error_near(rule, CZ_WRONG_ARGUMENT, arg,
                       ours ? ours : cz_diag_nearest(arg->text, names, n),
                       "'%s' has no argument '%s'", callee->text, arg->text);
    cz_diag_note(rule->diags, (cz_span){0}, "'%s' takes %s", callee->text,
                 n > 0 ? list : "none");
}

/* The formal that an argument at `place` goes to, or -1. */
static int formal_of(const cz_node *formals, const cz_node *arg, int place,
                     bool is_use)
{
    if (arg->text)
        return find_formal(formals, arg->text);
    if (is_use && cz_arg_value(arg)->kind == CZ_AST_NAME) {
        const int named = find_formal(formals, cz_arg_value(arg)->text);
        if (named >= 0)
            return named;
    }
    return place < cz_n_items(formals) ? place : -1;
}

bool cz_rule_match(cz_rule *rule, const cz_node *callee,
                   const cz_node *const *args, int n_args, bool is_use,
                   const cz_node **chosen)
{
    const cz_node *formals = cz_rule_formals(callee);
    bool ok = true;
    for (int i = 0; i < n_args; i++) {
        const int at = formal_of(formals, args[i], i, is_use);
        if (at < 0 && args[i]->text)
            report_unknown(rule, callee, args[i]);
        else if (at < 0)
            cz_rule_error(rule, CZ_WRONG_ARGUMENT, args[i],
                          "'%s' has %d arguments, this is one more",
                          callee->text, cz_n_items(formals));
        else if (chosen[at] &&
                 !(is_use && is_bare_name(chosen[at], cz_item(formals, at)))) {
            cz_rule_error(rule, CZ_WRONG_ARGUMENT, args[i],
                          "'%s' is given twice", cz_item(formals, at)->text);
            cz_diag_note(rule->diags, chosen[at]->span, "first here");
        } else {
            chosen[at] = args[i];
            continue;
        }
        ok = false;
    }
    return ok;
}
