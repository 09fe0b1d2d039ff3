/* Contiguous shares: cuts by budget, and optima found by trying all. */
#include "passes/solve/search/line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX_ITEMS = 9 };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static int below(uint64_t *random, int n)
{
    return (int)(next_random(random) % (uint64_t)n);
}

/* n items of their own costs, in buckets of `capacity` elements. */
static cz_solve_problem draw(cz_arena *arena, uint64_t *random, int n,
                             int n_ranks, int64_t capacity)
{
    cz_solve_class *classes = CZ_NEW(arena, cz_solve_class, n);
    int *class_of = CZ_NEW(arena, int, n);
    cz_solve_problem problem = {.n_ranks = n_ranks,
                                .n_hosts = 1,
                                .n_classes = n,
                                .classes = classes,
                                .n_items = n,
                                .class_of = class_of,
                                .order = CZ_ORDER_TRAINER,
                                .align = 1};
    for (int i = 0; i < n; i++) {
        classes[i] = (cz_solve_class){.elements = 10 + below(random, 90),
                                      .cost_ps = 100 + below(random, 900)};
        class_of[i] = i;
    }
    cz_solve_fill_buckets(arena, &problem, capacity);
    return problem;
}

typedef struct brute {
    const cz_line *line;
    int64_t load[MAX_ITEMS];
    int64_t best;
} brute;

/* Every way to give the items from `item` on, of `bucket`, to ranks >= rank. */
static void try_all(brute *b, int bucket, int item, int rank)
{
    const cz_line *line = b->line;
    if (bucket == line->n_buckets) {
        int64_t most = 0;
        for (int r = 0; r < line->n_ranks; r++)
            most = b->load[r] > most ? b->load[r] : most;
        b->best = most < b->best ? most : b->best;
        return;
    }
    if (item == line->start[bucket + 1]) {
        try_all(b, bucket + 1, item, 0);
        return;
    }
    for (int r = rank; r < line->n_ranks; r++) {
        b->load[r] += line->items[item].weight;
        try_all(b, bucket, item + 1, r);
        b->load[r] -= line->items[item].weight;
    }
}

static cz_cut *all_on_the_last(cz_arena *arena, const cz_line *line)
{
    const int row = line->n_ranks + 1;
    cz_cut *cuts = CZ_NEW(arena, cz_cut, line->n_buckets * row);
    for (int b = 0; b < line->n_buckets; b++)
        for (int r = 0; r < row; r++)
            cuts[b * row + r] =
                r == row - 1 ? cz_line_end(line, b) : cz_line_begin(line, b);
    return cuts;
}

static void test_descent_is_exact_for_one_bucket(void **unused)
{
    uint64_t random = 1;
    (void)unused;
    for (int i = 0; i < 100; i++) {
        cz_arena arena;
        cz_arena_init(&arena);
        const cz_solve_problem problem =
            draw(&arena, &random, MAX_ITEMS, 2 + i % 3, 100000);
        const cz_line line =
            cz_line_make(&arena, &problem, (cz_weigh){.time = 1});
        cz_cut *cuts = all_on_the_last(&arena, &line);
        brute all = {.line = &line, .best = INT64_MAX};
        try_all(&all, 0, 0, 0);
        cz_line_descend(&arena, &line, cuts);
        assert_int_equal(cz_line_max(&arena, &line, cuts), all.best);
        cz_arena_fini(&arena);
    }
}

/* A cut by budget is within it, and one more step would not be. */
static void test_cuts_keep_their_budget(void **unused)
{
    uint64_t random = 3;
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        cz_arena arena;
        cz_arena_init(&arena);
        cz_solve_problem problem = draw(&arena, &random, MAX_ITEMS, 2, 100000);
        cz_solve_class *classes =
            CZ_NEW(&arena, cz_solve_class, problem.n_classes);
        for (int c = 0; c < problem.n_classes; c++) {
            classes[c] = problem.classes[c];
            classes[c].divisible = below(&random, 2) == 0;
        }
        problem.classes = classes;
        const cz_line line =
            cz_line_make(&arena, &problem, (cz_weigh){.time = 1});
        const cz_cut begin = cz_line_begin(&line, 0);
        const cz_cut end = cz_line_end(&line, 0);
        const int64_t budget = below(&random, (int)line.total + 1);
        const cz_cut front = cz_line_extend(&line, 0, begin, budget);
        const cz_cut back = cz_line_retreat(&line, 0, end, budget);
        assert_true(cz_line_weight(&line, front) <= budget);
        assert_true(line.total - cz_line_weight(&line, back) <= budget);
        if (front.item < end.item) {
            cz_cut next = front;
            if (!line.items[next.item].divisible ||
                ++next.within ==
                    line.items[next.item].end - line.items[next.item].begin)
                next = (cz_cut){next.item + 1, 0};
            /* Parts of a weight are rounded down. */
            assert_true(cz_line_weight(&line, next) + (next.within > 0) >
                        budget);
        }
        cz_arena_fini(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descent_is_exact_for_one_bucket),
        cmocka_unit_test(test_cuts_keep_their_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
