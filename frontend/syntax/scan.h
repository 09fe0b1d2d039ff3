/* The scanner: bytes to tokens.  Private to the parser.
 * scan.re finds single tokens; lines.c decides which newlines count. */
#ifndef CZ_FRONTEND_SYNTAX_SCAN_H
#define CZ_FRONTEND_SYNTAX_SCAN_H

#include "dsl/syntax/ast.h"

typedef struct cz_token {
    cz_span span;
    const char *text; /* names, strings, numbers, paths; in the arena */
    double number;    /* NUMBER */
    int64_t integer;  /* NUMBER with CZ_FLAG_INTEGER */
    unsigned flags;   /* NUMBER: CZ_FLAG_INTEGER, CZ_FLAG_BYTES */
} cz_token;

/* An open bracket: its kind of token, and where it stands. */
typedef struct cz_open {
    int kind;
    cz_span span;
} cz_open;

typedef struct cz_scanner {
    cz_arena *arena;
    const cz_source *source;
    cz_diags *diags;
    const unsigned char *cursor, *limit, *line_start;
    uint32_t line;
    int previous;  /* kind of the last token handed out; 0 at the start */
    int held;      /* a token that waits behind an inserted NEWLINE, or 0 */
    bool at_end;   /* the end of the text was reached */
    bool too_deep; /* reported; nothing more is scanned */
    cz_token held_token;
    cz_open open[CZ_MAX_DEPTH];
    int n_open;
} cz_scanner;

void cz_scan_init(cz_scanner *scanner, cz_arena *arena, const cz_source *source,
                  cz_diags *diags);

/* The next token; returns its kind (TOK_... of gram.h), 0 at the end.  Before
 * `}` and the end a NEWLINE is inserted, and newlines that end no statement
 * are left out, so that every statement is followed by exactly one.  With
 * `path`, text that can be a path is one. */
int cz_scan(cz_scanner *scanner, bool path, cz_token *token);

/* Is the innermost open bracket a round or a square one? */
bool cz_scan_in_brackets(const cz_scanner *scanner);

/* Forget the round and square brackets that are open: after an error inside
 * them the next newline ends the statement all the same. */
void cz_scan_resync(cz_scanner *scanner);

/* The kind of a keyword that may begin a statement where a path may stand, or
 * 0 when `text` is none. */
int cz_scan_keyword(const char *text);

/* What a message calls this kind of token. */
const char *cz_token_name(int kind);
/* The spelling of a keyword, or NULL for other kinds. */
const char *cz_token_keyword(int kind);

/* Single tokens, newlines among them; scan.re. */
int cz_scan_one(cz_scanner *scanner, cz_token *token);
/* A path at the cursor, or 0 and nothing consumed; blanks are skipped. */
int cz_scan_path(cz_scanner *scanner, cz_token *token);

#endif
