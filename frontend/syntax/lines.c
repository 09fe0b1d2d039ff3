/* Which newlines end a statement, and which brackets are open.
 * Knows tokens, not the grammar. */
#include "frontend/syntax/internal.h"

#include "gram.h"

void cz_scan_init(cz_scanner *scanner, cz_arena *arena, const cz_source *source,
                  cz_diags *diags)
{
    const unsigned char *bytes = (const unsigned char *)source->bytes;
    *scanner = (cz_scanner){.arena = arena,
                            .source = source,
                            .diags = diags,
                            .cursor = bytes,
                            .limit = bytes + source->n,
                            .line_start = bytes,
                            .line = 1};
}

/* After these a statement goes on. */
static bool is_operator(int kind)
{
    static const int operators[] = {TOK_COMMA, TOK_ASSIGN, TOK_ARROW, TOK_PLUS,
                                    TOK_MINUS, TOK_STAR,   TOK_SLASH, TOK_AT,
                                    TOK_CARET, TOK_DOTS,   TOK_LT,    TOK_LE,
                                    TOK_GT,    TOK_GE,     TOK_EQ,    TOK_NE,
                                    TOK_AND,   TOK_OR,     TOK_NOT,   TOK_PIPE};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i] == kind)
            return true;
    return false;
}

bool cz_scan_in_brackets(const cz_scanner *s)
{
    return s->n_open > 0 && s->open[s->n_open - 1].kind != TOK_LBRACE;
}

/* Nothing stands before this newline that it could end. */
static bool is_blank(const cz_scanner *s)
{
    return s->previous == 0 || s->previous == TOK_NEWLINE ||
           s->previous == TOK_LBRACE;
}

static void open_bracket(cz_scanner *s, int kind, cz_span span)
{
    if (s->n_open < CZ_MAX_DEPTH) {
        s->open[s->n_open++] = (cz_open){kind, span};
        return;
    }
    cz_diag_error(s->diags, CZ_TOO_LARGE, span,
                  "brackets are nested more than %d deep", CZ_MAX_DEPTH);
    s->too_deep = true;
}

/* Close the innermost bracket of this kind, and what is open within it. */
static void close_bracket(cz_scanner *s, int kind)
{
    for (int i = s->n_open; i-- > 0;) {
        if (s->open[i].kind == kind) {
            s->n_open = i;
            return;
        }
        if (s->open[i].kind == TOK_LBRACE)
            return; /* an unmatched ) or ] closes no block */
    }
}

void cz_scan_resync(cz_scanner *s)
{
    while (cz_scan_in_brackets(s))
        s->n_open--;
}

static int next_token(cz_scanner *s, bool path, cz_token *token)
{
    for (;;) {
        const int as_path = path ? cz_scan_path(s, token) : 0;
        const int kind = as_path ? as_path : cz_scan_one(s, token);
        if (kind != TOK_NEWLINE || !(is_blank(s) || cz_scan_in_brackets(s) ||
                                     is_operator(s->previous)))
            return kind;
    }
}

int cz_scan(cz_scanner *s, bool path, cz_token *token)
{
    int kind = s->held;

    if (s->at_end)
        return 0;
    *token = s->held_token;
    s->held = 0;
    if (!kind)
        kind = next_token(s, path, token);
    if ((kind == TOK_RBRACE || kind == 0) && !is_blank(s)) {
        s->held = kind;
        s->held_token = *token;
        token->span.length = 0;
        return s->previous = TOK_NEWLINE;
    }
    s->at_end = kind == 0;
    s->previous = kind;
    /* Blocks do not stand within ( ) or [ ]: those were forgotten. */
    if (kind == TOK_LBRACE || kind == TOK_RBRACE)
        cz_scan_resync(s);
    if (kind == TOK_LPAREN || kind == TOK_LBRACK || kind == TOK_LBRACE)
        open_bracket(s, kind, token->span);
    else if (kind == TOK_RPAREN)
        close_bracket(s, TOK_LPAREN);
    else if (kind == TOK_RBRACK)
        close_bracket(s, TOK_LBRACK);
    else if (kind == TOK_RBRACE)
        close_bracket(s, TOK_LBRACE);
    return kind;
}
