/* From statements to lines.  A line that would pass the limit is broken where
 * the language lets it go on: behind a comma or an operator, in as few
 * brackets and at as weak an operator as there is, then as late as fits. */
#include "frontend/format/internal.h"

#include <string.h>

#include "gram.h"

/* Further right than this no broken line goes on. */
enum { MAX_HANG = 60 };

/* How strongly operators bind: 0 to 5. */
enum { N_BINDINGS = 6 };

/* Where we are in a statement. */
typedef struct place {
    int column, depth;
    int anchor; /* where it goes on outside brackets: behind = and so on */
    int cost;   /* of a break here: that of all open brackets */
    struct bracket {
        int hang;
        bool apart; /* it stands on other lines than what it holds; */
        bool rows;  /* which are elements one a line */
        int cost;
    } open[CZ_MAX_DEPTH];
} place;

typedef struct printer {
    const cz_fmt *fmt;
    cz_fmt_lines *lines;
    cz_text text; /* of the line that is being written */
    cz_fmt_line line;
    int base;       /* indentation of the statement */
    bool is_broken; /* it does not fit one line */
} printer;

/* ---- lines
 * ------------------------------------------------------------------- */

static void begin_line(printer *p, int indent)
{
    p->line = (cz_fmt_line){.indent = indent, .width = indent};
}

static void put(printer *p, int space, const char *text, size_t n, int width)
{
    for (int i = 0; i < space; i++)
        cz_text_put(&p->text, " ", 1);
    cz_text_put(&p->text, text, n);
    p->line.width += space + width;
}

static void end_line(printer *p)
{
    p->line.text =
        cz_arena_copy(p->fmt->arena, cz_text_string(&p->text), p->text.n);
    *CZ_PUSH(p->fmt->arena, p->lines->list, p->lines->n) = p->line;
    p->text.n = 0;
}

static void put_comment_line(printer *p, const cz_fmt_comment *comment,
                             int indent, bool blank_before)
{
    begin_line(p, indent);
    p->line.blank_before = blank_before;
    p->line.comment = comment;
    end_line(p);
}

/* ---- where to break
 * ------------------------------------------------------------ */

static bool in_rows(const place *at)
{
    return at->depth > 0 && at->open[at->depth - 1].rows;
}

/* Rather break arguments than shapes. */
static int cost_of_bracket(const cz_fmt_word *word)
{
    return word->kind == TOK_LBRACK ? 3 * N_BINDINGS : N_BINDINGS;
}

static struct bracket bracket_of(const printer *p, const place *at,
                                 const cz_fmt_word *word)
{
    const bool rows = word->rows && p->is_broken;
    const bool apart = rows || word->n_comments > 0;

    return (struct bracket){apart ? p->base + CZ_FMT_INDENT : at->column, apart,
                            rows, cost_of_bracket(word)};
}

static bool is_anchor(int kind)
{
    return kind == TOK_ASSIGN || kind == TOK_ARROW || kind == TOK_IF ||
           kind == TOK_RETURN;
}

/* Over one word. */
static void step(const printer *p, place *at, const cz_fmt_word *word,
                 bool begins_line)
{
    at->column += (begins_line ? 0 : word->space) + word->width;
    if (cz_fmt_is_open(word->kind)) {
        at->cost += cost_of_bracket(word);
        at->open[at->depth++] = bracket_of(p, at, word);
    } else if (cz_fmt_is_close(word->kind)) {
        at->cost -= at->open[--at->depth].cost;
    } else if (at->depth == 0 && is_anchor(word->kind)) {
        at->anchor = at->column + 1;
    }
}

/* The indentation of a line behind this word. */
static int hang_behind(const printer *p, const place *at,
                       const cz_fmt_word *word)
{
    int hang = at->anchor;

    if (at->depth > 0)
        hang = at->open[at->depth - 1].hang;
    else if (word->kind == TOK_COMMA)
        hang = p->base + CZ_FMT_INDENT;
    return hang <= MAX_HANG ? hang : p->base + 2 * CZ_FMT_INDENT;
}

/* The closing bracket of what stands apart stands with its statement. */
static bool closes_apart(const place *at, const cz_fmt_word *word)
{
    return cz_fmt_is_close(word->kind) && at->depth > 0 &&
           at->open[at->depth - 1].apart;
}

/* Must a line begin with this word? */
static bool is_forced(const place *at, const cz_fmt_word *word)
{
    return word[-1].n_comments > 0 || closes_apart(at, word) ||
           (in_rows(at) && (word[-1].rows || word[-1].kind == TOK_COMMA));
}

/* How strongly the operator before this word binds; -1: no line may begin
 * here. */
static int binding_before(const cz_fmt_word *word)
{
    switch (word[-1].kind) {
    case TOK_COMMA:
    case TOK_PIPE:
        return 0;
    case TOK_OR:
        return 1;
    case TOK_AND:
        return 2;
    case TOK_LT:
    case TOK_LE:
    case TOK_GT:
    case TOK_GE:
    case TOK_EQ:
    case TOK_NE:
        return 3;
    case TOK_PLUS:
        return 4;
    case TOK_MINUS:
        return word[-1].tight ? -1 : 4;
    case TOK_STAR:
    case TOK_SLASH:
    case TOK_AT:
        return 5;
    default:
        return -1;
    }
}

/* The word, behind `first`, that begins the next line; `end` when all up to
 * there fits, with `tail` columns behind it. */
static int find_break(const printer *p, const place *from, int first, int end,
                      bool begins_line, int tail)
{
    place at = *from;
    int best = end, best_cost = INT32_MAX;

    for (int i = first; i < end; i++) {
        const cz_fmt_word *word = &p->fmt->words[i];
        if (i > first && is_forced(&at, word))
            return i;
        const int binding = i > first ? binding_before(word) : -1;
        const int cost = at.cost + binding;
        if (binding >= 0 && cost <= best_cost) {
            best = i;
            best_cost = cost;
        }
        step(p, &at, word, begins_line && i == first);
        if (at.column + (i + 1 == end ? tail : 0) > CZ_FMT_LIMIT && best < end)
            return best;
    }
    return end;
}

/* ---- statements
 * ------------------------------------------------------------------ */

static void put_word(printer *p, const cz_fmt_word *word, bool begins_line)
{
    put(p, begins_line ? 0 : word->space, word->text, word->n, word->width);
}

/* The comments behind a word: the first on its line, others alone. */
static void put_inner_comments(printer *p, const cz_fmt_word *word, int indent)
{
    int i = 0;

    if (word->n_comments > 0 && !word->comments[0].own_line)
        p->line.comment = &word->comments[i++];
    end_line(p);
    for (; i < word->n_comments; i++)
        put_comment_line(p, &word->comments[i], indent, false);
}

static void put_words(printer *p, place *at, const cz_fmt_run *run, int tail)
{
    const int end = run->first + run->n;
    bool begins_line = at->column == p->line.indent;

    for (int i = run->first; i < end;) {
        const int stop = find_break(p, at, i, end, begins_line, tail);
        for (; i < stop; i++) {
            put_word(p, &p->fmt->words[i], begins_line);
            step(p, at, &p->fmt->words[i], begins_line);
            begins_line = false;
        }
        if (i == end)
            return;
        const cz_fmt_word *word = &p->fmt->words[i];
        const int hang = hang_behind(p, at, word - 1);
        put_inner_comments(p, word - 1, hang);
        at->column = closes_apart(at, word) ? p->base : hang;
        begin_line(p, at->column);
        begins_line = true;
    }
}

static void put_block(printer *p, const cz_fmt_block *block, int indent);

/* { a, b } behind the words of its statement. */
static void put_inline_block(printer *p, const cz_fmt_block *block)
{
    put(p, 1, "{", 1, 1);
    for (int i = 0; i < block->n_items; i++) {
        const cz_fmt_run *run = &block->items[i].runs[0];
        if (i > 0)
            put(p, 0, ",", 1, 1);
        put(p, 1, "", 0, 0);
        for (int w = 0; w < run->n; w++)
            put_word(p, &p->fmt->words[run->first + w], w == 0);
    }
    put(p, 1, "}", 1, 1);
}

static void put_broken_block(printer *p, const cz_fmt_block *block, int indent)
{
    put(p, 1, "{", 1, 1);
    p->line.comment = block->comment;
    end_line(p);
    put_block(p, block, indent + CZ_FMT_INDENT);
    begin_line(p, indent);
    put(p, 0, "}", 1, 1);
}

/* Columns behind the words of a run. */
static int tail_of(const printer *p, const cz_fmt_item *item,
                   const cz_fmt_run *run)
{
    const int last = run->first + run->n - 1;

    if (!run->block)
        return 0;
    return run->block->one_line ? cz_fmt_width(p->fmt, item, -1) -
                                      cz_fmt_width(p->fmt, item, last)
                                : 2;
}

static void put_statement(printer *p, const cz_fmt_item *item, int indent)
{
    place at = {.column = indent, .anchor = indent + CZ_FMT_INDENT};

    begin_line(p, indent);
    p->line.blank_before = item->blank_before;
    p->is_broken = cz_fmt_has_comments(p->fmt, item) ||
                   indent + cz_fmt_width(p->fmt, item, -1) > CZ_FMT_LIMIT;
    for (int i = 0; i < item->n_runs; i++) {
        const cz_fmt_run *run = &item->runs[i];
        p->base = indent;
        put_words(p, &at, run, tail_of(p, item, run));
        if (run->block && run->block->one_line)
            put_inline_block(p, run->block);
        else if (run->block)
            put_broken_block(p, run->block, indent);
        at.column = p->line.width;
    }
    p->line.comment = item->comment;
    end_line(p);
}

static void put_block(printer *p, const cz_fmt_block *block, int indent)
{
    for (int i = 0; i < block->n_items; i++) {
        const cz_fmt_item *item = &block->items[i];
        const int first = p->lines->n;
        if (item->n_runs > 0)
            put_statement(p, item, indent);
        else
            put_comment_line(p, item->comment, indent, item->blank_before);
        if (i == 0)
            p->lines->list[first].blank_before = false;
    }
}

void cz_fmt_break(const cz_fmt *fmt, cz_fmt_lines *lines)
{
    printer p = {.fmt = fmt, .lines = lines};

    cz_text_init(&p.text);
    put_block(&p, fmt->file, 0);
    cz_text_fini(&p.text);
}
