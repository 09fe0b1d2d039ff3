/* Baselines: the published figures of load and padding, and that every one
 * of them is a plan. */
#include "passes/solve/baseline.h"

#include "tests/unit/passes/solve/inventory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct row {
    const model *model;
    int n_ranks, tp;
    /* max / mean of load, and pad, times 1000 and 100, rounded */
    int load, pad;
} row;

static int64_t rounded(int64_t scale, int64_t a, int64_t b)
{
    return (2 * scale * a + b) / (2 * b);
}

static void expect(cz_arena *arena, const row *want,
                   cz_solve_baseline_kind kind, int alpha, int load_scale)
{
    const cz_solve_problem problem =
        dense_problem(arena, want->model, want->n_ranks, want->tp);
    const cz_solve_baseline got =
        cz_solve_baseline_make(arena, &problem, kind, alpha);
    const cz_solve_score score =
        cz_solve_evaluate(arena, &got.problem, &got.plan);
    assert_null(cz_solve_check(arena, &got.problem, &got.plan));
    assert_int_equal(
        rounded(load_scale, score.max_load_ps / 1000 * want->n_ranks * want->tp,
                score.total_load_ps / 1000),
        want->load);
    assert_int_equal(rounded(100, score.padded_elements, score.length_elements),
                     want->pad);
}

static void expect_all(const row *rows, size_t n, cz_solve_baseline_kind kind,
                       int alpha, int load_scale)
{
    for (size_t i = 0; i < n; i++) {
        cz_arena arena;
        cz_arena_init(&arena);
        expect(&arena, &rows[i], kind, alpha, load_scale);
        cz_arena_fini(&arena);
    }
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

static void test_the_published_greedy_has_its_published_figures(void **unused)
{
    const row rows[] = {{&qwen3_1_7b, 8, 1, 1167, 256},
                        {&qwen3_1_7b, 32, 1, 1226, 758},
                        {&qwen3_4b, 32, 1, 1272, 666},
                        {&qwen3_32b, 32, 8, 2081, 379}};
    (void)unused;
    expect_all(rows, COUNT(rows), CZ_BASELINE_GREEDY, 100, 1000);
}

static void test_load_is_not_monotone_in_alpha(void **unused)
{
    const row at[] = {{&qwen3_32b, 32, 8, 257, 357},
                      {&qwen3_32b, 32, 8, 213, 357},
                      {&qwen3_32b, 32, 8, 244, 357},
                      {&qwen3_32b, 32, 8, 203, 370}};
    (void)unused;
    for (int quarter = 0; quarter < 4; quarter++)
        expect_all(&at[quarter], 1, CZ_BASELINE_GREEDY, 25 * quarter, 100);
}

static void test_layer_wise_and_equal_slices(void **unused)
{
    const row dealt[] = {{&qwen3_1_7b, 8, 1, 360, 449},
                         {&qwen3_4b, 32, 1, 368, 666},
                         {&qwen3_8b, 32, 8, 676, 702}};
    const row longest[] = {{&qwen3_1_7b, 8, 1, 111, 285},
                           {&qwen3_1_7b, 32, 1, 103, 797},
                           {&qwen3_32b, 32, 8, 203, 452}};
    const row equal[] = {{&qwen3_1_7b, 8, 1, 131, 217},
                         {&qwen3_8b, 32, 8, 358, 568},
                         {&qwen3_32b, 32, 8, 252, 357}};
    (void)unused;
    expect_all(dealt, COUNT(dealt), CZ_BASELINE_ROUND_ROBIN, 0, 100);
    expect_all(longest, COUNT(longest), CZ_BASELINE_LPT_ELEMENTS, 0, 100);
    expect_all(equal, COUNT(equal), CZ_BASELINE_EQUAL, 0, 100);
}

static void test_replicated_ranks_all_pay_the_sum(void **unused)
{
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    const cz_solve_problem one = dense_problem(&arena, &qwen3_1_7b, 1, 1);
    const cz_solve_problem eight = dense_problem(&arena, &qwen3_1_7b, 8, 1);
    const cz_solve_baseline alone =
        cz_solve_baseline_make(&arena, &one, CZ_BASELINE_GREEDY, 100);
    const cz_solve_score sum =
        cz_solve_evaluate(&arena, &alone.problem, &alone.plan);
    const cz_solve_score all = cz_solve_replicated(&arena, &eight);
    assert_int_equal(all.max_load_ps, sum.max_load_ps);
    assert_int_equal(all.total_load_ps, 8 * sum.max_load_ps);
    assert_int_equal(all.max_state_bytes, sum.max_state_bytes);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_published_greedy_has_its_published_figures),
        cmocka_unit_test(test_load_is_not_monotone_in_alpha),
        cmocka_unit_test(test_layer_wise_and_equal_slices),
        cmocka_unit_test(test_replicated_ranks_all_pay_the_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
