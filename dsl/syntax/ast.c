/* Printing the syntax tree as nested lists. */
#include "dsl/syntax/ast.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
#define CZ_NODE(kind, name) name,
#include "dsl/syntax/ast_kinds.def"
#undef CZ_NODE
};

static const char *const flag_names[] = {
#define X(flag, name) name,
    CZ_FLAGS(X)
#undef X
};

const char *cz_kind_name(cz_kind kind)
{
    return kind_names[kind];
}

static void put_quoted(const char *text, cz_text *out)
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
static void put_number(const cz_node *node, cz_text *out)
{
    if (cz_node_has(node, CZ_FLAG_INTEGER)) {
        cz_text_printf(out, " %" PRId64, node->integer);
        return;
    }
    char digits[32];
    snprintf(digits, sizeof digits, "%.15g", node->number);
    cz_text_printf(out, " %s%s", digits, strpbrk(digits, ".en") ? "" : ".0");
}

/* Everything of a node but its kids and the closing parenthesis. */
static void put_head(const cz_node *node, cz_text *out)
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

static void put_flat(const cz_node *node, cz_text *out)
{
    put_head(node, out);
    for (int i = 0; i < node->n_kids; i++) {
        cz_text_put(out, " ", 1);
        put_flat(node->kids[i], out);
    }
    cz_text_put(out, ")", 1);
}

enum { WIDTH = 80 };

/* How many columns the node takes on one line, or more than `room`. */
static size_t flat_width(const cz_node *node, size_t room)
{
    cz_text head;
    cz_text_init(&head);
    put_head(node, &head);
    size_t width = head.n + 1;
    cz_text_fini(&head);
    for (int i = 0; i < node->n_kids && width <= room; i++)
        width += 1 + flat_width(node->kids[i], room - width);
    return width;
}

static void put_node(const cz_node *node, size_t indent, cz_text *out)
{
    const size_t room = indent < WIDTH ? WIDTH - indent : 0;

    if (flat_width(node, room) <= room) {
        put_flat(node, out);
        return;
    }
    put_head(node, out);
    for (int i = 0; i < node->n_kids; i++) {
        cz_text_printf(out, "\n%*s", (int)indent + 2, "");
        put_node(node->kids[i], indent + 2, out);
    }
    cz_text_put(out, ")", 1);
}

void cz_ast_print(const cz_node *node, cz_text *out)
{
    put_node(node, 0, out);
    cz_text_put(out, "\n", 1);
}

/* Behind the call and the paths. */
enum { FIRST_CLAUSE = 2 };

static const cz_node *find_clause(const cz_node *use, bool tiles)
{
    for (int i = FIRST_CLAUSE; i < use->n_kids; i++)
        if ((use->kids[i]->kind == CZ_AST_TILES) == tiles)
            return use->kids[i];
    return NULL;
}

const cz_node *cz_use_condition(const cz_node *use)
{
    return find_clause(use, false);
}

const cz_node *cz_use_tiles(const cz_node *use)
{
    return find_clause(use, true);
}
