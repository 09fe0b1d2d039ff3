/* The linear program of loads, by hand. */
#include "passes/solve/bound/cover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int64_t part(int64_t n, int64_t of)
{
    return n * CZ_COVER_ONE / of;
}

static void expect(int64_t found, int64_t wanted)
{
    assert_in_range(found + 1000, wanted, wanted + 2000);
}

/* Rows a and b, and a cap: two loads of a or b alone, 0.4 of the cap each. */
static cz_cover *make(cz_arena *arena, int64_t wire)
{
    int64_t a[] = {CZ_COVER_ONE, 0, wire}, b[] = {0, CZ_COVER_ONE, wire};
    int64_t *first[] = {a, b};
    return cz_cover_make(arena, 3, first);
}

static void test_first_loads_are_priced(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_cover *cover = make(&arena, part(2, 5));
    expect(cz_cover_value(cover), 2 * CZ_COVER_ONE);
    expect(cz_cover_prices(cover)[0], CZ_COVER_ONE);
    expect(cz_cover_prices(cover)[1], CZ_COVER_ONE);
    expect(cz_cover_prices(cover)[2], 0);
    cz_arena_fini(&arena);
}

/* A load of 1.5 a and 1 b: then a has no price. */
static void test_too_much_of_a_row_has_no_price(void **unused)
{
    const int64_t both[] = {part(3, 2), CZ_COVER_ONE, part(1, 5)};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_cover *cover = make(&arena, part(2, 5));
    assert_true(cz_cover_add(cover, both));
    expect(cz_cover_value(cover), CZ_COVER_ONE);
    expect(cz_cover_prices(cover)[0], 0);
    expect(cz_cover_prices(cover)[1], CZ_COVER_ONE);
    cz_arena_fini(&arena);
}

/* The fast load has more than the cap: x of it and 1 - x of both others, 2 x +
 * 0.8 (1 - x) <= 1, so that x = 1/6 and loads are x + 2 (1 - x); a unit more of
 * the cap would save 1 / 1.2. */
static void test_the_cap_has_a_price(void **unused)
{
    const int64_t both[] = {CZ_COVER_ONE, CZ_COVER_ONE, part(2, 1)};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_cover *cover = make(&arena, part(2, 5));
    assert_true(cz_cover_add(cover, both));
    expect(cz_cover_value(cover), part(11, 6));
    expect(cz_cover_prices(cover)[2], part(5, 6));
    cz_arena_fini(&arena);
}

/* Light loads save what is above the cap, at 64 a unit, and then time. */
static void test_what_is_above_the_cap_is_dear(void **unused)
{
    const int64_t light[] = {part(1, 4), part(1, 4), part(1, 8)};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_cover *cover = make(&arena, part(3, 4));
    expect(cz_cover_value(cover), 2 * CZ_COVER_ONE + 32 * CZ_COVER_ONE);
    assert_true(cz_cover_prices(cover)[2] == 64 * CZ_COVER_ONE);
    assert_true(cz_cover_add(cover, light));
    /* 1.5 (1 - x) + 0.5 x = 1 for half of the rows */
    expect(cz_cover_value(cover), 3 * CZ_COVER_ONE);
    expect(cz_cover_prices(cover)[2], 2 * CZ_COVER_ONE);
    cz_arena_fini(&arena);
}

static void test_what_is_worth_nothing_is_refused(void **unused)
{
    const int64_t nothing[] = {0, 0, 0};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    assert_false(cz_cover_add(make(&arena, part(2, 5)), nothing));
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_loads_are_priced),
        cmocka_unit_test(test_too_much_of_a_row_has_no_price),
        cmocka_unit_test(test_the_cap_has_a_price),
        cmocka_unit_test(test_what_is_above_the_cap_is_dear),
        cmocka_unit_test(test_what_is_worth_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
