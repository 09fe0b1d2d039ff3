/* Arguments to formals, by place and by name. */
#include "frontend/rule/internal.h"

#include <string.h>

static int find_formal(const cz_node *formals, const char *name)
{
    for (int i = 0; i < cz_n_items(formals); i++)
        if (strcmp(cz_item(formals, i)->text, name) == 0)
            return i;
    return -1;
}

static void report_unknown(cz_rule *rule, const cz_node *callee,
                           const cz_node *arg)
{
    const cz_node *formals = cz_rule_formals(callee);
    const char **names = CZ_NEW(rule->arena, const char *, cz_n_items(formals));
    for (int i = 0; i < cz_n_items(formals); i++)
        names[i] = cz_item(formals, i)->text;
    cz_rule_error_near(rule, CZ_WRONG_ARGUMENT, arg,
                       cz_diag_nearest(arg->text, names, cz_n_items(formals)),
                       "'%s' has no argument '%s'", callee->text, arg->text);
}

bool cz_rule_is_bare(const cz_node *arg, const cz_node *formal)
{
    const cz_node *value = cz_arg_value(arg);
    return !arg->text && value->kind == CZ_AST_NAME &&
           strcmp(value->text, formal->text) == 0;
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
                 !(is_use &&
                   cz_rule_is_bare(chosen[at], cz_item(formals, at)))) {
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
