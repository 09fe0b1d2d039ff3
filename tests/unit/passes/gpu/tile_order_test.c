/* Tables of tiles: every element of the output that a kernel must compute lies
 * in exactly one tile, and no tile is without one, whatever the sizes. */
#include "passes/gpu/tile_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

static uint64_t *make_order(const cz_tiling *tiling, int64_t *count)
{
    assert_true(cz_tile_count(tiling, count));
    uint64_t *tiles = malloc((size_t)*count * sizeof *tiles);
    assert_non_null(tiles);
    cz_tile_order(tiling, tiles);
    return tiles;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Marks the tile's elements; how many count for the output. */
static int64_t cover(const cz_tiling *t, uint64_t tile, unsigned char *seen)
{
    const int64_t i = (int64_t)(tile & 0xfffff);
    const int64_t j = (int64_t)(tile >> 20 & 0xfffff);
    const int64_t z = (int64_t)(tile >> 40);
    int64_t n = 0;

    assert_true(z < t->batch);
    for (int64_t r = i * t->tile_rows;
         r < least((i + 1) * t->tile_rows, t->rows); r++)
        for (int64_t c = j * t->tile_cols;
             c < least((j + 1) * t->tile_cols, t->cols); c++) {
            seen[(z * t->rows + r) * t->cols + c]++;
            n += !t->is_symmetric || c >= r;
        }
    return n;
}

static void assert_covered(const cz_tiling *t)
{
    int64_t count;
    uint64_t *tiles = make_order(t, &count);
    unsigned char *seen = calloc((size_t)(t->batch * t->rows * t->cols), 1);

    assert_non_null(seen);
    for (int64_t k = 0; k < count; k++)
        assert_true(cover(t, tiles[k], seen) > 0);
    for (int64_t k = 0; k < t->batch * t->rows * t->cols; k++) {
        const int64_t c = k % t->cols, r = k / t->cols % t->rows;
        const bool is_wanted = !t->is_symmetric || c >= r;
        assert_true(seen[k] == 1 || (seen[k] == 0 && !is_wanted));
    }
    free(seen);
    free(tiles);
}

static void every_element_lies_in_one_tile(void **state)
{
    static const int shapes[][2] = {{128, 128}, {128, 256}, {256, 128},
                                    {192, 192}, {128, 192}, {192, 128}};
    static const int64_t sizes[] = {1, 64, 127, 128, 129, 200, 300, 520, 769};
    (void)state;

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
            for (int order_rows = 1; order_rows < 5; order_rows++) {
                cz_tiling t = {.rows = sizes[n],
                               .cols = sizes[n],
                               .batch = 2,
                               .tile_rows = shapes[s][0],
                               .tile_cols = shapes[s][1],
                               .is_symmetric = true,
                               .order_rows = order_rows};
                assert_covered(&t);
                t.is_symmetric = false;
                t.cols = sizes[(n + 3) % (sizeof sizes / sizeof *sizes)];
                assert_covered(&t);
            }
}

/* 40 x 40 tiles of 5120, by hand: 40 * 41 / 2. */
static void symmetric_outputs_need_half_the_tiles(void **state)
{
    const cz_tiling t = {5120, 5120, 1, 128, 128, true, 8};
    int64_t count;
    (void)state;

    assert_true(cz_tile_count(&t, &count));
    assert_int_equal(count, 820);
}

static void a_group_is_gone_through_by_columns(void **state)
{
    const cz_tiling t = {400, 400, 1, 100, 100, true, 2};
    static const int expected[][2] = {{0, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2},
                                      {0, 3}, {1, 3}, {2, 2}, {2, 3}, {3, 3}};
    int64_t count;
    uint64_t *tiles = make_order(&t, &count);
    (void)state;

    assert_int_equal(count, 10);
    for (int k = 0; k < 10; k++)
        assert_true(tiles[k] == ((uint64_t)expected[k][0] |
                                 (uint64_t)expected[k][1] << 20));
    free(tiles);
}

static void what_an_entry_has_no_room_for_is_refused(void **state)
{
    const cz_tiling good = {1024, 1024, 1, 128, 128, false, 1};
    int64_t count = -1;
    (void)state;

    cz_tiling t = good;
    t.rows = 0;
    assert_false(cz_tile_count(&t, &count));
    t = good;
    t.order_rows = 0;
    assert_false(cz_tile_count(&t, &count));
    t = good;
    t.rows = ((int64_t)128 << CZ_TILE_INDEX_BITS) + 1;
    assert_false(cz_tile_count(&t, &count));
    t = good;
    t.batch = ((int64_t)1 << CZ_TILE_BATCH_BITS) + 1;
    assert_false(cz_tile_count(&t, &count));
    t = good;
    t.is_symmetric = true;
    t.cols = 1025;
    assert_false(cz_tile_count(&t, &count));
    t = good;
    t.rows = t.cols = (int64_t)128 << 16;
    assert_false(cz_tile_count(&t, &count));
    assert_int_equal(count, -1);
    assert_true(cz_tile_count(&good, &count));
    assert_int_equal(count, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_lies_in_one_tile),
        cmocka_unit_test(symmetric_outputs_need_half_the_tiles),
        cmocka_unit_test(a_group_is_gone_through_by_columns),
        cmocka_unit_test(what_an_entry_has_no_room_for_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
