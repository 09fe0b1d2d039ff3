/* Buckets, scores by hand, and that a broken plan is named. */
#include "passes/solve/solve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Two ranks; a bucket of two matrices and a table that both share, and one of
 * a matrix alone. */
static const cz_solve_class classes[] = {
    {.elements = 8, .cost_ps = 100, .state_bytes = 64},
    {.elements = 4, .cost_ps = 60, .coordinate_ps = 5, .state_bytes = 32},
    {.elements = 10, .cost_ps = 7, .state_bytes = 21, .divisible = true}};
static const int class_of[] = {0, 1, 2, 0};

static cz_solve_problem example(cz_arena *arena, int64_t capacity)
{
    cz_solve_problem problem = {.n_ranks = 2,
                                .n_hosts = 1,
                                .n_classes = 3,
                                .classes = classes,
                                .n_items = 4,
                                .class_of = class_of,
                                .align = 2};
    cz_solve_fill_buckets(arena, &problem, capacity);
    return problem;
}

/* Bucket 0: rank 0 has item 0, rank 1 item 1; the table is cut after 4. */
static cz_solve_plan placed(cz_arena *arena, const cz_solve_problem *problem)
{
    cz_solve_plan plan = cz_solve_plan_make(arena, problem);
    const int64_t slices[] = {0, 8, 12, 0, 0, 8};
    const int64_t fills[] = {12, 16, 22, 8, 8, 8};
    plan.owner[0] = plan.host[0] = plan.host[1] = plan.host[3] = 0;
    plan.owner[1] = plan.owner[3] = 1;
    for (int i = 0; i < 6; i++) {
        plan.slices[i] = slices[i];
        plan.fills[i] = fills[i];
    }
    return plan;
}

static void test_buckets_close_when_they_are_full(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_solve_problem two = example(&arena, 20);
    assert_int_equal(two.n_buckets, 2);
    assert_int_equal(two.bucket_start[1], 3);
    assert_int_equal(two.bucket_start[2], 4);
    const cz_solve_problem exact = example(&arena, 12);
    assert_int_equal(exact.n_buckets, 2);
    assert_int_equal(exact.bucket_start[1], 2);
    assert_int_equal(example(&arena, 100).n_buckets, 1);
    cz_arena_fini(&arena);
}

static void test_a_score_by_hand(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_solve_problem problem = example(&arena, 20);
    const cz_solve_plan plan = placed(&arena, &problem);
    assert_null(cz_solve_check(&arena, &problem, &plan));
    const cz_solve_score score = cz_solve_evaluate(&arena, &problem, &plan);
    assert_int_equal(score.load_ps[0], 100 + 2); /* floor(7 * 4 / 10) */
    assert_int_equal(score.load_ps[1], 65 + 5 + 100);
    assert_int_equal(score.state_bytes[0], 64 + 8);
    assert_int_equal(score.state_bytes[1], 32 + 13 + 64);
    assert_int_equal(score.max_load_ps, 170);
    assert_int_equal(score.total_load_ps, 272);
    assert_int_equal(score.padded_elements, 2 * (12 + 8));
    assert_int_equal(score.length_elements, 22 + 8);
    assert_int_equal(score.wire_elements, 2 * (22 + 8));
    problem.geometry = CZ_SLICES_PADDED;
    problem.wire_ps = 1024;
    const cz_solve_score padded = cz_solve_evaluate(&arena, &problem, &plan);
    /* The table lies by itself and is cut after 6, whatever the plan says. */
    assert_int_equal(padded.wire_elements, 2 * (16 + 12 + 16));
    assert_int_equal(padded.load_ps[0], 100 + 4);
    assert_int_equal(padded.load_ps[1], 65 + 3 + 100);
    assert_int_equal(padded.state_bytes[0], 64 + 12);
    assert_int_equal(padded.time_ps, 168 + 44);
    assert_true(cz_solve_compare(&problem, &score, &padded) < 0);
    cz_arena_fini(&arena);
}

static void test_equal_parts_move_what_they_cut(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_solve_problem problem = example(&arena, 20);
    problem.geometry = CZ_SLICES_EQUAL;
    const cz_solve_plan plan = placed(&arena, &problem);
    assert_null(cz_solve_check(&arena, &problem, &plan));
    const cz_solve_score score = cz_solve_evaluate(&arena, &problem, &plan);
    /* Of 12 elements of whole items rank 0 has 8, of which two lie in rank 1's
     * part, which has all of bucket 1, where half is rank 0's part: each of the
     * two ranks takes as long as the one with most. */
    assert_int_equal(score.wire_elements, 2 * (12 + 2 * 2 + 10 + 8 + 2 * 4));
    assert_int_equal(score.load_ps[0], 100 + 4);
    assert_int_equal(score.state_bytes[1], 32 + 9 + 64);
    cz_arena_fini(&arena);
}

/* Kinds of one bucket are padded, and cut, each by itself. */
static void test_each_kind_is_cut_by_itself(void **unused)
{
    static const cz_solve_class kinds[] = {
        {.elements = 8, .cost_ps = 100},
        {.elements = 4, .cost_ps = 60, .kind = 1},
        {.elements = 8, .cost_ps = 8, .divisible = true},
        {.elements = 8, .cost_ps = 80, .divisible = true, .kind = 1}};
    static const int each[] = {0, 1, 2, 3};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_solve_problem problem = {.n_ranks = 2,
                                .n_hosts = 1,
                                .n_classes = 4,
                                .classes = kinds,
                                .n_items = 4,
                                .class_of = each,
                                .align = 2,
                                .geometry = CZ_SLICES_PADDED};
    cz_solve_fill_buckets(&arena, &problem, 100);
    const cz_solved got = cz_solve(&arena, &problem);
    assert_null(cz_solve_check(&arena, &problem, &got.plan));
    assert_int_equal(got.score.max_load_ps, 100 + 4 + 40);
    assert_int_equal(got.score.total_load_ps, 100 + 60 + 8 + 80);
    assert_int_equal(got.score.padded_elements, 2 * (8 + 4 + 4 + 4));
    cz_arena_fini(&arena);
}

/* What is divisible as initial load: no plan's score changes. */
static void test_evened_problems_score_alike(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    for (int g = 0; g < CZ_SOLVE_N_GEOMETRIES; g++) {
        cz_solve_problem problem = example(&arena, 20);
        problem.geometry = (cz_solve_geometry)g;
        problem.wire_ps = 1024;
        const cz_solve_problem evened = cz_solve_evened(&arena, &problem);
        const cz_solve_plan plan = placed(&arena, &problem);
        const cz_solve_score a = cz_solve_evaluate(&arena, &problem, &plan);
        const cz_solve_score b = cz_solve_evaluate(&arena, &evened, &plan);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(a.load_ps[r], b.load_ps[r]);
            assert_int_equal(a.state_bytes[r], b.state_bytes[r]);
        }
        assert_int_equal(a.time_ps, b.time_ps);
        assert_int_equal(cz_solve_state_cap(&problem),
                         cz_solve_state_cap(&evened));
    }
    cz_arena_fini(&arena);
}

static void test_a_cap_comes_before_time(void **unused)
{
    cz_solve_problem problem = {.n_ranks = 2, .state = {11, 10}};
    const cz_solve_score fast = {
        .time_ps = 1, .max_state_bytes = 60, .total_state_bytes = 100};
    const cz_solve_score even = {
        .time_ps = 2, .max_state_bytes = 55, .total_state_bytes = 100};
    (void)unused;
    assert_true(cz_solve_compare(&problem, &fast, &even) > 0);
    problem.state.denominator = 0;
    assert_true(cz_solve_compare(&problem, &fast, &even) < 0);
}

static void test_broken_plans_are_named(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_solve_problem problem = example(&arena, 20);
    cz_solve_plan plan = placed(&arena, &problem);
    plan.owner[1] = 0;
    assert_string_equal(cz_solve_check(&arena, &problem, &plan),
                        "an item is not inside its owner's slice");
    plan = placed(&arena, &problem);
    plan.slices[1] = 7;
    assert_string_equal(cz_solve_check(&arena, &problem, &plan),
                        "an item is not inside its owner's slice");
    plan = placed(&arena, &problem);
    plan.fills[1] = 15;
    assert_string_equal(cz_solve_check(&arena, &problem, &plan),
                        "a cut is not aligned");
    plan = placed(&arena, &problem);
    plan.fills[2] = 20;
    assert_string_equal(cz_solve_check(&arena, &problem, &plan),
                        "slices do not cover the bucket");
    plan = placed(&arena, &problem);
    plan.fills[1] = 24;
    assert_string_equal(cz_solve_check(&arena, &problem, &plan),
                        "slices are not ascending");
    plan = placed(&arena, &problem);
    plan.order[1] = 0;
    assert_string_equal(cz_solve_check(&arena, &problem, &plan),
                        "an item is not in its bucket once");
    plan = placed(&arena, &problem);
    plan.offset[1] = 10;
    assert_string_equal(cz_solve_check(&arena, &problem, &plan),
                        "an item is not behind the one before");
    plan = placed(&arena, &problem);
    plan.owner[2] = 0;
    assert_string_equal(cz_solve_check(&arena, &problem, &plan),
                        "a divisible item is owned");
    plan = placed(&arena, &problem);
    plan.host[0] = 1;
    assert_string_equal(cz_solve_check(&arena, &problem, &plan),
                        "an owner is out of range");
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets_close_when_they_are_full),
        cmocka_unit_test(test_a_score_by_hand),
        cmocka_unit_test(test_equal_parts_move_what_they_cut),
        cmocka_unit_test(test_each_kind_is_cut_by_itself),
        cmocka_unit_test(test_evened_problems_score_alike),
        cmocka_unit_test(test_a_cap_comes_before_time),
        cmocka_unit_test(test_broken_plans_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
