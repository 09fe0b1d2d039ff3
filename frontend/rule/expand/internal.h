/* Private to frontend/rule/expand*.c. */
#ifndef CZ_FRONTEND_RULE_EXPAND_INTERNAL_H
#define CZ_FRONTEND_RULE_EXPAND_INTERNAL_H

#include "frontend/names/sources.h"

/* What a name of a def is called in the optimizer. */
typedef struct cz_expand_name {
    const char *name, *text;
} cz_expand_name;

typedef struct cz_expansion {
    cz_scope *scope;
    cz_arena *arena;
    cz_diags *diags;
    const cz_node *root; /* the OPTIMIZER, or a DEF without states */
    const char **taken;  /* names that it has */
    int n_taken;
    cz_text lines; /* statements that come before the one under way */
} cz_expansion;

/* The names of a def's call, or of the root. */
typedef struct cz_expand_frame {
    const cz_node *def; /* NULL: the root's */
    const char
        *states; /* what the names of states begin with; "" in the root */
    cz_expand_name *names;
    int n_names;
} cz_expand_frame;

/* ---- expr.c ---- */

/* Whether the node has something to be expanded. */
bool cz_expand_has_sugar(cz_expansion *e, const cz_node *node);
/* The expression's text in the root; statements that it needs go to e->lines.
 */
void cz_expand_put(cz_expansion *e, cz_expand_frame *frame, const cz_node *node,
                   cz_text *text);
const char *cz_expand_text(cz_expansion *e, cz_expand_frame *frame,
                           const cz_node *node);
/* The value of a statement that binds `name` (NULL: none) to it. */
const char *cz_expand_value(cz_expansion *e, cz_expand_frame *frame,
                            const cz_node *node, const char *name);
/* A name or a literal: worth no name of its own. */
bool cz_expand_is_plain(const cz_node *node);

/* ---- call.c ---- */

/* The DEF with states that is called, or NULL. */
const cz_node *cz_expand_callee(cz_expansion *e, const cz_expand_frame *frame,
                                const cz_node *call);
/* Statements of the call to e->lines; what it returns.  `name`: what the value
 * is bound to, or NULL. */
const char *cz_expand_call(cz_expansion *e, cz_expand_frame *frame,
                           const cz_node *call, const cz_node *def,
                           const char *name);

/* ---- name.c ---- */

/* Fills `taken`. */
void cz_expand_collect(cz_expansion *e);
bool cz_expand_is_taken(const cz_expansion *e, const char *name);
/* What it is called in the root, or NULL. */
const char *cz_expand_find(const cz_expand_frame *frame, const char *name);
void cz_expand_rename(cz_expansion *e, cz_expand_frame *frame, const char *name,
                      const char *text);
/* A new name in the root for a def's `name`, which keeps it. */
const char *cz_expand_own(cz_expansion *e, cz_expand_frame *frame,
                          const char *name);

#endif
