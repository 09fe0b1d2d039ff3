/* Whether cuBLASLt computes a product: by times of a table, and of drawn ones.
 */
#include "passes/gpu/tile_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_ROWS = 32 };

static cz_tile_measured rows[MOST_ROWS];
static int n_rows;

static cz_tile_choice choose(const cz_tile_product *p, int sms)
{
    const cz_tile_machine machine = {sms, 1950};
    cz_tile_choice choice;

    assert_true(cz_tile_choose(p, &machine, rows, n_rows, &choice));
    return choice;
}

static cz_tile_product product(int64_t m, int64_t n, int64_t k, int64_t batch)
{
    return (cz_tile_product){.m = m, .n = n, .k = k, .batch = batch};
}

/* What the table's comments say of each row. */
static void tables_say_who_is_faster(void **state)
{
    cz_tile_product p = product(5120, 5120, 5120, 1);
    cz_tile_choice c = choose(&p, 132);

    (void)state;
    assert_true(c.is_library && c.is_measured);
    assert_int_equal(c.time_of_library, 96029);
    assert_int_equal(c.time, 99000);
    assert_int_equal(c.shape.rows, 192);
    p.has_addend = true;
    assert_true(choose(&p, 132).is_library);
    assert_false(choose(&p, 131).is_library);
    p.is_symmetric = true;
    c = choose(&p, 132);
    assert_false(c.is_library);
    assert_int_equal(c.time_of_library, 0);
    p = product(1024, 5120, 1024, 1);
    assert_false(choose(&p, 132).is_library);
    assert_int_equal(choose(&p, 132).time_of_library, 19400);
    assert_true(choose(&p, 114).is_library);
    p.batch = 2;
    assert_true(choose(&p, 132).is_library);
    assert_false(choose(&p, 114).is_library);
    p = product(640, 640, 640, 1);
    c = choose(&p, 132);
    assert_false(c.is_library || c.is_measured);
}

/* Ours at 0.96 of the library's speed and at 0.98, whatever the times. */
static void shares_decide(void **state)
{
    const cz_tile_product p = product(512, 512, 512, 1);
    const int n_before = n_rows;

    (void)state;
    n_rows = 2;
    for (int i = 0; i < 1000; i++) {
        const int64_t share = 90 + rand() % 20;
        const int64_t scale = 1 + rand() % 1000000;
        rows[0] = (cz_tile_measured){p, 132, 128, 128, 100 * scale};
        rows[1] = (cz_tile_measured){p, 132, 0, 0, share * scale};
        const cz_tile_choice c = choose(&p, 132);
        assert_int_equal(c.is_library, share < 97);
        assert_int_equal(c.shape.rows, 128);
    }
    cz_tile_product half = p;
    half.is_symmetric = true;
    rows[0] = (cz_tile_measured){half, 132, 128, 128, 100};
    rows[1] = (cz_tile_measured){half, 132, 0, 0, 1};
    assert_false(choose(&half, 132).is_library);
    rows[0].product = rows[1].product = p;
    rows[0].time = INT64_MAX;
    rows[1].time = INT64_MAX / 100 * 98;
    assert_false(choose(&p, 132).is_library);
    rows[1].time = INT64_MAX / 100 * 96;
    assert_true(choose(&p, 132).is_library);
    n_rows = n_before;
}

/* Where ours are then computed, if there is no library, is not changed. */
static void batches_are_as_without_it(void **state)
{
    const cz_tile_machine machine = {132, 1950};

    (void)state;
    for (int64_t available = 1; available < 9; available++) {
        const cz_tile_product p = product(1024, 5120, 1024, 1);
        cz_tile_measured ours[MOST_ROWS];
        int n = 0;
        for (int i = 0; i < n_rows; i++)
            if (rows[i].rows)
                ours[n++] = rows[i];
        assert_true(n < n_rows);
        assert_int_equal(cz_tile_batch(&p, &machine, rows, n_rows, available),
                         cz_tile_batch(&p, &machine, ours, n, available));
    }
}

static void wrong_rows_are_refused(void **state)
{
    static const char *const wrong[] = {
        "132 symmetric 512 512 512 1 library 5\n",
        "132 general 512 512 512 1 library\n",
        "132 general 512 512 512 1 library 0\n",
        "132 general 512 512 512 1 library 5 5\n",
        "132 general 512 512 512 1 libraries 5\n",
        "132 general 512 512 512 1 lib 5\n",
        "132 general 512 512 512 library 5\n",
        "132 general 512 512 512 1 library 128 128 1 5\n",
        "132 general 512 512 512 1 0 0 0 5\n",
    };
    cz_tile_measured row;
    int n, line;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(cz_tile_measured_read(wrong[i], &row, 1, &n, &line));
        assert_int_equal(line, 1);
    }
}

static void read_table(void)
{
    static char text[1 << 14];
    FILE *file =
        fopen(CANZONA_SOURCE_DIR "/tests/golden/library/tiles.txt", "rb");
    int line;

    if (!file || fread(text, 1, sizeof text - 1, file) == 0 || fclose(file) ||
        !cz_tile_measured_read(text, rows, MOST_ROWS, &n_rows, &line))
        abort();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_say_who_is_faster),
        cmocka_unit_test(batches_are_as_without_it),
        cmocka_unit_test(shares_decide),
        cmocka_unit_test(wrong_rows_are_refused),
    };

    const unsigned seed =
        argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : (unsigned)time(NULL);
    printf("seed %u\n", seed);
    srand(seed);
    read_table();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
