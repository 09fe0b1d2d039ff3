/* Text to syntax tree: checks the bytes, feeds tokens to the grammar, and
 * recovers from errors at the next statement. */
#include "frontend/syntax/parse.h"

#include <math.h>
#include <string.h>

#include "dsl/base/utf8.h"
#include "frontend/syntax/internal.h"

#include "gram.h"

/* ---- the bytes --------------------------------------------------------------
 */

static bool check_bytes(const cz_source *source, cz_diags *diags)
{
    cz_span span = {source, 0, 1, 1, 1};

    if (source->n > CZ_MAX_SOURCE_BYTES) {
        cz_diag_error(diags, CZ_TOO_LARGE, (cz_span){.source = source},
                      "the text is longer than 4 MiB");
        return false;
    }
    while (span.offset < source->n) {
        const char *at = source->bytes + span.offset;
        const size_t length = cz_utf8_length(at, source->n - span.offset);
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

/* ---- feeding and recovering -----------------------------------------------
 */

/* Signs and powers nest without brackets: `- - - x`.  No valid tree needs
 * more symbols on the stack. */
enum { MAX_STACK = 16 * CZ_MAX_DEPTH };

void cz_parse_too_deep(cz_parser *parser)
{
    cz_diag_error(parser->diags, CZ_TOO_LARGE,
                  (cz_span){.source = parser->scanner.source},
                  "the text is nested too deeply");
    parser->scanner.too_deep = true;
}

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

static bool ends_block(int kind)
{
    return kind == 0 || kind == TOK_LBRACE || kind == TOK_RBRACE;
}

/* An error within ( ) or [ ]: go on behind the bracket that closes it, if one
 * does before a block begins or ends; else take the bracket for forgotten.
 * What is skipped raises no further errors. */
static void skip_brackets(cz_scanner *scanner)
{
    cz_scanner trial = *scanner;
    cz_diags unheard;
    cz_token token;
    int kind;

    cz_diags_init(&unheard, scanner->arena);
    trial.diags = &unheard;
    while (cz_scan_in_brackets(&trial)) {
        kind = cz_scan(&trial, false, &token);
        if (ends_block(kind) || trial.too_deep) {
            cz_scan_resync(scanner);
            return;
        }
    }
    trial.diags = scanner->diags;
    *scanner = trial;
}

/* Skip to the end of the statement that went wrong; blocks within it are
 * skipped whole, and nothing in it is reported: paths are not read as such.
 * Returns the kind of the token behind, NEWLINE or the end,
 * which the grammar has yet to see. */
static int skip_statement(cz_parser *parser, int kind, cz_token *token)
{
    int n_blocks = 0;
    cz_diags unheard;

    cz_diags_init(&unheard, parser->arena);
    parser->scanner.diags = &unheard;
    skip_brackets(&parser->scanner);
    while (kind != 0 && (kind != TOK_NEWLINE || n_blocks > 0) &&
           !parser->scanner.too_deep) {
        if (kind == TOK_LBRACE)
            n_blocks++;
        else if (kind == TOK_RBRACE && n_blocks > 0)
            n_blocks--;
        kind = cz_scan(&parser->scanner, false, token);
    }
    parser->scanner.diags = parser->diags;
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
        if (parser->tokens)
            *CZ_PUSH(parser->arena, parser->tokens->list, parser->tokens->n) =
                (cz_seen_token){kind, token.span};
        /* Feed one token.  What the grammar would have taken is asked before,
         * as it reduces its stack before it finds the error. */
        cz_expected expected = {.n = 0};

        if (!cz_grammar_accepts(grammar, kind))
            cz_expected_collect(&expected, grammar);
        cz_grammar_feed(grammar, kind, token);
        if (parser->syntax_error)
            cz_expected_report(&expected, parser, kind, token);
        if (cz_grammar_depth(grammar) > MAX_STACK)
            cz_parse_too_deep(parser);
        if (!parser->syntax_error)
            continue;
        if (kind != TOK_NEWLINE && kind != 0) {
            kind = skip_statement(parser, kind, &token);
            if (should_stop(parser))
                return;
            cz_grammar_feed(grammar, kind, token);
        }
        cz_grammar_recovered(grammar);
        parser->syntax_error = false;
    } while (kind != 0);
}

cz_node *cz_parse_tokens(cz_arena *arena, const cz_source *source,
                         cz_diags *diags, cz_seen_tokens *tokens)
{
    cz_parser parser = {.arena = arena, .diags = diags, .tokens = tokens};
    const cz_span whole = {source, 0, (uint32_t)source->n, 1, 1};

    if (check_bytes(source, diags)) {
        cz_scan_init(&parser.scanner, arena, source, diags);
        cz_grammar *grammar = cz_grammar_open(&parser);
        feed_all(&parser, grammar);
        cz_grammar_close(grammar);
    }
    if (!parser.file || parser.file->kind != CZ_AST_FILE)
        parser.file = cz_tree_node(&parser, CZ_AST_FILE, whole, source->name,
                                   CZ_NO_NODES);
    parser.file->span = whole;
    return parser.file;
}

cz_node *cz_parse(cz_arena *arena, const cz_source *source, cz_diags *diags)
{
    return cz_parse_tokens(arena, source, diags, NULL);
}

bool cz_parse_integer(const char *text, int64_t *out)
{
    const double exact = (double)((int64_t)1 << 53);
    const cz_source source = {.bytes = text, .n = strlen(text)};
    cz_arena arena;
    cz_diags diags;
    cz_scanner scanner;
    cz_token token, end;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_scan_init(&scanner, &arena, &source, &diags);
    const bool is_number = cz_scan_one(&scanner, &token) == TOK_NUMBER &&
                           cz_scan_one(&scanner, &end) == 0 &&
                           diags.n_errors == 0;
    cz_arena_fini(&arena);
    if (!is_number || token.flags & CZ_FLAG_BYTES)
        return false;
    if (!(token.flags & CZ_FLAG_INTEGER)) {
        if (!(token.number < exact) || token.number != floor(token.number))
            return false;
        token.integer = (int64_t)token.number;
    }
    *out = token.integer;
    return true;
}

const char *cz_comment_of(cz_arena *arena, const cz_node *node)
{
    const char *bytes = node->span.source->bytes;
    size_t start = node->span.offset;
    const char *text = "";

    while (start > 0) {
        size_t line = start - 1;
        while (line > 0 && bytes[line - 1] != '\n')
            line--;
        if (bytes[line] != '#')
            break;
        const size_t skip = bytes[line + 1] == ' ' ? 2 : 1;
        text = cz_arena_printf(arena, "%.*s%s", (int)(start - line - skip),
                               bytes + line + skip, text);
        start = line;
    }
    return text;
}
