/* Expressions: their text, with names as the rule has them and without chains.
 */
#include "frontend/rule/expand/internal.h"
#include "frontend/rule/expand/expand.h"

#include <string.h>

bool cz_expand_is_plain(const cz_node *node)
{
    return node->kind == CZ_AST_NAME || node->kind == CZ_AST_NUMBER ||
           node->kind == CZ_AST_BOOL;
}

bool cz_expand_has_sugar(cz_expansion *e, const cz_node *node)
{
    const cz_expand_frame root = {.states = ""};
    if (node->kind == CZ_AST_PIPE ||
        (node->kind == CZ_AST_CALL && cz_expand_callee(e, &root, node)))
        return true;
    for (int i = 0; i < cz_n_children(node); i++)
        if (cz_expand_has_sugar(e, cz_child(node, i)))
            return true;
    return false;
}

/* ---- names ---- */

static void put_name(cz_expansion *e, const cz_expand_frame *frame,
                     const cz_node *node, cz_text *text)
{
    const char *own = cz_expand_find(frame, node->text);
    if (!own) {
        /* What a def takes from the files must be no name of the rule. */
        if (frame->def && cz_expand_is_taken(e, node->text)) {
            cz_diag_error(
                e->diags, CZ_DUPLICATE_NAME, e->root->span,
                "'%s' is something else in '%s' than in '%s': it needs "
                "another name here to be written as equations",
                node->text, e->root->text, frame->def->text);
            cz_diag_note(e->diags, node->span, "used here");
        }
    }
    cz_text_puts(text, own ? own : node->text);
}

/* ---- calls ---- */

static void put_call(cz_expansion *e, cz_expand_frame *frame,
                     const cz_node *call, cz_text *text)
{
    const cz_node *def = cz_expand_callee(e, frame, call);
    if (def) {
        cz_text_puts(text, cz_expand_call(e, frame, call, def, NULL));
        return;
    }
    put_name(e, frame, call, text);
    cz_text_puts(text, "(");
    for (int i = 0; i < cz_n_items(call); i++) {
        const cz_node *arg = cz_item(call, i);
        cz_text_puts(text, i ? ", " : "");
        if (arg->text)
            cz_text_printf(text, "%s = ", arg->text);
        cz_expand_put(e, frame, cz_arg_value(arg), text);
    }
    cz_text_puts(text, ")");
}

/* ---- the rest, as it stands ---- */

static void put_source(const cz_node *node, uint32_t from, uint32_t to,
                       cz_text *text)
{
    cz_text_put(text, node->span.source->bytes + from, to - from);
}

static void put_around(cz_expansion *e, cz_expand_frame *frame,
                       const cz_node *node, cz_text *text)
{
    uint32_t at = node->span.offset;
    for (int i = 0; i < cz_n_children(node); i++) {
        const cz_span span = cz_child(node, i)->span;
        put_source(node, at, span.offset, text);
        cz_expand_put(e, frame, cz_child(node, i), text);
        at = span.offset + span.length;
    }
    put_source(node, at, node->span.offset + node->span.length, text);
}

void cz_expand_put(cz_expansion *e, cz_expand_frame *frame, const cz_node *node,
                   cz_text *text)
{
    if (node->kind == CZ_AST_NAME)
        put_name(e, frame, node, text);
    else if (node->kind == CZ_AST_NUMBER)
        cz_text_puts(text, node->text);
    else if (node->kind == CZ_AST_CALL)
        put_call(e, frame, node, text);
    else if (node->kind == CZ_AST_PIPE)
        put_call(e, frame, cz_pipe_call(node), text);
    else
        put_around(e, frame, node, text);
}

const char *cz_expand_text(cz_expansion *e, cz_expand_frame *frame,
                           const cz_node *node)
{
    cz_text text = {0};
    cz_expand_put(e, frame, node, &text);
    const char *kept = cz_arena_copy(e->arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return kept;
}

const char *cz_expand_value(cz_expansion *e, cz_expand_frame *frame,
                            const cz_node *node, const char *name)
{
    const cz_node *call = cz_sole_call(node);
    const cz_node *def = call ? cz_expand_callee(e, frame, call) : NULL;
    return def && name ? cz_expand_call(e, frame, call, def, name)
                       : cz_expand_text(e, frame, node);
}
