/* One step on some ranks: a row of lanes for each, time to the right. */
#include "frontend/report/page/internal.h"

#include <string.h>

#include "dsl/base/checked.h"

/* Lengths in hundredths. */
enum {
    LEFT = 150 * CZ_PAGE_UNIT,
    RIGHT = 925 * CZ_PAGE_UNIT, /* half of a label goes beyond */
    TOP = 8 * CZ_PAGE_UNIT,
    LANE = 20 * CZ_PAGE_UNIT,
    BAR = 16 * CZ_PAGE_UNIT,
    ROW_GAP = 26 * CZ_PAGE_UNIT,
    AXIS = 26 * CZ_PAGE_UNIT,
    NEAR = CZ_PAGE_UNIT / 2,   /* gaps below this are not drawn */
    LETTER = 7 * CZ_PAGE_UNIT, /* about as wide as one */
    N_LANES = 3,
    MAX_ROWS = 8,
    MAX_RECTS = 2400 /* of all rows, when ranks are shown one by one */
};

typedef struct gantt {
    cz_page *page;
    const cz_document *document;
    const cz_simulate_timeline *line;
    int64_t from, to; /* the part of the step that is drawn */
    int64_t y;
    int n_lanes;
    bool has_lane[N_LANES];
} gantt;

/* ---- what is drawn ---- */

static const char *style_of(const cz_document_op *op)
{
    static const char *const styles[CZ_N_STEPS] = {
        [CZ_STEP_KERNEL] = "compute",
        [CZ_STEP_REDUCE_SCATTER] = "reduce",
        [CZ_STEP_ALL_GATHER] = "gather",
        [CZ_STEP_TRANSFER] = "transfer",
        [CZ_STEP_GROUP_SUM] = "transfer"};
    return styles[op->kind] ? styles[op->kind] : "small";
}

static int64_t x_of(const gantt *g, int64_t ps)
{
    const int64_t inside = ps < g->from ? g->from : ps > g->to ? g->to : ps;
    return LEFT +
           cz_page_scale(inside - g->from, g->to - g->from, RIGHT - LEFT);
}

/* Operations of one kind with no gap to be seen between them. */
typedef struct run {
    int first, n; /* operations; n = 0: none */
    int64_t start, end;
} run;

static void put_run(gantt *g, const run *drawn)
{
    const cz_document_op *op = &g->document->ops[drawn->first];
    const int64_t from = x_of(g, drawn->start), to = x_of(g, drawn->end);
    const int64_t width = to - from > NEAR ? to - from : NEAR;
    const char *name = cz_step_kind_word(op->kind);
    const int64_t letters = (int64_t)strlen(name) + 1;
    cz_text title = {0};
    if (drawn->n == 0)
        return;
    cz_report_op_name(g->page->context, drawn->first, &title);
    if (drawn->n > 1)
        cz_text_printf(&title, " and %d more", drawn->n - 1);
    cz_text_printf(&title, ": %s to %s", cz_number_time(drawn->start).text,
                   cz_number_time(drawn->end).text);
    cz_page_rect(g->page, (const int64_t[]){from, g->y, width, BAR},
                 style_of(op), cz_text_string(&title));
    cz_text_fini(&title);
    if (width > letters * LETTER)
        cz_page_label(g->page, from + width / 2, g->y + 12 * CZ_PAGE_UNIT, "on",
                      name);
}

static bool joins(const gantt *g, const run *drawn, int op, int64_t start)
{
    return drawn->n > 0 &&
           strcmp(style_of(&g->document->ops[drawn->first]),
                  style_of(&g->document->ops[op])) == 0 &&
           x_of(g, start) - x_of(g, drawn->end) < NEAR;
}

static void put_lane(gantt *g, int rank, int lane)
{
    const int n = g->document->n_ranks;
    run drawn = {0};
    cz_page_rect(g->page, (const int64_t[]){LEFT, g->y, RIGHT - LEFT, BAR},
                 "lane", NULL);
    cz_page_label(g->page, LEFT - 8 * CZ_PAGE_UNIT, g->y + 12 * CZ_PAGE_UNIT,
                  "end", cz_report_lanes[lane]);
    for (int op = 0; op < g->document->n_ops; op++) {
        const int64_t start = g->line->start[(int64_t)op * n + rank];
        const int64_t end = g->line->end[(int64_t)op * n + rank];
        if (end <= start || end <= g->from || start >= g->to ||
            g->page->context->document->ops[op].stream != lane)
            continue;
        if (!joins(g, &drawn, op, start)) {
            put_run(g, &drawn);
            drawn = (run){op, 0, start, end};
        }
        drawn.n++;
        drawn.end = end;
    }
    put_run(g, &drawn);
    g->y += LANE;
}

/* ---- time ---- */

/* 1, 2 or 5 times a power of ten: at most eight of them. */
static int64_t tick_of(int64_t span)
{
    static const int steps[] = {2, 5, 10};
    int64_t unit = 1, tick = 1;
    for (int i = 0; span / tick > 8; i++) {
        tick = unit * steps[i % 3];
        unit *= i % 3 == 2 ? 10 : 1;
    }
    return tick;
}

static void put_grid(gantt *g, int64_t height)
{
    const int64_t tick = tick_of(g->to - g->from);
    for (int64_t ps = cz_round_up(g->from, tick); ps <= g->to; ps += tick) {
        const int64_t x = x_of(g, ps);
        cz_page_line(g->page, (const int64_t[]){x, 0, x, height - AXIS},
                     "grid");
        cz_page_label(g->page, x, height - 8 * CZ_PAGE_UNIT, "middle",
                      ps == 0 ? "0" : cz_number_time(ps).text);
    }
}

/* ---- ranks ---- */

static bool is_like(const gantt *g, int a, int b)
{
    const int64_t n = g->document->n_ranks;
    for (int64_t at = 0; at < n * g->document->n_ops; at += n)
        if (g->line->start[at + a] != g->line->start[at + b] ||
            g->line->end[at + a] != g->line->end[at + b])
            return false;
    return true;
}

static void put_rank(gantt *g, int rank, const char *what)
{
    cz_text name = {0};
    int n = 0;
    for (int r = 0; r < g->document->n_ranks; r++)
        n += is_like(g, rank, r);
    cz_text_puts(&name, what);
    cz_report_rank_name(g->document, rank, &name);
    cz_text_printf(&name, ", kernels %s",
                   cz_number_time(g->document->time_ps[rank]).text);
    if (n > 1)
        cz_text_printf(&name, "; %d ranks run alike", n);
    g->y += ROW_GAP;
    cz_page_label(g->page, LEFT, g->y - 6 * CZ_PAGE_UNIT, "start",
                  cz_text_string(&name));
    cz_text_fini(&name);
    for (int lane = 0; lane < N_LANES; lane++)
        if (g->has_lane[lane])
            put_lane(g, rank, lane);
}

static bool is_small(const cz_document *document)
{
    return document->n_ranks <= MAX_ROWS &&
           (int64_t)document->n_ranks * document->n_ops <= MAX_RECTS;
}

static void put_ranks(gantt *g)
{
    static const char *const what[] = {"busiest: ", "median: ", "idlest: "};
    const int n = g->document->n_ranks;
    const int *sorted =
        cz_ranks_sorted(g->page->arena, g->document->time_ps, n);
    const int places[] = {0, n / 2, n - 1};
    if (is_small(g->document))
        for (int r = 0; r < n; r++)
            put_rank(g, r, "");
    else
        for (int i = 0; i < 3; i++)
            put_rank(g, sorted[places[i]], what[i]);
}

static void put_key(cz_page *page)
{
    static const char *const words[][2] = {
        {"compute", "kernels"},
        {"reduce", "reduce_scatter"},
        {"gather", "all_gather"},
        {"transfer", "transfers and sums of matrices"},
        {"small", "other"}};
    cz_page_raw(page, "<p class=\"key\">");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        cz_text_printf(page->out, "<span><i class=\"%s\"></i>", words[i][0]);
        cz_page_escape(page, words[i][1]);
        cz_page_raw(page, "</span>");
    }
    cz_page_raw(page, "</p>\n");
}

static void put_picture(gantt *g, int64_t from, int64_t to, const char *title)
{
    const int n_rows = is_small(g->document) ? g->document->n_ranks : 3;
    const int64_t height =
        TOP + (int64_t)n_rows * (ROW_GAP + g->n_lanes * LANE) + AXIS;
    g->from = from;
    g->to = to;
    g->y = TOP;
    cz_page_raw(g->page, "<h3>");
    cz_page_escape(g->page, title);
    cz_page_raw(g->page, "</h3>\n");
    cz_page_open_svg(g->page, height, title);
    put_grid(g, height);
    put_ranks(g);
    cz_page_close_svg(g->page);
}

void cz_page_gantt(cz_page *page)
{
    const cz_report_context *context = page->context;
    gantt g = {.page = page,
               .document = context->document,
               .line = context->timeline,
               .has_lane = {true, false, false}};
    for (int op = 0; op < g.document->n_ops; op++)
        g.has_lane[context->document->ops[op].stream] = true;
    for (int lane = 0; lane < N_LANES; lane++)
        g.n_lanes += g.has_lane[lane];
    cz_page_open_section(
        page, "One step",
        "Simulated by itself: all gradients are there at 0, and no pass of "
        "the model runs beside it. Each rank computes and uses its links at "
        "the same time.");
    put_key(page);
    put_picture(&g, 0, g.line->makespan, "The whole step");
    /* From the end of what comes before the update to that of its last kernel.
     */
    const int n = g.document->n_ranks;
    int64_t from = 0, to = 0;
    for (int op = 0; op < g.document->n_ops; op++) {
        const cz_document_op *of = &g.page->context->document->ops[op];
        for (int r = 0; r < n; r++) {
            const int64_t end = g.line->end[(int64_t)op * n + r];
            if (of->section != CZ_SECTION_UPDATE && end > from)
                from = end;
            if (of->kind == CZ_STEP_KERNEL && end > to)
                to = end;
        }
    }
    if (to > from)
        put_picture(&g, from, to, "The update, from decision to last kernel");
    cz_page_raw(page, "</section>\n");
}
