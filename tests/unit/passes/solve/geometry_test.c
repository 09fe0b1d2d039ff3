/* Geometries by hand: what uneven slices must reach to be worth it. */
#include "passes/solve/geometry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Three ranks, one bucket of three matrices: of 24, 8 and 8 elements, at one
 * picosecond for each that a rank sends.  The best load is 30 against 10
 * and 10. All slices together have 40 elements, which all ranks send twice to
 * reduce and twice to gather: 160 / 3 a rank.  Padded to 24 each, 96.  Equal
 * parts of 16, the last of 8: 8 elements of the long matrix lie elsewhere at
 * least, both ways 16 more. */
static const cz_solve_class classes[] = {{.elements = 24, .cost_ps = 30},
                                         {.elements = 8, .cost_ps = 10}};
static const int class_of[] = {0, 1, 1};

static cz_solve_problem example(cz_arena *arena, int64_t wire_ps)
{
    cz_solve_problem problem = {.n_ranks = 3,
                                .n_hosts = 1,
                                .n_classes = 2,
                                .classes = classes,
                                .n_items = 3,
                                .class_of = class_of,
                                .align = 4,
                                .wire_ps = wire_ps * 1024};
    cz_solve_fill_buckets(arena, &problem, 100);
    return problem;
}

static const bool all[CZ_SOLVE_N_GEOMETRIES] = {true, true, true};

static void test_the_worst_case_decides(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_solve_problem problem = example(&arena, 1);
    const cz_geometry_choice c = cz_geometry_choose(
        &arena, &problem, all, (cz_geometry_range){500, 1000});
    const cz_geometry_option *uneven = &c.of[CZ_SLICES_UNEVEN];
    const cz_geometry_option *padded = &c.of[CZ_SLICES_PADDED];
    const cz_geometry_option *equal = &c.of[CZ_SLICES_EQUAL];
    assert_int_equal(uneven->worst_ps, 30 + 106);
    assert_int_equal(uneven->best_ps, 30 + 53);
    assert_int_equal(padded->worst_ps, 30 + 96);
    assert_int_equal(padded->best_ps, 30 + 96);
    assert_int_equal(padded->break_even_e, 553); /* 53 / 96 */
    assert_int_equal(equal->worst_ps, 30 + 69);
    assert_int_equal(equal->break_even_e, 769); /* 53 / 69 */
    assert_int_equal(c.chosen, CZ_SLICES_EQUAL);
    cz_arena_fini(&arena);
}

/* Above the break-even uneven slices are chosen, below it not. */
static void test_a_measured_speed_decides_at_the_break_even(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_solve_problem problem = example(&arena, 1000);
    const cz_geometry_choice above = cz_geometry_choose(
        &arena, &problem, all, (cz_geometry_range){770, 770});
    const cz_geometry_choice below = cz_geometry_choose(
        &arena, &problem, all, (cz_geometry_range){766, 766});
    assert_int_equal(above.chosen, CZ_SLICES_UNEVEN);
    assert_int_equal(above.of[CZ_SLICES_EQUAL].break_even_e, 769);
    assert_int_equal(below.chosen, CZ_SLICES_EQUAL);
    assert_int_equal(below.of[below.chosen].best_ps,
                     below.of[below.chosen].worst_ps);
    cz_arena_fini(&arena);
}

static void test_only_what_is_allowed_is_chosen(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_solve_problem problem = example(&arena, 1);
    for (int g = 0; g < CZ_SOLVE_N_GEOMETRIES; g++) {
        bool allowed[CZ_SOLVE_N_GEOMETRIES] = {false};
        allowed[g] = true;
        const cz_geometry_choice c = cz_geometry_choose(
            &arena, &problem, allowed, (cz_geometry_range){500, 1000});
        assert_int_equal(c.chosen, g);
        for (int k = 0; k < CZ_SOLVE_N_GEOMETRIES; k++)
            assert_int_equal(c.of[k].is_allowed, k == g);
    }
    cz_arena_fini(&arena);
}

/* Slices that are equal by themselves are padded for nothing. */
static void test_even_buckets_are_padded(void **unused)
{
    static const int twins[] = {0, 0};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_solve_problem problem = example(&arena, 1);
    problem.class_of = twins;
    problem.n_items = problem.n_ranks = 2;
    cz_solve_fill_buckets(&arena, &problem, 100);
    const cz_geometry_choice c = cz_geometry_choose(
        &arena, &problem, all, (cz_geometry_range){500, 1000});
    assert_int_equal(c.chosen, CZ_SLICES_PADDED);
    assert_int_equal(c.of[CZ_SLICES_PADDED].break_even_e, 1000);
    cz_arena_fini(&arena);
}

/* Who has no wire to pay for has no reason against uneven slices. */
static void test_without_a_wire_uneven_slices_will_do(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_solve_problem problem = example(&arena, 0);
    const cz_geometry_choice c = cz_geometry_choose(
        &arena, &problem, all, (cz_geometry_range){500, 1000});
    assert_int_equal(c.chosen, CZ_SLICES_UNEVEN);
    assert_int_equal(c.of[CZ_SLICES_PADDED].break_even_e, 0);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_worst_case_decides),
        cmocka_unit_test(test_a_measured_speed_decides_at_the_break_even),
        cmocka_unit_test(test_only_what_is_allowed_is_chosen),
        cmocka_unit_test(test_even_buckets_are_padded),
        cmocka_unit_test(test_without_a_wire_uneven_slices_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
