/* What NAME_cuda.c says of batches. */
#include "codegen/cuda/batch.h"

enum {
    MOST_UNITS = 128,
    STREAM = 0, /* whose operations may have batches */
    GROUP_BYTES = 1 << 30
};

/* What a stage was told once. */
typedef struct answer {
    int64_t stage, available, n;
} answer;

typedef struct counter {
    const cz_tile_rows *tiles;
    cz_arena *arena;
    answer *answers;
    int n_answers;
} counter;

/* ---- how many ----------------------------------------------------------- */

/* The most that any product of the stage wants; 1: none wants others. */
static int64_t ask(const cz_tile_rows *tiles, int64_t stage, int64_t available)
{
    int64_t most = 1;

    for (int i = 0; i < tiles->n_of_stages; i++) {
        const cz_stage_product *of = &tiles->of_stages[i];
        if (of->stage != stage || !of->is_expected)
            continue;
        const int64_t n =
            tiles->tiler->batch(tiles->tiler->user, &of->product, available);
        most = n > most ? n : most;
    }
    return most;
}

static int64_t count_of_stage(counter *c, int64_t stage, int64_t available)
{
    for (int i = 0; i < c->n_answers; i++)
        if (c->answers[i].stage == stage &&
            c->answers[i].available == available)
            return c->answers[i].n;
    const int64_t n = ask(c->tiles, stage, available);
    *CZ_PUSH(c->arena, c->answers, c->n_answers) =
        (answer){stage, available, n};
    return n;
}

static int64_t count(void *user, const cz_view_kernel_row *rows, int n_rows,
                     int64_t available)
{
    counter *c = user;
    int64_t most = 1;

    for (int i = 0; i < n_rows; i++) {
        const int64_t n = count_of_stage(
            c, rows[i].stage, available < MOST_UNITS ? available : MOST_UNITS);
        most = n > most ? n : most;
    }
    return most;
}

/* ---- tables ------------------------------------------------------------- */

static cz_batches *find_all(const cz_plan_view *view, counter *c)
{
    const int64_t group = view->policy->group_bytes;
    const cz_batch_rule rule = {
        .count = count, .user = c, .cap = group > 0 ? group : GROUP_BYTES};
    cz_batches *all = CZ_NEW(c->arena, cz_batches, view->n_tables + 1);

    for (int op = 0; op < view->n_ops; op++) {
        const int table = view->ops[op].table;
        if (table < 0 || view->tables[table].kind != CZ_ROW_KERNEL ||
            view->ops[op].fact->stream != STREAM || all[table].n)
            continue;
        const cz_view_table *of = &view->tables[table];
        for (int i = 0; i < of->n_coordinates; i++)
            cz_batch_find(view, &rule, table, of->starts[i], of->starts[i + 1],
                          c->arena, &all[table]);
    }
    return all;
}

static void put_list(cz_text *out, int table, const cz_batches *of)
{
    cz_text_printf(out, "static const czr_cuda_batch batches_%d[] = {\n",
                   table);
    for (int i = 0; i < of->n; i++)
        cz_text_printf(out, "    {%lld, %d, %d, %lld, %lld},\n",
                       (long long)of->list[i].first, of->list[i].n_rows,
                       of->list[i].n_units, (long long)of->list[i].scratch,
                       (long long)of->list[i].bytes);
    cz_text_puts(out, "};\n");
}

static void put_all(const cz_plan_view *view, const cz_batches *all,
                    cz_text *out)
{
    cz_text_puts(out, "/* first row, rows of a unit, units; scratch that each "
                      "has for itself, bytes */\n");
    for (int t = 0; t < view->n_tables; t++) {
        const cz_view_table *of = &view->tables[t];
        if (!all[t].n)
            continue;
        put_list(out, t, &all[t]);
        cz_emit_int_array(out, "int32_t", "batch_of_row", t, all[t].of_row,
                          (int)of->starts[of->n_coordinates]);
    }
    cz_text_puts(out, "static const czr_cuda_batches batches[] = {\n");
    for (int t = 0; t < view->n_tables; t++)
        if (all[t].n)
            cz_text_printf(out, "    {batches_%d, batch_of_row_%d},\n", t, t);
        else
            cz_text_puts(out, "    {NULL, NULL},\n");
    cz_text_puts(out, "};\n\n");
}

/* Of each stage the most units that it runs for at once. */
static void add_tiles(const cz_plan_view *view, const cz_batches *all,
                      cz_tile_rows *tiles, cz_arena *arena)
{
    int64_t *most = CZ_NEW(arena, int64_t, view->n_stages + 1);

    for (int t = 0; t < view->n_tables; t++)
        for (int b = 0; b < all[t].n; b++) {
            const cz_batch *of = &all[t].list[b];
            const cz_view_kernel_row *row =
                &view->tables[t].rows.kernel[of->first];
            for (int i = 0; i < of->n_rows; i++, row++)
                if (of->n_units > most[row->stage])
                    most[row->stage] = of->n_units;
        }
    for (int stage = 0; stage < view->n_stages; stage++)
        if (most[stage] > 1)
            cz_emit_tiles_of_batch(tiles, stage, most[stage], arena);
}

static int64_t bytes_of(const cz_batch *batch)
{
    return batch->n_units * batch->bytes;
}

static int64_t most_bytes(const cz_plan_view *view, const cz_batches *all,
                          int *n)
{
    int64_t most = 0;

    *n = 0;
    for (int t = 0; t < view->n_tables; t++)
        for (int b = 0; b < all[t].n; b++) {
            const int64_t bytes = bytes_of(&all[t].list[b]);
            most = bytes > most ? bytes : most;
            ++*n;
        }
    return most;
}

/* What they take is in no cap on memory. */
static bool may_batch(const cz_plan_view *view, const cz_tile_rows *tiles)
{
    return tiles->tiler && view->policy->memory_bytes <= 0;
}

int64_t cz_emit_batches(const cz_plan_view *view, cz_tile_rows *tiles,
                        cz_arena *arena, cz_text *out)
{
    counter c = {.tiles = tiles, .arena = arena};
    int n;

    if (!may_batch(view, tiles))
        return 0;
    const cz_batches *all = find_all(view, &c);
    const int64_t bytes = most_bytes(view, all, &n);
    if (n == 0)
        return 0;
    add_tiles(view, all, tiles, arena);
    put_all(view, all, out);
    return bytes;
}

static int64_t most_of_rank(const cz_plan_view *view, const cz_batches *all,
                            int64_t rank)
{
    int64_t most = 0;

    for (int t = 0; t < view->n_tables; t++) {
        const cz_view_table *of = &view->tables[t];
        const int64_t at = cz_view_coordinate(view, &of->fact->selector, rank);
        for (int b = 0; b < all[t].n; b++) {
            const cz_batch *batch = &all[t].list[b];
            if (batch->first >= of->starts[at] &&
                batch->first < of->starts[at + 1] && bytes_of(batch) > most)
                most = bytes_of(batch);
        }
    }
    return most;
}

void cz_batch_bytes_of_ranks(const cz_plan_view *view, cz_tile_rows *tiles,
                             cz_arena *arena, int64_t *bytes)
{
    counter c = {.tiles = tiles, .arena = arena};
    const cz_batches *all = may_batch(view, tiles) ? find_all(view, &c) : NULL;

    for (int rank = 0; rank < view->n_ranks; rank++)
        bytes[rank] = all ? most_of_rank(view, all, rank) : 0;
}
