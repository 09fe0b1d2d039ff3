/* The syntax tree: what the text says, before anything is looked up.
 * One kind of node for everything; ast_kinds.def says what each kind's text
 * and flags mean and which children it has.  Code outside the parser reads
 * them by the accessors made of it.  Nodes live in the compile arena and are
 * not changed once the parser has returned them. */
#ifndef CZ_DSL_SYNTAX_AST_H
#define CZ_DSL_SYNTAX_AST_H

#include "dsl/base/arena.h"
#include "dsl/base/diag.h"
#include "dsl/base/text.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

/* CZ_AST_FILE, CZ_AST_MATMUL and so on. */
typedef enum cz_kind {
#define CZ_NODE(kind, name) CZ_AST_##kind,
#include "dsl/syntax/ast_kinds.def"
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
    X(MATRIX, "matrix")                                                        \
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
    int n_children;
    struct cz_node **children;
    const char *text; /* NUL-terminated, or NULL */
    double number;    /* NUMBER: the value, of an integer too */
    int64_t integer;  /* NUMBER with flag INTEGER, BOOL */
    cz_span span;
} cz_node;

static inline bool cz_node_has(const cz_node *node, unsigned flag)
{
    return (node->flags & flag) != 0;
}

/* A kind or a set of kinds that a child may have. */
typedef enum cz_kinds {
#define CZ_NODE(kind, name) CZ_KINDS_##kind,
#define CZ_KINDS(set, first, last) CZ_KINDS_##set,
#include "dsl/syntax/ast_kinds.def"
    CZ_N_KINDS
} cz_kinds;

/* ---- children by name ----------------------------------------------------
 * cz_use_paths(use), cz_if_else(statement): a function for each CZ_CHILD and
 * CZ_OPTION of ast_kinds.def.  The node must be of a kind that has it. */

static inline const cz_node *
cz_node_child_at(const cz_node *node, cz_kind first, cz_kind last, int at)
{
    assert(node->kind >= first && node->kind <= last && at < node->n_children);
    (void)first, (void)last;
    return node->children[at];
}

/* The first at or behind `from` of these kinds, or NULL. */
const cz_node *cz_node_option(const cz_node *node, cz_kind first, cz_kind last,
                              int from, cz_kinds kinds);

#define CZ_CHILD(of, first, last, at, child, kinds)                            \
    static inline const cz_node *cz_##of##_##child(const cz_node *node)        \
    {                                                                          \
        return cz_node_child_at(node, CZ_AST_##first, CZ_AST_##last, at);      \
    }
#define CZ_OPTION(of, first, last, from, child, kinds)                         \
    static inline const cz_node *cz_##of##_##child(const cz_node *node)        \
    {                                                                          \
        return cz_node_option(node, CZ_AST_##first, CZ_AST_##last, from,       \
                              CZ_KINDS_##kinds);                               \
    }
#include "dsl/syntax/ast_kinds.def"

/* ---- children in a row ---------------------------------------------------
 * for (int i = 0; i < cz_n_items(paths); i++) ... cz_item(paths, i) ...: the
 * CZ_ITEMS of a kind that has such. */

int cz_n_items(const cz_node *list);
/* NULL when there are fewer. */
const cz_node *cz_item(const cz_node *list, int i);
/* All of them. */
const cz_node *const *cz_items(const cz_node *list);

/* ---- children of any kind, for walks over whole trees -------------------- */

static inline int cz_n_children(const cz_node *node)
{
    return node->n_children;
}

static inline const cz_node *cz_child(const cz_node *node, int i)
{
    assert(i >= 0 && i < node->n_children);
    return node->children[i];
}

/* An ARG with another value: of `like`, or of `name` where that is NULL. */
const cz_node *cz_arg_with(cz_arena *arena, const cz_node *like,
                           const char *name, const cz_node *value);

/* "a.b[i].c": the text of a PATH of these steps. */
const char *cz_path_text(cz_arena *arena, cz_node *const *steps, int n);
/* The USE with the word `value` where its paths have an INDEX. */
const cz_node *cz_use_at(cz_arena *arena, const cz_node *use,
                         const char *value);
/* The PATH whose segment `s` has in its part `p`, a CHOICE, one alternative
 * alone, or one value of a RANGE. */
const cz_node *cz_path_with(cz_arena *arena, const cz_node *path, int s, int p,
                            const cz_node *item);

/* Does every node have the children that ast_kinds.def says? */
bool cz_ast_is_sound(const cz_node *node);

/* "matmul" for CZ_AST_MATMUL. */
const char *cz_kind_name(cz_kind kind);

#endif
