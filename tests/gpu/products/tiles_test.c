/* Tiles that the runtime chooses: tables are the compiler's, shapes and parts
 * of the last wave by hand. */
#include "passes/gpu/tile_order.h"
#include "runtime/cuda/products/tiles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

enum { TRIALS = 600, SEED = 1 };

static int draw(int least, int most)
{
    return least + rand() % (most - least + 1);
}

/* The compiler's tables of the same tiles. */
static void tiles_are_the_compilers(void **state)
{
    (void)state;
    srand(SEED);
    for (int i = 0; i < TRIALS; i++) {
        const czr_cuda_product_device device = {draw(0, 1) ? 90 : 80,
                                                draw(1, 132)};
        czr_cuda_product p = {.m = draw(1, 3000),
                              .batch = draw(1, 3),
                              .is_symmetric = draw(0, 1)};
        czr_cuda_product_tiles tiles;
        int64_t n;
        p.n = p.is_symmetric ? p.m : draw(1, 3000);
        assert_true(czr_tiles_choose(&p, &device, &tiles));
        const cz_tiling tiling = {
            p.m, p.n, p.batch, tiles.rows, tiles.cols, p.is_symmetric, 8};
        assert_true(cz_tile_count(&tiling, &n));
        assert_int_equal(n, tiles.n);
        uint64_t *const mine = calloc((size_t)n, sizeof *mine);
        uint64_t *const theirs = calloc((size_t)n, sizeof *theirs);
        czr_tiles_fill(&p, &tiles, mine);
        cz_tile_order(&tiling, theirs);
        assert_memory_equal(mine, theirs, (size_t)n * sizeof *mine);
        free(mine);
        free(theirs);
    }
}

static int rows_chosen(int64_t n, int64_t *cols)
{
    const czr_cuda_product_device device = {90, 132};
    const czr_cuda_product p = {
        .m = n, .n = n, .batch = 1, .is_symmetric = true};
    czr_cuda_product_tiles tiles;

    assert_true(czr_tiles_choose(&p, &device, &tiles));
    *cols = tiles.cols;
    return tiles.rows;
}

/* As the shares of waves say that notes have reckoned by hand. */
static void tiles_fill_waves(void **state)
{
    const czr_cuda_product huge = {.m = (int64_t)1 << 40, .n = 1, .batch = 1};
    const czr_cuda_product none = {.m = 0, .n = 1, .batch = 1};
    const czr_cuda_product_device device = {90, 132};
    czr_cuda_product_tiles tiles;
    int64_t cols;

    (void)state;
    assert_int_equal(rows_chosen(8192, &cols), 128);
    assert_int_equal(cols, 256);
    assert_int_equal(rows_chosen(6144, &cols), 192);
    assert_int_equal(cols, 192);
    assert_int_equal(rows_chosen(1024, &cols), 128);
    assert_int_equal(cols, 128);
    assert_false(czr_tiles_choose(&huge, &device, &tiles));
    assert_false(czr_tiles_choose(&none, &device, &tiles));
}

static int parts_of(int64_t n_tiles, int64_t k)
{
    const czr_cuda_product_device device = {90, 132};
    const czr_cuda_product p = {.k = k};
    const czr_cuda_product_tiles tiles = {128, 128, 5, n_tiles};

    return czr_tiles_splits(&p, &device, &tiles);
}

/* By hand, of 80 steps: 36 tiles in 3 parts of 27 and 3, and 14 for the rest;
 * in 7 two rounds of 12 and 3, and 22. */
static void last_waves_are_split_where_that_is_faster(void **state)
{
    (void)state;
    assert_int_equal(parts_of(36, 5120), 3);
    assert_int_equal(parts_of(132 + 36, 5120), 3);
    assert_int_equal(parts_of(132, 5120), 1);
    assert_int_equal(parts_of(264 + 100, 5120), 1);
    assert_int_equal(parts_of(88, 8192), 3);
    assert_int_equal(parts_of(1, 65536), 8);
    assert_int_equal(parts_of(36, 768), 1);
    assert_int_equal(parts_of(1, 64), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_are_the_compilers),
        cmocka_unit_test(tiles_fill_waves),
        cmocka_unit_test(last_waves_are_split_where_that_is_faster),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
