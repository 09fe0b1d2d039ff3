/* Use statements. */
#include "frontend/program/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- optimizers ---- */

static const cz_node *find_optimizer(cz_scope *scope, const cz_node *use,
                                     cz_diags *diags)
{
    const cz_node *call = cz_use_call(use);
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

/* ---- a group for each value of an index ---- */

enum { MAX_VALUES = 256 };

/* The index that all paths of a use have, and how many values; NULL where none
 * has one.  False after reporting. */
static bool find_index(const cz_node *use, cz_env *globals, cz_diags *diags,
                       const cz_node **index, int64_t *n)
{
    const cz_node *paths = cz_use_paths(use);
    *index = NULL;
    for (int p = 0; p < cz_n_items(paths); p++) {
        const cz_node *path = cz_item(paths, p), *own = NULL;
        int n_own = 0;
        int64_t end = 0;
        for (int s = 0; s < cz_n_items(path); s++)
            if (cz_item(path, s)->kind == CZ_AST_INDEX && n_own++ == 0)
                own = cz_item(path, s);
        if (own && !cz_eval_size(cz_index_bound(own), globals, diags,
                                 "number of indices", 1, MAX_VALUES, &end))
            return false;
        if (n_own > 1 || (p > 0 && !own != !*index) ||
            (p > 0 && own &&
             (strcmp(own->text, (*index)->text) != 0 || end != *n))) {
            cz_diag_error(diags, CZ_BAD_PATH, path->span,
                          "the paths of a use have one index each, the same "
                          "in all of them, or none");
            return false;
        }
        *index = own;
        *n = end;
    }
    return true;
}

/* ---- the statements ---- */

static void add_use(cz_use use, cz_arena *arena, cz_uses *out)
{
    *CZ_PUSH(arena, out->list, out->n) = use;
}

/* One use, or one for each value of its index. */
static void add_uses(cz_use use, cz_env *globals, cz_diags *diags, cz_uses *out)
{
    cz_arena *arena = use.rule.arena;
    const cz_node *node = use.node;
    int64_t n = 0;
    if (!find_index(node, globals, diags, &use.rule.index, &n)) {
        use.rule.index = NULL;
        use.broken = true;
    }
    if (!use.rule.index)
        add_use(use, arena, out);
    for (int64_t i = 0; use.rule.index && i < n; i++) {
        const char *value = cz_arena_printf(arena, "%lld", (long long)i);
        use.node = use.rule.use = cz_use_at(arena, node, value);
        use.rule.value = i;
        use.rule.name = cz_arena_printf(arena, "%s_%s", node->text, value);
        add_use(use, arena, out);
    }
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

void cz_uses_find(cz_scope *scope, const cz_node *file, cz_env *globals,
                  cz_diags *diags, cz_uses *out)
{
    cz_arena *arena = globals->arena;
    *out = (cz_uses){0};
    for (int i = 0; i < cz_n_items(file); i++) {
        const cz_node *node = cz_item(file, i);
        if (node->kind != CZ_AST_USE)
            continue;
        cz_use use = {.node = node};
        use.rule = (cz_rule_use){.arena = arena, .scope = scope};
        use.rule.name = node->text;
        use.rule.use = node;
        use.rule.optimizer = find_optimizer(scope, node, diags);
        use.broken = !use.rule.optimizer;
        add_uses(use, globals, diags, out);
    }
    /* The first use of the same name, or itself, for each. */
    int *first = CZ_NEW(arena, int, out->n);
    named_use *sorted = CZ_NEW(arena, named_use, out->n);
    for (int i = 0; i < out->n; i++)
        sorted[i] = (named_use){out->list[i].rule.name, i};
    if (out->n > 0)
        qsort(sorted, (size_t)out->n, sizeof *sorted, by_name);
    for (int i = 0, start = 0; i < out->n; i++) {
        if (strcmp(sorted[i].name, sorted[start].name) != 0)
            start = i;
        first[sorted[i].number] = sorted[start].number;
    }
    for (int i = 0; i < out->n; i++) {
        cz_use *use = &out->list[i];
        if (first[i] == i)
            continue;
        cz_diag_error(diags, CZ_DUPLICATE_NAME, use->node->span,
                      "two groups are called '%s': name one with `as`",
                      use->rule.name);
        cz_diag_note(diags, out->list[first[i]].node->span,
                     "the first is here");
        use->broken = true;
    }
}

void cz_uses_allow(const cz_uses *uses, cz_options *options)
{
    for (int i = 0; i < uses->n; i++) {
        const cz_use *use = &uses->list[i];
        const cz_node *formals =
            use->broken ? NULL : cz_rule_formals(use->rule.optimizer);
        for (int k = 0; formals && k < cz_n_items(formals); k++)
            cz_options_allow(options, use->rule.name,
                             cz_item(formals, k)->text);
    }
}

/* ---- arguments ---- */

/* Which argument sets formal number `formal`, or -1. */
static int find_arg(const cz_rule_use *rule, int formal)
{
    const char *name = cz_item(cz_rule_formals(rule->optimizer), formal)->text;
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
    const cz_node *call = cz_use_call(use->node);
    const cz_node *formals = cz_rule_formals(rule->optimizer);
    const cz_node **args =
        CZ_NEW(arena, const cz_node *, cz_n_items(call) + cz_n_items(formals));
    for (int i = 0; i < cz_n_items(call); i++)
        args[i] = cz_item(call, i);
    rule->args = args;
    rule->n_args = cz_n_items(call);
    for (int i = 0; i < cz_n_items(formals); i++) {
        const char *name = cz_item(formals, i)->text;
        const cz_node *value = cz_options_find(options, rule->name, name);
        if (!value)
            continue;
        const int at = find_arg(rule, i);
        args[at >= 0 ? at : rule->n_args++] =
            cz_arg_with(arena, at >= 0 ? args[at] : NULL, name, value);
    }
}

/* An argument by its bare name stays open: a let of the name is not meant. */
static void warn_of_open(const cz_use *use, cz_diags *diags)
{
    const cz_node *call = cz_use_call(use->node);
    const cz_node *formals = cz_rule_formals(use->rule.optimizer);
    for (int i = 0; i < cz_n_items(call) && i < cz_n_items(formals); i++) {
        const cz_node *arg = cz_item(call, i), *value = cz_arg_value(arg);
        if (arg->text || value->kind != CZ_AST_NAME ||
            strcmp(value->text, cz_item(formals, i)->text) != 0)
            continue;
        const cz_node *let =
            cz_scope_find(use->rule.scope, CZ_AST_LET, value->text);
        if (!let)
            continue;
        cz_diag_warning(diags, CZ_NO_EFFECT, value->span,
                        "'%s' stays open here, for the trainer to set: it is "
                        "not the `let` of this name",
                        value->text);
        cz_diag_note(diags, let->span, "`%s = %s` in the use takes its value",
                     value->text, value->text);
    }
}

void cz_uses_bind(cz_uses *uses, const cz_options *options, bool clip,
                  cz_diags *diags)
{
    for (int i = 0; i < uses->n; i++) {
        cz_use *use = &uses->list[i];
        /* What is wrong with one value of an index is wrong with others. */
        if (i > 0 && use->rule.index &&
            use->rule.index == uses->list[i - 1].rule.index)
            use->broken |= uses->list[i - 1].broken;
        if (use->broken)
            continue;
        warn_of_open(use, diags);
        use->rule.clip = clip;
        bind_arguments(use, options);
        use->broken =
            !cz_rule_signature_build(&use->rule, diags, &use->signature);
    }
}
