/* What a plan says of a GPU: equal matrices that it computes as one, and tiles
 * of products. */
#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"

/* Tiles are two numbers, or none. */
static bool check_tile_time(cz_view_builder *b, const cz_fact_tile_time *t)
{
    const int64_t tile[] = {t->rows, t->columns};
    const bool has_tiles = t->rows > 0;

    return cz_view_all_in(b, "tile_time: tile", &(cz_ints){tile, 2}, 2,
                          has_tiles, has_tiles ? INT16_MAX : 0);
}

static bool check_batches(cz_view_builder *b, const cz_view_table *table,
                          const cz_fact_batches *of)
{
    const int64_t n_rows = table->starts[table->n_coordinates];
    const int n = of->first.n;
    bool ok;

    if (table->kind != CZ_ENTRY_KERNEL || table->batch_of_row || n == 0)
        return cz_view_fail(b,
                            "batches of table '%s', which has no kernel rows, "
                            "or has batches, or of which these are none",
                            of->table);
    ok =
        cz_view_all_in(b, "batches: of_row", &of->of_row, (int)n_rows, 0, n) &&
        cz_view_all_in(b, "batches: first", &of->first, n, 0, n_rows - 1) &&
        cz_view_all_in(b, "batches: n_matrices", &of->n_matrices, n, 1, n_rows);
    for (int i = 0; ok && i < n; i++)
        ok = cz_view_in(b, "batches: n_rows", of->n_rows.v[i], 1,
                        n_rows - of->first.v[i]);
    return ok;
}

static bool read_batches(cz_view_builder *b)
{
    int n, number;
    const cz_fact_batches *facts = CZ_VIEW_FACTS(b, batches, &n);
    cz_view_table *tables =
        CZ_NEW(b->arena, cz_view_table, b->view->n_tables + 1);

    for (int i = 0; i < b->view->n_tables; i++)
        tables[i] = b->view->tables[i];
    b->view->tables = tables;
    for (int i = 0; i < n; i++) {
        const cz_fact_batches *of = &facts[i];
        if (!cz_view_find(b, CZ_FACT_table, of->table, &number) ||
            !check_batches(b, &tables[number], of))
            return false;
        cz_view_batch *list = CZ_NEW(b->arena, cz_view_batch, of->first.n);
        for (int k = 0; k < of->first.n; k++)
            list[k] = (cz_view_batch){of->first.v[k], of->n_rows.v[k],
                                      of->n_matrices.v[k], of->scratch.v[k],
                                      of->bytes.v[k]};
        tables[number].n_batches = of->first.n;
        tables[number].batches = list;
        tables[number].batch_of_row = of->of_row.v;
    }
    return n == 0 || b->view->batch_arena ||
           cz_view_fail(b, "batches, but no batch_arena");
}

bool cz_view_read_gpu(cz_view_builder *b)
{
    cz_plan_view *view = b->view;
    bool ok = true;
    int n;

    view->tile_times = CZ_VIEW_FACTS(b, tile_time, &view->n_tile_times);
    view->tilings = CZ_VIEW_FACTS(b, tiling, &view->n_tilings);
    const cz_fact_batch_arena *arena = CZ_VIEW_FACTS(b, batch_arena, &n);
    view->batch_arena = n > 0 ? arena : NULL;
    const cz_fact_gpu *gpu = CZ_VIEW_FACTS(b, gpu, &n);
    view->gpu = n > 0 ? gpu : NULL;
    if (n == 0)
        return (view->n_tile_times == 0 && view->n_tilings == 0 &&
                !view->batch_arena && b->n_facts[CZ_FACT_batches] == 0) ||
               cz_view_fail(b, "tiles or batches, but no gpu");
    for (int i = 0; ok && i < view->n_tile_times; i++)
        ok = check_tile_time(b, &view->tile_times[i]);
    return ok && read_batches(b);
}
