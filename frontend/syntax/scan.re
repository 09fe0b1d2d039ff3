/* Single tokens of the language, and paths.  One rule a line; what a token
 * means, and which newlines count, is decided elsewhere. */
#include "frontend/syntax/internal.h"

#include "dsl/base/checked.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gram.h"

static cz_span span_from(const cz_scanner *s, const unsigned char *start)
{
    const unsigned char *bytes = (const unsigned char *)s->source->bytes;
    return (cz_span){s->source, (uint32_t)(start - bytes),
                     (uint32_t)(s->cursor - start), s->line,
                     (uint32_t)(start - s->line_start) + 1};
}

static int take(cz_scanner *s, const unsigned char *start,
                const unsigned char *end, int kind, cz_token *token)
{
    s->cursor = end;
    *token = (cz_token){.span = span_from(s, start)};
    return kind;
}

static int take_text(cz_scanner *s, const unsigned char *start,
                     const unsigned char *end, int kind, cz_token *token)
{
    take(s, start, end, kind, token);
    token->text = cz_arena_copy(s->arena, (const char *)start,
                                (size_t)(end - start));
    return kind;
}

static void start_line(cz_scanner *s)
{
    s->line++;
    s->line_start = s->cursor;
}

/* ---- names --------------------------------------------------------------- */

typedef struct keyword {
    int kind;
    const char *spelling;
} keyword;

static const keyword keywords[] = {
#define CZ_TOKEN(kind, name)
#define CZ_RESERVED(kind, spelling) {TOK_##kind, spelling},
#define CZ_KEYWORD CZ_RESERVED
#include "frontend/syntax/tokens.def"
#undef CZ_TOKEN
#undef CZ_KEYWORD
#undef CZ_RESERVED
};

static int find_keyword(const char *text)
{
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (keywords[i].spelling[0] == text[0] &&
            strcmp(keywords[i].spelling, text) == 0)
            return keywords[i].kind;
    return TOK_ID;
}

static bool is_reserved(int kind)
{
    switch (kind) {
#define CZ_TOKEN(kind, name)
#define CZ_RESERVED(kind, spelling) case TOK_##kind:
#define CZ_KEYWORD(kind, spelling)
#include "frontend/syntax/tokens.def"
#undef CZ_TOKEN
#undef CZ_KEYWORD
#undef CZ_RESERVED
        return true;
    }
    return false;
}

/* What is being defined is a name, whatever it is called elsewhere. */
static bool is_defined_here(const cz_scanner *s)
{
    const unsigned char *at = s->cursor;
    while (*at == ' ' || *at == '\t')
        at++;
    return (at[0] == '=' && at[1] != '=') || (at[0] == '<' && at[1] == '-');
}

static int take_name(cz_scanner *s, const unsigned char *start,
                     const unsigned char *end, cz_token *token)
{
    take_text(s, start, end, TOK_ID, token);
    const int kind = find_keyword(token->text);
    return is_defined_here(s) && !is_reserved(kind) ? TOK_ID : kind;
}

int cz_scan_keyword(const char *text)
{
    const int kind = find_keyword(text);
    static const int kinds[] = {TOK_IF, TOK_TIE, TOK_LET, TOK_STAGE, TOK_VIEW,
                                TOK_WHERE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i] == kind)
            return kind;
    return 0;
}

const char *cz_token_keyword(int kind)
{
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (keywords[i].kind == kind)
            return keywords[i].spelling;
    return NULL;
}

const char *cz_token_name(int kind)
{
    switch (kind) {
#define CZ_TOKEN(kind, name)                                                   \
    case TOK_##kind:                                                           \
        return name;
#define CZ_RESERVED(kind, spelling)                                            \
    case TOK_##kind:                                                           \
        return "'" spelling "'";
#define CZ_KEYWORD CZ_RESERVED
#include "frontend/syntax/tokens.def"
#undef CZ_TOKEN
#undef CZ_KEYWORD
#undef CZ_RESERVED
    }
    return "end of input";
}

/* ---- numbers ------------------------------------------------------------- */

static const struct unit {
    const char *suffix;
    int64_t factor;
} units[] = {{"Ki", 1 << 10}, {"Mi", 1 << 20},   {"Gi", 1 << 30},
             {"K", 1000},     {"M", 1000 * 1000}, {"G", 1000 * 1000 * 1000}};

static int64_t take_factor(const char **suffix)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t n = strlen(units[i].suffix);
        if (strncmp(*suffix, units[i].suffix, n) == 0) {
            *suffix += n;
            return units[i].factor;
        }
    }
    return 1;
}

/* All digits: exact, or false where 64 bits do not hold it. */
static bool read_integer(const char *digits, size_t n, int64_t factor,
                         int64_t *out)
{
    int64_t value = 0;
    for (size_t i = 0; i < n; i++)
        if (!cz_checked_mul(value, 10, &value) ||
            !cz_checked_add(value, digits[i] - '0', &value))
            return false;
    return cz_checked_mul(value, factor, out);
}

static int take_number(cz_scanner *s, const unsigned char *start,
                       const unsigned char *end, cz_token *token)
{
    take_text(s, start, end, TOK_NUMBER, token);
    const size_t n_digits = strspn(token->text, "0123456789");
    char *rest;
    token->number = strtod(token->text, &rest);
    const char *suffix = rest;
    const bool is_full_matrix = suffix == token->text + n_digits;
    const int64_t factor = take_factor(&suffix);
    token->flags = *suffix == 'B' ? CZ_FLAG_BYTES : 0;
    token->number *= (double)factor;
    bool fits = isfinite(token->number);
    if (is_full_matrix) {
        token->flags |= CZ_FLAG_INTEGER;
        fits = read_integer(token->text, n_digits, factor, &token->integer);
    }
    if (!fits)
        cz_diag_error(s->diags, CZ_BAD_NUMBER, token->span,
                      "%s is too large", is_full_matrix ? "this integer" : "this");
    return TOK_NUMBER;
}

static int bad_number(cz_scanner *s, const unsigned char *start,
                      const unsigned char *end, cz_token *token,
                      const char *why)
{
    take_text(s, start, end, TOK_NUMBER, token);
    cz_diag_error(s->diags, CZ_BAD_NUMBER, token->span, "%s", why);
    return TOK_NUMBER;
}

/* The number with a suffix of ours for 512k, 40mb and 1_000_000; NULL: who
 * knows. */
static const char *number_meant(cz_arena *arena, const char *text)
{
    char *meant = cz_arena_copy(arena, text, strlen(text));
    char *to = meant;
    for (const char *from = text; *from; from++)
        if (*from != '_')
            *to++ = *from;
    *to = '\0';
    for (char *at = meant + strcspn(meant, "kmgKMGb"); *at; at++)
        *at = (char)(*at == 'i' || *at == 'I' ? 'i' : toupper(*at));
    const char *suffix = meant + strspn(meant, "0123456789.");
    take_factor(&suffix);
    return strcmp(suffix, "B") == 0 || !*suffix ? meant : NULL;
}

static int bad_suffix(cz_scanner *s, const unsigned char *start,
                      const unsigned char *end, cz_token *token)
{
    bad_number(s, start, end, token, "a number runs into letters");
    const char *meant = number_meant(s->arena, token->text);
    cz_diag_note(s->diags, (cz_span){0},
                 "suffixes are K, M and G of 1000, Ki, Mi and Gi of 1024, and B "
                 "for bytes%s%s%s", meant ? "; did you mean '" : "",
                 meant ? meant : "", meant ? "'?" : "");
    return TOK_NUMBER;
}

/* ---- strings and wrong bytes --------------------------------------------- */

static int take_string(cz_scanner *s, const unsigned char *start,
                       const unsigned char *end, cz_token *token)
{
    take(s, start, end, TOK_STRING, token);
    char *text = cz_arena_copy(s->arena, (const char *)start + 1,
                               (size_t)(end - start) - 2);
    char *to = text;
    for (const char *from = text; *from; from++) {
        from += *from == '\\';
        *to++ = *from;
    }
    *to = '\0';
    token->text = text;
    return TOK_STRING;
}

static int bad_string(cz_scanner *s, const unsigned char *start,
                      const unsigned char *end, cz_token *token)
{
    take_text(s, start, end, TOK_STRING, token);
    cz_diag_error(s->diags, CZ_BAD_STRING, token->span,
                  "this string does not end on its line, or has an escape "
                  "other than \\\" and \\\\");
    return TOK_STRING;
}

/* `'` transposes what it touches.  True when there is something to
 * transpose; else the byte was reported and is left out. */
static bool take_tick(cz_scanner *s, const unsigned char *start,
                      const unsigned char *end, cz_token *token)
{
    take(s, start, end, TOK_TICK, token);
    const int kind = s->previous;
    const bool after_operand = kind == TOK_ID || kind == TOK_RPAREN ||
                               kind == TOK_RBRACK || kind == TOK_TICK ||
                               kind == TOK_NUMBER || cz_token_keyword(kind);
    const bool touches =
        start > (const unsigned char *)s->source->bytes &&
        !strchr(" \t\r\n", start[-1]);
    if (after_operand && touches)
        return true;
    cz_diag_error(s->diags, CZ_BAD_CHARACTER, token->span,
                  "' transposes, and must touch its operand");
    cz_diag_note(s->diags, (cz_span){0},
                 "strings are written in double quotes");
    return after_operand;
}

/* `ours`: what is written here instead, or NULL. */
static void bad_bytes(cz_scanner *s, const unsigned char *start,
                      const unsigned char *end, const char *ours)
{
    cz_token token;
    take(s, start, end, 0, &token);
    if (*start > ' ' && *start != 0x7f)
        cz_diag_error(s->diags, CZ_BAD_CHARACTER, token.span,
                      "'%.*s' has no meaning here", (int)(end - start),
                      (const char *)start);
    else
        cz_diag_error(s->diags, CZ_BAD_CHARACTER, token.span,
                      "byte 0x%02x has no meaning outside comments and "
                      "strings",
                      *start);
    if (ours)
        cz_diag_note(s->diags, (cz_span){0}, "%s", ours);
}

/* ---- the rules ----------------------------------------------------------- */

/*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYCURSOR = at;
    re2c:define:YYLIMIT = limit;
    re2c:define:YYMARKER = marker;
    re2c:yyfill:enable = 0;
    re2c:eof = 0;

    newline = "\r"? "\n";
    digits  = [0-9]+;
    real    = digits ("." digits)? ([eE] [+-]? digits)?;
    number  = real ([KMG] "i"?)? "B"?;
    letter  = [A-Za-z_];
    name    = letter [A-Za-z0-9_]*;
    quoted  = "\"" ([^"\\\r\n\x00] | "\\" ["\\])* "\"";
    choice  = "{" [^{}"#:\r\n\x00]* "}";
    segment = ([A-Za-z0-9_*-] | choice)+;
*/

int cz_scan_one(cz_scanner *s, cz_token *token)
{
    const unsigned char *at = s->cursor, *limit = s->limit, *marker;
    const unsigned char *start;

#define KIND(kind) return take(s, start, at, TOK_##kind, token)
next:
    start = at;
    /*!re2c
        [ \t]+                  { goto next; }
        "#" [^\n\x00]*          { goto next; }
        newline                 { take(s, start, at, 0, token);
                                  start_line(s);
                                  return TOK_NEWLINE; }
        name                    { return take_name(s, start, at, token); }
        number                  { return take_number(s, start, at, token); }
        number [A-Za-z0-9_]+    { return bad_suffix(s, start, at, token); }
        "." digits              { return bad_number(s, start, at, token,
                                      "a number begins with a digit"); }
        quoted                  { return take_string(s, start, at, token); }
        "\"" [^"\r\n\x00]* "\""?  { return bad_string(s, start, at, token); }
        "'"                     { if (!take_tick(s, start, at, token))
                                      goto next;
                                  return TOK_TICK; }
        "("                     { KIND(LPAREN); }
        ")"                     { KIND(RPAREN); }
        "["                     { KIND(LBRACK); }
        "]"                     { KIND(RBRACK); }
        "{"                     { KIND(LBRACE); }
        "}"                     { KIND(RBRACE); }
        ","                     { KIND(COMMA); }
        ":"                     { KIND(COLON); }
        "="                     { KIND(ASSIGN); }
        "<-"                    { KIND(ARROW); }
        "+"                     { KIND(PLUS); }
        "-"                     { KIND(MINUS); }
        "*"                     { KIND(STAR); }
        "/"                     { KIND(SLASH); }
        "@"                     { KIND(AT); }
        "^"                     { KIND(CARET); }
        ".."                    { KIND(DOTS); }
        "<"                     { KIND(LT); }
        "<="                    { KIND(LE); }
        ">"                     { KIND(GT); }
        ">="                    { KIND(GE); }
        "=="                    { KIND(EQ); }
        "!="                    { KIND(NE); }
        "|>"                    { KIND(PIPE); }
        ";"                     { bad_bytes(s, start, at, "a line end ends a statement");
                                  KIND(NEWLINE); }
        "." name                { bad_bytes(s, start, at, start[1] == 'T' && at == start + 2
                                      ? "a transpose is written x'"
                                      : "a value has no members: functions are called f(x)");
                                  goto next; }
        "&&" | "||" | "!"       { bad_bytes(s, start, at, "truths are joined by and, or, not");
                                  goto next; }
        "?"                     { bad_bytes(s, start, at, "a choice is written where(c, a, b)");
                                  goto next; }
        "%"                     { bad_bytes(s, start, at, "a remainder is written a - b * floor(a / b)");
                                  goto next; }
        "."+ | [\x80-\xff]+     { bad_bytes(s, start, at, NULL); goto next; }
        $                       { return take(s, start, at, 0, token); }
        *                       { bad_bytes(s, start, at, NULL); goto next; }
    */
#undef KIND
}

int cz_scan_path(cz_scanner *s, cz_token *token)
{
    const unsigned char *at = s->cursor, *limit = s->limit, *marker;
    const unsigned char *start;

next:
    start = at;
    /*!re2c
        [ \t]+                  { goto next; }
        segment ("." segment)*  { return take_text(s, start, at, TOK_PATH,
                                                   token); }
        ("." segment)+          { return take_text(s, start, at, TOK_PATH_MORE,
                                                   token); }
        $                       { return 0; }
        *                       { return 0; }
    */
}
