/* Names that the user's files give and nothing reads: each is a warning.  It
 * goes by the text, whatever branch is taken, so that it may miss one, and
 * never reports one that is read. */
#include <stdlib.h>
#include <string.h>

#include "frontend/program/internal.h"

/* How often a name is read, and the state that it names written. */
typedef struct reads {
    const char *name;
    int n_reads, n_own_reads; /* own: where it is written itself */
    int n_calls;              /* of the reads */
    int n_writes;
    bool averages_param; /* as those do who train on, and evaluate the mean */
} reads;

/* Of all names that are given somewhere, in order. */
typedef struct name_reads {
    cz_arena *arena;
    reads *list;
    int n;
} name_reads;

/* ---- which names ---- */

static void add_name(name_reads *names, const char *name)
{
    *CZ_PUSH(names->arena, names->list, names->n) = (reads){.name = name};
}

static void add_targets(name_reads *names, const cz_node *target)
{
    if (target->kind == CZ_AST_NAME)
        add_name(names, target->text);
    for (int i = 0; target->kind == CZ_AST_TUPLE && i < cz_n_items(target); i++)
        add_targets(names, cz_item(target, i));
}

static void add_below(name_reads *names, const cz_node *node)
{
    if (node->kind == CZ_AST_FORMAL || node->kind == CZ_AST_LET ||
        node->kind == CZ_AST_STATE)
        add_name(names, node->text);
    else if (node->kind == CZ_AST_BIND)
        add_targets(names, cz_assign_target(node));
    for (int i = 0; i < cz_n_children(node); i++)
        add_below(names, cz_child(node, i));
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const reads *)left)->name, ((const reads *)right)->name);
}

static void sort(name_reads *names)
{
    int n = 0;
    if (names->n > 0)
        qsort(names->list, (size_t)names->n, sizeof *names->list, by_name);
    for (int i = 0; i < names->n; i++)
        if (n == 0 || by_name(&names->list[i], &names->list[n - 1]) != 0)
            names->list[n++] = names->list[i];
    names->n = n;
}

static reads *find(const name_reads *names, const char *name)
{
    const reads key = {.name = name};
    return names->n > 0 ? bsearch(&key, names->list, (size_t)names->n,
                                  sizeof key, by_name)
                        : NULL;
}

/* ---- how often ---- */

/* Under the value of a write of `own` alone, or NULL. */
static void count_read(const name_reads *names, const cz_node *node, reads *own)
{
    reads *found = find(names, node->text);
    if (own && strcmp(node->text, "param") == 0)
        own->averages_param = true;
    if (!found)
        return;
    found->n_own_reads += found == own;
    found->n_reads += found != own;
    found->n_calls += node->kind == CZ_AST_CALL;
}

static void count_writes(const name_reads *names, const cz_node *target)
{
    reads *found =
        target->kind == CZ_AST_NAME ? find(names, target->text) : NULL;
    if (found)
        found->n_writes++;
    for (int i = 0; target->kind == CZ_AST_TUPLE && i < cz_n_items(target); i++)
        count_writes(names, cz_item(target, i));
}

static void count(const name_reads *names, const cz_node *node, reads *own)
{
    const bool assigns = node->kind == CZ_AST_BIND ||
                         node->kind == CZ_AST_WRITE || node->kind == CZ_AST_FOR;
    if (node->kind == CZ_AST_FOR_SHAPE)
        return;
    if (node->kind == CZ_AST_NAME || node->kind == CZ_AST_CALL)
        count_read(names, node, own);
    if (node->kind == CZ_AST_WRITE) {
        const cz_node *target = cz_assign_target(node);
        count_writes(names, target);
        own = target->kind == CZ_AST_NAME ? find(names, target->text) : NULL;
    }
    for (int i = assigns; i < cz_n_children(node); i++) /* 0 is the target */
        count(names, cz_child(node, i), own);
}

/* ---- warnings ---- */

static void warn(cz_diags *diags, const cz_node *node, const char *name,
                 const char *what)
{
    cz_diag_warning(diags, CZ_NO_EFFECT, node->span, "'%s' %s", name, what);
}

static bool is_read(const name_reads *names, const char *name)
{
    return find(names, name)->n_reads > 0;
}

static void check_name(const name_reads *names, const cz_node *node,
                       const char *name, cz_diags *diags)
{
    if (!is_read(names, name))
        warn(diags, node, name, "is read nowhere, and changes nothing");
}

static void check_state(const name_reads *names, const cz_node *state,
                        cz_diags *diags)
{
    const reads *found = find(names, state->text);
    if (found->n_reads == 0 && !found->averages_param)
        warn(diags, state, state->text,
             found->n_own_reads > 0
                 ? "is read by its own updates alone, and changes no parameter"
                 : "is read nowhere, and changes no parameter");
    else if (found->n_writes == 0)
        warn(diags, state, state->text,
             "is written nowhere, and stays as it begins");
}

/* Of a tuple whoever takes one value takes all. */
static void check_binding(const name_reads *names, const cz_node *bind,
                          cz_diags *diags)
{
    const cz_node *target = cz_assign_target(bind);
    bool any = false;
    for (int i = 0; target->kind == CZ_AST_TUPLE && i < cz_n_items(target); i++)
        any = any || cz_item(target, i)->kind != CZ_AST_NAME ||
              is_read(names, cz_item(target, i)->text);
    if (target->kind == CZ_AST_NAME)
        check_name(names, target, target->text, diags);
    else if (target->kind == CZ_AST_TUPLE && !any)
        check_name(names, target, cz_item(target, 0)->text, diags);
}

/* What is declared in a definition, and may be read in all of it. */
static void check_below(const name_reads *names, const cz_node *node,
                        cz_diags *diags)
{
    if (node->kind == CZ_AST_FORMAL || node->kind == CZ_AST_LET)
        check_name(names, node, node->text, diags);
    else if (node->kind == CZ_AST_STATE)
        check_state(names, node, diags);
    else if (node->kind == CZ_AST_BIND)
        check_binding(names, node, diags);
    for (int i = 0; i < cz_n_children(node); i++)
        check_below(names, cz_child(node, i), diags);
}

/* ---- definitions ---- */

/* A def that is handed on has the arguments that others ask for. */
static bool is_called_alone(const name_reads *globals, const cz_node *def)
{
    const reads *found = find(globals, def->text);
    return found->n_calls > 0 && found->n_calls == found->n_reads;
}

static void check_definition(const name_reads *globals, const cz_node *node,
                             cz_diags *diags)
{
    cz_arena scratch;
    cz_arena_init(&scratch);
    name_reads names = {.arena = &scratch};
    add_name(&names, "grad");
    add_below(&names, node);
    sort(&names);
    count(&names, node, NULL);
    if (node->kind == CZ_AST_OPTIMIZER && !is_read(&names, "grad"))
        warn(diags, node, node->text,
             "never reads grad: it learns nothing, and gradients are reduced "
             "in vain");
    if (node->kind != CZ_AST_DEF || is_called_alone(globals, node))
        check_below(&names, node, diags);
    else
        check_below(&names, cz_def_block(node), diags);
    cz_arena_fini(&scratch);
}

static void check_statement(const name_reads *globals, const cz_node *node,
                            bool rules_alone, cz_diags *diags)
{
    if (node->kind == CZ_AST_MODEL || node->kind == CZ_AST_OPTIMIZER ||
        node->kind == CZ_AST_DEF)
        check_definition(globals, node, diags);
    else if (node->kind == CZ_AST_LET && !rules_alone)
        check_name(globals, node, node->text, diags);
}

void cz_names_warn(cz_scope *scope, bool rules_alone, cz_diags *diags)
{
    cz_arena scratch;
    cz_arena_init(&scratch);
    name_reads globals = {.arena = &scratch};
    for (int f = 0; f < cz_scope_n_files(scope); f++) {
        const cz_scope_file *file = cz_scope_file_at(scope, f);
        for (int i = 0; i < cz_n_items(file->tree) && !file->library; i++)
            if (cz_item(file->tree, i)->kind == CZ_AST_LET ||
                cz_item(file->tree, i)->kind == CZ_AST_DEF)
                add_name(&globals, cz_item(file->tree, i)->text);
    }
    sort(&globals);
    for (int f = 0; f < cz_scope_n_files(scope); f++)
        if (!cz_scope_file_at(scope, f)->library)
            count(&globals, cz_scope_file_at(scope, f)->tree, NULL);
    for (int f = 0; f < cz_scope_n_files(scope); f++) {
        const cz_scope_file *file = cz_scope_file_at(scope, f);
        for (int i = 0; i < cz_n_items(file->tree) && !file->library; i++)
            check_statement(&globals, cz_item(file->tree, i), rules_alone,
                            diags);
    }
    cz_arena_fini(&scratch);
}
