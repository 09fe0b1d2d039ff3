/* Which blocks stand on one line, and the columns that rows of like
 * statements share.  Both follow from the words alone, never from how the
 * text was laid out before. */
#include "frontend/format/internal.h"

#include "gram.h"

/* ---- widths
 * ------------------------------------------------------------------ */

typedef struct ruler {
    const cz_fmt *fmt;
    int stop, width;
    bool done;
} ruler;

static void measure(ruler *r, const cz_fmt_item *item);

static void measure_block(ruler *r, const cz_fmt_block *block)
{
    r->width += 2; /* blank and brace */
    r->done = !block->one_line;
    for (int i = 0; i < block->n_items && !r->done; i++) {
        r->width += i > 0 ? 2 : 1;
        measure(r, &block->items[i]);
    }
    if (!r->done)
        r->width += 2;
}

static void measure(ruler *r, const cz_fmt_item *item)
{
    for (int p = 0; p < item->n_runs && !r->done; p++) {
        for (int i = item->runs[p].first;
             i < item->runs[p].first + item->runs[p].n && !r->done; i++) {
            r->width += r->fmt->words[i].space + r->fmt->words[i].width;
            r->done = i == r->stop;
        }
        if (item->runs[p].block && !r->done)
            measure_block(r, item->runs[p].block);
    }
}

int cz_fmt_width(const cz_fmt *fmt, const cz_fmt_item *item, int stop)
{
    ruler r = {fmt, stop, 0, false};

    measure(&r, item);
    return r.width;
}

/* ---- blocks on one line
 * -------------------------------------------------------- */

bool cz_fmt_has_comments(const cz_fmt *fmt, const cz_fmt_item *item)
{
    for (int p = 0; p < item->n_runs; p++)
        for (int i = 0; i < item->runs[p].n; i++)
            if (fmt->words[item->runs[p].first + i].n_comments > 0)
                return true;
    return false;
}

/* Words and nothing else. */
static bool is_plain(const cz_fmt *fmt, const cz_fmt_item *item)
{
    return item->n_runs == 1 && !item->runs[0].block && !item->comment &&
           !cz_fmt_has_comments(fmt, item);
}

static bool may_stand_on_one_line(const cz_fmt *fmt, const cz_fmt_item *item,
                                  const cz_fmt_block *block)
{
    const bool is_lone_if =
        cz_fmt_first(fmt, item)->kind == TOK_IF && item->n_runs == 1;

    if (block->n_items == 0)
        return !block->comment;
    if (block->comment || cz_fmt_has_comments(fmt, item) ||
        !(block->is_blocks || (is_lone_if && block->n_items == 1)))
        return false;
    for (int i = 0; i < block->n_items; i++)
        if (!is_plain(fmt, &block->items[i]))
            return false;
    return true;
}

static void choose_blocks(cz_fmt *fmt, const cz_fmt_block *block, int indent)
{
    for (int i = 0; i < block->n_items; i++) {
        const cz_fmt_item *item = &block->items[i];
        for (int p = 0; p < item->n_runs; p++) {
            cz_fmt_block *inner = item->runs[p].block;
            if (!inner)
                continue;
            choose_blocks(fmt, inner, indent + CZ_FMT_INDENT);
            inner->one_line = may_stand_on_one_line(fmt, item, inner);
            if (indent + cz_fmt_width(fmt, item, -1) > CZ_FMT_LIMIT)
                inner->one_line = inner->n_items == 0;
        }
    }
}

/* ---- columns
 * --------------------------------------------------------------------- */

/* Statements that stand in columns, one kind below the other. */
typedef enum row_kind {
    NO_ROW,
    USE,
    NAMED_USE,
    BINDING,
    STATE,
    TIE,
    PARAM
} row_kind;

static const struct row_style {
    int limit;      /* a column reaches no further: what is longer sticks out */
    bool may_break; /* rows that it makes too long are broken; else they
                       stick out */
    int stops[2][2]; /* words that are aligned at their ends; or */
} styles[] = {
    [USE] = {72, false, {{TOK_ON}}},
    [NAMED_USE] = {72, false, {{TOK_AS}, {TOK_ON}}},
    [BINDING] = {40, true, {{TOK_ASSIGN, TOK_ARROW}}},
    [STATE] = {48, true, {{TOK_COLON}, {TOK_ASSIGN}}},
    [TIE] = {64, true, {{TOK_ASSIGN}}},
    [PARAM] = {56, false, {{TOK_COLON}}},
};

/* The first word of one of these kinds outside all brackets, or -1. */
static int find_stop(const cz_fmt *fmt, const cz_fmt_item *item,
                     const int kinds[2])
{
    const cz_fmt_run *run = &item->runs[0];
    int depth = 0;

    for (int i = run->first; i < run->first + run->n; i++) {
        const int kind = fmt->words[i].kind;
        depth += cz_fmt_is_open(kind) - cz_fmt_is_close(kind);
        if (depth == 0 && (kind == kinds[0] || kind == kinds[1]))
            return i;
    }
    return -1;
}

static row_kind kind_of_first(int kind)
{
    switch (kind) {
    case TOK_USE:
        return USE;
    case TOK_ID:
    case TOK_LPAREN:
        return BINDING;
    case TOK_STATE:
    case TOK_EXTERN:
        return STATE;
    case TOK_TIE:
        return TIE;
    case TOK_PATH:
        return PARAM;
    default:
        return NO_ROW;
    }
}

static row_kind row_kind_of(const cz_fmt *fmt, const cz_fmt_item *item)
{
    const cz_fmt_word *first = cz_fmt_first(fmt, item);
    row_kind kind = first ? kind_of_first(first->kind) : NO_ROW;

    if (kind == USE && find_stop(fmt, item, styles[NAMED_USE].stops[0]) >= 0)
        kind = NAMED_USE;
    if (kind == NO_ROW || find_stop(fmt, item, styles[kind].stops[0]) < 0)
        return NO_ROW;
    return kind;
}

typedef struct row {
    const cz_fmt_item *item; /* the statement that has the line */
    int indent, stops[2];    /* -1: this row has no such word */
} row;

typedef struct rows {
    row *list;
    int n;
    row_kind kind;
} row_set;

static void add_row(cz_fmt *fmt, row_set *rows, const cz_fmt_item *line,
                    const cz_fmt_item *item, int indent)
{
    row *r = CZ_PUSH(fmt->arena, rows->list, rows->n);

    *r = (row){.item = line, .indent = indent};
    for (int s = 0; s < 2; s++)
        r->stops[s] = find_stop(fmt, item, styles[rows->kind].stops[s]);
}

static int end_of_stop(const cz_fmt *fmt, const row *r, int s)
{
    return r->indent + cz_fmt_width(fmt, r->item, r->stops[s]);
}

/* Does the line fit with `n` more columns? */
static bool has_room(const cz_fmt *fmt, const row *r, int n)
{
    return r->indent + cz_fmt_width(fmt, r->item, -1) + n <= CZ_FMT_LIMIT;
}

static bool is_in_column(const cz_fmt *fmt, const row_set *rows, const row *r,
                         int s)
{
    const struct row_style *style = &styles[rows->kind];

    return r->stops[s] >= 0 && end_of_stop(fmt, r, s) <= style->limit &&
           (style->may_break || has_room(fmt, r, 0));
}

static void pad(cz_fmt *fmt, const row_set *rows, const row *r, int s,
                int column)
{
    const int n = column - end_of_stop(fmt, r, s);

    if (is_in_column(fmt, rows, r, s) &&
        (styles[rows->kind].may_break || has_room(fmt, r, n)))
        fmt->words[r->stops[s]].space += n;
}

static void align_rows(cz_fmt *fmt, row_set *rows)
{
    for (int s = 0; s < 2 && rows->kind != NO_ROW; s++) {
        int column = 0;
        for (int i = 0; i < rows->n; i++)
            if (is_in_column(fmt, rows, &rows->list[i], s) &&
                end_of_stop(fmt, &rows->list[i], s) > column)
                column = end_of_stop(fmt, &rows->list[i], s);
        for (int i = 0; i < rows->n; i++)
            pad(fmt, rows, &rows->list[i], s, column);
    }
    rows->n = 0;
    rows->kind = NO_ROW;
}

/* All parameters of a `params` block share one column, however deep. */
static void collect_params(cz_fmt *fmt, const cz_fmt_block *block, int indent,
                           row_set *rows)
{
    for (int i = 0; i < block->n_items; i++) {
        const cz_fmt_item *item = &block->items[i];
        if (row_kind_of(fmt, item) == PARAM) {
            add_row(fmt, rows, item, item, indent);
            continue;
        }
        for (int p = 0; p < item->n_runs; p++) {
            const cz_fmt_block *inner = item->runs[p].block;
            if (inner && !inner->one_line)
                collect_params(fmt, inner, indent + CZ_FMT_INDENT, rows);
            else if (inner && inner->n_items > 0 &&
                     row_kind_of(fmt, &inner->items[0]) == PARAM)
                add_row(fmt, rows, item, &inner->items[0], indent);
        }
    }
}

static void align_params(cz_fmt *fmt, const cz_fmt_item *item, int indent)
{
    row_set params = {.kind = PARAM};

    collect_params(fmt, item->runs[0].block, indent + CZ_FMT_INDENT, &params);
    align_rows(fmt, &params);
}

/* Other statements share a column with those next to them. */
static void align_block(cz_fmt *fmt, const cz_fmt_block *block, int indent)
{
    row_set run = {.kind = NO_ROW};

    for (int i = 0; i < block->n_items; i++) {
        const cz_fmt_item *item = &block->items[i];
        const cz_fmt_word *first = cz_fmt_first(fmt, item);
        const row_kind kind = row_kind_of(fmt, item);
        if (item->blank_before || (first && kind != run.kind))
            align_rows(fmt, &run);
        if (first && first->kind == TOK_PARAMS)
            align_params(fmt, item, indent);
        if (kind != NO_ROW && kind != PARAM) {
            run.kind = kind;
            add_row(fmt, &run, item, item, indent);
        }
        for (int p = 0; p < item->n_runs; p++)
            if (item->runs[p].block && !item->runs[p].block->one_line)
                align_block(fmt, item->runs[p].block, indent + CZ_FMT_INDENT);
    }
    align_rows(fmt, &run);
}

void cz_fmt_align(cz_fmt *fmt)
{
    choose_blocks(fmt, fmt->file, 0);
    align_block(fmt, fmt->file, 0);
}
