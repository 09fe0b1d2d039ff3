/* Making syntax nodes: what the grammar's actions call.  Private to the
 * parser. */
#ifndef CZ_FRONTEND_SYNTAX_TREE_H
#define CZ_FRONTEND_SYNTAX_TREE_H

#include "frontend/syntax/scan.h"

typedef struct cz_list {
    cz_node **items;
    int n;
} cz_list;

typedef struct cz_parser {
    cz_arena *arena;
    cz_diags *diags;
    cz_scanner scanner;
    cz_node *file;       /* the result, once the whole text was read */
    bool end_reported;   /* an error at the end of the text: one is enough */
    uint32_t error_line; /* of the last syntax error: one a line is enough */
    bool syntax_error;   /* set by the grammar, cleared by whoever recovers */
    struct cz_seen_tokens *tokens; /* kept on request, or NULL */
} cz_parser;

cz_list cz_list_add(cz_parser *parser, cz_list list, cz_node *node);
cz_list cz_list_join(cz_parser *parser, cz_list a, cz_list b);

/* From the start of a to the end of b, which stands behind it. */
cz_span cz_span_join(cz_span a, cz_span b);

/* A node with these children.  Deeper than CZ_MAX_DEPTH it is reported, and an
 * ERROR node comes back. */
cz_node *cz_tree_node(cz_parser *parser, cz_kind kind, cz_span span,
                      const char *text, cz_list children);
#define CZ_NODES(...)                                                          \
    ((cz_list){(cz_node *[]){__VA_ARGS__},                                     \
               (int)(sizeof((cz_node *[]){__VA_ARGS__}) / sizeof(cz_node *))})
#define CZ_NO_NODES ((cz_list){NULL, 0})

/* A node without children for one token, with its text and number. */
cz_node *cz_tree_leaf(cz_parser *parser, cz_kind kind, cz_token token);
cz_node *cz_tree_bool(cz_parser *parser, cz_token token, bool value);
cz_node *cz_tree_unary(cz_parser *parser, cz_kind kind, cz_span span,
                       cz_node *operand);
cz_node *cz_tree_binary(cz_parser *parser, cz_kind kind, cz_node *left,
                        cz_node *right);
/* left |> call: the call with `left` before its arguments. */
cz_node *cz_tree_pipe(cz_parser *parser, cz_node *left, cz_node *call);
/* The same node, with this flag, and reaching to the end of `last`. */
cz_node *cz_tree_mark(cz_node *node, unsigned flag, cz_span last);
/* The same node with one more child. */
cz_node *cz_tree_extend(cz_parser *parser, cz_node *node, cz_node *child,
                        cz_span last);

/* FORMALS from what was parsed as arguments: names, with or without value. */
cz_node *cz_tree_formals(cz_parser *parser, cz_span span, cz_list args);
/* One STATE per name. */
cz_list cz_tree_states(cz_parser *parser, cz_list names, cz_node *type,
                       cz_node *initial);
/* `use` with its view by word. */
cz_node *cz_tree_view(cz_parser *parser, cz_node *use, cz_token word);
/* One more child for a node that has `n` of them by now; when it has more, the
 * clause that `word` begins stands there twice. */
cz_node *cz_tree_once(cz_parser *parser, cz_node *node, cz_node *child, int n,
                      cz_token word);
/* `use` with its condition, which `word` begins. */
cz_node *cz_tree_where(cz_parser *parser, cz_node *use, cz_node *condition,
                       cz_token word);
/* One more child, which `word` begins: of each kind only one. */
cz_node *cz_tree_attribute(cz_parser *parser, cz_node *node, cz_node *child,
                           cz_token word);
/* `on PATH` behind a clause. */
cz_node *cz_tree_on(cz_parser *parser, cz_node *clause, cz_token path);
/* An expression in parentheses. */
cz_node *cz_tree_parens(cz_node *node, cz_span span);

/* ---- path.c ---------------------------------------------------------------
 */

/* A path that is being read. */
typedef struct cz_path {
    cz_list segments;
    cz_span span;
} cz_path;

cz_path cz_path_begin(cz_parser *parser, cz_token token);
/* .rest behind an index. */
cz_path cz_path_more(cz_parser *parser, cz_path path, cz_token token);
/* [name < bound] */
cz_path cz_path_index(cz_parser *parser, cz_path path, cz_token name,
                      cz_node *bound, cz_token end);
/* The PATH node.  `own`: the path names what is defined, so that a wildcard
 * in it is reported. */
cz_node *cz_path_node(cz_parser *parser, cz_path path);
cz_node *cz_path_own(cz_parser *parser, cz_path path);
cz_node *cz_path_of_token(cz_parser *parser, cz_token token);

#endif
