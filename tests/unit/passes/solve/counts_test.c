/* Longest first and local search on instances with known optima. */
#include "passes/solve/counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX_CLASSES = 8 };

typedef struct instance {
    int n_ranks, n_hosts, n_classes;
    int64_t ps[MAX_CLASSES];
    int numbers[MAX_CLASSES];
} instance;

static cz_solve_problem build(cz_arena *arena, const instance *in)
{
    cz_solve_class *classes = CZ_NEW(arena, cz_solve_class, MAX_CLASSES);
    cz_solve_problem problem = {.n_ranks = in->n_ranks,
                                .n_hosts = in->n_hosts,
                                .n_classes = in->n_classes,
                                .classes = classes,
                                .align = 1};
    int *class_of = NULL;
    for (int c = 0; c < in->n_classes; c++) {
        classes[c] = (cz_solve_class){
            .elements = 10, .cost_ps = in->ps[c], .state_bytes = 100};
        for (int i = 0; i < in->numbers[c]; i++)
            *CZ_PUSH(arena, class_of, problem.n_items) = c;
    }
    problem.class_of = class_of;
    cz_solve_fill_buckets(arena, &problem, 1 << 20);
    return problem;
}

/* Graham's worst case: of 5 5 4 4 3 3 3 on three ranks longest first makes
 * 11, and 9 is possible. */
static const instance graham = {3, 1, 3, {5, 4, 3}, {2, 2, 3}};

static void test_longest_first_has_its_worst_case(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_solve_problem problem = build(&arena, &graham);
    cz_counts counts = cz_counts_make(&arena, &problem, false);
    cz_counts_lpt(&arena, &counts);
    assert_int_equal(cz_counts_max(&counts), 11);
    cz_counts_improve(&counts, 10000);
    assert_int_equal(cz_counts_max(&counts), 9);
    cz_arena_fini(&arena);
}

static void test_hosts_are_slots_of_their_own(void **unused)
{
    const instance in = {2, 2, 1, {5}, {4}};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_solve_problem problem = build(&arena, &in);
    cz_counts counts = cz_counts_make(&arena, &problem, false);
    cz_counts_lpt(&arena, &counts);
    assert_int_equal(cz_counts_max(&counts), 5);
    assert_int_equal(counts.state[0], 200);
    cz_arena_fini(&arena);
}

/* All on one rank, which costs nothing but state: the cap moves it. */
static void test_state_above_the_cap_is_moved_first(void **unused)
{
    const instance in = {2, 1, 1, {1}, {8}};
    const int64_t initial[] = {0, 100};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_solve_problem problem = build(&arena, &in);
    problem.initial_ps = initial;
    problem.state = (cz_solve_cap){3, 2};
    cz_counts counts = cz_counts_make(&arena, &problem, false);
    cz_counts_lpt(&arena, &counts);
    assert_int_equal(counts.state[0], 800);
    assert_int_equal(cz_counts_state_excess(&counts), 200);
    cz_counts_improve(&counts, 10000);
    assert_int_equal(cz_counts_state_excess(&counts), 0);
    assert_int_equal(counts.state[0], 600);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest_first_has_its_worst_case),
        cmocka_unit_test(test_hosts_are_slots_of_their_own),
        cmocka_unit_test(test_state_above_the_cap_is_moved_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
