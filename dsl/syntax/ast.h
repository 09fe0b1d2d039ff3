/* The syntax tree: what the text says, before anything is looked up.
 * One kind of node for everything; ast_kinds.def says what each kind's text,
 * flags and kids mean.  Nodes live in the compile arena and are not changed
 * once the parser has returned them. */
#ifndef CZ_DSL_SYNTAX_AST_H
#define CZ_DSL_SYNTAX_AST_H

#include "dsl/base/arena.h"
#include "dsl/base/diag.h"
#include "dsl/base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* CZ_AST_FILE, CZ_AST_MATMUL and so on. */
typedef enum cz_kind {
#define CZ_NODE(kind, name) CZ_AST_##kind,
#include "dsl/syntax/ast_kinds.def"
#undef CZ_NODE
    CZ_AST_N_KINDS
} cz_kind;

/* Flags of nodes; which kind may carry which stands in ast_kinds.def. */
#define CZ_FLAGS(X)                                                            \
    X(PARENS, "parens")                                                        \
    X(INTEGER, "integer")                                                      \
    X(BYTES, "bytes")                                                          \
    X(CONST, "const")                                                          \
    X(WHOLE, "whole")                                                          \
    X(EACH, "each")                                                            \
    X(NAMED, "named")                                                          \
    X(WIDE, "wide")                                                            \
    X(LAST, "last")                                                            \
    X(CYCLE, "cycle")                                                          \
    X(PATTERN, "pattern")                                                      \
    X(TRANSPOSED, "transposed")                                                \
    X(FROZEN, "frozen")                                                        \
    X(REDUCED, "reduced")                                                      \
    X(SUM, "sum")                                                              \
    X(CHUNK, "chunk")                                                          \
    X(ANY, "any")                                                              \
    X(MEASURED, "measured")                                                    \
    X(STAGGERED, "staggered")

enum {
#define X(flag, name) CZ_FLAG_BIT_##flag,
    CZ_FLAGS(X)
#undef X
        CZ_N_FLAGS
};

/* CZ_FLAG_PARENS and so on: one bit each. */
enum {
#define X(flag, name) CZ_FLAG_##flag = 1 << CZ_FLAG_BIT_##flag,
    CZ_FLAGS(X)
#undef X
};

/* No tree is deeper, so walkers may recurse. */
enum { CZ_MAX_DEPTH = 256 };

typedef struct cz_node {
    cz_kind kind;
    unsigned flags;
    int depth; /* 1 for a leaf; at most CZ_MAX_DEPTH */
    int n_kids;
    struct cz_node **kids;
    const char *text; /* NUL-terminated, or NULL */
    double number;    /* NUMBER: the value, of an integer too */
    int64_t integer;  /* NUMBER with flag INTEGER, BOOL */
    cz_span span;
} cz_node;

/* The i-th kid, or NULL when there are fewer. */
static inline cz_node *cz_node_kid(const cz_node *node, int i)
{
    return i < node->n_kids ? node->kids[i] : NULL;
}

static inline bool cz_node_has(const cz_node *node, unsigned flag)
{
    return (node->flags & flag) != 0;
}

/* A USE's condition and its TILES, or NULL: they stand in any order. */
const cz_node *cz_use_condition(const cz_node *use);
const cz_node *cz_use_tiles(const cz_node *use);

/* "matmul" for CZ_AST_MATMUL: the name that cz_ast_print uses. */
const char *cz_kind_name(cz_kind kind);

/* Print the tree as nested lists, without places: the golden form. */
void cz_ast_print(const cz_node *node, cz_text *out);

#endif
