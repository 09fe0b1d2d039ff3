/* The main file with its chains replaced in its text, statement by statement.
 */
#include "frontend/rule/expand/expand.h"

#include "frontend/rule/expand/internal.h"

/* What stands in place of bytes of the file. */
typedef struct edit {
    uint32_t from, to;
    const char *text;
} edit;

typedef struct editor {
    cz_expansion e;
    edit *edits; /* by place */
    int n_edits;
} editor;

/* Names that share a type and an initial value share what is done to them. */
static void add_edit(editor *x, uint32_t from, uint32_t to, const char *text)
{
    int at = x->n_edits;
    while (at > 0 && x->edits[at - 1].from > from)
        at--;
    if (at > 0 && x->edits[at - 1].from == from && x->edits[at - 1].to == to)
        return;
    *CZ_PUSH(x->e.arena, x->edits, x->n_edits) = (edit){0};
    for (int i = x->n_edits - 1; i > at; i--)
        x->edits[i] = x->edits[i - 1];
    x->edits[at] = (edit){from, to, text};
}

/* Statements that were put aside, then `text`. */
static const char *with_lines(editor *x, const char *text)
{
    const char *all =
        cz_arena_printf(x->e.arena, "%s%s", cz_text_string(&x->e.lines), text);
    cz_text_fini(&x->e.lines);
    cz_text_init(&x->e.lines);
    return all;
}

static void edit_block(editor *x, cz_expand_frame *root, const cz_node *block);

/* a = e, a <- e, return e */
static void edit_value(editor *x, cz_expand_frame *root,
                       const cz_node *statement)
{
    const cz_node *value = statement->kind == CZ_AST_RETURN
                               ? cz_return_value(statement)
                               : cz_assign_value(statement);
    const cz_node *target =
        statement->kind == CZ_AST_BIND ? cz_assign_target(statement) : NULL;
    const bool names = target && target->kind == CZ_AST_NAME;
    const cz_span span = statement->span;
    const uint32_t at = value->span.offset - span.offset;
    const char *text =
        cz_expand_value(&x->e, root, value, names ? target->text : NULL);
    const char *head =
        cz_arena_copy(x->e.arena, span.source->bytes + span.offset, at);
    add_edit(x, span.offset, span.offset + span.length,
             with_lines(x, cz_arena_printf(x->e.arena, "%s%s", head, text)));
}

/* Conditions, dimensions, rows: in their places, behind what they need. */
static void edit_parts(editor *x, cz_expand_frame *root,
                       const cz_node *statement)
{
    for (int i = 0; i < cz_n_children(statement); i++) {
        const cz_node *child = cz_child(statement, i);
        const uint32_t from = child->span.offset;
        if (!cz_expand_has_sugar(&x->e, child))
            continue;
        if (child->kind == CZ_AST_BLOCK) {
            edit_block(x, root, child);
            continue;
        }
        add_edit(x, from, from + child->span.length,
                 cz_expand_text(&x->e, root, child));
        if (x->e.lines.n > 0)
            add_edit(x, statement->span.offset, statement->span.offset,
                     with_lines(x, ""));
    }
}

static void edit_block(editor *x, cz_expand_frame *root, const cz_node *block)
{
    for (int i = 0; i < cz_n_items(block); i++) {
        const cz_node *statement = cz_item(block, i);
        const bool assigns = statement->kind == CZ_AST_BIND ||
                             statement->kind == CZ_AST_WRITE ||
                             statement->kind == CZ_AST_RETURN;
        if (assigns && cz_expand_has_sugar(&x->e, statement))
            edit_value(x, root, statement);
        else
            edit_parts(x, root, statement);
    }
}

/* An optimizer, or a def without states, which may have a |> f(b). */
static void edit_rule(editor *x, const cz_node *rule)
{
    cz_expand_frame root = {.states = ""};
    const cz_node *formals = cz_rule_formals(rule);
    const cz_node *block = rule->kind == CZ_AST_DEF ? cz_def_block(rule)
                                                    : cz_optimizer_block(rule);
    x->e.root = rule;
    cz_expand_collect(&x->e);
    for (int i = 0; i < cz_n_items(formals); i++)
        edit_parts(x, &root, cz_item(formals, i));
    edit_block(x, &root, block);
}

static void put_edited(const editor *x, const cz_source *source, cz_text *out)
{
    uint32_t at = 0;
    for (int i = 0; i < x->n_edits; i++) {
        cz_text_put(out, source->bytes + at, x->edits[i].from - at);
        cz_text_puts(out, x->edits[i].text);
        at = x->edits[i].to;
    }
    cz_text_put(out, source->bytes + at, source->n - at);
}

bool cz_expand(cz_scope *scope, cz_arena *arena, cz_diags *diags, cz_text *out)
{
    editor x = {.e = {.scope = scope, .arena = arena, .diags = diags}};
    const cz_scope_file *file = cz_scope_file_at(scope, 0);
    const cz_source *source = file->source;
    const cz_node *tree = file->tree;
    for (int i = 0; i < cz_n_items(tree); i++) {
        const cz_node *child = cz_item(tree, i);
        if (child->kind == CZ_AST_OPTIMIZER ||
            (child->kind == CZ_AST_DEF &&
             !cz_def_has_states(scope, arena, child)))
            edit_rule(&x, child);
    }
    if (diags->n_errors == 0)
        put_edited(&x, source, out);
    cz_text_fini(&x.e.lines);
    return diags->n_errors == 0;
}
