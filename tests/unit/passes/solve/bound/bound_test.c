/* Bounds by hand, with their witnesses. */
#include "passes/solve/bound/bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* One bucket of whole items of these costs, ten elements each. */
static cz_solve_problem costs(cz_arena *arena, const int64_t *ps, int n,
                              int n_ranks)
{
    cz_solve_class *classes = CZ_NEW(arena, cz_solve_class, n);
    int *class_of = CZ_NEW(arena, int, n);
    cz_solve_problem problem = {.n_ranks = n_ranks,
                                .n_hosts = 1,
                                .n_classes = n,
                                .classes = classes,
                                .n_items = n,
                                .class_of = class_of,
                                .align = 4};
    for (int i = 0; i < n; i++) {
        classes[i] = (cz_solve_class){.elements = 10, .cost_ps = ps[i]};
        class_of[i] = i;
    }
    cz_solve_fill_buckets(arena, &problem, 1000);
    return problem;
}

static void test_each_bound_binds_somewhere(void **unused)
{
    const int64_t even[] = {3, 4, 3, 4}, long_one[] = {2, 9, 2},
                  alike[] = {5, 5, 6, 1, 1};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_solve_problem problem = costs(&arena, even, 4, 3);
    cz_solve_bound bound = cz_solve_bound_find(&problem);
    assert_int_equal(bound.mean_ps, 5);
    assert_int_equal(bound.item, 1);
    assert_int_equal(bound.max_ps, 5);
    problem = costs(&arena, long_one, 3, 2);
    bound = cz_solve_bound_find(&problem);
    assert_int_equal(bound.item, 1);
    assert_int_equal(bound.max_ps, 9);
    problem = costs(&arena, alike, 5, 1);
    bound = cz_solve_bound_find(&problem);
    assert_int_equal(bound.max_ps, 18);
    cz_arena_fini(&arena);
}

static void test_initial_loads_raise_bounds(void **unused)
{
    const int64_t ps[] = {7, 1};
    const int64_t initial[] = {4, 6};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_solve_problem problem = costs(&arena, ps, 2, 2);
    problem.initial_ps = initial;
    const cz_solve_bound bound = cz_solve_bound_find(&problem);
    assert_int_equal(bound.mean_ps, 9);
    assert_int_equal(bound.item_ps, 11);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_bound_binds_somewhere),
        cmocka_unit_test(test_initial_loads_raise_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
