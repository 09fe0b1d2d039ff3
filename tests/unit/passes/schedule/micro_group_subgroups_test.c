/* Groups of shared matrices: one of each owner in a group, the costliest
 * first; many are a few groups, and the cap makes more. */
#include "passes/schedule/micro_group_subgroups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int solve(const cz_micro_group_problem *problem, int *groups)
{
    cz_arena scratch;
    cz_arena_init(&scratch);
    const int n = cz_micro_group_subgroups(&scratch, problem, groups);
    cz_arena_fini(&scratch);
    return n;
}

static void matrices_of_a_block_take_turns_by_cost(void **state)
{
    const cz_micro_group_item items[] = {
        {0, 1, 10}, {4, 1, 30}, {0, 1, 40}, {0, 1, 10}, {4, 1, 50}};
    const cz_micro_group_problem problem = {5, 8, items, 100, 8};
    int groups[5];
    (void)state;
    assert_int_equal(solve(&problem, groups), 3);
    const int expected[] = {1, 1, 0, 2, 0};
    for (int i = 0; i < 5; i++)
        assert_int_equal(groups[i], expected[i]);
}

static void many_matrices_make_few_groups(void **state)
{
    cz_micro_group_item items[20];
    int groups[20];
    (void)state;
    for (int i = 0; i < 20; i++)
        items[i] = (cz_micro_group_item){0, 5, 1};
    assert_int_equal(
        solve(&(cz_micro_group_problem){20, 1, items, 100, 4}, groups), 4);
    for (int i = 0; i < 20; i++)
        assert_int_equal(groups[i], i / 5);
    assert_int_equal(
        solve(&(cz_micro_group_problem){20, 1, items, 10, 4}, groups), 10);
    assert_int_equal(
        solve(&(cz_micro_group_problem){20, 1, items, 4, 4}, groups), 20);
}

static void nothing_makes_no_group(void **state)
{
    (void)state;
    assert_int_equal(solve(&(cz_micro_group_problem){0, 4, NULL, 10, 4}, NULL),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_of_a_block_take_turns_by_cost),
        cmocka_unit_test(many_matrices_make_few_groups),
        cmocka_unit_test(nothing_makes_no_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
