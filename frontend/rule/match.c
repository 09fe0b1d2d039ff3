/* Arguments to formals, by place and by name. */
#include "frontend/rule/internal.h"

#include <string.h>

static int find_formal(const cz_node *formals, const char *name)
{
    for (int i = 0; i < formals->n_kids; i++)
        if (strcmp(formals->kids[i]->text, name) == 0)
            return i;
    return -1;
}

static void report_unknown(cz_rule *rule, const cz_node *callee,
                           const cz_node *arg)
{
    const cz_node *formals = callee->kids[0];
    const char **names = CZ_NEW(rule->arena, const char *, formals->n_kids);
    for (int i = 0; i < formals->n_kids; i++)
        names[i] = formals->kids[i]->text;
    cz_rule_error_near(rule, CZ_WRONG_ARGUMENT, arg,
                       cz_diag_nearest(arg->text, names, formals->n_kids),
                       "'%s' has no argument '%s'", callee->text, arg->text);
}

bool cz_rule_is_bare(const cz_node *arg, const cz_node *formal)
{
    const cz_node *value = arg->kids[0];
    return !arg->text && value->kind == CZ_AST_NAME &&
           strcmp(value->text, formal->text) == 0;
}

/* The formal that an argument at `place` goes to, or -1. */
static int formal_of(const cz_node *formals, const cz_node *arg, int place,
                     bool is_use)
{
    if (arg->text)
        return find_formal(formals, arg->text);
    if (is_use && arg->kids[0]->kind == CZ_AST_NAME) {
        const int named = find_formal(formals, arg->kids[0]->text);
        if (named >= 0)
            return named;
    }
    return place < formals->n_kids ? place : -1;
}

bool cz_rule_match(cz_rule *rule, const cz_node *callee,
                   const cz_node *const *args, int n_args, bool is_use,
                   const cz_node **chosen)
{
    const cz_node *formals = callee->kids[0];
    bool ok = true;
    for (int i = 0; i < n_args; i++) {
        const int at = formal_of(formals, args[i], i, is_use);
        if (at < 0 && args[i]->text)
            report_unknown(rule, callee, args[i]);
        else if (at < 0)
            cz_rule_error(rule, CZ_WRONG_ARGUMENT, args[i],
                          "'%s' has %d arguments, this is one more",
                          callee->text, formals->n_kids);
        else if (chosen[at] &&
                 !(is_use && cz_rule_is_bare(chosen[at], formals->kids[at]))) {
            cz_rule_error(rule, CZ_WRONG_ARGUMENT, args[i],
                          "'%s' is given twice", formals->kids[at]->text);
            cz_diag_note(rule->diags, chosen[at]->span, "first here");
        } else {
            chosen[at] = args[i];
            continue;
        }
        ok = false;
    }
    return ok;
}
