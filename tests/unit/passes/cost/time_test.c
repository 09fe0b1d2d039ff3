/* Times of kernels and collectives by hand, and at the ends of their range. */
#include "passes/cost/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Two processors, tiles of 4 by 8, one operation a picosecond. */
static const cz_machine tiny = {.name = "tiny",
                                .sms = 2,
                                .tile_rows = 4,
                                .tile_columns = 8,
                                .bf16_rate = 1000000000000,
                                .f32_rate = 500000000000,
                                .memory_rate = 1000000000000,
                                .launch = 7,
                                .symmetric = true};

static void a_tile_too_many_is_a_wave_more(void **unused)
{
    (void)unused;
    /* a wave: two tiles of 2 * 4 * 8 * 10 operations */
    cz_product_size size = {8, 8, 10, 1, false, CZ_BF16, 0};
    assert_int_equal(cz_time_product(&tiny, &size), 1280 + 7);
    size.rows = 9;
    assert_int_equal(cz_time_product(&tiny, &size), 2 * 1280 + 7);
    size.dtype = CZ_F32;
    assert_int_equal(cz_time_product(&tiny, &size), 2 * 2 * 1280 + 7);
    size.bytes = 1000000;
    assert_int_equal(cz_time_product(&tiny, &size), 1000000 + 7);
}

static void batched_tiles_fill_waves_together(void **unused)
{
    (void)unused;
    /* three tiles alone, nine together: five waves for three times two */
    const cz_product_size one = {12, 8, 10, 1, false, CZ_BF16, 0};
    const cz_product_size three = {12, 8, 10, 3, false, CZ_BF16, 0};
    assert_int_equal(cz_time_product(&tiny, &one), 2 * 1280 + 7);
    assert_int_equal(cz_time_product(&tiny, &three), 5 * 1280 + 7);
}

/* The tiles that touch the triangle, counted one by one. */
static int64_t triangle(int64_t n)
{
    int64_t tiles = 0;
    for (int64_t r = 0; r < n; r += tiny.tile_rows)
        for (int64_t c = 0; c < n; c += tiny.tile_columns) {
            const int64_t last = r + tiny.tile_rows - 1;
            tiles += c <= (last < n ? last : n - 1);
        }
    return tiles;
}

static void symmetric_products_compute_a_triangle_of_tiles(void **unused)
{
    (void)unused;
    for (int64_t n = 1; n < 100; n++) {
        const cz_product_size size = {n, n, 10, 2, true, CZ_BF16, 0};
        assert_int_equal(cz_time_product(&tiny, &size), triangle(n) * 1280 + 7);
    }
}

static void rings_send_what_others_lack(void **unused)
{
    const cz_link_speed link = {1000000000000, 5};
    (void)unused;
    assert_int_equal(cz_time_all_gather(&link, 1, 1000), 0);
    assert_int_equal(cz_time_all_gather(&link, 4, 1000), 750 + 5);
    assert_int_equal(cz_time_reduce_scatter(&link, 4, 1000), 750 + 5);
    assert_int_equal(cz_time_all_reduce(&link, 4, 1000), 1500 + 5);
    assert_int_equal(cz_time_all_reduce(&link, 3, 1000), 1334 + 5);
    assert_int_equal(cz_time_send(&link, 1000), 1000 + 5);
}

static void what_is_too_long_is_the_longest_time(void **unused)
{
    const cz_link_speed link = {1, CZ_MAX_PS};
    const cz_product_size size = {CZ_MAX_DIM, CZ_MAX_DIM, CZ_MAX_DIM,
                                  CZ_MAX_DIM, false,      CZ_BF16,
                                  INT64_MAX};
    (void)unused;
    assert_int_equal(cz_time_send(&link, INT64_MAX), CZ_MAX_PS);
    assert_int_equal(cz_time_all_reduce(&link, 7, INT64_MAX), CZ_MAX_PS);
    assert_int_equal(cz_time_product(&tiny, &size), CZ_MAX_PS);
    assert_int_equal(cz_time_map(&tiny, INT64_MAX), CZ_MAX_PS);
    assert_int_equal(cz_time_of(1, INT64_MAX), 1);
    assert_int_equal(cz_time_of(0, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tile_too_many_is_a_wave_more),
        cmocka_unit_test(batched_tiles_fill_waves_together),
        cmocka_unit_test(symmetric_products_compute_a_triangle_of_tiles),
        cmocka_unit_test(rings_send_what_others_lack),
        cmocka_unit_test(what_is_too_long_is_the_longest_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
