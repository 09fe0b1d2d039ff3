/* One number of every rank, as bars from the largest to the least. */
#include "frontend/report/page/internal.h"

#include <string.h>

enum {
    MAX_BARS = 128,
    LEFT = 70 * CZ_PAGE_UNIT,
    RIGHT = 790 * CZ_PAGE_UNIT,
    TOP = 20 * CZ_PAGE_UNIT,
    FLOOR = 150 * CZ_PAGE_UNIT,
    HEIGHT = 172 * CZ_PAGE_UNIT,
    MAX_GAP = 6 * CZ_PAGE_UNIT,
    SPACE = 12 * CZ_PAGE_UNIT /* between two labels, one below the other */
};

typedef cz_number (*format)(int64_t value);

typedef struct chart {
    cz_page *page;
    const int64_t *values;
    const int *sorted;
    cz_rank_sums sums;
    int64_t bound; /* -1: none */
    format number;
} chart;

static int64_t y_of(const chart *c, int64_t value)
{
    const int64_t most = c->sums.max > c->bound ? c->sums.max : c->bound;
    return FLOOR - cz_page_scale(value, most, FLOOR - TOP);
}

/* ---- bars ---- */

/* Ranks [from, to) of the sorted ones, as high as the first of them. */
static void put_bar(chart *c, int from, int to, int64_t x, int64_t width)
{
    const int64_t most = c->values[c->sorted[from]];
    const int64_t least = c->values[c->sorted[to - 1]];
    const int64_t y = y_of(c, most);
    cz_text title = {0};
    if (to - from > 1)
        cz_text_printf(&title, "%d ranks, from rank %d: ", to - from,
                       c->sorted[from]);
    else
        cz_text_printf(&title, "rank %d: ", c->sorted[from]);
    cz_text_puts(&title, c->number(most).text);
    if (least != most)
        cz_text_printf(&title, " to %s", c->number(least).text);
    cz_page_rect(c->page, (const int64_t[]){x, y, width, FLOOR - y}, "compute",
                 cz_text_string(&title));
    cz_text_fini(&title);
}

static void put_bars(chart *c)
{
    const int n = c->sums.n;
    const int together = (n + MAX_BARS - 1) / MAX_BARS;
    const int n_bars = (n + together - 1) / together;
    const int64_t pitch = (RIGHT - LEFT) / n_bars;
    const int64_t gap = pitch / 6 < MAX_GAP ? pitch / 6 : MAX_GAP;
    for (int b = 0; b < n_bars; b++) {
        const int to = (b + 1) * together;
        put_bar(c, b * together, to < n ? to : n, LEFT + b * pitch,
                pitch - gap);
    }
}

/* ---- lines ---- */

static void put_line(chart *c, int64_t value, const char *style,
                     const char *what, int64_t label_y)
{
    const int64_t y = y_of(c, value);
    cz_text label = {0};
    cz_text_printf(&label, "%s %s", what, c->number(value).text);
    cz_page_line(c->page, (const int64_t[]){LEFT, y, RIGHT, y}, style);
    cz_page_label(c->page, RIGHT + 6 * CZ_PAGE_UNIT, label_y + 4 * CZ_PAGE_UNIT,
                  "start", cz_text_string(&label));
    cz_text_fini(&label);
}

static void put_axis(chart *c)
{
    cz_page_line(c->page, (const int64_t[]){LEFT, FLOOR, RIGHT, FLOOR}, "grid");
    cz_page_label(c->page, LEFT - 6 * CZ_PAGE_UNIT,
                  y_of(c, c->sums.max) + 4 * CZ_PAGE_UNIT, "end",
                  c->number(c->sums.max).text);
    cz_page_label(c->page, LEFT - 6 * CZ_PAGE_UNIT, FLOOR, "end", "0");
    cz_text ranks = {0};
    cz_text_printf(&ranks, "%d rank%s, the fullest first", c->sums.n,
                   c->sums.n == 1 ? "" : "s");
    if (c->sums.n > MAX_BARS)
        cz_text_printf(&ranks, "; a bar is %d of them",
                       (c->sums.n + MAX_BARS - 1) / MAX_BARS);
    cz_page_label(c->page, LEFT, FLOOR + 16 * CZ_PAGE_UNIT, "start",
                  cz_text_string(&ranks));
    cz_text_fini(&ranks);
}

/* Where all bars would be as long, none is drawn. */
static void put_chart(cz_page *page, const char *title, const int64_t *values,
                      int64_t bound, format number)
{
    const int n = page->context->document->n_ranks;
    chart c = {page,
               values,
               cz_ranks_sorted(page->arena, values, n),
               cz_rank_sums_of(values, n),
               bound,
               number};
    const cz_number load = cz_number_ratio(c.sums.max, c.sums.n, c.sums.sum);
    cz_page_raw(page, "<h3>");
    cz_page_escape(page, title);
    if (strcmp(load.text, "1.000") == 0) {
        cz_page_print(page, ": %s on each rank", number(c.sums.max).text);
        cz_page_raw(page, "</h3>\n");
        return;
    }
    cz_page_print(page, ": max over mean %s", load.text);
    cz_page_raw(page, "</h3>\n");
    cz_page_open_svg(page, HEIGHT, title);
    put_bars(&c);
    put_axis(&c);
    /* Labels keep apart, the lower line's below. */
    int64_t mean_y = y_of(&c, c.sums.mean);
    int64_t bound_y = c.bound < 0 ? 0 : y_of(&c, c.bound);
    int64_t *lower = c.bound < c.sums.mean ? &bound_y : &mean_y;
    const int64_t upper = c.bound < c.sums.mean ? mean_y : bound_y;
    if (c.bound >= 0 && *lower < upper + SPACE)
        *lower = upper + SPACE;
    if (c.bound >= 0)
        put_line(&c, c.bound, "bound", "bound", bound_y);
    put_line(&c, c.sums.mean, "mean", "mean", mean_y);
    cz_page_close_svg(page);
}

/* ---- memory by kind ---- */

static cz_number bytes_of(int64_t bytes)
{
    return cz_number_short(bytes, "B");
}

static void put_memories(cz_page *page)
{
    static const char *const columns[] = {"memory of a rank", "#mean", "#max",
                                          "#min", "#max/mean"};
    const cz_document *s = page->context->document;
    cz_page_open_table(page, columns, 5);
    for (int k = 0; k < CZ_N_MEMORIES; k++) {
        const cz_rank_sums sums = cz_rank_sums_of(s->memory[k], s->n_ranks);
        if (sums.max == 0)
            continue;
        cz_page_raw(page, "<tr>");
        cz_page_word(page, cz_memory_name((cz_memory)k));
        cz_page_number(page, "%s", bytes_of(sums.mean).text);
        cz_page_number(page, "%s", bytes_of(sums.max).text);
        cz_page_number(page, "%s", bytes_of(sums.min).text);
        cz_page_number(page, "%s",
                       cz_number_ratio(sums.max, sums.n, sums.sum).text);
        cz_page_raw(page, "</tr>\n");
    }
    cz_page_close_table(page);
}

void cz_page_bars(cz_page *page)
{
    const cz_document *s = page->context->document;
    const cz_document_bound *bound = cz_document_binding(s);
    cz_page_open_section(
        page, "Ranks",
        "What each rank computes in a step, and the optimizer's state that it "
        "holds. No plan is below the bound on its busiest rank; the mean is of "
        "this plan's own work.");
    put_chart(page, "Time of the optimizer's kernels", s->time_ps,
              bound ? bound->value : -1, cz_number_time);
    put_chart(page, "Optimizer state", s->memory[CZ_MEMORY_STATE], -1,
              bytes_of);
    put_memories(page);
    cz_page_raw(page, "</section>\n");
}
