/* Blanks between the words of a line.  Where the tokens alone do not tell (a
 * bracket of a call or of a list, a sign or a difference), the tree does. */
#include "frontend/format/internal.h"

#include "gram.h"

/* ---- what the tree knows ---------------------------------------------------
 */

/* The first word at or behind this place of the text. */
static int word_at(const cz_fmt *fmt, uint32_t offset)
{
    int low = 0, high = fmt->n_words;

    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (fmt->words[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where a node begins, parentheses around it left out. */
static int first_word(const cz_fmt *fmt, const cz_node *node)
{
    int i = word_at(fmt, node->span.offset);

    while (cz_node_has(node, CZ_FLAG_PARENS) &&
           fmt->words[i].kind == TOK_LPAREN)
        i++;
    return i;
}

/* This word, if it opens a bracket, belongs to the name before it. */
static void mark_bracket(cz_fmt *fmt, int i)
{
    if (i < fmt->n_words && cz_fmt_is_open(fmt->words[i].kind))
        fmt->words[i].tight = true;
}

/* Sizes are written 4*d/tp, without blanks. */
static void mark_sizes(cz_fmt *fmt, const cz_node *node)
{
    const uint32_t end = node->span.offset + node->span.length;

    for (int i = word_at(fmt, node->span.offset);
         i < fmt->n_words && fmt->words[i].offset < end; i++)
        if (fmt->words[i].kind == TOK_STAR || fmt->words[i].kind == TOK_SLASH)
            fmt->words[i].tight = true;
}

static bool is_row(const cz_node *node)
{
    return node->kind == CZ_AST_TUPLE || node->kind == CZ_AST_LIST;
}

static void mark_rows(cz_fmt *fmt, const cz_node *list)
{
    for (int i = 0; i < cz_n_items(list); i++)
        if (!is_row(cz_item(list, i)))
            return;
    fmt->words[first_word(fmt, list)].rows = cz_n_items(list) > 1;
}

static void mark(cz_fmt *fmt, const cz_node *node)
{
    const int first = first_word(fmt, node);

    if (node->kind == CZ_AST_CALL ||
        (node->kind == CZ_AST_TYPE && cz_n_children(node) > 0))
        mark_bracket(fmt, first + 1);
    if (node->kind == CZ_AST_TYPE || node->kind == CZ_AST_PARAMS)
        mark_sizes(fmt, node);
    if (node->kind == CZ_AST_MODEL_CALL)
        mark_bracket(fmt, first + 2);
    if (node->kind == CZ_AST_FORMALS)
        mark_bracket(fmt, first);
    if (node->kind == CZ_AST_DIMS && fmt->words[first - 1].kind != TOK_COLON)
        mark_bracket(fmt, first);
    if (node->kind == CZ_AST_ROW) {
        const cz_span table = cz_binary_left(node)->span;
        mark_bracket(fmt, word_at(fmt, table.offset + table.length));
    }
    if (node->kind == CZ_AST_NEG)
        fmt->words[first].tight = true;
    if (node->kind == CZ_AST_LIST)
        mark_rows(fmt, node);
    for (int i = 0; i < cz_n_children(node); i++)
        if (!cz_fmt_same_children(node, i))
            mark(fmt, cz_child(node, i));
}

/* ---- the blanks
 * -------------------------------------------------------------- */

/* An index or the rest of a path, which touches what is before it. */
static bool goes_on_with_path(int before, int kind)
{
    return kind == TOK_PATH_MORE ||
           (kind == TOK_LBRACK &&
            (before == TOK_PATH || before == TOK_PATH_MORE ||
             before == TOK_RBRACK));
}

/* 1/4 is one number to the reader. */
static bool is_fraction(const cz_fmt_word *slash)
{
    return slash->kind == TOK_SLASH && slash[-1].kind == TOK_NUMBER &&
           slash[1].kind == TOK_NUMBER;
}

/* An operator, or a sign, without a blank on this side. */
static bool is_close(const cz_fmt_word *operator)
{
    return operator->kind == TOK_CARET || operator->kind == TOK_DOTS ||
           is_fraction(operator) ||
           (operator->tight &&(operator->kind == TOK_STAR || operator->kind ==
                               TOK_SLASH));
}

static int space_between(const cz_fmt_word *word)
{
    const cz_fmt_word *before = word - 1;

    if (cz_fmt_is_close(word->kind) || cz_fmt_is_open(before->kind) ||
        word->kind == TOK_COMMA || word->kind == TOK_TICK ||
        goes_on_with_path(before->kind, word->kind) || is_close(word) ||
        is_close(before))
        return 0;
    if ((cz_fmt_is_open(word->kind) && word->tight) ||
        (before->kind == TOK_MINUS && before->tight))
        return 0;
    return 1;
}

static void space_block(cz_fmt *fmt, const cz_fmt_block *block);

static void space_item(cz_fmt *fmt, const cz_fmt_item *item)
{
    for (int p = 0; p < item->n_runs; p++) {
        const cz_fmt_run *run = &item->runs[p];
        for (int i = 0; i < run->n; i++) {
            cz_fmt_word *word = &fmt->words[run->first + i];
            word->space = i > 0 ? space_between(word) : p > 0;
        }
        if (run->block)
            space_block(fmt, run->block);
    }
}

static void space_block(cz_fmt *fmt, const cz_fmt_block *block)
{
    for (int i = 0; i < block->n_items; i++)
        space_item(fmt, &block->items[i]);
}

void cz_fmt_space(cz_fmt *fmt, const cz_node *file)
{
    if (fmt->n_words > 0)
        mark(fmt, file);
    space_block(fmt, fmt->file);
}
