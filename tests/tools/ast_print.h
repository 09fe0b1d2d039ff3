/* The syntax tree as nested lists, without places: what golden trees are. */
#ifndef CZ_TESTS_TOOLS_AST_PRINT_H
#define CZ_TESTS_TOOLS_AST_PRINT_H

#include "dsl/base/text.h"
#include "dsl/syntax/ast.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const flag_names[] = {
#define X(flag, name) name,
    CZ_FLAGS(X)
#undef X
};

static inline void put_quoted(const char *text, cz_text *out)
{
    cz_text_put(out, "\"", 1);
    for (const char *at = text; *at; at++) {
        if (*at == '"' || *at == '\\')
            cz_text_put(out, "\\", 1);
        cz_text_put(out, at, 1);
    }
    cz_text_put(out, "\"", 1);
}

/* Floats are told from integers by a point or an exponent. */
static inline void put_number(const cz_node *node, cz_text *out)
{
    if (cz_node_has(node, CZ_FLAG_INTEGER)) {
        cz_text_printf(out, " %" PRId64, node->integer);
        return;
    }
    char digits[32];
    snprintf(digits, sizeof digits, "%.15g", node->number);
    cz_text_printf(out, " %s%s", digits, strpbrk(digits, ".en") ? "" : ".0");
}

/* Everything of a node but its children and the closing parenthesis. */
static inline void put_head(const cz_node *node, cz_text *out)
{
    cz_text_printf(out, "(%s", cz_kind_name(node->kind));
    if (node->text && node->kind != CZ_AST_NUMBER) {
        cz_text_put(out, " ", 1);
        put_quoted(node->text, out);
    }
    if (node->kind == CZ_AST_BOOL)
        cz_text_puts(out, node->integer ? " true" : " false");
    if (node->kind == CZ_AST_NUMBER)
        put_number(node, out);
    for (int i = 0; i < CZ_N_FLAGS; i++)
        if (i != CZ_FLAG_BIT_INTEGER && cz_node_has(node, 1u << i))
            cz_text_printf(out, " :%s", flag_names[i]);
}

static inline void put_flat(const cz_node *node, cz_text *out)
{
    put_head(node, out);
    for (int i = 0; i < cz_n_children(node); i++) {
        cz_text_put(out, " ", 1);
        put_flat(cz_child(node, i), out);
    }
    cz_text_put(out, ")", 1);
}

enum { AST_WIDTH = 80 };

/* How many columns the node takes on one line, or more than `room`. */
static inline size_t flat_width(const cz_node *node, size_t room)
{
    cz_text head;
    cz_text_init(&head);
    put_head(node, &head);
    size_t width = head.n + 1;
    cz_text_fini(&head);
    for (int i = 0; i < cz_n_children(node) && width <= room; i++)
        width += 1 + flat_width(cz_child(node, i), room - width);
    return width;
}

static inline void put_node(const cz_node *node, size_t indent, cz_text *out)
{
    const size_t room = indent < AST_WIDTH ? AST_WIDTH - indent : 0;

    if (flat_width(node, room) <= room) {
        put_flat(node, out);
        return;
    }
    put_head(node, out);
    for (int i = 0; i < cz_n_children(node); i++) {
        cz_text_printf(out, "\n%*s", (int)indent + 2, "");
        put_node(cz_child(node, i), indent + 2, out);
    }
    cz_text_put(out, ")", 1);
}

static inline void ast_print(const cz_node *node, cz_text *out)
{
    put_node(node, 0, out);
    cz_text_put(out, "\n", 1);
}

#endif
