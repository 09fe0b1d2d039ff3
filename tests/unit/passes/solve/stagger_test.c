/* Turns of equal items: nothing but them changes, and they come evenly. */
#include "passes/solve/stagger.h"

#include "passes/solve/solve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_ITEMS = 64, MAX_CLASSES = 3, ROUNDS = 200 };

typedef struct instance {
    cz_solve_problem problem;
    cz_solve_offsets turns;
    cz_solve_class classes[MAX_CLASSES];
    int class_of[MAX_ITEMS], starts[4];
    int64_t turn[MAX_ITEMS], period[MAX_CLASSES], extra[MAX_CLASSES];
} instance;

static uint64_t seed = 1;

static int draw(int n)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (int)(seed >> 33) % n;
}

static void finish(instance *it, int n_items, int n_ranks, int n_buckets)
{
    it->problem = (cz_solve_problem){.n_ranks = n_ranks,
                                     .n_hosts = 1,
                                     .n_classes = MAX_CLASSES,
                                     .classes = it->classes,
                                     .n_items = n_items,
                                     .class_of = it->class_of,
                                     .n_buckets = n_buckets,
                                     .bucket_start = it->starts,
                                     .align = 16};
    for (int b = 0; b <= n_buckets; b++)
        it->starts[b] = n_items * b / n_buckets;
    it->turns = (cz_solve_offsets){it->turn, it->period, it->extra};
}

/* Classes 0 and 1 in turns, class 2 divisible. */
static void make_random(instance *it)
{
    *it = (instance){0};
    for (int c = 0; c < MAX_CLASSES; c++) {
        it->classes[c] = (cz_solve_class){.elements = 16 * (1 + draw(9)),
                                          .cost_ps = 100 * draw(9),
                                          .coordinate_ps = 10 * draw(9),
                                          .state_bytes = 4 * (1 + draw(9)),
                                          .divisible = c == 2};
        it->period[c] = c == 2 ? 1 : 1 + draw(5);
        it->extra[c] = 10 * draw(9);
    }
    const int n = 1 + draw(MAX_ITEMS);
    for (int i = 0; i < n; i++) {
        it->class_of[i] = draw(MAX_CLASSES);
        it->turn[i] = draw(100);
    }
    finish(it, n, 1 + draw(6), 1 + draw(3));
    it->problem.n_hosts = 1 + draw(2);
}

static void check_score(const cz_solve_problem *problem,
                        const cz_solve_score *a, const cz_solve_score *b)
{
    for (int s = 0; s < problem->n_ranks * problem->n_hosts; s++)
        assert_int_equal(a->load_ps[s], b->load_ps[s]);
    for (int r = 0; r < problem->n_ranks; r++)
        assert_int_equal(a->state_bytes[r], b->state_bytes[r]);
    assert_int_equal(a->padded_elements, b->padded_elements);
    assert_int_equal(a->length_elements, b->length_elements);
    assert_int_equal(a->wire_elements, b->wire_elements);
    assert_int_equal(a->time_ps, b->time_ps);
}

static void nothing_else_of_a_plan_changes(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        cz_arena arena;
        instance it;
        cz_arena_init(&arena);
        make_random(&it);
        const cz_solved solved = cz_solve(&arena, &it.problem);
        const cz_solve_plan plan =
            cz_solve_stagger(&arena, &it.problem, &it.turns, &solved.plan);
        assert_null(cz_solve_check(&arena, &it.problem, &plan));
        const cz_solve_score score =
            cz_solve_evaluate(&arena, &it.problem, &plan);
        check_score(&it.problem, &score, &solved.score);
        for (int i = 0; i < it.problem.n_items; i++)
            if (solved.plan.owner[i] < 0 || it.period[it.class_of[i]] == 1) {
                assert_int_equal(plan.owner[i], solved.plan.owner[i]);
                assert_int_equal(plan.offset[i], solved.plan.offset[i]);
            }
        cz_arena_fini(&arena);
    }
}

/* As many equal items of each turn as there are ranks, for which longest first
 * deals out item i to rank i mod 4: one turn each, were they left there. */
static void owners_of_one_turn_get_one_of_each(void **state)
{
    cz_arena arena;
    instance it = {0};
    int owners[16], hosts[16], order[16];
    int64_t offsets[16];
    (void)state;
    cz_arena_init(&arena);
    for (int c = 0; c < MAX_CLASSES; c++)
        it.classes[c] = (cz_solve_class){.elements = 16, .cost_ps = 100};
    for (int i = 0; i < 16; i++)
        it.turn[i] = i;
    it.period[0] = 4;
    it.extra[0] = 7;
    finish(&it, 16, 4, 1);
    for (int i = 0; i < 16; i++) {
        owners[i] = i % 4;
        hosts[i] = 0;
        order[i % 4 * 4 + i / 4] = i;
        offsets[i] = 16 * (i % 4 * 4 + i / 4);
    }
    cz_solve_plan plan = {
        .owner = owners, .host = hosts, .order = order, .offset = offsets};
    assert_int_equal(
        cz_solve_stagger_most(&arena, &it.problem, &it.turns, &plan, 4), 4 * 7);
    plan = cz_solve_stagger(&arena, &it.problem, &it.turns, &plan);
    assert_int_equal(
        cz_solve_stagger_most(&arena, &it.problem, &it.turns, &plan, 4), 7);
    for (int place = 0; place < 16; place++) {
        const int item = plan.order[place];
        assert_int_equal(plan.owner[item], place / 4);
        assert_int_equal(plan.offset[item], 16 * place);
    }
    it.problem.order = CZ_ORDER_TRAINER;
    plan = (cz_solve_plan){
        .owner = owners, .host = hosts, .order = order, .offset = offsets};
    plan = cz_solve_stagger(&arena, &it.problem, &it.turns, &plan);
    assert_ptr_equal(plan.owner, owners);
    cz_arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_else_of_a_plan_changes),
        cmocka_unit_test(owners_of_one_turn_get_one_of_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
