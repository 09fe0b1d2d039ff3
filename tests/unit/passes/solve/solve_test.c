/* What plans have to reach on the models, and properties of any plan. */
#include "passes/solve/solve.h"

#include "tests/unit/passes/solve/inventory.h"
#include "passes/solve/baseline.h"
#include "passes/solve/bound/bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* a / b <= top / bottom, for positive numbers well below 2^63 / bottom. */
static void assert_at_most(int64_t a, int64_t b, int64_t top, int64_t bottom)
{
    if (a / 1000 * bottom > b / 1000 * top)
        fail_msg("%lld / %lld is above %lld / %lld", (long long)a, (long long)b,
                 (long long)top, (long long)bottom);
}

static double ratio(int64_t a, int64_t b)
{
    return (double)a / (double)b;
}

/* Load, pad and state as max / mean, and bytes on the wire over theirs. */
static void print_row(const char *whose, const char *name, int n_ranks,
                      const cz_solve_score *s, const cz_solve_score *theirs)
{
    printf("| %s%s on %d | %.4f | %.4f | %.3f | %.3f |\n", whose, name, n_ranks,
           ratio(s->max_load_ps * n_ranks, s->total_load_ps),
           ratio(s->padded_elements, s->length_elements),
           ratio(s->max_state_bytes * n_ranks, s->total_state_bytes),
           ratio(s->wire_elements, theirs->wire_elements));
}

/* A row of the table: load, pad and state at most so many thousandths, wire no
 * more than 1.05 times the published plan's. */
static void reach(const char *name, const model *m, int n_ranks,
                  cz_solve_order order, int load, int pad)
{
    cz_arena arena;
    cz_arena_init(&arena);
    cz_solve_problem problem = dense_problem(&arena, m, n_ranks, 1);
    problem.order = order;
    problem.state = (cz_solve_cap){110, 100};
    const cz_solved got = cz_solve(&arena, &problem);
    const cz_solve_baseline published =
        cz_solve_baseline_make(&arena, &problem, CZ_BASELINE_GREEDY, 100);
    const cz_solve_score theirs =
        cz_solve_evaluate(&arena, &published.problem, &published.plan);

    print_row("published greedy, ", name, n_ranks, &theirs, &theirs);
    print_row("", name, n_ranks, &got.score, &theirs);
    assert_null(cz_solve_check(&arena, &problem, &got.plan));
    assert_at_most(got.score.max_load_ps * n_ranks, got.score.total_load_ps,
                   load, 1000);
    assert_at_most(got.score.max_state_bytes * n_ranks,
                   got.score.total_state_bytes, 1100, 1000);
    if (pad > 0)
        assert_at_most(got.score.padded_elements, got.score.length_elements,
                       pad, 1000);
    assert_at_most(got.score.wire_elements, theirs.wire_elements, 105, 100);
    cz_arena_fini(&arena);
}

static void test_1_7b_on_8_is_even_in_load_and_in_buckets(void **unused)
{
    (void)unused;
    reach("1.7B", &qwen3_1_7b, 8, CZ_ORDER_ENGINE, 1005, 1020);
}

static void test_1_7b_and_4b_on_32(void **unused)
{
    (void)unused;
    reach("1.7B", &qwen3_1_7b, 32, CZ_ORDER_ENGINE, 1030, 0);
    reach("4B", &qwen3_4b, 32, CZ_ORDER_ENGINE, 1040, 0);
}

/* Descent of one bucket at a time: the published greedy has 1.27. */
static void test_4b_on_32_in_the_trainers_order(void **unused)
{
    (void)unused;
    reach("4B, order of the trainer,", &qwen3_4b, 32, CZ_ORDER_TRAINER, 1170,
          0);
}

static void test_32b_reaches_the_bound_of_its_longest_matrix(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_solve_problem problem = dense_problem(&arena, &qwen3_32b, 32, 8);
    const cz_solve_bound bound = cz_solve_bound_find(&problem);
    const cz_solved got = cz_solve(&arena, &problem);
    assert_int_equal(bound.max_ps, bound.item_ps);
    assert_null(cz_solve_check(&arena, &problem, &got.plan));
    assert_at_most(got.score.max_load_ps, bound.max_ps, 1001, 1000);
    cz_arena_fini(&arena);
}

static void test_nothing_to_plan_is_a_plan(void **unused)
{
    static const int no_bucket[] = {0};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    for (int order = CZ_ORDER_ENGINE; order <= CZ_ORDER_TRAINER; order++) {
        const cz_solve_problem problem = {.n_ranks = 3,
                                          .n_hosts = 2,
                                          .bucket_start = no_bucket,
                                          .align = 8,
                                          .order = (cz_solve_order)order};
        const cz_solved got = cz_solve(&arena, &problem);
        assert_null(cz_solve_check(&arena, &problem, &got.plan));
        assert_int_equal(got.score.max_load_ps, 0);
    }
    cz_arena_fini(&arena);
}

/* More ranks than matrices, and a matrix above the limit on state: the plan
 * says by how much. */
static void test_a_limit_that_cannot_be_kept_is_told(void **unused)
{
    static const cz_solve_class one = {
        .elements = 64, .cost_ps = 10, .state_bytes = 300};
    static const int class_of[] = {0, 0};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_solve_problem problem = {.n_ranks = 5,
                                .n_hosts = 1,
                                .n_classes = 1,
                                .classes = &one,
                                .n_items = 2,
                                .class_of = class_of,
                                .align = 64,
                                .state = {1, 1},
                                .state_mean = 300};
    cz_solve_fill_buckets(&arena, &problem, 1000);
    cz_solved got = cz_solve(&arena, &problem);
    assert_int_equal(cz_solve_excess(&problem, &got.score), 0);
    assert_int_equal(got.score.max_load_ps, 10);
    problem.state_mean = 200;
    got = cz_solve(&arena, &problem);
    assert_int_equal(cz_solve_excess(&problem, &got.score), 500001);
    cz_arena_fini(&arena);
}

static void test_equal_problems_have_equal_plans(void **unused)
{
    cz_arena a, b;
    (void)unused;
    cz_arena_init(&a);
    cz_arena_init(&b);
    for (int order = CZ_ORDER_ENGINE; order <= CZ_ORDER_TRAINER; order++) {
        cz_solve_problem problem = dense_problem(&a, &qwen3_1_7b, 8, 1);
        problem.order = (cz_solve_order)order;
        const cz_solved one = cz_solve(&a, &problem);
        const cz_solved two = cz_solve(&b, &problem);
        const size_t n = (size_t)problem.n_items * sizeof(int);
        assert_memory_equal(one.plan.owner, two.plan.owner, n);
        assert_memory_equal(one.plan.order, two.plan.order, n);
        assert_memory_equal(one.plan.slices, two.plan.slices,
                            (size_t)problem.n_buckets * 9 * sizeof(int64_t));
    }
    cz_arena_fini(&a);
    cz_arena_fini(&b);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static int below(uint64_t *random, int n)
{
    return (int)(next_random(random) % (uint64_t)n);
}

static cz_solve_problem draw(cz_arena *arena, uint64_t *random)
{
    const int n_classes = 1 + below(random, 6), n = 1 + below(random, 60);
    cz_solve_class *classes = CZ_NEW(arena, cz_solve_class, n_classes);
    int *class_of = CZ_NEW(arena, int, n);
    cz_solve_problem problem = {.n_ranks = 1 + below(random, 9),
                                .n_hosts = 1 + below(random, 3),
                                .n_classes = n_classes,
                                .classes = classes,
                                .n_items = n,
                                .class_of = class_of,
                                .align = 1 + below(random, 20),
                                .geometry =
                                    (cz_solve_geometry)below(random, 3)};
    for (int c = 0; c < n_classes; c++)
        classes[c] = (cz_solve_class){.elements = 1 + below(random, 9999),
                                      .cost_ps = below(random, 99999),
                                      .coordinate_ps = below(random, 2) * c,
                                      .state_bytes = below(random, 9999),
                                      .divisible = below(random, 3) == 0};
    for (int i = 0; i < n; i++)
        class_of[i] = below(random, n_classes);
    cz_solve_fill_buckets(arena, &problem, 1 + below(random, 99999));
    return problem;
}

static void assert_no_baseline_is_better(cz_arena *arena,
                                         const cz_solve_problem *problem,
                                         const cz_solved *got)
{
    for (int kind = 0; kind <= CZ_BASELINE_GREEDY; kind++) {
        const cz_solve_baseline other = cz_solve_baseline_make(
            arena, problem, (cz_solve_baseline_kind)kind, 100);
        const cz_solve_score score =
            cz_solve_evaluate(arena, &other.problem, &other.plan);
        assert_null(cz_solve_check(arena, &other.problem, &other.plan));
        assert_true(got->score.max_load_ps <=
                    score.max_load_ps + score.max_load_ps / 1000);
    }
}

/* Cuts of a bucket begin at its start, also where its first items weigh
 * nothing. */
static void test_items_that_cost_nothing_are_in_a_slice(void **unused)
{
    static const cz_solve_class classes[] = {
        {.elements = 8, .divisible = true},
        {.elements = 8, .cost_ps = 10, .state_bytes = 8}};
    static const int class_of[] = {0, 1, 1, 0};
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    cz_solve_problem problem = {.n_ranks = 2,
                                .n_hosts = 1,
                                .n_classes = 2,
                                .classes = classes,
                                .n_items = 4,
                                .class_of = class_of,
                                .align = 4,
                                .order = CZ_ORDER_TRAINER};
    cz_solve_fill_buckets(&arena, &problem, 100);
    const cz_solved got = cz_solve(&arena, &problem);
    assert_null(cz_solve_check(&arena, &problem, &got.plan));
    assert_int_equal(got.score.max_load_ps, 10);
    cz_arena_fini(&arena);
}

/* Any problem has a plan in both orders; it is one, no bound is above it, and
 * in the engine's order no baseline below. */
static void test_random_problems_have_plans(void **unused)
{
    uint64_t random = 7;
    (void)unused;
    for (int i = 0; i < 50; i++) {
        cz_arena arena;
        cz_arena_init(&arena);
        cz_solve_problem problem = draw(&arena, &random);
        for (int order = CZ_ORDER_ENGINE; order <= CZ_ORDER_TRAINER; order++) {
            problem.order = (cz_solve_order)order;
            const cz_solved got = cz_solve(&arena, &problem);
            const cz_solve_bound bound = cz_solve_bound_find(&problem);
            const char *why = cz_solve_check(&arena, &problem, &got.plan);
            if (why)
                fail_msg("problem %d, %s: %s", i, got.plan.method, why);
            assert_true(got.score.max_load_ps + problem.n_items >=
                        bound.max_ps);
            if (order == CZ_ORDER_ENGINE &&
                problem.geometry == CZ_SLICES_UNEVEN)
                assert_no_baseline_is_better(&arena, &problem, &got);
        }
        cz_arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1_7b_on_8_is_even_in_load_and_in_buckets),
        cmocka_unit_test(test_1_7b_and_4b_on_32),
        cmocka_unit_test(test_4b_on_32_in_the_trainers_order),
        cmocka_unit_test(test_32b_reaches_the_bound_of_its_longest_matrix),
        cmocka_unit_test(test_nothing_to_plan_is_a_plan),
        cmocka_unit_test(test_a_limit_that_cannot_be_kept_is_told),
        cmocka_unit_test(test_equal_problems_have_equal_plans),
        cmocka_unit_test(test_items_that_cost_nothing_are_in_a_slice),
        cmocka_unit_test(test_random_problems_have_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
