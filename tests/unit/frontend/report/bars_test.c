/* Bars of a few ranks, of many, and of none that does anything. */
#include "frontend/report/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void check(const int64_t *values, int n, int n_columns,
                  cz_bar_style style, const char *expected)
{
    cz_arena arena;
    cz_text out = {0};
    cz_arena_init(&arena);
    cz_bars_put(&arena, values, n, n_columns, style, &out);
    assert_string_equal(cz_text_string(&out), expected);
    cz_text_fini(&out);
    cz_arena_fini(&arena);
}

static void test_falls_from_left_to_right(void **unused)
{
    const int64_t values[] = {4, 0, 8, 1};
    (void)unused;
    check(values, 4, 40, CZ_BARS_ASCII, "#=. ");
    check(values, 4, 40, CZ_BARS_BLOCKS,
          "\xe2\x96\x88\xe2\x96\x84\xe2\x96\x81 ");
}

/* Three ranks a column, each as high as the first of them. */
static void test_more_ranks_than_columns(void **unused)
{
    const int64_t values[] = {80, 10, 10, 10, 70, 10, 1};
    (void)unused;
    check(values, 7, 3, CZ_BARS_ASCII, "#..");
}

static void test_what_is_little_is_seen(void **unused)
{
    const int64_t values[] = {INT64_MAX, 1, 0};
    (void)unused;
    check(values, 3, 40, CZ_BARS_ASCII, "#. ");
}

static void test_nothing_to_do(void **unused)
{
    const int64_t values[] = {0, 0};
    (void)unused;
    check(values, 2, 40, CZ_BARS_ASCII, "  ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_falls_from_left_to_right),
        cmocka_unit_test(test_more_ranks_than_columns),
        cmocka_unit_test(test_what_is_little_is_seen),
        cmocka_unit_test(test_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
