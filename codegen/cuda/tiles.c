/* Rows of NAME_cuda.c that say in which tiles products are computed on sm_90a.
 * Who asks for them chooses; here it is only known which products there are. */
#include "codegen/cuda/tiles.h"

/* What such kernels take, by runtime/cuda/products/tensor.c: bf16 alone, rows
 * that begin at multiples of 16 bytes. */
enum { ROW_ELEMENTS = 8 };

static bool is_for_tensor_cores(const cz_loop *loop)
{
    const cz_view_step *step = loop->step;
    const bool has_addend = step->beta != 0;

    return loop->in_dtype[0] == CZ_BF16 && loop->in_dtype[1] == CZ_BF16 &&
           (!has_addend || loop->in_dtype[2] == CZ_BF16) &&
           step->out_dtype[0] == CZ_BF16 && step->blocks.inner <= 1 &&
           step->inner > 0 && step->inner % ROW_ELEMENTS == 0 &&
           step->columns % ROW_ELEMENTS == 0;
}

static bool is_same(const cz_emit_product *a, const cz_emit_product *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k &&
           a->batch == b->batch && a->is_symmetric == b->is_symmetric &&
           a->is_n_major == b->is_n_major && a->has_addend == b->has_addend;
}

static bool is_known(const cz_tile_rows *rows, const cz_emit_product *product)
{
    for (int i = 0; i < rows->n_products; i++)
        if (is_same(&rows->products[i], product))
            return true;
    return false;
}

static void keep(cz_tile_rows *rows, const cz_emit_product *product,
                 cz_arena *arena)
{
    const int n = rows->n_products;

    /* Full: at 0 and at powers of two. */
    if ((n & (n - 1)) == 0) {
        cz_emit_product *more =
            CZ_NEW(arena, cz_emit_product, n ? 2 * (size_t)n : 1);
        for (int i = 0; i < n; i++)
            more[i] = rows->products[i];
        rows->products = more;
    }
    rows->products[rows->n_products++] = *product;
}

static void add(cz_tile_rows *rows, const cz_emit_product *product,
                cz_arena *arena)
{
    cz_emit_tiles tiles;

    if (is_known(rows, product))
        return;
    keep(rows, product, arena);
    if (!rows->tiler->choose(rows->tiler->user, product, &tiles))
        return;
    cz_text_printf(&rows->text,
                   "    {%lld, %lld, %lld, %lld, %d, %d, %d, %d, %d, %d, %d, "
                   "%d, %d},\n",
                   (long long)product->m, (long long)product->n,
                   (long long)product->k, (long long)product->batch,
                   product->is_symmetric, product->is_n_major,
                   product->has_addend, tiles.rows, tiles.cols, tiles.stages,
                   tiles.cluster, tiles.parts, tiles.is_library);
    rows->n++;
}

static void add_to_stage(cz_tile_rows *rows, const cz_emit_product *product,
                         bool is_expected, cz_arena *arena)
{
    *CZ_PUSH(arena, rows->of_stages, rows->n_of_stages) =
        (cz_stage_product){rows->stage, is_expected, *product};
    add(rows, product, arena);
}

void cz_emit_tiles_of(cz_tile_rows *rows, const cz_loop *loop, cz_arena *arena)
{
    const cz_view_step *step = loop->step;
    const bool is_symmetric = step->symmetric && step->deal <= 1;
    cz_emit_product product = {.m = step->rows,
                               .n = step->columns,
                               .k = step->inner,
                               .batch = 1,
                               .is_symmetric = is_symmetric,
                               .is_gram = step->in[0] == step->in[1],
                               .has_addend = step->beta != 0};
    const bool is_own = is_symmetric && product.is_gram;

    if (!rows->tiler || !is_for_tensor_cores(loop))
        return;
    if (!step->transpose_b) {
        /* Of one matrix its rows are read twice; else columns of the other. */
        if (is_symmetric)
            add_to_stage(rows, &product, is_own, arena);
        product.is_symmetric = false;
        product.is_n_major = true;
    }
    add_to_stage(rows, &product, step->transpose_b || !is_own, arena);
}

void cz_emit_tiles_of_batch(cz_tile_rows *rows, int stage, int64_t batch,
                            cz_arena *arena)
{
    for (int i = 0; i < rows->n_of_stages; i++) {
        cz_emit_product product = rows->of_stages[i].product;
        product.batch = batch;
        if (rows->of_stages[i].stage == stage)
            add(rows, &product, arena);
    }
}
