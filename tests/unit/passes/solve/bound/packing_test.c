/* The bound by fit: by hand, and against all ways to deal items out. */
#include "passes/solve/bound/packing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { MAX_CLASSES = 2, MAX_ITEMS = 6, MAX_RANKS = 4, MAX_MATRICES = 5 };

static cz_bin_item item(int of, int g, int batch, int64_t ps)
{
    return (cz_bin_item){
        .of = of, .g = g, .batch = batch, .compute_ps = ps, .alone_ps = ps};
}

static int64_t time_of(const cz_packing_problem *problem)
{
    cz_arena arena;
    cz_arena_init(&arena);
    const int64_t time = cz_packing_find(&arena, problem).time_ps;
    cz_arena_fini(&arena);
    return time;
}

/* Three matrices of 6 on two ranks: one rank has two of them, and the other
 * has room for 6 of what may be cut. */
static void test_what_is_divisible_fills_gaps(void **unused)
{
    const int64_t three = 3;
    cz_bin_item six = item(0, 1, 1, 6);
    cz_packing_problem problem = {.n_ranks = 2,
                                  .n_classes = 1,
                                  .counts = &three,
                                  .n_items = 1,
                                  .items = &six,
                                  .wire_cap_bytes = INT64_MAX};
    (void)unused;
    assert_int_equal(time_of(&problem), 12);
    problem.divisible_ps = 6;
    assert_int_equal(time_of(&problem), 12);
    problem.divisible_ps = 8;
    assert_int_equal(time_of(&problem), 13);
    problem.divisible_ps = 1000;
    assert_in_range(time_of(&problem), 508, 509);
}

/* Whoever wants to prove it has the prices of the time before. */
static void test_prices_refute_the_time_before(void **unused)
{
    const int64_t counts[] = {0, 3};
    cz_bin_item six = item(1, 1, 1, 600);
    cz_arena arena;
    cz_arena_init(&arena);
    (void)unused;
    const cz_packing fit = cz_packing_find(
        &arena, &(cz_packing_problem){.n_ranks = 2,
                                      .n_classes = 2,
                                      .counts = counts,
                                      .n_items = 1,
                                      .items = &six,
                                      .divisible_ps = 800,
                                      .wire_cap_bytes = INT64_MAX,
                                      .low_ps = 1000});
    const int64_t time = fit.time_ps - 1;
    assert_in_range(fit.time_ps, 1299, 1300);
    assert_int_equal(fit.most, 1);
    assert_int_equal(fit.prices.matrix[0], 0);
    for (int64_t n = 0; n <= time / 600; n++) {
        const double worth =
            (double)(n * fit.prices.matrix[1]) +
            (double)(time - n * 600) / 800 * (double)fit.prices.divisible;
        assert_true(2 * worth <
                    (double)(3 * fit.prices.matrix[1] + fit.prices.divisible));
    }
    cz_arena_fini(&arena);
}

/* A matrix was no part of what one rank has, and that part divided. */
static void test_more_matrices_than_ranks_can_count(void **unused)
{
    const int64_t count = (int64_t)1 << 50;
    cz_bin_item six = item(0, 1, 1, 6);
    const cz_packing_problem problem = {.n_ranks = 1,
                                        .n_classes = 1,
                                        .counts = &count,
                                        .n_items = 1,
                                        .items = &six,
                                        .wire_cap_bytes = INT64_MAX};
    (void)unused;
    assert_in_range(time_of(&problem), 6, 6 * count);
}

/* ---- all ways ---- */

typedef struct small {
    cz_bin_item items[MAX_ITEMS];
    int64_t counts[MAX_CLASSES];
    cz_packing_problem problem;
    int64_t left[MAX_CLASSES], ranks[MAX_RANKS], best;
} small;

static int64_t draw(uint64_t *random, uint64_t n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*random >> 33) % n);
}

static void draw_small(uint64_t seed, small *s)
{
    uint64_t random = seed;
    *s = (small){.problem = {.n_ranks = 2 + draw(&random, MAX_RANKS - 1),
                             .n_classes = MAX_CLASSES,
                             .counts = s->counts,
                             .n_items = MAX_ITEMS,
                             .items = s->items,
                             .divisible_ps = 50 * draw(&random, 3),
                             .wire_cap_bytes = INT64_MAX},
                 .best = INT64_MAX};
    for (int c = 0; c < MAX_CLASSES; c++) {
        const int64_t work = 60 + 30 * c + draw(&random, 20);
        cz_bin_item *own = &s->items[3 * c];
        s->left[c] = s->counts[c] =
            1 + draw(&random, (uint64_t)(MAX_MATRICES - 2 * c) - 1);
        own[0] = item(c, 1, 1, work);
        own[1] = item(c, 2, 1, work / 2 + 1 + draw(&random, 20));
        own[2] = item(c, 2, 2, 2 * own[1].compute_ps - draw(&random, 10));
    }
}

/* All that is divisible is poured to where most room is. */
static void pour(small *s)
{
    int64_t sum = s->problem.divisible_ps, most = 0;
    for (int r = 0; r < s->problem.n_ranks; r++) {
        sum += s->ranks[r];
        most = s->ranks[r] > most ? s->ranks[r] : most;
    }
    const int64_t mean = (sum + s->problem.n_ranks - 1) / s->problem.n_ranks;
    const int64_t time = mean > most ? mean : most;
    s->best = time < s->best ? time : s->best;
}

/* The matrices left, by any item, on any ranks. */
static void deal_all(small *s)
{
    int c = 0;
    while (c < MAX_CLASSES && s->left[c] == 0)
        c++;
    if (c == MAX_CLASSES) {
        pour(s);
        return;
    }
    for (int i = 3 * c; i < 3 * c + 3; i++) {
        const cz_bin_item *p = &s->items[i];
        if (p->batch > s->left[c])
            continue;
        s->left[c] -= p->batch;
        for (int a = 0; a < s->problem.n_ranks; a++)
            for (int b = p->g == 1 ? a : a + 1;
                 b < (p->g == 1 ? a + 1 : s->problem.n_ranks); b++) {
                s->ranks[a] += p->compute_ps;
                s->ranks[b] += p->g == 1 ? 0 : p->compute_ps;
                deal_all(s);
                s->ranks[a] -= p->compute_ps;
                s->ranks[b] -= p->g == 1 ? 0 : p->compute_ps;
            }
        s->left[c] += p->batch;
    }
}

static void test_no_dealing_ends_before_the_bound(void **unused)
{
    enum { N_SEEDS = 60 };
    int n_near = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        small s;
        draw_small(seed, &s);
        deal_all(&s);
        const int64_t bound = time_of(&s.problem);
        assert_true(bound <= s.best);
        n_near += bound * 20 >= s.best * 19;
    }
    printf("bound within a twentieth of the best: %d of %d\n", n_near, N_SEEDS);
    assert_true(n_near > N_SEEDS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_divisible_fills_gaps),
        cmocka_unit_test(test_prices_refute_the_time_before),
        cmocka_unit_test(test_more_matrices_than_ranks_can_count),
        cmocka_unit_test(test_no_dealing_ends_before_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
