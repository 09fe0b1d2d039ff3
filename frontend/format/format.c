/* Text in, text in canonical layout out: the stages in order, and the proof
 * that nothing but the layout has changed. */
#include "frontend/format/format.h"

#include <string.h>

#include "frontend/format/internal.h"

/* ---- lines to text ---------------------------------------------------------
 */

/* Comments behind longer lines stand by themselves. */
enum { MAX_COMMENTED = 72, COMMENT_GAP = 2 };

static bool is_in_column(const cz_fmt_line *line)
{
    return line->comment && *line->text && line->width <= MAX_COMMENTED;
}

/* A line that opens or closes a block is nobody's neighbour. */
static bool has_brace(const cz_fmt_line *line)
{
    const size_t n = strlen(line->text);

    return n > 0 && (line->text[0] == '}' || line->text[n - 1] == '{');
}

/* Lines from `first` on that share the column of their comments: neighbours
 * with one indentation. */
static int end_of_run(const cz_fmt_lines *lines, int first)
{
    const cz_fmt_line *list = lines->list;
    int end = first + 1;

    while (end < lines->n && !list[end].blank_before &&
           list[end].indent == list[first].indent && !has_brace(&list[end]) &&
           !has_brace(&list[end - 1]))
        end++;
    return end;
}

static void put_blanks(cz_text *out, int n)
{
    for (int i = 0; i < n; i++)
        cz_text_put(out, " ", 1);
}

static void put_line(const cz_fmt_line *line, int column, cz_text *out)
{
    if (line->blank_before)
        cz_text_put(out, "\n", 1);
    put_blanks(out, line->indent);
    cz_text_puts(out, line->text);
    if (line->comment && *line->text)
        put_blanks(out, COMMENT_GAP +
                            (is_in_column(line) ? column - line->width : 0));
    if (line->comment)
        cz_text_put(out, line->comment->text, line->comment->n);
    cz_text_put(out, "\n", 1);
}

/* Text, with the comments behind lines in columns. */
static void print_lines(const cz_fmt_lines *lines, cz_text *out)
{
    for (int first = 0, end; first < lines->n; first = end) {
        end = end_of_run(lines, first);
        int column = 0;

        for (int i = first; i < end; i++)
            if (is_in_column(&lines->list[i]) && lines->list[i].width > column)
                column = lines->list[i].width;
        for (int i = first; i < end; i++)
            put_line(&lines->list[i], column, out);
    }
}

/* ---- the whole --------------------------------------------------------------
 */

/* Are the nodes alike, their children left out? */
static bool is_same_node(const cz_node *a, const cz_node *b)
{
    if (a->kind != b->kind || a->flags != b->flags ||
        cz_n_children(a) != cz_n_children(b) || a->integer != b->integer)
        return false;
    return a->text == b->text ||
           (a->text && b->text && strcmp(a->text, b->text) == 0);
}

static bool is_same_tree(const cz_node *a, const cz_node *b)
{
    if (!is_same_node(a, b))
        return false;
    for (int i = 0; i < cz_n_children(a); i++) {
        const bool is_known =
            cz_fmt_same_children(a, i) && cz_fmt_same_children(b, i);
        if (is_known ? !is_same_node(cz_child(a, i), cz_child(b, i))
                     : !is_same_tree(cz_child(a, i), cz_child(b, i)))
            return false;
    }
    return true;
}

bool cz_format(cz_arena *arena, const cz_source *source, cz_diags *diags,
               cz_text *out)
{
    cz_fmt fmt = {.arena = arena, .source = source};
    cz_seen_tokens tokens = {0};
    cz_fmt_lines lines = {0};
    cz_text text = {0};
    const cz_node *file = cz_parse_tokens(arena, source, diags, &tokens);
    bool ok = diags->n_errors == 0;

    if (ok) {
        cz_fmt_read(&fmt, &tokens);
        cz_fmt_space(&fmt, file);
        cz_fmt_align(&fmt);
        cz_fmt_break(&fmt, &lines);
        print_lines(&lines, &text);
        /* Both texts give one tree; else the mistake is ours, and the text is
         * better left alone. */
        const cz_source again = {source->name, cz_text_string(&text), text.n};
        cz_diags unheard;

        cz_diags_init(&unheard, arena);
        if (text.n > CZ_MAX_SOURCE_BYTES)
            cz_diag_error(diags, CZ_TOO_LARGE, (cz_span){.source = source},
                          "in canonical layout the text is longer than 4 MiB");
        else if (!is_same_tree(file, cz_parse(arena, &again, &unheard)) ||
                 unheard.n_errors > 0)
            cz_diag_error(diags, CZ_CHECK_FAILED, (cz_span){.source = source},
                          "canonical layout would change what this text means: "
                          "that is a mistake of canzona");
        ok = diags->n_errors == 0;
    }
    if (ok)
        cz_text_put(out, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return ok;
}
