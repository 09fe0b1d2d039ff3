/* Text to syntax tree.  Looks nothing up: names, shapes and types are the
 * checker's. */
#ifndef CZ_FRONTEND_SYNTAX_PARSE_H
#define CZ_FRONTEND_SYNTAX_PARSE_H

#include "dsl/syntax/ast.h"

/* Longest source text in bytes. */
#define CZ_MAX_SOURCE_BYTES ((size_t)4 << 20)

/* Parse one file.  `source->bytes` is NUL-terminated at n and must live as
 * long as the arena: spans point into it.  Errors go to `diags`; what could
 * be read is returned all the same, as a FILE node, never NULL.  Check
 * diags->n_errors before use. */
cz_node *cz_parse(cz_arena *arena, const cz_source *source, cz_diags *diags);

/* A token as the grammar saw it.  `kind` is TOK_... of gram.h; an inserted
 * NEWLINE has length 0. */
typedef struct cz_seen_token {
    int kind;
    cz_span span;
} cz_seen_token;

typedef struct cz_seen_tokens {
    cz_seen_token *list; /* in the arena of the parse */
    int n;
} cz_seen_tokens;

/* The same, and all tokens up to the end (kind 0), for who needs the text's
 * layout too: between them stand only blanks, line ends that mean nothing,
 * and comments.  Complete only without errors. */
cz_node *cz_parse_tokens(cz_arena *arena, const cz_source *source,
                         cz_diags *diags, cz_seen_tokens *tokens);

/* The lines of the comment that touches a definition, without their #. */
const char *cz_comment_of(cz_arena *arena, const cz_node *node);

/* The text of one number, as of an option: what a source means by 4096, 1M,
 * 4Ki or 1.5e6, where that is an integer and no number of bytes. */
bool cz_parse_integer(const char *text, int64_t *out);

#endif
