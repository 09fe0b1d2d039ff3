/* Paths: from the text of path tokens to their segments. */
#include "frontend/syntax/internal.h"

#include <stdlib.h>
#include <string.h>

/* Where we are in the token.  Positions are offsets into its text. */
typedef struct reader {
    cz_parser *parser;
    cz_token token;
} reader;

static cz_token part_token(const reader *r, size_t from, size_t to)
{
    cz_token part = {.span = r->token.span};
    part.span.offset += (uint32_t)from;
    part.span.column += (uint32_t)from;
    part.span.length = (uint32_t)(to - from);
    part.text =
        cz_arena_copy(r->parser->arena, r->token.text + from, to - from);
    return part;
}

static cz_node *leaf(const reader *r, cz_kind kind, size_t from, size_t to)
{
    cz_node *node = cz_tree_token(r->parser, kind, part_token(r, from, to));
    if (kind == CZ_AST_STAR || kind == CZ_AST_SEGMENTS)
        node->text = NULL;
    return node;
}

static bool is_word(const char *text, size_t n)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    return n > 0 && strspn(text, letters) >= n;
}

static void bad_path(const reader *r, size_t from, size_t to, const char *why)
{
    cz_diag_error(r->parser->diags, CZ_BAD_PATH, part_token(r, from, to).span,
                  "%s", why);
}

static size_t count_digits(const char *text, size_t n)
{
    const size_t digits = strspn(text, "0123456789");
    return digits < n ? digits : n;
}

enum { MAX_RANGE_DIGITS = 9 };

static cz_node *bound_of_range(const reader *r, size_t from, size_t to)
{
    cz_token number = part_token(r, from, to);
    number.integer = strtoll(number.text, NULL, 10);
    number.number = (double)number.integer;
    number.flags = CZ_FLAG_INTEGER;
    return cz_tree_token(r->parser, CZ_AST_NUMBER, number);
}

/* One alternative: a word or 0..3; NULL after an error. */
static cz_node *read_alternative(const reader *r, size_t from, size_t to)
{
    const char *text = r->token.text + from;
    const size_t n = to - from, low = count_digits(text, n);

    if (is_word(text, n))
        return leaf(r, CZ_AST_LITERAL, from, to);
    const bool has_dots =
        low > 0 && n > low + 2 && strncmp(text + low, "..", 2) == 0;
    const size_t high =
        has_dots ? count_digits(text + low + 2, n - low - 2) : 0;
    if (!has_dots || low + 2 + high != n || low > MAX_RANGE_DIGITS ||
        high > MAX_RANGE_DIGITS) {
        bad_path(r, from, to > from ? to : from + 1,
                 "an alternative is a word or a range like 0..3");
        return NULL;
    }
    cz_node *first = bound_of_range(r, from, from + low);
    cz_node *last = bound_of_range(r, from + low + 2, to);
    if (first->integer > last->integer)
        bad_path(r, from, to, "this range is empty");
    return cz_tree_node(r->parser, CZ_AST_RANGE, part_token(r, from, to).span,
                        NULL, CZ_NODES(first, last));
}

/* {a, b, 0..3}: from the brace at `from` to behind the one that closes. */
static cz_node *read_choice(const reader *r, size_t from, size_t to)
{
    const char *text = r->token.text;
    cz_list alternatives = CZ_NO_NODES;

    for (size_t at = from + 1; at < to; at++) {
        size_t end = at + strcspn(text + at, ",}");
        const size_t next = end;
        at += strspn(text + at, " \t");
        while (end > at && strchr(" \t", text[end - 1]))
            end--;
        cz_node *alternative = read_alternative(r, at, end);
        if (alternative)
            alternatives = cz_list_add(r->parser, alternatives, alternative);
        at = next;
    }
    return cz_tree_node(r->parser, CZ_AST_CHOICE, part_token(r, from, to).span,
                        NULL, alternatives);
}

/* The end of the part that begins at `at`: a star, a choice or characters. */
static size_t end_of_part(const char *text, size_t at, size_t to)
{
    if (text[at] == '*')
        return at + 1;
    if (text[at] == '{')
        return at + strcspn(text + at, "}") + 1;
    const size_t end = at + strcspn(text + at, "*{");
    return end < to ? end : to;
}

static cz_node *read_part(const reader *r, size_t from, size_t to)
{
    switch (r->token.text[from]) {
    case '*':
        return leaf(r, CZ_AST_STAR, from, to);
    case '{':
        return read_choice(r, from, to);
    default:
        return leaf(r, CZ_AST_LITERAL, from, to);
    }
}

static cz_node *read_segment(const reader *r, size_t from, size_t to)
{
    const char *text = r->token.text;
    cz_list parts = CZ_NO_NODES;

    if (to - from == 2 && strncmp(text + from, "**", 2) == 0)
        return leaf(r, CZ_AST_SEGMENTS, from, to);
    if (is_word(text + from, to - from))
        return leaf(r, CZ_AST_SEGMENT, from, to);
    for (size_t at = from; at < to;) {
        const size_t end = end_of_part(text, at, to);
        if (strncmp(text + at, "**", 2) == 0)
            bad_path(r, from, to, "'**' stands alone between dots");
        parts = cz_list_add(r->parser, parts, read_part(r, at, end));
        at = end;
    }
    const cz_token segment = part_token(r, from, to);
    return cz_tree_mark(cz_tree_node(r->parser, CZ_AST_SEGMENT, segment.span,
                                     segment.text, parts),
                        CZ_FLAG_PATTERN, segment.span);
}

/* A dot between braces, as in {0..3}, ends no segment. */
static size_t end_of_segment(const char *text, size_t at)
{
    while (text[at] && text[at] != '.')
        at += text[at] == '{' ? strcspn(text + at, "}") : 1;
    return at;
}

static cz_list read_segments(cz_parser *parser, cz_list list, cz_token token)
{
    const reader r = {.parser = parser, .token = token};

    for (size_t at = token.text[0] == '.'; token.text[at];) {
        const size_t end = end_of_segment(token.text, at);
        list = cz_list_add(parser, list, read_segment(&r, at, end));
        at = end + (token.text[end] == '.');
    }
    return list;
}

cz_path cz_path_begin(cz_parser *parser, cz_token token)
{
    return (cz_path){read_segments(parser, CZ_NO_NODES, token), token.span};
}

cz_path cz_path_more(cz_parser *parser, cz_path path, cz_token token)
{
    return (cz_path){read_segments(parser, path.segments, token),
                     cz_span_join(path.span, token.span)};
}

cz_path cz_path_index(cz_parser *parser, cz_path path, cz_token name,
                      cz_node *bound, cz_token end)
{
    const cz_span span = cz_span_join(name.span, bound->span);
    cz_node *index =
        cz_tree_node(parser, CZ_AST_INDEX, span, name.text, CZ_NODES(bound));
    return (cz_path){cz_list_add(parser, path.segments, index),
                     cz_span_join(path.span, end.span)};
}

cz_node *cz_path_node(cz_parser *parser, cz_path path)
{
    const cz_list steps = path.segments;
    return cz_tree_node(parser, CZ_AST_PATH, path.span,
                        cz_path_text(parser->arena, steps.items, steps.n),
                        steps);
}

cz_node *cz_path_of_token(cz_parser *parser, cz_token token)
{
    return cz_path_node(parser, cz_path_begin(parser, token));
}

/* A pattern that selects, rather than names. */
static bool is_wild(const cz_node *segment)
{
    if (segment->kind == CZ_AST_SEGMENTS)
        return true;
    for (int i = 0; i < segment->n_children; i++)
        if (segment->children[i]->kind == CZ_AST_STAR)
            return true;
    return false;
}

cz_node *cz_path_own(cz_parser *parser, cz_path path)
{
    for (int i = 0; i < path.segments.n; i++)
        if (is_wild(path.segments.items[i]))
            cz_diag_error(parser->diags, CZ_BAD_PATH,
                          path.segments.items[i]->span,
                          "the name of a parameter has no wildcard; write "
                          "{a, b} to define several");
    return cz_path_node(parser, path);
}
