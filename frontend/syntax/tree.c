/* Making syntax nodes.  Every node is made here, so that the limit on depth
 * holds for every tree. */
#include "frontend/syntax/internal.h"

#include <string.h>

cz_list cz_list_add(cz_parser *parser, cz_list list, cz_node *node)
{
    /* The elements are pointers.  NOLINTNEXTLINE(bugprone-sizeof-expression) */
    *CZ_PUSH(parser->arena, list.items, list.n) = node;
    return list;
}

cz_list cz_list_join(cz_parser *parser, cz_list a, cz_list b)
{
    for (int i = 0; i < b.n; i++)
        a = cz_list_add(parser, a, b.items[i]);
    return a;
}

cz_span cz_span_join(cz_span a, cz_span b)
{
    a.length = b.offset + b.length - a.offset;
    return a;
}

/* Kids were set: derive the depth, and cut the tree where it is too deep. */
static cz_node *seal(cz_parser *parser, cz_node *node)
{
    const cz_node *const *children = (const cz_node *const *)node->children;
    int deepest = 0;
    for (int i = 0; i < node->n_children; i++)
        if (children[i]->depth > deepest)
            deepest = children[i]->depth;
    node->depth = deepest + 1;
    if (node->depth <= CZ_MAX_DEPTH)
        return node;
    cz_diag_error(parser->diags, CZ_TOO_LARGE, node->span,
                  "this is nested more than %d deep", CZ_MAX_DEPTH);
    *node = (cz_node){.kind = CZ_AST_ERROR, .depth = 1, .span = node->span};
    return node;
}

cz_node *cz_tree_node(cz_parser *parser, cz_kind kind, cz_span span,
                      const char *text, cz_list children)
{
    cz_node *node = CZ_NEW(parser->arena, cz_node, 1);
    *node = (cz_node){.kind = kind, .span = span, .text = text};
    node->n_children = children.n;
    if (children.n > 0) {
        node->children = CZ_NEW(parser->arena, cz_node *, children.n);
        for (int i = 0; i < children.n; i++)
            node->children[i] = children.items[i];
    }
    return seal(parser, node);
}

cz_node *cz_tree_token(cz_parser *parser, cz_kind kind, cz_token token)
{
    cz_node *node =
        cz_tree_node(parser, kind, token.span, token.text, CZ_NO_NODES);
    node->flags = token.flags;
    node->number = token.number;
    node->integer = token.integer;
    return node;
}

cz_node *cz_tree_bool(cz_parser *parser, cz_token token, bool value)
{
    cz_node *node =
        cz_tree_node(parser, CZ_AST_BOOL, token.span, NULL, CZ_NO_NODES);
    node->integer = value;
    return node;
}

cz_node *cz_tree_unary(cz_parser *parser, cz_kind kind, cz_span span,
                       cz_node *operand)
{
    return cz_tree_node(parser, kind, span, NULL, CZ_NODES(operand));
}

cz_node *cz_tree_binary(cz_parser *parser, cz_kind kind, cz_node *left,
                        cz_node *right)
{
    return cz_tree_node(parser, kind, cz_span_join(left->span, right->span),
                        NULL, CZ_NODES(left, right));
}

cz_node *cz_tree_pipe(cz_parser *parser, cz_node *left, cz_node *call)
{
    cz_node *first =
        cz_tree_node(parser, CZ_AST_ARG, left->span, NULL, CZ_NODES(left));
    const cz_list args =
        cz_list_join(parser, cz_list_add(parser, CZ_NO_NODES, first),
                     (cz_list){call->children, call->n_children});
    cz_node *all =
        cz_tree_node(parser, CZ_AST_CALL, call->span, call->text, args);
    return cz_tree_node(parser, CZ_AST_PIPE,
                        cz_span_join(left->span, call->span), NULL,
                        CZ_NODES(all));
}

cz_node *cz_tree_mark(cz_node *node, unsigned flag, cz_span last)
{
    node->flags |= flag;
    node->span = cz_span_join(node->span, last);
    return node;
}

cz_node *cz_tree_parens(cz_node *node, cz_span span)
{
    node->flags |= CZ_FLAG_PARENS;
    node->span = span;
    return node;
}

/* The same node with one more child. */
static cz_node *extend(cz_parser *parser, cz_node *node, cz_node *child,
                       cz_span last)
{
    const cz_list children =
        cz_list_add(parser,
                    cz_list_join(parser, CZ_NO_NODES,
                                 (cz_list){node->children, node->n_children}),
                    child);
    node->children = children.items;
    node->n_children = children.n;
    node->span = cz_span_join(node->span, last);
    return seal(parser, node);
}

/* ---- parts of statements --------------------------------------------------
 */

/* NAME, NAME = E or const NAME = E; NULL where it is none of them. */
static cz_node *formal_of(cz_parser *parser, const cz_node *arg)
{
    const cz_node *value = arg->n_children ? arg->children[0] : NULL;
    const bool is_bare = !arg->text && value && value->kind == CZ_AST_NAME &&
                         !cz_node_has(value, CZ_FLAG_PARENS);
    const bool is_named = arg->text != NULL;

    if (!is_bare && !is_named)
        return NULL;
    cz_node *formal = cz_tree_node(parser, CZ_AST_FORMAL, arg->span,
                                   is_bare ? value->text : arg->text,
                                   (cz_list){arg->children, is_named});
    formal->flags = arg->flags;
    return formal;
}

cz_node *cz_tree_formals(cz_parser *parser, cz_span span, cz_list args)
{
    cz_list formals = CZ_NO_NODES;

    for (int i = 0; i < args.n; i++) {
        cz_node *formal = formal_of(parser, args.items[i]);
        if (formal)
            formals = cz_list_add(parser, formals, formal);
        else if (args.items[i]->kind != CZ_AST_ERROR)
            cz_diag_error(parser->diags, CZ_SYNTAX, args.items[i]->span,
                          "what is defined here takes 'name' or "
                          "'name = default'");
    }
    return cz_tree_node(parser, CZ_AST_FORMALS, span, NULL, formals);
}

cz_list cz_tree_states(cz_parser *parser, cz_list names, cz_node *type,
                       cz_node *initial)
{
    cz_list states = CZ_NO_NODES;

    if (!initial) {
        const cz_token zero = {type->span, "0", 0, 0, CZ_FLAG_INTEGER};
        initial = cz_tree_token(parser, CZ_AST_NUMBER, zero);
    }
    for (int i = 0; i < names.n; i++) {
        const cz_node *name = names.items[i];
        states = cz_list_add(parser, states,
                             cz_tree_node(parser, CZ_AST_STATE, name->span,
                                          name->text, CZ_NODES(type, initial)));
    }
    return states;
}

cz_node *cz_tree_matrix(cz_parser *parser, cz_node *param, cz_token word)
{
    if (strcmp(word.text, "matrix") == 0)
        return cz_tree_mark(param, CZ_FLAG_MATRIX, word.span);
    cz_diag_error(parser->diags, CZ_SYNTAX, word.span,
                  "the view of a parameter is 'matrix'");
    return param;
}

cz_node *cz_tree_view(cz_parser *parser, cz_node *use, cz_token word)
{
    static const struct view {
        const char *word;
        unsigned flag;
    } views[] = {
        {"blocks", 0}, {"whole", CZ_FLAG_WHOLE}, {"each", CZ_FLAG_EACH}};

    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (strcmp(views[i].word, word.text) == 0)
            return cz_tree_mark(use, views[i].flag, word.span);
    cz_diag_error(parser->diags, CZ_SYNTAX, word.span,
                  "a view is 'blocks', 'whole', 'each' or 'tiles N'");
    return use;
}

static cz_node *second_time(cz_parser *parser, cz_node *node, cz_token word)
{
    cz_diag_error(parser->diags, CZ_SYNTAX, word.span,
                  "'%s' stands here for the second time", word.text);
    return node;
}

cz_node *cz_tree_once(cz_parser *parser, cz_node *node, cz_node *child, int n,
                      cz_token word)
{
    if (node->n_children <= n)
        return extend(parser, node, child, child->span);
    return second_time(parser, node, word);
}

cz_node *cz_tree_where(cz_parser *parser, cz_node *use, cz_node *condition,
                       cz_token word)
{
    if (use->kind == CZ_AST_USE && cz_use_condition(use))
        return second_time(parser, use, word);
    return extend(parser, use, condition, condition->span);
}

cz_node *cz_tree_attribute(cz_parser *parser, cz_node *node, cz_node *child,
                           cz_token word)
{
    for (int i = 0; i < node->n_children; i++)
        if (node->children[i]->kind == child->kind)
            return second_time(parser, node, word);
    return extend(parser, node, child, child->span);
}

cz_node *cz_tree_on(cz_parser *parser, cz_node *clause, cz_token path)
{
    cz_node *paths = cz_tree_node(parser, CZ_AST_PATHS, path.span, NULL,
                                  CZ_NODES(cz_path_of_token(parser, path)));
    return extend(parser, clause, paths, path.span);
}
