/* What travels: by bucket as bars, by kind and axes as a table. */
#include "frontend/report/page/internal.h"

#include <string.h>

enum {
    LEFT = 340 * CZ_PAGE_UNIT,
    RIGHT = 850 * CZ_PAGE_UNIT,
    LANE = 18 * CZ_PAGE_UNIT,
    BAR = 13 * CZ_PAGE_UNIT,
    MAX_BUCKETS = 48 /* a picture shows the first of them */
};

/* Mean of the ranks. */
typedef struct wire {
    int64_t reduce, gather;
    const char *reduce_axes, *gather_axes;
} wire;

static wire *find_wires(cz_page *page)
{
    const cz_document *s = page->context->document;
    wire *all = CZ_NEW(page->arena, wire, s->n_buckets);
    for (int b = 0; b < s->n_buckets; b++)
        all[b].reduce_axes = all[b].gather_axes = "";
    for (int i = 0; i < s->n_ops; i++) {
        const cz_document_op *op = &s->ops[i];
        if (op->bucket < 0)
            continue;
        wire *of = &all[op->bucket];
        if (op->kind == CZ_STEP_REDUCE_SCATTER) {
            of->reduce = op->sent_bytes / s->n_ranks;
            of->reduce_axes = op->axes;
        } else if (op->kind == CZ_STEP_ALL_GATHER) {
            of->gather = op->sent_bytes / s->n_ranks;
            of->gather_axes = op->axes;
        }
    }
    return all;
}

/* ---- buckets ---- */

static void put_part(cz_page *page, const char *kind, const char *style,
                     const char *axes, const int64_t box[4], int64_t bytes)
{
    cz_text title = {0};
    if (bytes == 0)
        return;
    cz_text_printf(&title, "%s over %s: %s", kind, axes,
                   cz_number_short(bytes, "B").text);
    cz_page_rect(page, box, style, cz_text_string(&title));
    cz_text_fini(&title);
}

static void put_bucket(cz_page *page, const wire *of, int b, int64_t most)
{
    const int64_t y = (int64_t)b * LANE;
    const int64_t reduce = cz_page_scale(of->reduce, most, RIGHT - LEFT);
    const int64_t gather = cz_page_scale(of->gather, most, RIGHT - LEFT);
    /* "3 matrices, owned, padded, 409.6 M" */
    const cz_document_bucket *bucket = &page->context->document->buckets[b];
    cz_text name = {0};
    cz_text_printf(&name, "%d %.24s, %s, %s, %s", b, bucket->param_groups,
                   bucket->kind, bucket->geometry,
                   cz_number_short(bucket->length, "").text);
    cz_page_label(page, LEFT - 8 * CZ_PAGE_UNIT, y + 11 * CZ_PAGE_UNIT, "end",
                  cz_text_string(&name));
    cz_text_fini(&name);
    put_part(page, "reduce_scatter", "reduce", of->reduce_axes,
             (const int64_t[]){LEFT, y, reduce, BAR}, of->reduce);
    put_part(page, "all_gather", "gather", of->gather_axes,
             (const int64_t[]){LEFT + reduce, y, gather, BAR}, of->gather);
    cz_page_label(page, LEFT + reduce + gather + 6 * CZ_PAGE_UNIT,
                  y + 11 * CZ_PAGE_UNIT, "start",
                  cz_number_short(of->reduce + of->gather, "B").text);
}

static void put_buckets(cz_page *page)
{
    const cz_document *s = page->context->document;
    const int n = s->n_buckets < MAX_BUCKETS ? s->n_buckets : MAX_BUCKETS;
    const wire *all = find_wires(page);
    int64_t most = 0;
    for (int b = 0; b < n; b++)
        if (all[b].reduce + all[b].gather > most)
            most = all[b].reduce + all[b].gather;
    cz_page_open_svg(page, (int64_t)n * LANE,
                     "bytes that a rank sends, by bucket");
    for (int b = 0; b < n; b++)
        put_bucket(page, &all[b], b, most);
    cz_page_close_svg(page);
    if (n < s->n_buckets) {
        cz_page_raw(page, "<p>");
        cz_page_print(page, "The first %d of %d buckets.", n, s->n_buckets);
        cz_page_raw(page, "</p>\n");
    }
}

/* ---- kinds and axes ---- */

/* Of those that send: no operation of its kind and axes stands before it. */
static bool is_first(const cz_document *s, int op)
{
    for (int i = 0; i < op; i++)
        if (s->ops[i].sent_bytes > 0 && s->ops[i].kind == s->ops[op].kind &&
            strcmp(s->ops[i].axes, s->ops[op].axes) == 0)
            return false;
    return s->ops[op].sent_bytes > 0;
}

static void put_kind(cz_page *page, int op)
{
    const cz_document *s = page->context->document;
    int64_t bytes = 0;
    int n = 0;
    for (int i = op; i < s->n_ops; i++)
        if (s->ops[i].kind == s->ops[op].kind &&
            strcmp(s->ops[i].axes, s->ops[op].axes) == 0) {
            bytes = cz_sum(bytes, s->ops[i].sent_bytes);
            n++;
        }
    cz_page_raw(page, "<tr>");
    cz_page_word(page, cz_step_kind_word(s->ops[op].kind));
    cz_page_word(page, s->ops[op].axes);
    cz_page_number(page, "%d", n);
    cz_page_number(page, "%s", cz_number_short(bytes / s->n_ranks, "B").text);
    cz_page_number(page, "%s", cz_number_short(bytes, "B").text);
    cz_page_raw(page, "</tr>\n");
}

/* What the trainer sends itself, under the plan's. */
static void put_trainer(cz_page *page, const char *what, int64_t bytes)
{
    if (bytes == 0)
        return;
    cz_page_raw(page, "<tr>");
    cz_page_word(page, what);
    cz_page_word(page, "by the trainer itself");
    cz_page_word(page, "");
    const int64_t mean = bytes / page->context->document->n_ranks;
    cz_page_number(page, "%s", cz_number_short(mean, "B").text);
    cz_page_number(page, "%s", cz_number_short(bytes, "B").text);
    cz_page_raw(page, "</tr>\n");
}

void cz_page_buckets(cz_page *page)
{
    static const char *const columns[] = {"operation", "over", "#operations",
                                          "#a rank, mean", "#all ranks"};
    const cz_document *s = page->context->document;
    cz_page_open_section(page, "Wire",
                         "Bytes that a rank sends in a step, mean of the "
                         "ranks: of each bucket, gradients and then "
                         "parameters; below, by kind and axes.");
    if (s->n_buckets > 0)
        put_buckets(page);
    cz_page_open_table(page, columns, 5);
    for (int i = 0; i < s->n_ops; i++)
        if (is_first(s, i))
            put_kind(page, i);
    put_trainer(page, "gradients", s->trainer_gradient_bytes);
    put_trainer(page, "parameters", s->trainer_parameter_bytes);
    cz_page_close_table(page);
    cz_page_raw(page, "</section>\n");
}
