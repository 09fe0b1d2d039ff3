/* Names that the user's files give and nothing reads: each is a warning.  It
 * goes by the text, whatever branch is taken, so that it may miss one, and
 * never reports one that is read. */
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

static bool targets(const cz_node *target, const char *name)
{
    bool any = target->kind == CZ_AST_NAME && strcmp(target->text, name) == 0;
    for (int i = 0; target->kind == CZ_AST_TUPLE && i < cz_n_items(target); i++)
        any = any || targets(cz_item(target, i), name);
    return any;
}

static void count(const cz_node *node, bool own, reads *found)
{
    if (node->kind == CZ_AST_FOR_SHAPE)
        return;
    const bool is_read =
        (node->kind == CZ_AST_NAME || node->kind == CZ_AST_CALL) &&
        strcmp(node->text, found->name) == 0;
    found->n_reads += is_read && !own;
    found->n_own_reads += is_read && own;
    found->averages_param |=
        own && node->kind == CZ_AST_NAME && strcmp(node->text, "param") == 0;
    found->n_calls += is_read && node->kind == CZ_AST_CALL;
    const bool assigns = node->kind == CZ_AST_BIND ||
                         node->kind == CZ_AST_WRITE || node->kind == CZ_AST_FOR;
    if (assigns && targets(cz_assign_target(node), found->name)) {
        const bool writes = node->kind == CZ_AST_WRITE;
        own = own || (writes && cz_assign_target(node)->kind == CZ_AST_NAME);
        found->n_writes += writes;
    }
    for (int i = assigns; i < cz_n_children(node); i++) /* 0 is the target */
        count(cz_child(node, i), own, found);
}

static reads reads_in(const cz_node *where, const char *name)
{
    reads found = {.name = name};
    count(where, false, &found);
    return found;
}

static void warn(cz_diags *diags, const cz_node *node, const char *name,
                 const char *what)
{
    cz_diag_warning(diags, CZ_NO_EFFECT, node->span, "'%s' %s", name, what);
}

static void check_name(const cz_node *where, const cz_node *node,
                       const char *name, cz_diags *diags)
{
    if (reads_in(where, name).n_reads == 0)
        warn(diags, node, name, "is read nowhere, and changes nothing");
}

static void check_state(const cz_node *where, const cz_node *state,
                        cz_diags *diags)
{
    const reads found = reads_in(where, state->text);
    if (found.n_reads == 0 && !found.averages_param)
        warn(diags, state, state->text,
             found.n_own_reads > 0
                 ? "is read by its own updates alone, and changes no parameter"
                 : "is read nowhere, and changes no parameter");
    else if (found.n_writes == 0)
        warn(diags, state, state->text,
             "is written nowhere, and stays as it begins");
}

/* Of a tuple whoever takes one value takes all. */
static void check_binding(const cz_node *where, const cz_node *bind,
                          cz_diags *diags)
{
    const cz_node *target = cz_assign_target(bind);
    bool any = false;
    for (int i = 0; target->kind == CZ_AST_TUPLE && i < cz_n_items(target); i++)
        any = any || cz_item(target, i)->kind != CZ_AST_NAME ||
              reads_in(where, cz_item(target, i)->text).n_reads > 0;
    if (target->kind == CZ_AST_NAME)
        check_name(where, target, target->text, diags);
    else if (target->kind == CZ_AST_TUPLE && !any)
        check_name(where, target, cz_item(target, 0)->text, diags);
}

/* What is declared in a definition, and may be read in all of it. */
static void check_below(const cz_node *where, const cz_node *node,
                        cz_diags *diags)
{
    if (node->kind == CZ_AST_FORMAL || node->kind == CZ_AST_LET)
        check_name(where, node, node->text, diags);
    else if (node->kind == CZ_AST_STATE)
        check_state(where, node, diags);
    else if (node->kind == CZ_AST_BIND)
        check_binding(where, node, diags);
    for (int i = 0; i < cz_n_children(node); i++)
        check_below(where, cz_child(node, i), diags);
}

/* In all of the user's files. */
static reads reads_of(cz_scope *scope, const char *name)
{
    reads found = {.name = name};
    for (int f = 0; f < cz_scope_n_files(scope); f++)
        if (!cz_scope_file_at(scope, f)->library)
            count(cz_scope_file_at(scope, f)->tree, false, &found);
    return found;
}

/* A def that is handed on has the arguments that others ask for. */
static void check_def(cz_scope *scope, const cz_node *def, cz_diags *diags)
{
    const reads found = reads_of(scope, def->text);
    if (found.n_calls > 0 && found.n_calls == found.n_reads)
        check_below(def, cz_rule_formals(def), diags);
    check_below(def, cz_def_block(def), diags);
}

static void check_statement(cz_scope *scope, const cz_node *node,
                            bool rules_alone, cz_diags *diags)
{
    if (node->kind == CZ_AST_OPTIMIZER &&
        reads_in(cz_optimizer_block(node), "grad").n_reads == 0)
        warn(diags, node, node->text,
             "never reads grad: it learns nothing, and gradients are reduced "
             "in vain");
    if (node->kind == CZ_AST_MODEL || node->kind == CZ_AST_OPTIMIZER)
        check_below(node, node, diags);
    else if (node->kind == CZ_AST_DEF)
        check_def(scope, node, diags);
    else if (node->kind == CZ_AST_LET && !rules_alone &&
             reads_of(scope, node->text).n_reads == 0)
        warn(diags, node, node->text, "is read nowhere, and changes nothing");
}

void cz_names_warn(cz_scope *scope, bool rules_alone, cz_diags *diags)
{
    for (int f = 0; f < cz_scope_n_files(scope); f++) {
        const cz_scope_file *file = cz_scope_file_at(scope, f);
        for (int i = 0; i < cz_n_items(file->tree) && !file->library; i++)
            check_statement(scope, cz_item(file->tree, i), rules_alone, diags);
    }
}
