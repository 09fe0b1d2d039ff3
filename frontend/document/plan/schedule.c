/* Operations as JSON: what each waits for, and what it runs and moves on the
 * ranks of each coordinate over the axes that tell them apart. */
#include "frontend/document/plan/internal.h"

/* An operation while it is printed. */
typedef struct printed {
    const cz_view_op *op;
    const cz_view_table *table; /* of a kernel or transfer; else NULL */
    cz_ints over;               /* ranks alike in these run and move alike */
} printed;

/* The rows of one coordinate over a table's selector, on a rank that has
 * position `self` in the communicator. */
typedef struct row_run {
    int64_t first, end, self;
} row_run;

/* How many of them, or how much of them, has to do with `key`. */
typedef int64_t (*measure)(const cz_report *r, const printed *what,
                           row_run rows, int64_t key);

static int64_t count_rows(const cz_report *r, const printed *what, row_run rows,
                          int64_t stage)
{
    int64_t n = 0;
    (void)r;
    for (int64_t i = rows.first; i < rows.end; i++)
        n += what->table->rows.kernel[i].stage == stage;
    return n;
}

static int64_t count_elements(const cz_report *r, const printed *what,
                              row_run rows, int64_t stage)
{
    const cz_view_kernel_entry *kernel = what->table->rows.kernel;
    int64_t n = 0;
    (void)r;
    for (int64_t i = rows.first; i < rows.end; i++)
        n += kernel[i].stage == stage ? kernel[i].count : 0;
    return n;
}

static int64_t count_bytes(const cz_report *r, const printed *what,
                           row_run rows, int64_t is_recv)
{
    return cz_frequency_moved(r->view, r->frequencies,
                              what->table->rows.transfer, rows.first, rows.end,
                              rows.self, is_recv);
}

/* As much is received as sent. */
static int64_t count_sums(const cz_report *r, const printed *what, row_run rows,
                          int64_t is_recv)
{
    int64_t n = 0;
    (void)r, (void)is_recv;
    for (int64_t i = rows.first; i < rows.end; i++)
        n += cz_metrics_sum_bytes(what->op, &what->table->rows.sum[i],
                                  rows.self);
    return n;
}

static void put_sums(cz_report *r, const char *key, const printed *what,
                     measure of, int64_t which)
{
    const int64_t n = cz_view_extent(r->view, &what->over);
    const int64_t *starts = what->table->starts;
    cz_json_open(&r->json, key, '[');
    for (int64_t c = 0; c < n; c++) {
        const int64_t rank = cz_view_rank_at(r->view, &what->over, c, 0);
        const int64_t self =
            cz_view_coordinate(r->view, &what->op->fact->comm, rank);
        const int64_t at =
            cz_view_coordinate(r->view, &what->table->fact->selector, rank);
        cz_json_int(
            &r->json, NULL,
            of(r, what, (row_run){starts[at], starts[at + 1], self}, which));
    }
    cz_json_close(&r->json);
}

static bool runs(const cz_view_table *table, int64_t stage)
{
    for (int64_t i = 0; i < table->starts[table->n_coordinates]; i++)
        if (table->rows.kernel[i].stage == stage)
            return true;
    return false;
}

static void put_work(cz_report *r, const printed *what)
{
    const bool any = what->table && what->table->kind == CZ_ENTRY_KERNEL;
    cz_json_open(&r->json, "work", '[');
    for (int s = 0; any && s < r->view->n_stages; s++) {
        if (!runs(what->table, s))
            continue;
        cz_json_open(&r->json, NULL, '{');
        cz_json_int(&r->json, "stage", s);
        put_sums(r, "rows", what, count_rows, s);
        put_sums(r, "elements", what, count_elements, s);
        cz_json_close(&r->json);
    }
    cz_json_close(&r->json);
}

static void put_moves(cz_report *r, const printed *what)
{
    static const char *const names[] = {"sent", "received"};
    for (int side = 0; side < 2; side++)
        if (what->table && what->table->kind == CZ_ENTRY_TRANSFER)
            put_sums(r, names[side], what, count_bytes, side);
        else if (what->table && what->table->kind == CZ_ENTRY_SUM)
            put_sums(r, names[side], what, count_sums, side);
        else
            cz_json_ints(&r->json, names[side], NULL, 0);
}

/* Axes of `comm` and of the table's selector together; no axes for what has
 * no work to list. */
static printed printed_of(const cz_report *r, const cz_view_op *op,
                          int64_t storage[CZ_VIEW_MAX_AXES])
{
    const cz_view_table *table =
        op->table < 0 ? NULL : &r->view->tables[op->table];
    if (!table || table->kind == CZ_ENTRY_SPAN ||
        table->kind == CZ_ENTRY_EXCHANGE)
        return (printed){op, NULL, {NULL, 0}};
    const int64_t set = cz_view_set_of(&table->fact->selector) |
                        cz_view_set_of(&op->fact->comm);
    return (printed){op, table, cz_view_axes_of(r->view, set, storage)};
}

static void put_op(cz_report *r, int number)
{
    const cz_view_op *op = &r->view->ops[number];
    int64_t storage[CZ_VIEW_MAX_AXES];
    const printed what = printed_of(r, op, storage);
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "kind", cz_step_kind_word(op->kind));
    cz_json_int(json, "stream", op->fact->stream);
    cz_json_string(json, "section", cz_section_word(op->section));
    cz_report_put_axes(r, "axes", &op->fact->comm);
    cz_json_int(json, "group", op->fact->block_size);
    cz_json_int(json, "stride", op->fact->stride);
    cz_json_optional(json, "bucket", op->fact->bucket);
    cz_json_ints(json, "waits", op->fact->waits.v, op->fact->waits.n);
    cz_json_int(json, "sent_bytes", r->metrics->op_sent[number]);
    cz_json_int(json, "received_bytes", r->metrics->op_received[number]);
    cz_report_put_axes(r, "over", &what.over);
    put_work(r, &what);
    put_moves(r, &what);
    cz_json_close(json);
}

void cz_report_put_schedule(cz_report *r)
{
    cz_json_open(&r->json, "schedule", '[');
    for (int i = 0; i < r->view->n_ops; i++)
        put_op(r, i);
    cz_json_close(&r->json);
}
