/* Private to frontend/format: a text as statements, blocks and comments,
 * and as the lines that it becomes.  All of it lives in the caller's arena. */
#ifndef CZ_FRONTEND_FORMAT_INTERNAL_H
#define CZ_FRONTEND_FORMAT_INTERNAL_H

#include "frontend/syntax/parse.h"

enum { CZ_FMT_LIMIT = 92, CZ_FMT_INDENT = 4 };

typedef struct cz_fmt_comment {
    const char *text; /* from '#' on, without blanks at its end */
    size_t n;
    bool own_line; /* nothing stands before it on its line */
} cz_fmt_comment;

/* A token, and the room before it. */
typedef struct cz_fmt_word {
    int kind; /* TOK_... of gram.h */
    uint32_t offset;
    const char *text; /* n bytes of the source */
    size_t n;
    int width;  /* columns */
    int space;  /* blanks before it, unless it begins a line */
    bool tight; /* a bracket that belongs to the name before it, a sign, or an
                   operator without blanks */
    bool rows;  /* the [ of a list of tuples: when broken, one a line */
    cz_fmt_comment *comments; /* between it and the next word of its statement,
                                 which begins a line then */
    int n_comments;
} cz_fmt_word;

/* Words, and the block that follows them. */
typedef struct cz_fmt_run {
    int first, n;               /* of cz_fmt.words; braces are not among them */
    struct cz_fmt_block *block; /* NULL: none */
} cz_fmt_run;

/* A statement, or a comment with lines of its own (n_runs is 0). */
typedef struct cz_fmt_item {
    cz_fmt_run *runs;
    int n_runs;
    bool blank_before;             /* the text has a blank line there */
    const cz_fmt_comment *comment; /* behind the statement, or NULL */
} cz_fmt_item;

typedef struct cz_fmt_block {
    cz_fmt_item *items;
    int n_items;
    bool is_blocks;                /* of `blocks`: separated by commas too */
    bool one_line;                 /* { a = 1 } */
    const cz_fmt_comment *comment; /* behind the brace that opens it, or NULL */
} cz_fmt_block;

typedef struct cz_fmt {
    cz_arena *arena;
    const cz_source *source;
    cz_fmt_word *words;
    int n_words;
    cz_fmt_block *file;
} cz_fmt;

typedef struct cz_fmt_line {
    const char *text;  /* without indentation; "" below a comment alone */
    int indent, width; /* columns */
    bool blank_before;
    const cz_fmt_comment *comment;
} cz_fmt_line;

typedef struct cz_fmt_lines {
    cz_fmt_line *list;
    int n;
} cz_fmt_lines;

/* ---- the stages, in order ------------------------------------------------ */

/* Tokens and the gaps between them to words, statements and blocks. */
void cz_fmt_read(cz_fmt *fmt, const cz_seen_tokens *tokens);
/* Blanks between words, as the tree says what they mean. */
void cz_fmt_space(cz_fmt *fmt, const cz_node *file);
/* Which blocks stand on one line, and blanks that align columns. */
void cz_fmt_align(cz_fmt *fmt);
/* Lines, none longer than the limit where a break is to be had. */
void cz_fmt_break(const cz_fmt *fmt, cz_fmt_lines *lines);

/* ---- what they share ------------------------------------------------------
 */

bool cz_fmt_is_open(int kind);  /* ( or [ */
bool cz_fmt_is_close(int kind); /* ) or ] */

/* Columns that a statement takes on one line, its indentation left out, up to
 * and with word `stop`, or as far as its first line goes when stop is -1: all
 * of it, or up to the brace of the first block that is broken. */
int cz_fmt_width(const cz_fmt *fmt, const cz_fmt_item *item, int stop);

/* Are there comments between its words? */
bool cz_fmt_has_comments(const cz_fmt *fmt, const cz_fmt_item *item);

/* The first word of a statement, or NULL for a comment. */
const cz_fmt_word *cz_fmt_first(const cz_fmt *fmt, const cz_fmt_item *item);

/* Has child i the very children of child i - 1?  `state a, b : T = E` is two
 * nodes with one T and one E: to walk them once is enough, and no slower than
 * the text is long. */
bool cz_fmt_same_children(const cz_node *node, int i);

#endif
