/* What a plan says of a GPU: equal matrices that it computes as one, and tiles
 * of products. */
#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"

#include <limits.h>

static bool check_shape(cz_view_builder *b, const char *fact,
                        const int64_t sizes[4], const int64_t *flags,
                        int n_flags)
{
    const cz_ints shape = {sizes, 4}, bits = {flags, n_flags};

    return cz_view_all_in(b, fact, &shape, 4, 1, CZ_MAX_DIM) &&
           cz_view_all_in(b, fact, &bits, n_flags, 0, 1);
}

static bool check_tile_time(cz_view_builder *b, const cz_fact_tile_time *t)
{
    const int64_t sizes[] = {t->m, t->n, t->k, t->batch};
    const int64_t flags[] = {t->symmetric, t->n_major};
    const int64_t tile[] = {t->rows, t->columns, t->cluster};
    const bool has_tiles = t->rows > 0;

    return check_shape(b, "tile_time: shape", sizes, flags, 2) &&
           cz_view_all_in(b, "tile_time: tile", &(cz_ints){tile, 3}, 3,
                          has_tiles, has_tiles ? INT16_MAX : 0) &&
           cz_view_in(b, "tile_time: time", t->time, 1, CZ_MAX_BYTES);
}

/* In range of what generated code keeps them in; which tiles there are the
 * verifier knows. */
static bool check_tiling(cz_view_builder *b, const cz_fact_tiling *t)
{
    const int64_t sizes[] = {t->m, t->n, t->k, t->batch};
    const int64_t flags[] = {t->symmetric, t->n_major, t->addend, t->library};
    const int64_t tile[] = {t->rows, t->columns};
    const int64_t counts[] = {t->stages, t->cluster, t->parts};
    const int64_t times[] = {t->time, t->library_time};

    return check_shape(b, "tiling: shape", sizes, flags, 4) &&
           cz_view_all_in(b, "tiling: tile", &(cz_ints){tile, 2}, 2, 1,
                          INT16_MAX) &&
           cz_view_all_in(b, "tiling: counts", &(cz_ints){counts, 3}, 3, 1,
                          UINT8_MAX) &&
           cz_view_all_in(b, "tiling: times", &(cz_ints){times, 2}, 2, 0,
                          CZ_MAX_BYTES);
}

static bool read_products(cz_view_builder *b)
{
    cz_plan_view *view = b->view;
    bool ok = true;

    view->tile_times =
        cz_ir_read_tile_time(b->ir, b->arena, &view->n_tile_times);
    view->tilings = cz_ir_read_tiling(b->ir, b->arena, &view->n_tilings);
    for (int i = 0; ok && i < view->n_tile_times; i++)
        ok = check_tile_time(b, &view->tile_times[i]);
    for (int i = 0; ok && i < view->n_tilings; i++)
        ok = check_tiling(b, &view->tilings[i]);
    return ok;
}

static bool read_arena(cz_view_builder *b)
{
    int n;
    const cz_fact_batch_arena *arena =
        cz_ir_read_batch_arena(b->ir, b->arena, &n);

    if (!cz_view_in(b, "batch_arena: facts", n, 0, 1))
        return false;
    b->view->batch_arena = n > 0 ? arena : NULL;
    return n == 0 ||
           (cz_view_axes(b, "batch_arena: selector", &arena->selector) &&
            cz_view_all_in(b, "batch_arena: bytes", &arena->bytes,
                           (int)cz_view_extent(b->view, &arena->selector), 0,
                           CZ_VIEW_MAX_NUMBER));
}

static bool check_batches(cz_view_builder *b, const cz_view_table *table,
                          const cz_fact_batches *of)
{
    const int64_t n_rows = table->starts[table->n_coordinates];
    const int n = of->first.n;
    bool ok;

    if (table->kind != CZ_ROW_KERNEL || table->batch_of_row || n == 0)
        return cz_view_fail(b,
                            "batches of table '%s', which has no kernel rows, "
                            "or has batches, or of which these are none",
                            of->table);
    ok = cz_view_all_in(b, "batches: of_row", &of->of_row, (int)n_rows, 0, n) &&
         cz_view_all_in(b, "batches: first", &of->first, n, 0, n_rows - 1) &&
         cz_view_all_in(b, "batches: n_rows", &of->n_rows, n, 1, n_rows) &&
         cz_view_all_in(b, "batches: n_matrices", &of->n_matrices, n, 1,
                        n_rows) &&
         cz_view_all_in(b, "batches: scratch", &of->scratch, n, 0,
                        CZ_VIEW_MAX_NUMBER) &&
         cz_view_all_in(b, "batches: bytes", &of->bytes, n, 0,
                        CZ_VIEW_MAX_NUMBER);
    for (int i = 0; ok && i < n; i++)
        ok = cz_view_in(b, "batches: n_rows", of->n_rows.v[i], 1,
                        n_rows - of->first.v[i]);
    return ok;
}

static bool read_batches(cz_view_builder *b)
{
    int n, number;
    const cz_fact_batches *facts = cz_ir_read_batches(b->ir, b->arena, &n);
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
    static const cz_fact_kind kinds[] = {CZ_FACT_tile_time, CZ_FACT_tiling,
                                         CZ_FACT_batches, CZ_FACT_batch_arena};
    int n;
    const cz_fact_gpu *gpu = cz_ir_read_gpu(b->ir, b->arena, &n);

    if (!cz_view_in(b, "gpu: facts", n, 0, 1))
        return false;
    if (n > 0) {
        b->view->gpu = gpu;
        return cz_view_in(b, "gpu: sms", gpu->sms, 0, INT_MAX) &&
               read_products(b) && read_arena(b) && read_batches(b);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (cz_ir_count(b->ir, kinds[i]) > 0)
            return cz_view_fail(b, "tiles or batches, but no gpu");
    return true;
}
