/* The bound by fit: by hand, and against all plans of small rows. */
#include "passes/solve/subgroup/bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { MAX_WAYS = 3, MAX_PARTS = 3, N_CLASSES = 2, MAX_JOBS = 4 };

static int64_t fit_of(const cz_subgroup_problem *problem)
{
    cz_arena arena;
    cz_arena_init(&arena);
    const int64_t time = cz_subgroup_find_bounds(&arena, problem)
                             .of_kind[CZ_SUBGROUP_FIT]
                             .time_ps;
    cz_arena_fini(&arena);
    return time;
}

/* Nine matrices of 6 on eight ranks, whole or as halves of 4: within 9 a rank
 * has a whole one or two halves, within 10 one of each. */
static void test_pieces_do_not_come_in_halves(void **unused)
{
    const cz_subgroup_part six = {6, 0}, four = {4, 1};
    const cz_subgroup_way ways[] = {{.g = 1, .n_parts = 1, .parts = &six},
                                    {.g = 2, .n_parts = 1, .parts = &four}};
    cz_subgroup_class class = {.count = 9, .n_ways = 2, .ways = ways};
    const cz_subgroup_problem problem = {.n_rows = 4,
                                         .width = 2,
                                         .n_classes = 1,
                                         .classes = &class,
                                         .staging_cap_bytes = INT64_MAX,
                                         .wire_cap_bytes = INT64_MAX};
    (void)unused;
    assert_int_equal(fit_of(&problem), 10);
    class.n_ways = 1;
    assert_int_equal(fit_of(&problem), 12);
    class.count = 8;
    assert_int_equal(fit_of(&problem), 6);
}

/* ---- all plans ---- */

typedef struct small {
    cz_subgroup_part parts[N_CLASSES][MAX_WAYS][MAX_PARTS];
    cz_subgroup_way ways[N_CLASSES][MAX_WAYS];
    cz_subgroup_class classes[N_CLASSES];
    cz_subgroup_problem problem;
    cz_subgroup_job jobs[MAX_JOBS];
    int n_jobs, left[N_CLASSES];
    int64_t best;
} small;

static int64_t draw(uint64_t *random, uint64_t n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*random >> 33) % n);
}

static void draw_way(uint64_t *random, small *s, int c, int w)
{
    cz_subgroup_way *way = &s->ways[c][w];
    const int g = 1 << w;
    const int64_t work = 40 + 20 * c + 4 * w;
    *way = (cz_subgroup_way){.g = g,
                             .n_parts = 1 + (int)draw(random, MAX_PARTS),
                             .parts = s->parts[c][w],
                             .wire_bytes = draw(random, 4) + 3 * w};
    for (int p = 0; p < way->n_parts; p++)
        s->parts[c][w][p] =
            (cz_subgroup_part){1 + work / g / way->n_parts + draw(random, 6),
                               g > 1 ? draw(random, 5) : 0};
    if (g == s->problem.width)
        return;
    way->gather_ps = draw(random, 12);
    way->gather_other_ps = way->gather_ps / 2;
    way->scatter_ps = draw(random, 6);
    way->scatter_other_ps = way->scatter_ps / 2;
}

static void draw_small(uint64_t seed, small *s)
{
    uint64_t random = seed;
    const int width = 2 << (seed % 2);
    *s = (small){.problem = {.n_rows = 1,
                             .width = width,
                             .n_classes = N_CLASSES,
                             .classes = s->classes,
                             .latency_ps = draw(&random, 3),
                             .staging_cap_bytes = INT64_MAX,
                             .state_cap_bytes = INT64_MAX,
                             .wire_cap_bytes = INT64_MAX},
                 .best = INT64_MAX};
    for (int c = 0; c < N_CLASSES; c++) {
        s->classes[c] = (cz_subgroup_class){
            .count = 1 + (int)draw(&random, MAX_JOBS / N_CLASSES),
            .n_ways = width == 2 ? 2 : 3,
            .ways = s->ways[c]};
        for (int w = 0; w < s->classes[c].n_ways; w++)
            draw_way(&random, s, c, w);
        s->left[c] = s->classes[c].count;
    }
    if (draw(&random, 2))
        s->problem.wire_cap_bytes = 6 + draw(&random, 12);
}

static void run_one(small *s)
{
    cz_subgroup_cost cost;
    cz_arena arena;
    cz_arena_init(&arena);
    if (cz_subgroup_run(&arena, &s->problem, s->jobs, s->n_jobs, &cost, NULL) &&
        cost.wire_bytes <= s->problem.wire_cap_bytes && cost.time_ps < s->best)
        s->best = cost.time_ps;
    cz_arena_fini(&arena);
}

/* In all orders, ways and blocks. */
static void run_all(small *s)
{
    bool is_last = true;
    for (int c = 0; c < N_CLASSES; c++) {
        if (s->left[c] == 0)
            continue;
        is_last = false;
        s->left[c]--;
        for (int w = 0; w < s->classes[c].n_ways; w++)
            for (int first = 0; first < s->problem.width;
                 first += s->ways[c][w].g) {
                s->jobs[s->n_jobs++] = (cz_subgroup_job){c, w, first};
                run_all(s);
                s->n_jobs--;
            }
        s->left[c]++;
    }
    if (is_last)
        run_one(s);
}

static void test_no_plan_ends_before_the_bound(void **unused)
{
    enum { N_SEEDS = 60 };
    int n_near = 0, n_capped = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
        small s;
        draw_small(seed, &s);
        run_all(&s);
        const int64_t bound = fit_of(&s.problem);
        assert_true(bound <= s.best);
        n_near += s.best < INT64_MAX && bound * 5 >= s.best * 4;
        n_capped += s.best == INT64_MAX;
    }
    printf("bound within a fifth of the best plan: %d of %d\n", n_near,
           N_SEEDS - n_capped);
    assert_true(n_near > N_SEEDS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_do_not_come_in_halves),
        cmocka_unit_test(test_no_plan_ends_before_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
