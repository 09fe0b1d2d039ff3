/* The simulated executor: streams in order, waits, joint operations, skips. */
#include "passes/timeline/timeline.h"

#include "passes/solve/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const cz_timeline_stream COMPUTE = CZ_TIMELINE_COMPUTE;
static const cz_timeline_stream LINK = CZ_TIMELINE_LINK;

#define PS(...) ((const int64_t[]){__VA_ARGS__})
#define AFTER(...)                                                             \
    ((const int[]){__VA_ARGS__}),                                              \
        (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int))

static cz_timeline_times simulate(cz_arena *arena, int n_ranks,
                                  cz_timeline_op *ops, int n)
{
    const cz_timeline_list list = {n_ranks, n, ops};
    return cz_timeline_simulate(arena, &list);
}

static void test_streams_overlap_unless_waits_say_otherwise(void **unused)
{
    cz_timeline_op ops[] = {
        {LINK, 0, {0, NULL}, PS(5), NULL, 0},
        {COMPUTE, 0, {0, NULL}, PS(7), NULL, 0},
        {LINK, 0, {0, NULL}, PS(5), NULL, 0},
        {COMPUTE, 0, {0, NULL}, PS(2), AFTER(2)},
    };
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_timeline_times times = simulate(&arena, 1, ops, 4);
    assert_int_equal(times.end[1], 7);
    assert_int_equal(times.end[2], 10);
    assert_int_equal(times.makespan, 12);
    assert_int_equal(times.free_ps[COMPUTE], 12);
    assert_int_equal(times.free_ps[LINK], 10);
    cz_arena_fini(&arena);
}

static void test_a_joint_operation_waits_for_its_last_rank(void **unused)
{
    cz_timeline_op ops[] = {
        {COMPUTE, 0, {0, NULL}, PS(3, 9), NULL, 0},
        {LINK, 0, {1, NULL}, PS(4, 1), AFTER(0)},
        {COMPUTE, 0, {0, NULL}, PS(1, 1), AFTER(1)},
    };
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_timeline_times times = simulate(&arena, 2, ops, 3);
    assert_int_equal(times.end[2], 13);
    assert_int_equal(times.end[3], 10);
    assert_int_equal(times.makespan, 14);
    cz_arena_fini(&arena);
}

static void test_who_skips_is_not_waited_for(void **unused)
{
    cz_timeline_op ops[] = {
        {COMPUTE, 0, {0, NULL}, PS(50, 2, 3), NULL, 0},
        {LINK, 0, {1, NULL}, PS(-1, 1, 1), AFTER(0)},
        {LINK, 0, {0, NULL}, PS(4, -1, -1), AFTER(1)},
    };
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_timeline_times times = simulate(&arena, 3, ops, 3);
    assert_int_equal(times.end[3], 0);
    assert_int_equal(times.end[4], 4);
    /* Rank 0 skips what it would wait for, and waits for nothing through it. */
    assert_int_equal(times.end[6], 4);
    cz_arena_fini(&arena);
}

static void
test_ranks_of_one_communicator_alone_wait_for_each_other(void **unused)
{
    cz_timeline_op ops[] = {
        {COMPUTE, 0, {0, NULL}, PS(3, 9, 1, 2), NULL, 0},
        {LINK, 0, {2, (const int[]){0, 1, 0, 1}}, PS(1, 1, 1, -1), AFTER(0)},
    };
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_timeline_times times = simulate(&arena, 4, ops, 2);
    assert_int_equal(times.end[4], 4);
    assert_int_equal(times.end[5], 10);
    assert_int_equal(times.end[6], 4);
    assert_int_equal(times.end[7], 0);
    cz_arena_fini(&arena);
}

/* In the executor, and in the search for an order. */
static void test_times_of_2_62_ps_do_not_overflow(void **unused)
{
    const int64_t most = (int64_t)1 << 62;
    cz_timeline_op ops[] = {
        {COMPUTE, 0, {0, NULL}, PS(most), NULL, 0},
        {COMPUTE, 0, {0, NULL}, PS(most), AFTER(0)},
        {LINK, 0, {1, NULL}, PS(most), AFTER(1)},
    };
    const cz_timeline_list list = {1, 3, ops};
    const cz_order_problem problem = {
        .list = &list, .n_moved = 3, .n_micro_groups = 1, .effort = 100};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_timeline_times times = simulate(&arena, 1, ops, 3);
    const cz_order found = cz_order_find(&arena, &problem);
    assert_true(times.makespan == most - 1);
    assert_true(times.free_ps[COMPUTE] == most - 1);
    assert_true(found.makespan == most - 1 &&
                found.micro_groups_end == most - 1);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_ranks_of_one_communicator_alone_wait_for_each_other),
        cmocka_unit_test(test_streams_overlap_unless_waits_say_otherwise),
        cmocka_unit_test(test_a_joint_operation_waits_for_its_last_rank),
        cmocka_unit_test(test_times_of_2_62_ps_do_not_overflow),
        cmocka_unit_test(test_who_skips_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
