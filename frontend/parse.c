/* Text to syntax tree: checks the bytes, feeds tokens to the grammar, says
 * what was expected where, and recovers at the next statement. */
#include "frontend/parse.h"

#include "frontend/grammar.h"

#include <string.h>

#include "gram.h"

/* ---- the bytes --------------------------------------------------------------
 */

/* Length of the UTF-8 sequence at `at`, or 0 where it is not valid (RFC 3629:
 * no overlong forms, no surrogates, at most U+10FFFF). */
static size_t utf8_length(const unsigned char *at, size_t n)
{
    static const struct form {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0x1},
                 {0xe0, 0xc0, 0x80},
                 {0xf0, 0xe0, 0x800},
                 {0xf8, 0xf0, 0x10000}};

    for (size_t length = 1; length <= 4 && length <= n; length++) {
        const struct form *form = &forms[length - 1];
        if ((at[0] & form->mask) != form->lead)
            continue;
        uint32_t point = at[0] & (uint32_t)(unsigned char)~form->mask;
        for (size_t i = 1; i < length; i++) {
            if ((at[i] & 0xc0) != 0x80)
                return 0;
            point = point << 6 | (at[i] & 0x3f);
        }
        const bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
        return point >= form->least && point <= 0x10ffff && !is_surrogate
                   ? length
                   : 0;
    }
    return 0;
}

static bool check_bytes(const cz_source *source, cz_diags *diags)
{
    cz_span span = {source, 0, 1, 1, 1};

    if (source->n > CZ_MAX_SOURCE_BYTES) {
        cz_diag_error(diags, CZ_TOO_LARGE, (cz_span){.source = source},
                      "the text is longer than 4 MiB");
        return false;
    }
    while (span.offset < source->n) {
        const unsigned char *at =
            (const unsigned char *)source->bytes + span.offset;
        const size_t length = utf8_length(at, source->n - span.offset);
        if (length == 0) {
            cz_diag_error(diags, CZ_BAD_UTF8, span, "%s",
                          *at ? "this is not valid UTF-8"
                              : "a source text has no NUL byte");
            return false;
        }
        span.offset += (uint32_t)length;
        span.column = *at == '\n' ? 1 : span.column + (uint32_t)length;
        span.line += *at == '\n';
    }
    return true;
}

/* ---- what was expected ------------------------------------------------------
 */

enum { MAX_EXPECTED = 10, MAX_KINDS = 128 };

typedef struct expected {
    int kinds[MAX_KINDS];
    int n;
} expected;

static expected collect_expected(const cz_grammar *grammar)
{
    expected list = {.n = 0};
    const int n = cz_grammar_n_tokens();

    for (int kind = 1; kind < n && list.n < MAX_KINDS; kind++)
        if (cz_token_name(kind) && cz_grammar_accepts(grammar, kind))
            list.kinds[list.n++] = kind;
    return list;
}

static bool is_word(const cz_token *token, int kind)
{
    return kind == TOK_ID || (token->text && cz_token_keyword(kind));
}

static const char *nearest_keyword(const expected *list, const char *word)
{
    const char *candidates[MAX_KINDS];
    int n = 0;

    for (int i = 0; i < list->n; i++) {
        const char *keyword = cz_token_keyword(list->kinds[i]);
        if (keyword)
            candidates[n++] = keyword;
    }
    return cz_diag_nearest(word, candidates, n);
}

static const char *list_expected(cz_arena *arena, const expected *list)
{
    const char *text = "";

    if (list->n == 0 || list->n > MAX_EXPECTED)
        return "";
    for (int i = 0; i < list->n; i++) {
        const char *join = i == 0             ? "; expected "
                           : i == list->n - 1 ? " or "
                                              : ", ";
        text = cz_arena_printf(arena, "%s%s%s", text, join,
                               cz_token_name(list->kinds[i]));
    }
    return text;
}

/* The text ended inside a block: say which. */
static void note_open_block(const cz_parser *parser)
{
    const cz_scanner *scanner = &parser->scanner;
    if (scanner->n_open > 0)
        cz_diag_note(parser->diags, scanner->open[scanner->n_open - 1].span,
                     "this %s is not closed",
                     cz_token_name(scanner->open[scanner->n_open - 1].kind));
}

void cz_parse_unexpected(cz_parser *parser, const cz_grammar *grammar, int kind,
                         cz_token token)
{
    const expected list = collect_expected(grammar);
    const bool has_text = is_word(&token, kind) || kind == TOK_PATH ||
                          kind == TOK_PATH_MORE || kind == TOK_NUMBER;

    parser->syntax_error = true;
    if (has_text)
        cz_diag_error(parser->diags, CZ_SYNTAX, token.span, "unexpected `%s`%s",
                      token.text, list_expected(parser->arena, &list));
    else
        cz_diag_error(parser->diags, CZ_SYNTAX, token.span, "unexpected %s%s",
                      cz_token_name(kind), list_expected(parser->arena, &list));
    const char *near =
        is_word(&token, kind) ? nearest_keyword(&list, token.text) : NULL;
    if (near)
        cz_diag_note(parser->diags, (cz_span){0}, "did you mean `%s`?", near);
    if (kind == 0)
        note_open_block(parser);
}

void cz_parse_too_deep(cz_parser *parser)
{
    cz_diag_error(parser->diags, CZ_TOO_LARGE,
                  (cz_span){.source = parser->scanner.source},
                  "the text is nested too deeply");
}

/* ---- feeding and recovering
 * -------------------------------------------------- */

/* The grammar decides where a path may stand; a word there that begins a
 * statement of its own is that keyword. */
static int scan_for(cz_parser *parser, const cz_grammar *grammar,
                    cz_token *token)
{
    const bool path = cz_grammar_accepts(grammar, TOK_PATH) ||
                      cz_grammar_accepts(grammar, TOK_PATH_MORE);
    const int kind = cz_scan(&parser->scanner, path, token);
    const int keyword = kind == TOK_PATH ? cz_scan_keyword(token->text) : 0;
    return keyword && cz_grammar_accepts(grammar, keyword) ? keyword : kind;
}

/* Skip to the end of the statement that went wrong; blocks within it are
 * skipped whole.  The NEWLINE is fed by the caller's loop, as this returns
 * it. */
static int skip_statement(cz_parser *parser, int kind, cz_token *token)
{
    int n_blocks = 0;

    cz_scan_resync(&parser->scanner);
    while (kind != 0 && (kind != TOK_NEWLINE || n_blocks > 0)) {
        n_blocks += (kind == TOK_LBRACE) - (kind == TOK_RBRACE);
        if (n_blocks < 0)
            n_blocks = 0;
        kind = cz_scan(&parser->scanner, false, token);
        if (parser->scanner.too_deep)
            return 0;
    }
    return kind;
}

static bool should_stop(const cz_parser *parser)
{
    return parser->scanner.too_deep || parser->diags->n_errors >= CZ_MAX_ERRORS;
}

static void feed_all(cz_parser *parser, cz_grammar *grammar)
{
    cz_token token;
    int kind;

    do {
        kind = scan_for(parser, grammar, &token);
        if (should_stop(parser))
            return;
        cz_grammar_feed(grammar, kind, token);
        if (!parser->syntax_error || kind == 0)
            continue;
        parser->syntax_error = false;
        if (kind == TOK_NEWLINE)
            continue;
        kind = skip_statement(parser, kind, &token);
        if (should_stop(parser))
            return;
        cz_grammar_feed(grammar, kind, token);
    } while (kind != 0);
}

cz_node *cz_parse(cz_arena *arena, const cz_source *source, cz_diags *diags)
{
    cz_parser parser = {.arena = arena, .diags = diags};
    const cz_span whole = {source, 0, (uint32_t)source->n, 1, 1};

    if (check_bytes(source, diags)) {
        cz_scan_init(&parser.scanner, arena, source, diags);
        cz_grammar *grammar = cz_grammar_open(&parser);
        feed_all(&parser, grammar);
        cz_grammar_close(grammar);
    }
    if (!parser.file)
        parser.file =
            cz_tree_node(&parser, CZ_AST_FILE, whole, source->name, CZ_NO_KIDS);
    parser.file->span = whole;
    return parser.file;
}
