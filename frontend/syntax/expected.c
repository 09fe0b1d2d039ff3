/* "unexpected `x`; expected ')' or ','". */
#include "frontend/syntax/internal.h"

#include "gram.h"

#include <string.h>

/* Longer lists help nobody. */
enum { MAX_LISTED = 10 };

void cz_expected_collect(cz_expected *expected, const cz_grammar *grammar)
{
    const int n = cz_grammar_n_tokens();

    expected->n = 0;
    for (int kind = 1; kind < n && kind < CZ_MAX_TOKEN_KINDS; kind++)
        if (cz_grammar_accepts(grammar, kind))
            expected->kinds[expected->n++] = kind;
}

static bool has_kind(const cz_expected *expected, int kind)
{
    for (int i = 0; i < expected->n; i++)
        if (expected->kinds[i] == kind)
            return true;
    return false;
}

/* ---- kinds that are named together ----------------------------------------
 */

static const int expression_kinds[] = {TOK_ID,     TOK_NUMBER, TOK_STRING,
                                       TOK_TRUE,   TOK_FALSE,  TOK_LPAREN,
                                       TOK_LBRACK, TOK_MINUS,  TOK_NOT};
static const int operator_kinds[] = {
    TOK_PLUS, TOK_MINUS,  TOK_STAR, TOK_SLASH, TOK_AT, TOK_CARET,
    TOK_TICK, TOK_LBRACK, TOK_DOTS, TOK_LT,    TOK_LE, TOK_GT,
    TOK_GE,   TOK_EQ,     TOK_NE,   TOK_AND,   TOK_OR, TOK_PIPE};

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static const struct pattern {
    const char *name;
    const int *kinds;
    int n;
    int sign; /* the pattern is expected where this kind is */
} patterns[] = {
    {"an expression", expression_kinds, COUNT(expression_kinds), TOK_NUMBER},
    {"an operator", operator_kinds, COUNT(operator_kinds), TOK_TICK}};

static bool is_member(const struct pattern *pattern, int kind)
{
    for (int i = 0; i < pattern->n; i++)
        if (pattern->kinds[i] == kind)
            return true;
    return false;
}

static bool is_covered(const cz_expected *expected, int kind)
{
    for (int i = 0; i < COUNT(patterns); i++)
        if (has_kind(expected, patterns[i].sign) &&
            is_member(&patterns[i], kind))
            return true;
    return false;
}

/* ---- the message ------------------------------------------------------------
 */

typedef struct name_list {
    const char *names[CZ_MAX_TOKEN_KINDS];
    int n;
} name_list;

static const char *join_names(cz_arena *arena, const name_list *list)
{
    const char *text = "";

    if (list->n > MAX_LISTED)
        return "";
    for (int i = 0; i < list->n; i++) {
        const bool is_last = i + 1 == list->n;
        const char *comma = i == 0 ? "; expected " : is_last ? " or " : ", ";
        text = cz_arena_printf(arena, "%s%s%s", text, comma, list->names[i]);
    }
    return text;
}

/* The keyword that this word was meant to be, or NULL. */
static const char *nearest_keyword(const cz_expected *expected,
                                   const char *word)
{
    const char *candidates[CZ_MAX_TOKEN_KINDS];
    int n = 0;

    for (int i = 0; i < expected->n; i++) {
        const char *keyword = cz_token_keyword(expected->kinds[i]);
        if (keyword)
            candidates[n++] = keyword;
    }
    return cz_diag_nearest(word, candidates, n);
}

static void note_open_bracket(const cz_parser *parser)
{
    const cz_scanner *scanner = &parser->scanner;
    if (scanner->n_open == 0)
        return;
    const cz_open *open = &scanner->open[scanner->n_open - 1];
    cz_diag_note(parser->diags, open->span, "%s was opened here",
                 cz_token_name(open->kind));
}

/* Is that the word in front of `span`, a blank between them? */
static bool is_behind(cz_span span, const char *word)
{
    const size_t n = strlen(word) + 1;
    return span.offset >= n &&
           memcmp(span.source->bytes + span.offset - n, word, n - 1) == 0;
}

/* Words of other languages, and operators that we read as two tokens of which
 * the second is out of place. */
static void note_brought(const cz_parser *parser, int kind, cz_token token)
{
    const cz_span span = token.span;
    if (span.offset == 0 && kind == TOK_LBRACE)
        cz_diag_note(parser->diags, (cz_span){0},
                     "this looks like JSON: `canzona import` makes a source of "
                     "a model's config.json");
    if (span.offset == 0)
        return;
    const char before = span.source->bytes[span.offset - 1];
    const bool is_doubled = span.offset + 1 < span.source->n &&
                            span.source->bytes[span.offset + 1] == '/';
    if (kind == TOK_STAR && before == '*')
        cz_diag_note(parser->diags, (cz_span){0}, "a power is written a ^ b");
    else if (kind == TOK_SLASH && before == '/')
        cz_diag_note(parser->diags, (cz_span){0},
                     "a whole quotient is written floor(a / b), and a comment "
                     "begins with #");
    else if (kind == TOK_SLASH && is_doubled)
        cz_diag_note(parser->diags, (cz_span){0}, "a comment begins with #");
    else if (is_behind(span, "while"))
        cz_diag_note(parser->diags, (cz_span){0},
                     "a loop is written for i in 0..n { } or for row in table "
                     "{ }");
    else if (kind == TOK_LBRACK && is_behind(span, "for"))
        cz_diag_note(parser->diags, (cz_span){0},
                     "a row is taken apart as for (a, b) in table { }");
    else if (kind == TOK_COLON)
        cz_diag_note(parser->diags, (cz_span){0},
                     "a block stands in braces: def f(x) { return x }");
    else if (token.text && is_behind(span, "for"))
        cz_diag_note(parser->diags, (cz_span){0},
                     "what repeats in a model is written layers[i < 4] { }");
    else if (kind == TOK_IF)
        cz_diag_note(parser->diags, (cz_span){0},
                     "a choice is written where(c, a, b)");
    else if (kind == TOK_ID && strcmp(token.text, "elif") == 0)
        cz_diag_note(parser->diags, (cz_span){0},
                     "another branch is written else if");
    else if ((kind == TOK_PLUS || kind == TOK_MINUS) &&
             span.offset + 1 < span.source->n &&
             span.source->bytes[span.offset + 1] == '=')
        cz_diag_note(parser->diags, (cz_span){0},
                     "a sum in place is written x = x %c y, of a state "
                     "x <- x %c y",
                     kind == TOK_PLUS ? '+' : '-',
                     kind == TOK_PLUS ? '+' : '-');
}

static void report_end(const char *list, cz_parser *parser, cz_token token)
{
    if (parser->end_reported)
        return;
    parser->end_reported = true;
    cz_diag_error(parser->diags, CZ_SYNTAX, token.span,
                  "unexpected end of input%s", list);
    note_open_bracket(parser);
}

void cz_expected_report(const cz_expected *expected, cz_parser *parser,
                        int kind, cz_token token)
{
    name_list names;

    names.n = 0;
    for (int i = 0; i < COUNT(patterns); i++)
        if (has_kind(expected, patterns[i].sign))
            names.names[names.n++] = patterns[i].name;
    for (int i = 0; i < expected->n; i++)
        if (!is_covered(expected, expected->kinds[i]))
            names.names[names.n++] = cz_token_name(expected->kinds[i]);
    const char *list = join_names(parser->arena, &names);
    if (token.span.offset == token.span.source->n) {
        report_end(list, parser, token);
        return;
    }
    if (parser->error_line == token.span.line)
        return;
    parser->error_line = token.span.line;
    const char *meant =
        token.text ? nearest_keyword(expected, token.text) : NULL;
    if (meant && strcmp(meant, token.text) == 0) {
        cz_diag_error(parser->diags, CZ_SYNTAX, token.span,
                      "'%s' takes its value without '='", meant);
        return;
    }
    if (token.text && kind != TOK_STRING)
        cz_diag_error(parser->diags, CZ_SYNTAX, token.span, "unexpected '%s'%s",
                      token.text, list);
    else
        cz_diag_error(parser->diags, CZ_SYNTAX, token.span, "unexpected %s%s",
                      cz_token_name(kind), list);
    if (meant)
        cz_diag_note(parser->diags, (cz_span){0}, "did you mean '%s'?", meant);
    note_brought(parser, kind, token);
    /* A bracket may have been forgotten on an earlier line. */
    const cz_scanner *scanner = &parser->scanner;
    if (cz_scan_in_brackets(scanner) &&
        scanner->open[scanner->n_open - 1].span.line < token.span.line)
        note_open_bracket(parser);
}
