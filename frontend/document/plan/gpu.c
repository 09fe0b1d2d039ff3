/* What a plan says of a GPU, as JSON: tiles of products, and equal matrices
 * that are computed as one. */
#include "frontend/document/plan/internal.h"

static void put_tiling(cz_json *json, const cz_fact_tiling *t)
{
    cz_json_open(json, NULL, '{');
    cz_json_int(json, "m", t->m);
    cz_json_int(json, "n", t->n);
    cz_json_int(json, "k", t->k);
    cz_json_int(json, "batch", t->batch);
    cz_json_bool(json, "symmetric", t->symmetric != 0);
    cz_json_bool(json, "addend", t->addend != 0);
    cz_json_ints(json, "tile", (const int64_t[]){t->rows, t->columns}, 2);
    cz_json_int(json, "stages", t->stages);
    cz_json_int(json, "parts", t->splits);
    cz_json_bool(json, "library", t->library != 0);
    cz_json_int(json, "time_ns", t->time);
    cz_json_int(json, "library_time_ns", t->library_time);
    cz_json_close(json);
}

/* The parameter of each matrix of batch `number`, from 1, of a table; its rows
 * are among [first, end). */
static void put_params(cz_json *json, const cz_view_table *table,
                       int64_t number, int64_t first, int64_t end)
{
    const cz_view_kernel_entry *rows = table->rows.kernel;

    cz_json_open(json, "params", '[');
    for (int64_t i = first; i < end; i++)
        if (table->batch_of_row[i] == number &&
            (i == first || rows[i - 1].param != rows[i].param))
            cz_json_int(json, NULL, rows[i].param);
    cz_json_close(json);
}

/* The batches of one coordinate over the table's selector, which the operation
 * says. */
static void put_batches_at(cz_report *r, int op, const cz_view_table *table,
                           int coordinate)
{
    const int64_t first = table->starts[coordinate];
    const int64_t end = table->starts[coordinate + 1];
    cz_json *json = &r->json;

    for (int b = 0; b < table->n_batches; b++) {
        const cz_view_batch *batch = &table->batches[b];
        if (batch->first < first || batch->first >= end)
            continue;
        cz_json_open(json, NULL, '{');
        cz_json_int(json, "operation", op);
        cz_json_int(json, "coordinate", coordinate);
        put_params(json, table, b + 1, first, end);
        cz_json_int(json, "bytes", batch->bytes);
        cz_json_close(json);
    }
}

static void put_batches(cz_report *r)
{
    cz_json_open(&r->json, "batches", '[');
    for (int op = 0; op < r->view->n_ops; op++) {
        const int number = r->view->ops[op].table;
        if (number < 0 || !r->view->tables[number].n_batches)
            continue;
        const cz_view_table *table = &r->view->tables[number];
        for (int c = 0; c < table->n_coordinates; c++)
            put_batches_at(r, op, table, c);
    }
    cz_json_close(&r->json);
}

void cz_report_put_gpu(cz_report *r)
{
    cz_json *json = &r->json;

    if (!r->view->gpu)
        return;
    cz_json_open(json, "gpu", '{');
    cz_json_int(json, "sms", r->view->gpu->sms);
    cz_json_open(json, "tilings", '[');
    for (int i = 0; i < r->view->n_tilings; i++)
        put_tiling(json, &r->view->tilings[i]);
    cz_json_close(json);
    put_batches(r);
    cz_json_close(json);
}
