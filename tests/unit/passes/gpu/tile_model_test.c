/* The choice of tiles: the model's figures by hand, properties of random
 * shapes, measured times, their table. */
#include "passes/gpu/tile_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const cz_tile_machine h100 = {132, 1950};

static uint64_t state = 1;

static int64_t draw(int64_t most)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)most) + 1;
}

static cz_tile_product draw_product(int64_t most)
{
    cz_tile_product p = {.m = draw(most),
                         .n = draw(most),
                         .k = draw(4 * most),
                         .batch = draw(4),
                         .is_symmetric = draw(2) == 1,
                         .has_addend = draw(2) == 1};
    if (p.is_symmetric)
        p.n = p.m;
    p.is_gram = p.is_symmetric && draw(2) == 1;
    return p;
}

static cz_tile_shape shape_of(int rows, int cols)
{
    for (int i = 0; i < CZ_TILE_SHAPES; i++)
        if (cz_tile_shapes[i].rows == rows && cz_tile_shapes[i].cols == cols)
            return cz_tile_shapes[i];
    fail();
    return cz_tile_shapes[0];
}

/* What is known of 132 SMs, to two places. */
static void waves_of_symmetric_products_are_so_full(void **unused)
{
    static const struct {
        int64_t n, batch;
        int share[3];
    } known[] = {{4096, 1, {97, 86, 65}},
                 {5120, 1, {87, 90, 76}},
                 {5120, 4, {97, 90, 93}},
                 {6144, 1, {97, 97, 87}},
                 {8192, 1, {97, 86, 97}}};
    static const int tiles[3][2] = {{128, 128}, {192, 192}, {128, 256}};
    (void)unused;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int s = 0; s < 3; s++) {
            const cz_tiling t = {known[i].n,
                                 known[i].n,
                                 known[i].batch,
                                 tiles[s][0],
                                 tiles[s][1],
                                 true,
                                 1};
            assert_int_equal((cz_tile_filled(&t, 132) + 5) / 10,
                             known[i].share[s]);
        }
    const cz_tiling whole = {256, 256, 33, 128, 128, false, 1};
    assert_int_equal(cz_tile_filled(&whole, 132), 1000);
    assert_int_equal(cz_tile_filled(&whole, 131), 504);
    const cz_tiling small = {128, 128, 1, 128, 128, true, 1};
    assert_int_equal(cz_tile_filled(&small, 1), 504);
}

/* Bytes of shared memory that full speed would need in a clock, of 128 that it
 * gives: 160, 139, 128, 128; L2 then decides between the last two. */
static void a_step_takes_what_is_slowest(void **unused)
{
    static const struct {
        int rows, cols;
        int64_t alone, crowded;
    } known[] = {{128, 128, 640, 703},
                 {128, 192, 832, 879},
                 {192, 192, 1152, 1152},
                 {128, 256, 1024, 1055}};
    cz_tile_product p = {.m = 128, .n = 128, .k = 64, .batch = 1};
    cz_tile_cost cost;
    (void)unused;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const cz_tile_shape s = shape_of(known[i].rows, known[i].cols);
        p.batch = 1;
        assert_true(cz_tile_cost_of(&p, &h100, s, &cost));
        assert_int_equal(cost.step_clocks, known[i].alone);
        p.batch = 1000;
        assert_true(cz_tile_cost_of(&p, &h100, s, &cost));
        assert_int_equal(cost.step_clocks, known[i].crowded);
        assert_int_equal(cost.n_tiles, 1000);
        assert_int_equal(cost.n_waves, 8);
    }
}

/* Steps and what follows them, wave after wave; or memory, where that takes
 * longer. */
static void clocks_are_by_hand(void **unused)
{
    const cz_tile_product large = {.m = 4096,
                                   .n = 4096,
                                   .k = 4096,
                                   .batch = 1,
                                   .is_symmetric = true,
                                   .is_gram = true};
    const cz_tile_product flat = {
        .m = 8192, .n = 8192, .k = 8, .batch = 1, .has_addend = true};
    cz_tile_cost cost;
    (void)unused;

    assert_true(cz_tile_cost_of(&large, &h100, shape_of(128, 128), &cost));
    assert_int_equal(cost.n_tiles, 528);
    assert_int_equal(cost.n_waves, 4);
    assert_int_equal(cost.clocks, 4 * (64 * 703 + 2731));
    assert_int_equal(cost.splits, 1);
    assert_true(cz_tile_cost_of(&flat, &h100, shape_of(128, 256), &cost));
    assert_int_equal(cost.clocks,
                     ((2 * 8192 * 8 + 2 * 8192 * 8192) * 2 + 1949) / 1950);
}

/* A lone square of 1024 has 36 tiles for 132 SMs: 3 parts of each, or 7, which
 * two rounds take, are in turn 27 and 2 x 12 steps of 80.  With short k the
 * second launch would take longer. */
static void last_waves_are_split_where_that_is_faster(void **unused)
{
    cz_tile_product p = {
        .m = 1024, .n = 1024, .k = 5120, .batch = 1, .is_symmetric = true};
    const cz_tile_machine fast = {132, 1 << 20};
    cz_tile_cost cost;
    int n_parts = 0;
    (void)unused;

    assert_true(cz_tile_cost_of(&p, &h100, shape_of(128, 128), &cost));
    assert_int_equal(cost.splits, 3);
    assert_true(cost.clocks < 80 * 640);
    p.k = 256;
    assert_true(cz_tile_cost_of(&p, &h100, shape_of(128, 128), &cost));
    assert_int_equal(cost.splits, 1);
    for (int i = 0; i < 2000; i++) {
        p = draw_product(6000);
        const cz_tile_shape s = cz_tile_shapes[draw(CZ_TILE_SHAPES) - 1];
        assert_true(cz_tile_cost_of(&p, &fast, s, &cost));
        const int64_t n_split = cost.n_tiles % 132, steps = (p.k + 63) / 64;
        assert_true(cost.splits >= 1 && cost.splits <= 8 &&
                    cost.splits <= steps);
        assert_true(cost.splits == 1 || n_split * cost.splits <= 264);
        const int64_t tile =
            steps * cost.step_clocks + ((int64_t)s.rows * s.cols + 5) / 6;
        assert_true(cost.splits > 1 ? cost.clocks < cost.n_waves * tile
                                    : cost.clocks == cost.n_waves * tile);
        n_parts += cost.splits > 1;
    }
    assert_true(n_parts > 0 && n_parts < 2000);
}

static void machines_come_from_their_figures(void **unused)
{
    cz_tile_machine m = {0, 0};
    (void)unused;

    assert_true(cz_tile_machine_of(132, 790000000000000, 2850000000000, &m));
    assert_int_equal(m.sms, 132);
    assert_int_equal(m.memory_bytes, 1950);
    assert_false(cz_tile_machine_of(0, 1, 1, &m));
    assert_false(cz_tile_machine_of(1, 0, 1, &m));
    assert_false(cz_tile_machine_of(1, 1, -1, &m));
    assert_false(cz_tile_machine_of(132, 1, INT64_MAX / 1000, &m));
}

static void what_is_chosen_costs_least(void **unused)
{
    (void)unused;

    for (int i = 0; i < 2000; i++) {
        const cz_tile_product p = draw_product(20000);
        cz_tile_choice choice;
        cz_tile_cost cost;
        assert_true(cz_tile_choose(&p, &h100, NULL, 0, &choice));
        assert_false(choice.is_measured);
        for (int s = 0; s < CZ_TILE_SHAPES; s++) {
            assert_true(cz_tile_cost_of(&p, &h100, cz_tile_shapes[s], &cost));
            assert_true(cost.clocks >= choice.cost.clocks);
            cz_tile_product deeper = p;
            deeper.k += 64;
            const int64_t before = cost.clocks;
            assert_true(
                cz_tile_cost_of(&deeper, &h100, cz_tile_shapes[s], &cost));
            assert_true(cost.clocks >= before);
        }
    }
}

/* 4096 in tiles of 128 x 256 above the diagonal: 16 pairs of rows, of which the
 * first is as long as the second. */
static void last_waves_are_by_hand(void **unused)
{
    const cz_tile_product p = {
        .m = 4096, .n = 4096, .k = 4096, .batch = 1, .is_symmetric = true};
    cz_tile_cost cost;
    (void)unused;

    assert_true(cz_tile_cost_of(&p, &h100, shape_of(128, 256), &cost));
    assert_int_equal(cost.n_tiles, 16 * 17);
    assert_int_equal(cost.n_waves, 3);
    /* The last 8 tiles in 6 parts: 11 steps and 131072 bytes of sums to L2 from
     * all SMs, another launch, 6 times as many back to one. */
    assert_int_equal(cost.splits, 6);
    assert_int_equal(cost.clocks, 2 * (64 * 1055 + 5462) + 11 * 1055 + 2812 +
                                      5000 + 12288 + 5462);
}

/* How often each element is in a tile of the table. */
static void count_tiles(const cz_tiling *t, const uint64_t *tiles, int64_t n,
                        unsigned char *seen)
{
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = (int64_t)(tiles[k] & 0xfffff) * t->tile_rows;
        const int64_t j = (int64_t)(tiles[k] >> 20 & 0xfffff) * t->tile_cols;
        const int64_t z = (int64_t)(tiles[k] >> 40);
        assert_true(z < t->batch && i < t->rows && j < t->cols);
        for (int64_t r = i; r < t->rows && r < i + t->tile_rows; r++)
            for (int64_t c = j; c < t->cols && c < j + t->tile_cols; c++)
                seen[(z * t->rows + r) * t->cols + c]++;
    }
}

static void chosen_tiles_hold_each_element_once(void **unused)
{
    (void)unused;
    for (int i = 0; i < 40; i++) {
        const cz_tile_product p = draw_product(900);
        cz_tile_choice choice;
        assert_true(cz_tile_choose(&p, &h100, NULL, 0, &choice));
        const cz_tiling *t = &choice.tiling;
        const int64_t n = choice.cost.n_tiles, size = p.m * p.n * p.batch;
        uint64_t *tiles = malloc((size_t)n * sizeof *tiles);
        unsigned char *seen = calloc((size_t)size, 1);
        assert_non_null(tiles);
        assert_non_null(seen);
        cz_tile_order(t, tiles);
        count_tiles(t, tiles, n, seen);
        for (int64_t k = 0; k < size; k++)
            assert_true(seen[k] == 1 || (!seen[k] && p.is_symmetric &&
                                         k % p.n < k / p.n % p.m));
        free(seen);
        free(tiles);
    }
}

/* 132 tiles at once, as high as wide: 16 rows of 128 by 8 columns of 256. */
static void groups_make_squares_of_what_runs_at_once(void **unused)
{
    static const int groups[][3] = {
        {128, 256, 16}, {192, 192, 11}, {128, 128, 11}};
    cz_tile_product p = {.m = 8192, .n = 8192, .k = 64, .batch = 1};
    cz_tile_choice choice;
    (void)unused;

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const cz_tile_measured only = {p, 132, groups[i][0], groups[i][1], 1};
        assert_true(cz_tile_choose(&p, &h100, &only, 1, &choice));
        assert_int_equal(choice.tiling.order_rows, groups[i][2]);
    }
    p.m = 300;
    const cz_tile_measured only = {p, 132, 128, 256, 1};
    assert_true(cz_tile_choose(&p, &h100, &only, 1, &choice));
    assert_int_equal(choice.tiling.order_rows, 3);
}

/* By hand: a square of 4096 has 528 tiles of 128 x 128 above the diagonal, four
 * full waves; one of 1024 has 36, and 7 of them fill 252 places of 264. */
static void batches_fill_waves(void **unused)
{
    cz_tile_product p = {
        .m = 4096, .n = 4096, .k = 512, .batch = 77, .is_symmetric = true};
    const cz_tile_measured large = {p, 132, 128, 128, 1};
    cz_tile_measured small[10];
    (void)unused;

    p.batch = 1;
    cz_tile_measured one = large;
    one.product.batch = 1;
    assert_int_equal(cz_tile_batch(&p, &h100, &one, 1, 5), 1);
    p.m = p.n = 1024;
    for (int i = 0; i < 10; i++) {
        const cz_tile_measured row = {p, 132, 128, 128, 1};
        small[i] = row;
        small[i].product.batch = i + 1;
    }
    assert_int_equal(cz_tile_batch(&p, &h100, small, 10, 10), 7);
    /* 36, 72, 108 places of 132: one wave whatever it holds. */
    assert_int_equal(cz_tile_batch(&p, &h100, small, 10, 3), 3);
    /* A second wave for 12 tiles costs more than it brings. */
    assert_int_equal(cz_tile_batch(&p, &h100, small, 10, 4), 3);
    assert_int_equal(cz_tile_batch(&p, &h100, small, 10, 0), 0);
    p.k = 0;
    assert_int_equal(cz_tile_batch(&p, &h100, NULL, 0, 3), 0);
}

static bool is_full(const cz_tile_product *one, int64_t batch)
{
    cz_tile_product p = *one;
    cz_tile_choice choice;

    p.batch = batch;
    assert_true(cz_tile_choose(&p, &h100, NULL, 0, &choice));
    return 100 * choice.cost.n_tiles >= 95 * 132 * choice.cost.n_waves;
}

/* Fewer fill no waves, whatever the shape; nor do more, if the batch does not.
 */
static void no_smaller_batch_fills_waves(void **unused)
{
    enum { N = 20 };
    int n_full = 0;
    (void)unused;

    for (int i = 0; i < 100; i++) {
        const cz_tile_product p = draw_product(3000);
        const int64_t batch = cz_tile_batch(&p, &h100, NULL, 0, N);
        assert_true(batch >= 1 && batch <= N);
        n_full += is_full(&p, batch);
        for (int64_t other = 1; other <= N; other++)
            if (other < batch || !is_full(&p, batch))
                assert_false(is_full(&p, other));
    }
    assert_true(n_full > 0 && n_full < 100);
}

static void sizes_without_room_are_refused(void **unused)
{
    const cz_tile_product good = {.m = 8, .n = 8, .k = 8, .batch = 1};
    cz_tile_choice choice;
    (void)unused;

    assert_true(cz_tile_choose(&good, &h100, NULL, 0, &choice));
    for (int i = 0; i < 6; i++) {
        cz_tile_product p = good;
        int64_t *const sizes[] = {&p.m, &p.n, &p.k, &p.batch};
        if (i < 4)
            *sizes[i] = 0;
        else if (i == 4)
            p.m = p.n = (int64_t)1 << 40;
        else
            p.m = p.k = ((int64_t)1 << 32) + 1;
        assert_false(cz_tile_choose(&p, &h100, NULL, 0, &choice));
    }
}

static void measured_times_win(void **unused)
{
    const cz_tile_product p = {
        .m = 5120, .n = 5120, .k = 5120, .batch = 1, .is_symmetric = true};
    cz_tile_product other = p;
    cz_tile_choice model, choice;
    (void)unused;

    other.k++;
    assert_true(cz_tile_choose(&p, &h100, NULL, 0, &model));
    for (int s = 0; s < CZ_TILE_SHAPES; s++) {
        const cz_tile_shape t = cz_tile_shapes[s];
        const cz_tile_shape u = cz_tile_shapes[(s + 1) % CZ_TILE_SHAPES];
        const cz_tile_measured rows[] = {{p, 132, t.rows, t.cols, 70000},
                                         {p, 132, u.rows, u.cols, 60000},
                                         {p, 132, t.rows, t.cols, 50000},
                                         {p, 114, u.rows, u.cols, 1},
                                         {other, 132, u.rows, u.cols, 2}};
        assert_true(cz_tile_choose(&p, &h100, rows, 5, &choice));
        assert_true(choice.is_measured);
        assert_int_equal(choice.shape.rows, t.rows);
        assert_int_equal(choice.shape.cols, t.cols);
        assert_true(cz_tile_choose(&p, &h100, rows + 3, 1, &choice));
        assert_false(choice.is_measured);
        assert_memory_equal(&choice.cost, &model.cost, sizeof model.cost);
    }
}

static void tables_are_read(void **unused)
{
    static const char text[] =
        "# a comment\n\n"
        "132 symmetric 4096 4096 5120 1 128 256 123456\n"
        "  114\tgeneral 10 20 30 40 192 192 9223372036854775807  \n"
        "132 general 1 2 3 4 128 128 5";
    static const char *const wrong[] = {
        "132 symmetric 4096 4096 5120 1 128 256\n",
        "132 symmetric 4096 4096 5120 1 128 256 1 1\n",
        "132 symmetric 4096 4097 5120 1 128 256 1\n",
        "132 general 1 2 3 4 128 64 5\n",
        "132 general 1 2 3 4 192 128 5\n",
        "132 general 1 2 3 4 128 128 0\n",
        "132 general 1 2 3 4 128 128 -5\n",
        "132 general 1 2 3 4 128 128 5x\n",
        "132 general 1 2 3 4 128 128 9223372036854775808\n",
        "9999999999 general 1 2 3 4 128 128 5\n",
        "132 particular 1 2 3 4 128 128 5\n",
        "132 general\n 1 2 3 4 128 128 5\n",
        "general"};
    cz_tile_measured rows[3];
    int n, line;
    (void)unused;

    assert_true(cz_tile_measured_read(text, rows, 3, &n, &line));
    assert_int_equal(n, 3);
    assert_true(rows[0].product.is_symmetric);
    assert_int_equal(rows[0].product.k, 5120);
    assert_int_equal(rows[0].cols, 256);
    assert_true(!rows[1].product.is_symmetric && rows[1].sms == 114);
    assert_true(rows[1].time == INT64_MAX && rows[1].product.batch == 40);
    assert_int_equal(rows[2].time, 5);
    assert_false(cz_tile_measured_read(text, rows, 2, &n, &line));
    assert_int_equal(line, 5);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(cz_tile_measured_read(wrong[i], rows, 3, &n, &line));
        assert_int_equal(line, 1);
    }
}

static void the_table_of_the_tree_is_read(void **unused)
{
    static char text[1 << 16];
    static cz_tile_measured rows[1 << 10];
    FILE *file = fopen(CANZONA_SOURCE_DIR "/bench/tiles.txt", "rb");
    int n, line;
    (void)unused;

    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    assert_true(feof(file));
    fclose(file);
    assert_true(cz_tile_measured_read(text, rows, 1 << 10, &n, &line));
    printf("%d measured tiles\n", n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_of_symmetric_products_are_so_full),
        cmocka_unit_test(a_step_takes_what_is_slowest),
        cmocka_unit_test(clocks_are_by_hand),
        cmocka_unit_test(last_waves_are_split_where_that_is_faster),
        cmocka_unit_test(machines_come_from_their_figures),
        cmocka_unit_test(what_is_chosen_costs_least),
        cmocka_unit_test(last_waves_are_by_hand),
        cmocka_unit_test(chosen_tiles_hold_each_element_once),
        cmocka_unit_test(groups_make_squares_of_what_runs_at_once),
        cmocka_unit_test(batches_fill_waves),
        cmocka_unit_test(no_smaller_batch_fills_waves),
        cmocka_unit_test(sizes_without_room_are_refused),
        cmocka_unit_test(measured_times_win),
        cmocka_unit_test(tables_are_read),
        cmocka_unit_test(the_table_of_the_tree_is_read),
    };

    state = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)state);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
