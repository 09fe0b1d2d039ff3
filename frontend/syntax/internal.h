/* The parser inside: bytes to tokens, tokens to nodes.  Private to
 * frontend/syntax. */
#ifndef CZ_FRONTEND_SYNTAX_INTERNAL_H
#define CZ_FRONTEND_SYNTAX_INTERNAL_H

#include "dsl/syntax/ast.h"

/* ---- the scanner: scan.re finds tokens, lines.c which newlines count ---- */

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

/* ---- making nodes: what the actions of the grammar call ---- */

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
cz_node *cz_tree_token(cz_parser *parser, cz_kind kind, cz_token token);
cz_node *cz_tree_bool(cz_parser *parser, cz_token token, bool value);
cz_node *cz_tree_unary(cz_parser *parser, cz_kind kind, cz_span span,
                       cz_node *operand);
cz_node *cz_tree_binary(cz_parser *parser, cz_kind kind, cz_node *left,
                        cz_node *right);
/* left |> call: the call with `left` before its arguments. */
cz_node *cz_tree_pipe(cz_parser *parser, cz_node *left, cz_node *call);
/* The same node, with this flag, and reaching to the end of `last`. */
cz_node *cz_tree_mark(cz_node *node, unsigned flag, cz_span last);

/* FORMALS from what was parsed as arguments: names, with or without value. */
cz_node *cz_tree_formals(cz_parser *parser, cz_span span, cz_list args);
/* One STATE per name. */
cz_list cz_tree_states(cz_parser *parser, cz_list names, cz_node *type,
                       cz_node *initial);
/* A PARAM with its view by word, of which there is one. */
cz_node *cz_tree_matrix(cz_parser *parser, cz_node *param, cz_token word);
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
cz_node *cz_path_own(cz_parser *parser, cz_path path);
cz_node *cz_path_node(cz_parser *parser, cz_path path);
cz_node *cz_path_of_token(cz_parser *parser, cz_token token);

/* ---- what the generated parser offers (lemon emits no prototypes) ---- */

typedef struct yyParser cz_grammar;

/* A parser object in the arena, its results going to `parser`; its stack is on
 * the heap until it is closed. */
cz_grammar *cz_grammar_open(cz_parser *parser);
void cz_grammar_close(cz_grammar *grammar);
/* Feed one token; kind 0 ends the text. */
void cz_grammar_feed(cz_grammar *grammar, int kind, cz_token token);
/* Would this token be accepted next, by its own kind and not as a name? */
bool cz_grammar_accepts(const cz_grammar *grammar, int kind);
/* How many symbols wait on the stack for the rest of their rule. */
size_t cz_grammar_depth(const cz_grammar *grammar);
/* How many kinds of token there are; they count from 1. */
int cz_grammar_n_tokens(void);

/* After an error was recovered: the next one is reported again. */
void cz_grammar_recovered(cz_grammar *grammar);

/* Called when the grammar's stack cannot grow: reports it, and ends the
 * parse; parse.c. */
void cz_parse_too_deep(cz_parser *parser);

/* ---- what the grammar would have taken instead ---- */

enum { CZ_MAX_TOKEN_KINDS = 128 };

typedef struct cz_expected {
    int kinds[CZ_MAX_TOKEN_KINDS];
    int n;
} cz_expected;

/* All kinds of token that the grammar accepts now. */
void cz_expected_collect(cz_expected *expected, const cz_grammar *grammar);
/* Report this token, and what was expected; suggest the keyword meant. */
void cz_expected_report(const cz_expected *expected, cz_parser *parser,
                        int kind, cz_token token);

#endif
