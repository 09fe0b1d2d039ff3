/* Tables of a page: matrices and why they are updated as they are, baselines,
 * constants. */
#include "frontend/report/page/internal.h"

#include <inttypes.h>
#include <string.h>

enum {
    LEFT = 250 * CZ_PAGE_UNIT,
    RIGHT = 850 * CZ_PAGE_UNIT,
    ROW = 20 * CZ_PAGE_UNIT,
    BAR = 15 * CZ_PAGE_UNIT,
    CUT = 12 /* a bar is at most so many times as long as this plan's */
};

/* ---- matrices ---- */

static void put_class(cz_page *page, const cz_matrix_class *of)
{
    const bool is_measured = of->stage && of->stage->is_measured;
    const cz_document_matrix *m = of->like;
    cz_text why = {0}, others = {0};
    cz_page_raw(page, "<tr>");
    cz_page_number(page, "%" PRId64 " x %" PRId64, m->rows, m->columns);
    cz_page_number(page, "%s", cz_number_full(of->n).text);
    cz_page_word(page, of->optimizer);
    cz_page_raw(page, "<td>");
    cz_page_escape(page, m->strategy);
    if (m->subgroup_size > 1)
        cz_page_print(page, ", %" PRId64 " ranks", m->subgroup_size);
    cz_page_raw(page, "</td><td class=\"n\">");
    cz_page_print(page, "%s", cz_number_time(m->time_ps).text);
    cz_page_basis(page, is_measured ? "measured" : "assumed");
    cz_page_raw(page, "</td>");
    cz_page_number(page, "%s",
                   cz_number_full(of->stage ? of->stage->batch : 1).text);
    cz_page_number(page, "%s",
                   of->wire_bytes > 0
                       ? cz_number_short(of->wire_bytes, "B").text
                       : "none");
    /* The reason, and the other ways one below the other. */
    cz_class_why(page->context->document, of, &why);
    cz_class_others(of, "\n", &others);
    cz_page_raw(page, "<td>");
    cz_page_escape(page, cz_text_string(&why));
    if (others.n > 0) {
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
    cz_page_raw(page, "</td></tr>\n");
    cz_text_fini(&why);
    cz_text_fini(&others);
}

void cz_page_matrices(cz_page *page)
{
    static const char *const columns[] = {
        "#shape",       "#count", "optimizer",        "strategy",
        "#time of one", "#batch", "#bytes to owners", "why"};
    int n;
    const cz_matrix_class *all =
        cz_matrix_classes(page->arena, page->context->document, &n);
    if (n == 0)
        return;
    cz_page_open_section(page, "Matrices",
                         "Classes of equal matrices, those with most work "
                         "first. The time of one is its share of a batch that "
                         "is computed together.");
    cz_page_open_table(page, columns, 8);
    for (int i = 0; i < n; i++)
        put_class(page, &all[i]);
    cz_page_close_table(page);
    cz_page_raw(page, "</section>\n");
}

/* ---- baselines ---- */

/* Dashes where there is nothing to say. */
static void put_baseline(cz_page *page, const char *name, const int64_t *time,
                         const int64_t *state)
{
    const cz_document *s = page->context->document;
    cz_page_raw(page, "<tr>");
    cz_page_word(page, name);
    if (time) {
        const cz_rank_sums t = cz_rank_sums_of(time, s->n_ranks);
        cz_page_number(page, "%s", cz_number_time(t.max).text);
        cz_page_number(page, "%s", cz_number_ratio(t.max, t.n, t.sum).text);
        cz_page_number(page, "%s",
                       cz_number_ratio(t.max, 1, cz_document_time(s)).text);
    }
    for (int i = 0; i < 3 && !time; i++)
        cz_page_number(page, "-");
    if (state) {
        const cz_rank_sums t = cz_rank_sums_of(state, s->n_ranks);
        cz_page_number(page, "%s", cz_number_short(t.max, "B").text);
        cz_page_number(page, "%s", cz_number_ratio(t.max, t.n, t.sum).text);
    }
    for (int i = 0; i < 2 && !state; i++)
        cz_page_number(page, "-");
    cz_page_raw(page, "</tr>\n");
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
    cz_text_printf(&time, "%s%s", cz_number_time(ps).text,
                   is_cut ? " (cut)" : "");
    cz_page_label(page, LEFT - 8 * CZ_PAGE_UNIT, y + 12 * CZ_PAGE_UNIT, "end",
                  name);
    cz_page_rect(page, (const int64_t[]){LEFT, y, width, BAR},
                 row == 0 ? "compute" : "small", name);
    cz_page_label(page, LEFT + width + 6 * CZ_PAGE_UNIT, y + 12 * CZ_PAGE_UNIT,
                  "start", cz_text_string(&time));
    cz_text_fini(&time);
}

/* What takes many times as long is cut off, so that the others are legible. */
static void put_bars(cz_page *page)
{
    const cz_document *s = page->context->document;
    const int64_t ours = cz_document_time(s);
    int64_t *times = CZ_NEW(page->arena, int64_t, s->n_baselines);
    int64_t most = ours;
    int n = 1;
    for (int i = 0; i < s->n_baselines; i++) {
        times[i] = cz_rank_sums_of(s->baselines[i].time_ps, s->n_ranks).max;
        if (s->baselines[i].is_variant)
            continue;
        most = times[i] > most && times[i] / CUT <= ours ? times[i] : most;
        n++;
    }
    cz_page_open_svg(page, (int64_t)n * ROW, "busiest rank of each plan");
    put_bar(page, 0, "this plan", ours, most);
    for (int i = 0, row = 1; i < s->n_baselines; i++)
        if (!s->baselines[i].is_variant)
            put_bar(page, row++, s->baselines[i].name, times[i], most);
    cz_page_close_svg(page);
}

void cz_page_baselines(cz_page *page)
{
    static const char *const columns[] = {"plan",         "#busiest rank",
                                          "#max/mean",    "#of this plan's",
                                          "#state, most", "#max/mean"};
    const cz_document *s = page->context->document;
    const cz_basis basis = cz_basis_of(s);
    cz_page_open_section(page, "Baselines",
                         "Other plans of the same matrices, by the same "
                         "times.");
    put_bars(page);
    cz_page_open_table(page, columns, 6);
    put_baseline(page, "this plan", s->time_ps, s->memory[CZ_MEMORY_STATE]);
    for (int i = 0; i < s->n_baselines; i++)
        if (!s->baselines[i].is_variant)
            put_baseline(page, s->baselines[i].name, s->baselines[i].time_ps,
                         s->baselines[i].state_bytes);
    cz_page_close_table(page);
    cz_page_raw(page, "<p>");
    cz_page_print(page, "All times are %s%s.", cz_basis_word(&basis),
                  s->n_baselines == 0 ? "; the plan says no baselines" : "");
    cz_page_raw(page, "</p>\n");
    cz_page_raw(page, "</section>\n");
}

/* ---- constants ---- */

void cz_page_constants(cz_page *page)
{
    static const char *const columns[] = {"constant", "#value", "unit",
                                          "measured", "source"};
    const cz_document *s = page->context->document;
    cz_page_open_section(page, "Constants",
                         "What times are computed from, and who says so.");
    cz_page_open_table(page, columns, 5);
    for (int i = 0; i < s->n_constants; i++) {
        const cz_document_constant *constant = &s->constants[i];
        cz_page_raw(page, "<tr>");
        cz_page_word(page, constant->name);
        cz_page_number(page, "%s", cz_number_full(constant->value).text);
        cz_page_word(page, constant->unit);
        cz_page_word(page, constant->is_measured ? "measured" : "assumed");
        cz_page_word(page, constant->source);
        cz_page_raw(page, "</tr>\n");
    }
    cz_page_close_table(page);
    cz_page_raw(page, "</section>\n");
}
