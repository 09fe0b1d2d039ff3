/* Use statements. */
#include "frontend/program/use.h"

#include <stdlib.h>
#include <string.h>

/* ---- optimizers ---- */

static const cz_node *find_optimizer(cz_scope *scope, const cz_node *use,
                                     cz_diags *diags)
{
    const cz_node *call = use->kids[0];
    const cz_node *optimizer =
        cz_scope_find(scope, CZ_AST_OPTIMIZER, call->text);
    if (optimizer)
        return optimizer;
    const char *near = cz_scope_nearest(scope, CZ_AST_OPTIMIZER, call->text);
    cz_diag_error(diags, CZ_UNKNOWN_NAME, call->span,
                  "no optimizer is called '%s'", call->text);
    if (near)
        cz_diag_note(diags, call->span, "did you mean '%s'?", near);
    return NULL;
}

/* A use by its group's name. */
typedef struct named_use {
    const char *name;
    int number;
} named_use;

static int by_name(const void *left, const void *right)
{
    const named_use *a = left, *b = right;
    const int order = strcmp(a->name, b->name);
    return order ? order : a->number - b->number;
}

/* The first use of the same name, or itself, for each. */
static const int *find_firsts(cz_arena *arena, const cz_uses *uses)
{
    int *first = CZ_NEW(arena, int, uses->n);
    named_use *sorted = CZ_NEW(arena, named_use, uses->n);
    for (int i = 0; i < uses->n; i++)
        sorted[i] = (named_use){uses->list[i].rule.name, i};
    if (uses->n > 0)
        qsort(sorted, (size_t)uses->n, sizeof *sorted, by_name);
    for (int i = 0, start = 0; i < uses->n; i++) {
        if (strcmp(sorted[i].name, sorted[start].name) != 0)
            start = i;
        first[sorted[i].number] = sorted[start].number;
    }
    return first;
}

static void check_names(cz_arena *arena, cz_uses *uses, cz_diags *diags)
{
    const int *first = find_firsts(arena, uses);
    for (int i = 0; i < uses->n; i++) {
        cz_use *use = &uses->list[i];
        if (first[i] == i)
            continue;
        cz_diag_error(diags, CZ_DUPLICATE_NAME, use->node->span,
                      "two groups are called '%s': name one with `as`",
                      use->rule.name);
        cz_diag_note(diags, uses->list[first[i]].node->span,
                     "the first is here");
        use->broken = true;
    }
}

void cz_uses_find(cz_scope *scope, const cz_node *file, cz_arena *arena,
                  cz_diags *diags, cz_uses *out)
{
    *out = (cz_uses){0};
    for (int i = 0; i < file->n_kids; i++) {
        const cz_node *node = file->kids[i];
        if (node->kind != CZ_AST_USE)
            continue;
        cz_use use = {.node = node};
        use.rule = (cz_rule_use){.arena = arena, .scope = scope};
        use.rule.name = node->text;
        use.rule.use = node;
        use.rule.optimizer = find_optimizer(scope, node, diags);
        use.broken = !use.rule.optimizer;
        *CZ_PUSH(arena, out->list, out->n) = use;
    }
    check_names(arena, out, diags);
}

void cz_uses_allow(const cz_uses *uses, cz_options *options)
{
    for (int i = 0; i < uses->n; i++) {
        const cz_use *use = &uses->list[i];
        const cz_node *formals =
            use->broken ? NULL : use->rule.optimizer->kids[0];
        for (int k = 0; formals && k < formals->n_kids; k++)
            cz_options_allow(options, use->rule.name, formals->kids[k]->text);
    }
}

/* ---- arguments ---- */

static cz_node *with_value(cz_arena *arena, const cz_node *like,
                           const char *name, const cz_node *value)
{
    cz_node *arg = CZ_NEW(arena, cz_node, 1);
    cz_node *copy = CZ_NEW(arena, cz_node, 1);
    if (like)
        *arg = *like;
    else
        *arg = (cz_node){.kind = CZ_AST_ARG, .text = name};
    *copy = *value;
    arg->kids = CZ_NEW(arena, cz_node *, 1);
    arg->kids[0] = copy;
    arg->n_kids = 1;
    arg->depth = copy->depth + 1;
    arg->span = value->span;
    return arg;
}

/* Which argument sets formal number `formal`, or -1. */
static int find_arg(const cz_rule_use *rule, int formal)
{
    const char *name = rule->optimizer->kids[0]->kids[formal]->text;
    int n_positional = 0;
    for (int i = 0; i < rule->n_args; i++) {
        const char *text = rule->args[i]->text;
        if (text ? strcmp(text, name) == 0 : n_positional++ == formal)
            return i;
    }
    return -1;
}

static void bind_arguments(cz_use *use, const cz_options *options)
{
    cz_rule_use *rule = &use->rule;
    cz_arena *arena = rule->arena;
    const cz_node *call = use->node->kids[0];
    const cz_node *formals = rule->optimizer->kids[0];
    const cz_node **args =
        CZ_NEW(arena, const cz_node *, call->n_kids + formals->n_kids);
    for (int i = 0; i < call->n_kids; i++)
        args[i] = call->kids[i];
    rule->args = args;
    rule->n_args = call->n_kids;
    for (int i = 0; i < formals->n_kids; i++) {
        const char *name = formals->kids[i]->text;
        const cz_node *value = cz_options_find(options, rule->name, name);
        if (!value)
            continue;
        const int at = find_arg(rule, i);
        args[at >= 0 ? at : rule->n_args++] =
            with_value(arena, at >= 0 ? args[at] : NULL, name, value);
    }
}

void cz_uses_bind(cz_uses *uses, const cz_options *options, bool clip,
                  cz_diags *diags)
{
    for (int i = 0; i < uses->n; i++) {
        cz_use *use = &uses->list[i];
        if (use->broken)
            continue;
        use->rule.clip = clip;
        bind_arguments(use, options);
        use->broken =
            !cz_rule_signature_build(&use->rule, diags, &use->signature);
    }
}
