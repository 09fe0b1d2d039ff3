/* Pouring what is divisible, and dealing equal items out to buckets. */
#include "passes/solve/search/place.h"

#include "passes/solve/evaluate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Two ranks, one bucket: rank 0 has a matrix of 40 elements, 100 ps and 10
 * bytes; 60 elements, 60 ps and 60 bytes are to be poured. */
static const cz_solve_class classes[] = {
    {.elements = 40, .cost_ps = 100, .state_bytes = 10},
    {.elements = 60, .cost_ps = 60, .state_bytes = 60, .divisible = true}};
static const int class_of[] = {0, 1};
static const int bucket_start[] = {0, 2};
static const int slot_of[] = {0, -1};

static cz_solve_problem one_bucket(void)
{
    return (cz_solve_problem){.n_ranks = 2,
                              .n_hosts = 1,
                              .n_classes = 2,
                              .classes = classes,
                              .n_items = 2,
                              .class_of = class_of,
                              .n_buckets = 1,
                              .bucket_start = bucket_start,
                              .align = 4};
}

static void expect(const cz_solve_problem *problem, int64_t first)
{
    cz_arena arena;
    int64_t amounts[2];
    cz_arena_init(&arena);
    cz_place_fill(&arena, problem, slot_of, amounts);
    assert_int_equal(amounts[0], first);
    assert_int_equal(amounts[1], 60 - first);
    const cz_solve_plan plan = cz_place_plan(&arena, problem, slot_of, amounts);
    assert_null(cz_solve_check(&arena, problem, &plan));
    cz_arena_fini(&arena);
}

static void test_pouring_evens_out_load_under_the_cap_on_state(void **unused)
{
    cz_solve_problem problem = one_bucket();
    (void)unused;
    expect(&problem, 0);                    /* 100 against 60 */
    problem.state = (cz_solve_cap){11, 10}; /* 38 bytes of 35 */
    expect(&problem, 24);
}

/* A matrix of 40 elements and 10 ps on rank 0; two vectors of 30 and 30 ps: the
 * even cut, behind 28 elements, would be in the first of them. */
static void pour_vectors(int64_t cut_ps, int64_t first)
{
    static const cz_solve_class kinds[] = {
        {.elements = 40, .cost_ps = 10, .state_bytes = 1 << 20},
        {.elements = 30, .cost_ps = 30, .state_bytes = 60, .divisible = true}};
    static const int of[] = {0, 1, 1}, start[] = {0, 3}, slots[] = {0, -1, -1};
    cz_solve_problem problem = one_bucket();
    cz_arena arena;
    int64_t amounts[2];
    problem.classes = kinds;
    problem.class_of = of;
    problem.bucket_start = start;
    problem.n_items = 3;
    problem.cut_ps = cut_ps;
    cz_arena_init(&arena);
    cz_place_fill(&arena, &problem, slots, amounts);
    assert_int_equal(amounts[0], first);
    assert_int_equal(amounts[1], 64 - first);
    cz_arena_fini(&arena);
}

static void test_what_takes_less_than_a_cut_stays_whole(void **unused)
{
    (void)unused;
    pour_vectors(0, 28);
    pour_vectors(30, 28);
    pour_vectors(31, 32);
}

/* Two buckets of two equal items each: each rank should get one of each. */
static void test_equal_items_spread_over_buckets(void **unused)
{
    static const int alike[] = {0, 0, 0, 0};
    static const int starts[] = {0, 2, 4};
    cz_arena arena;
    int slots[4];
    (void)unused;
    cz_arena_init(&arena);
    cz_solve_problem problem = one_bucket();
    problem.n_items = 4;
    problem.class_of = alike;
    problem.n_buckets = 2;
    problem.bucket_start = starts;
    cz_counts counts = cz_counts_make(&arena, &problem, false);
    cz_counts_put(&counts, 0, 0, 0, 2);
    cz_counts_put(&counts, 0, 1, 0, 2);
    cz_place_items(&arena, &counts, slots);
    assert_true(slots[0] != slots[1] && slots[2] != slots[3]);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pouring_evens_out_load_under_the_cap_on_state),
        cmocka_unit_test(test_what_takes_less_than_a_cut_stays_whole),
        cmocka_unit_test(test_equal_items_spread_over_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
