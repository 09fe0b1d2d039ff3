/* Names: those that a rule has, and those that a def's get in it. */
#include "frontend/rule/expand/internal.h"

#include <string.h>

/* ---- those of the rule ---- */

static void take(cz_expansion *e, const char *name)
{
    /* The elements are pointers.  NOLINTNEXTLINE(bugprone-sizeof-expression) */
    *CZ_PUSH(e->arena, e->taken, e->n_taken) = name;
}

static void take_target(cz_expansion *e, const cz_node *target)
{
    if (target->kind == CZ_AST_NAME)
        take(e, target->text);
    for (int i = 0; i < cz_n_children(target); i++)
        take_target(e, cz_child(target, i));
}

static void collect(cz_expansion *e, const cz_node *node)
{
    if (node->kind == CZ_AST_BIND || node->kind == CZ_AST_FOR ||
        node->kind == CZ_AST_FOR_SHAPE)
        take_target(e, node->kind == CZ_AST_FOR_SHAPE ? node
                                                      : cz_assign_target(node));
    if (node->kind == CZ_AST_STATE || node->kind == CZ_AST_EXTERN ||
        node->kind == CZ_AST_FORMAL)
        take(e, node->text);
    for (int i = 0; i < cz_n_children(node); i++)
        collect(e, cz_child(node, i));
}

void cz_expand_collect(cz_expansion *e)
{
    e->n_taken = 0;
    e->taken = NULL;
    take(e, "param");
    take(e, "grad");
    collect(e, e->root);
}

bool cz_expand_is_taken(const cz_expansion *e, const char *name)
{
    for (int i = 0; i < e->n_taken; i++)
        if (strcmp(e->taken[i], name) == 0)
            return true;
    return false;
}

/* ---- those of a def ---- */

const char *cz_expand_find(const cz_expand_frame *frame, const char *name)
{
    for (int i = 0; i < frame->n_names; i++)
        if (strcmp(frame->names[i].name, name) == 0)
            return frame->names[i].text;
    return NULL;
}

void cz_expand_rename(cz_expansion *e, cz_expand_frame *frame, const char *name,
                      const char *text)
{
    *CZ_PUSH(e->arena, frame->names, frame->n_names) =
        (cz_expand_name){name, text};
}

static bool is_free(cz_expansion *e, const char *name)
{
    static const cz_kind kinds[] = {CZ_AST_DEF, CZ_AST_TABLE, CZ_AST_LET};
    for (int i = 0; i < 3; i++)
        if (cz_scope_find(e->scope, kinds[i], name))
            return false;
    return !cz_expand_is_taken(e, name);
}

const char *cz_expand_own(cz_expansion *e, cz_expand_frame *frame,
                          const char *name)
{
    const char *stem = cz_arena_printf(e->arena, "%s_%s", frame->states, name);
    const char *own = stem;
    for (int n = 2; !is_free(e, own); n++)
        own = cz_arena_printf(e->arena, "%s_%d", stem, n);
    take(e, own);
    cz_expand_rename(e, frame, name, own);
    return own;
}
