/* Pass: in which tiles a GPU computes products, those of batches too.
 *
 * requires: stages, batches; the fact gpu, without which nothing is done
 * provides: tilings
 * breaks:   nothing */
#include "passes/passes.h"

#include "dsl/plan/build/build.h"
#include "passes/gpu/gpu.h"

typedef struct tiler {
    cz_ir *ir;
    cz_arena *arena;
    const cz_gpu_model *model;
    cz_tile_product *known; /* that tiles were looked for */
    int n_known;
} tiler;

/* Tiles do not depend on whether it is one matrix that is read twice. */
static bool is_same(const cz_tile_product *a, const cz_tile_product *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k &&
           a->batch == b->batch && a->is_symmetric == b->is_symmetric &&
           a->has_addend == b->has_addend;
}

static bool is_known(const tiler *t, const cz_tile_product *product)
{
    for (int i = 0; i < t->n_known; i++)
        if (is_same(&t->known[i], product))
            return true;
    return false;
}

/* A product that the model cannot reckon with has no tiling: the runtime
 * chooses. */
static void add(tiler *t, const cz_tile_product *product)
{
    cz_tile_choice choice;

    if (is_known(t, product))
        return;
    *CZ_PUSH(t->arena, t->known, t->n_known) = *product;
    if (!cz_tile_choose(product, &t->model->machine, t->model->times,
                        t->model->n_times, &choice))
        return;
    cz_fact_tiling tiling = {.m = product->m,
                             .n = product->n,
                             .k = product->k,
                             .batch = product->batch,
                             .symmetric = product->is_symmetric,
                             .addend = product->has_addend,
                             .rows = choice.shape.rows,
                             .columns = choice.shape.cols,
                             .stages = choice.shape.stages,
                             .splits = choice.cost.splits,
                             .time = choice.time};
    cz_fact_tiling *made = &tiling;
    made->library = choice.is_library;
    made->library_time = choice.time_of_library;
    cz_ir_add_tiling(t->ir, made);
}

/* Of each stage the most matrices that it runs for at once; 0: one by one. */
static int64_t *find_batches(cz_arena *arena, const cz_plan_view *view)
{
    int64_t *most = CZ_NEW(arena, int64_t, view->n_stages + 1);

    for (int t = 0; t < view->n_tables; t++)
        for (int b = 0; b < view->tables[t].n_batches; b++) {
            const cz_view_batch *of = &view->tables[t].batches[b];
            const cz_view_kernel_entry *row =
                &view->tables[t].rows.kernel[of->first];
            for (int64_t i = 0; i < of->n_rows; i++, row++)
                if (of->n_matrices > most[row->stage])
                    most[row->stage] = of->n_matrices;
        }
    return most;
}

static bool choose(cz_ir *ir, cz_arena *arena, cz_diags *diags)
{
    cz_gpu_model model;

    cz_ir_remove(ir, CZ_FACT_tiling);
    if (cz_ir_count(ir, CZ_FACT_gpu) == 0)
        return true;
    const cz_plan_view *view = cz_plan_view_build(arena, ir, diags);
    if (!view)
        return false;
    tiler t = {.ir = ir, .arena = arena, .model = &model};
    if (cz_gpu_model_of(arena, view, &model)) {
        /* Single ones first. */
        const cz_gpu_products products = cz_gpu_products_of(t.arena, view);
        const int64_t *most = find_batches(t.arena, view);

        for (int i = 0; i < products.n; i++)
            add(&t, &products.list[i].shape);
        for (int i = 0; i < products.n; i++) {
            cz_tile_product product = products.list[i].shape;
            product.batch = most[products.list[i].stage];
            if (product.batch > 1)
                add(&t, &product);
        }
    }
    return true;
}

bool cz_tiling_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;

    cz_arena_init(&arena);
    const bool ok = choose(ir, &arena, diags);
    cz_arena_fini(&arena);
    return ok;
}
