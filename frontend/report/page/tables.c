/* Tables of a page: matrices and why they are updated as they are, baselines,
 * constants. */
#include "frontend/report/page/internal.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/document/number.h"

enum {
    LEFT = 250 * CZ_PAGE_UNIT,
    RIGHT = 850 * CZ_PAGE_UNIT,
    ROW = 20 * CZ_PAGE_UNIT,
    BAR = 15 * CZ_PAGE_UNIT,
    CUT = 12 /* a bar is at most so many times as long as this plan's */
};

static void put_number(cz_page *page, int64_t value)
{
    cz_page_cell(page, true);
    cz_number_full(page->out, value);
    cz_page_end_cell(page);
}

static void put_time(cz_page *page, int64_t ps, const char *basis)
{
    cz_page_cell(page, true);
    cz_page_time(page, ps);
    if (basis)
        cz_page_basis(page, basis);
    cz_page_end_cell(page);
}

static void put_bytes(cz_page *page, int64_t bytes)
{
    cz_page_cell(page, true);
    cz_page_bytes(page, bytes);
    cz_page_end_cell(page);
}

/* ---- matrices ---- */

/* The reason, and the other ways one below the other. */
static void put_why(cz_page *page, const cz_matrix_class *of)
{
    cz_text why = {0}, others = {0};
    cz_class_why(page->look->document, of, &why);
    cz_class_others(of, "\n", &others);
    cz_page_cell(page, false);
    cz_page_escape(page, cz_text_string(&why));
    if (others.n > 0) {
        /* An item for each line. */
        const char *lines = cz_text_string(&others) + 1;
        cz_page_raw(page, "<ul>");
        while (*lines) {
            const int n = (int)strcspn(lines, "\n");
            cz_page_raw(page, "<li>");
            cz_page_print(page, "%.*s", n, lines);
            cz_page_raw(page, "</li>");
            lines += lines[n] == '\n' ? n + 1 : n;
        }
        cz_page_raw(page, "</ul>");
    }
    cz_page_end_cell(page);
    cz_text_fini(&why);
    cz_text_fini(&others);
}

static void put_class(cz_page *page, const cz_matrix_class *of)
{
    const bool is_measured = of->stage && of->stage->is_measured;
    cz_page_row(page);
    cz_page_cell(page, true);
    cz_page_print(page, "%" PRId64 " x %" PRId64, of->like->rows,
                  of->like->columns);
    cz_page_end_cell(page);
    put_number(page, of->n);
    cz_page_word(page, of->optimizer);
    cz_page_cell(page, false);
    cz_page_escape(page, of->like->strategy);
    if (of->like->group_size > 1)
        cz_page_print(page, ", %" PRId64 " ranks", of->like->group_size);
    cz_page_end_cell(page);
    put_time(page, of->like->time_ps, is_measured ? "measured" : "assumed");
    put_number(page, of->stage ? of->stage->batch : 1);
    put_bytes(page, of->wire_bytes);
    put_why(page, of);
    cz_page_end_row(page);
}

void cz_page_matrices(cz_page *page)
{
    static const char *const columns[] = {
        "#shape",       "#count", "optimizer",        "strategy",
        "#time of one", "#batch", "#bytes to owners", "why"};
    int n;
    const cz_matrix_class *all =
        cz_matrix_classes(page->arena, page->look->document, &n);
    cz_page_open_section(page, "Matrices",
                         "Classes of equal matrices, those with most work "
                         "first. The time of one is its share of a batch that "
                         "is computed together.");
    cz_page_open_table(page, columns, 8);
    for (int i = 0; i < n; i++)
        put_class(page, &all[i]);
    cz_page_close_table(page);
    cz_page_close_section(page);
}

/* ---- baselines ---- */

/* A dash where there is nothing to say. */
static void put_spread(cz_page *page, const int64_t *values, bool is_time)
{
    const int n = page->look->document->n_ranks;
    if (!values) {
        cz_page_raw(page, "<td class=\"n\">-</td><td class=\"n\">-</td>");
        return;
    }
    const cz_rank_sums sums = cz_rank_sums_of(values, n);
    if (is_time)
        put_time(page, sums.max, NULL);
    else
        put_bytes(page, sums.max);
    cz_page_cell(page, true);
    cz_page_ratio(page, sums.max, sums.n, sums.sum);
    cz_page_end_cell(page);
}

static void put_baseline(cz_page *page, const char *name, const int64_t *time,
                         const int64_t *state)
{
    const cz_document *s = page->look->document;
    cz_page_row(page);
    cz_page_word(page, name);
    put_spread(page, time, true);
    cz_page_cell(page, true);
    if (time)
        cz_page_ratio(page, cz_rank_sums_of(time, s->n_ranks).max, 1,
                      cz_document_time(s));
    else
        cz_page_raw(page, "-");
    cz_page_end_cell(page);
    put_spread(page, state, false);
    cz_page_end_row(page);
}

/* The busiest rank of each plan as a bar, longest to the right. */
static void put_bar(cz_page *page, int row, const char *name, int64_t ps,
                    int64_t most)
{
    const int64_t y = (int64_t)row * ROW;
    const bool is_cut = ps > most;
    const int64_t width =
        is_cut ? RIGHT - LEFT : cz_page_scale(ps, most, RIGHT - LEFT);
    cz_text time = {0};
    cz_number_time(&time, ps);
    cz_text_puts(&time, is_cut ? " (cut)" : "");
    cz_page_label(page, LEFT - 8 * CZ_PAGE_UNIT, y + 12 * CZ_PAGE_UNIT, "end",
                  name);
    cz_page_rect(page, (const int64_t[]){LEFT, y, width, BAR},
                 row == 0 ? "compute" : "small", name);
    cz_page_label(page, LEFT + width + 6 * CZ_PAGE_UNIT, y + 12 * CZ_PAGE_UNIT,
                  "start", cz_text_string(&time));
    cz_text_fini(&time);
}

static void put_baseline_bar(cz_page *page, int row,
                             const cz_document_baseline *baseline, int64_t most)
{
    const int64_t ps =
        cz_rank_sums_of(baseline->time_ps, page->look->document->n_ranks).max;
    put_bar(page, row, baseline->name, ps, most);
}

/* What takes many times as long is cut off, so that the others are legible. */
static void put_bars(cz_page *page)
{
    const cz_document *s = page->look->document;
    const int64_t ours = cz_document_time(s);
    int64_t most = ours;
    int n = 1;
    for (int i = 0; i < s->n_baselines; i++)
        if (!s->baselines[i].has_micro_groups) {
            const int64_t ps =
                cz_rank_sums_of(s->baselines[i].time_ps, s->n_ranks).max;
            most = ps > most && ps / CUT <= ours ? ps : most;
            n++;
        }
    cz_page_open_svg(page, (int64_t)n * ROW, "busiest rank of each plan");
    put_bar(page, 0, "this plan", ours, most);
    for (int i = 0, row = 1; i < s->n_baselines; i++)
        if (!s->baselines[i].has_micro_groups)
            put_baseline_bar(page, row++, &s->baselines[i], most);
    cz_page_close_svg(page);
}

void cz_page_baselines(cz_page *page)
{
    static const char *const columns[] = {"plan",         "#busiest rank",
                                          "#max/mean",    "#of this plan's",
                                          "#state, most", "#max/mean"};
    const cz_document *s = page->look->document;
    const cz_basis basis = cz_basis_of(s);
    cz_page_open_section(page, "Baselines",
                         "Other plans of the same matrices, by the same "
                         "times.");
    put_bars(page);
    cz_page_open_table(page, columns, 6);
    put_baseline(page, "this plan", s->time_ps, s->memory[CZ_MEMORY_STATE]);
    for (int i = 0; i < s->n_baselines; i++)
        if (!s->baselines[i].has_micro_groups)
            put_baseline(page, s->baselines[i].name, s->baselines[i].time_ps,
                         s->baselines[i].state_bytes);
    cz_page_close_table(page);
    cz_page_raw(page, "<p>");
    cz_page_print(page, "All times are %s%s.", cz_basis_word(&basis),
                  s->n_baselines == 0 ? "; the plan says no baselines" : "");
    cz_page_raw(page, "</p>\n");
    cz_page_close_section(page);
}

/* ---- constants ---- */

void cz_page_constants(cz_page *page)
{
    static const char *const columns[] = {"constant", "#value", "unit",
                                          "measured", "source"};
    const cz_document *s = page->look->document;
    cz_page_open_section(page, "Constants",
                         "What times are computed from, and who says so.");
    cz_page_open_table(page, columns, 5);
    for (int i = 0; i < s->n_constants; i++) {
        const cz_document_constant *constant = &s->constants[i];
        cz_page_row(page);
        cz_page_word(page, constant->name);
        put_number(page, constant->value);
        cz_page_word(page, constant->unit);
        cz_page_word(page, constant->is_measured ? "measured" : "assumed");
        cz_page_word(page, constant->source);
        cz_page_end_row(page);
    }
    cz_page_close_table(page);
    cz_page_close_section(page);
}
