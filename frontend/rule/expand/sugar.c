/* Defs that declare states, as their text has them. */
#include "frontend/rule/expand/expand.h"

#include <string.h>

/* ---- does it declare states? ---- */

typedef struct seen_defs {
    cz_scope *scope;
    cz_arena *arena;
    const cz_node **list;
    int n;
} seen_defs;

static bool add_seen(seen_defs *seen, const cz_node *def)
{
    for (int i = 0; i < seen->n; i++)
        if (seen->list[i] == def)
            return false;
    /* The elements are pointers.  NOLINTNEXTLINE(bugprone-sizeof-expression) */
    *CZ_PUSH(seen->arena, seen->list, seen->n) = def;
    return true;
}

/* Adds the defs that are called there. */
static bool declares(seen_defs *seen, const cz_node *node)
{
    if (node->kind == CZ_AST_STATE)
        return true;
    const cz_node *def =
        node->kind == CZ_AST_CALL
            ? cz_scope_find(seen->scope, CZ_AST_DEF, node->text)
            : NULL;
    if (def)
        add_seen(seen, def);
    for (int i = 0; i < cz_n_children(node); i++)
        if (declares(seen, cz_child(node, i)))
            return true;
    return false;
}

bool cz_def_has_states(cz_scope *scope, cz_arena *arena, const cz_node *def)
{
    seen_defs seen = {.scope = scope, .arena = arena};
    add_seen(&seen, def);
    for (int i = 0; i < seen.n; i++)
        if (declares(&seen, seen.list[i]))
            return true;
    return false;
}

/* ---- what a def does with names and returns ---- */

static const cz_node *find_return(const cz_node *node, const cz_node *last)
{
    if (node->kind == CZ_AST_RETURN && node != last)
        return node;
    for (int i = 0; i < cz_n_children(node); i++) {
        const cz_node *found = find_return(cz_child(node, i), last);
        if (found)
            return found;
    }
    return NULL;
}

const cz_node *cz_def_early_return(const cz_node *def)
{
    const cz_node *body = cz_def_block(def);
    return find_return(
        body, cz_n_items(body) ? cz_item(body, cz_n_items(body) - 1) : NULL);
}

static bool is_bound_by(const cz_node *target, const char *name)
{
    if (target->kind == CZ_AST_NAME)
        return strcmp(target->text, name) == 0;
    for (int i = 0; i < cz_n_children(target); i++)
        if (is_bound_by(cz_child(target, i), name))
            return true;
    return false;
}

static bool binds(const cz_node *node, const char *name)
{
    if ((node->kind == CZ_AST_BIND || node->kind == CZ_AST_FOR) &&
        is_bound_by(cz_assign_target(node), name))
        return true;
    for (int i = 0; i < cz_n_children(node); i++)
        if (binds(cz_child(node, i), name))
            return true;
    return false;
}

bool cz_def_binds(const cz_node *def, const char *name)
{
    return binds(cz_def_block(def), name);
}

const cz_node *cz_sole_call(const cz_node *value)
{
    if (value->kind == CZ_AST_PIPE)
        value = cz_pipe_call(value);
    return value->kind == CZ_AST_CALL ? value : NULL;
}
