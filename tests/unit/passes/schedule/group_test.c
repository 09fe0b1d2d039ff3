/* Micro-groups: the cap holds, order within an owner is kept, no group is
 * empty, and owners with equal work fill groups alike. */
#include "passes/schedule/micro_group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX_ITEMS = 80, MAX_OWNERS = 6 };

static int solve(const cz_micro_group_problem *problem, int *groups)
{
    cz_arena scratch;
    cz_arena_init(&scratch);
    const int n = cz_micro_group_solve(&scratch, problem, groups);
    cz_arena_fini(&scratch);
    return n;
}

static void test_equal_items_share_out_evenly(void **unused)
{
    cz_micro_group_item items[12];
    int groups[12];
    (void)unused;
    for (int i = 0; i < 12; i++)
        items[i] = (cz_micro_group_item){i % 2, 10, 100};
    assert_int_equal(
        solve(&(cz_micro_group_problem){12, 2, items, 1000, 3}, groups), 3);
    for (int i = 0; i < 12; i++)
        assert_int_equal(groups[i], i / 4);
}

static void test_the_cap_makes_more_groups(void **unused)
{
    cz_micro_group_item items[6];
    int groups[6];
    (void)unused;
    for (int i = 0; i < 6; i++)
        items[i] = (cz_micro_group_item){0, 10, 100};
    assert_int_equal(
        solve(&(cz_micro_group_problem){6, 1, items, 1000, 1}, groups), 1);
    assert_int_equal(
        solve(&(cz_micro_group_problem){6, 1, items, 20, 1}, groups), 3);
    assert_int_equal(
        solve(&(cz_micro_group_problem){6, 1, items, 5, 1}, groups), 6);
}

static void test_nothing_makes_no_group(void **unused)
{
    (void)unused;
    assert_int_equal(solve(&(cz_micro_group_problem){0, 4, NULL, 10, 3}, NULL),
                     0);
}

/* Bytes of the group of one owner; *n counts its items. */
static int64_t micro_group_bytes(const cz_micro_group_problem *problem,
                                 const int *groups, int owner, int group,
                                 int *n)
{
    int64_t bytes = 0;
    *n = 0;
    for (int i = 0; i < problem->n_items; i++)
        if (problem->items[i].owner == owner && groups[i] == group) {
            bytes += problem->items[i].bytes;
            ++*n;
        }
    return bytes;
}

static void check(const cz_micro_group_problem *problem, const int *groups,
                  int n)
{
    int last[MAX_OWNERS] = {0};
    for (int i = 0; i < problem->n_items; i++) {
        const int owner = problem->items[i].owner;
        assert_true(groups[i] >= last[owner] && groups[i] < n);
        last[owner] = groups[i];
    }
    for (int g = 0; g < n; g++) {
        int all = 0, n_here;
        for (int o = 0; o < problem->n_owners; o++) {
            const int64_t bytes =
                micro_group_bytes(problem, groups, o, g, &n_here);
            assert_true(n_here <= 1 || bytes <= problem->cap_bytes);
            all += n_here;
        }
        assert_true(all > 0);
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void test_random_items_keep_cap_and_order(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        uint64_t random = seed;
        cz_micro_group_item items[MAX_ITEMS];
        int groups[MAX_ITEMS];
        const int n_owners = 1 + (int)(next_random(&random) % MAX_OWNERS);
        const int n = 1 + (int)(next_random(&random) % MAX_ITEMS);
        for (int i = 0; i < n; i++)
            items[i] = (cz_micro_group_item){
                (int)(next_random(&random) % (uint64_t)n_owners),
                (int64_t)(next_random(&random) % 50),
                (int64_t)(next_random(&random) % 1000)};
        const cz_micro_group_problem problem = {n, n_owners, items, 60, 3};
        const int n_groups = solve(&problem, groups);
        check(&problem, groups, n_groups);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_items_share_out_evenly),
        cmocka_unit_test(test_the_cap_makes_more_groups),
        cmocka_unit_test(test_nothing_makes_no_group),
        cmocka_unit_test(test_random_items_keep_cap_and_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
