/* Lower bounds: by hand, with their witnesses, and against the best of all
 * placements of matrices that cannot be split. */
#include "passes/solve/subgroup/bound.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX_CLASSES = 4, MAX_ITEMS = 8 };

static const cz_subgroup_part parts[] = {{5, 0}, {9, 0}, {2, 0}};
static const cz_subgroup_way whole[] = {
    {.g = 1, .n_parts = 1, .parts = &parts[0]},
    {.g = 1, .n_parts = 1, .parts = &parts[1]},
    {.g = 1, .n_parts = 1, .parts = &parts[2]},
};

/* Twice as fast on two ranks but for an exchange; a gather when alone. */
static const cz_subgroup_part alone[] = {{100, 0}};
static const cz_subgroup_part shared[] = {{26, 3}, {26, 3}};
static const cz_subgroup_way split[] = {
    {.g = 1,
     .n_parts = 1,
     .parts = alone,
     .gather_ps = 8,
     .gather_other_ps = 8,
     .scatter_ps = 4,
     .scatter_other_ps = 4},
    {.g = 2, .n_parts = 2, .parts = shared},
};

static cz_subgroup_bounds find_within(cz_subgroup_class *classes, int n_classes,
                                      int n_rows, int width, int64_t wire_cap)
{
    const cz_subgroup_problem problem = {.n_rows = n_rows,
                                         .width = width,
                                         .n_classes = n_classes,
                                         .classes = classes,
                                         .latency_ps = 1,
                                         .staging_cap_bytes = INT64_MAX,
                                         .wire_cap_bytes = wire_cap};
    cz_arena arena;
    cz_arena_init(&arena);
    const cz_subgroup_bounds bounds = cz_subgroup_find_bounds(&arena, &problem);
    cz_arena_fini(&arena);
    return bounds;
}

static cz_subgroup_bounds find(cz_subgroup_class *classes, int n_classes,
                               int n_rows, int width)
{
    return find_within(classes, n_classes, n_rows, width, INT64_MAX);
}

static void expect(const cz_subgroup_bounds *bounds,
                   cz_subgroup_bound_kind kind, int64_t time, int of, int n)
{
    const cz_subgroup_bound *bound = &bounds->of_kind[kind];
    assert_int_equal(bound->time_ps, time);
    assert_int_equal(bound->of, of);
    assert_int_equal(bound->n, n);
}

static void test_each_bound_has_its_value_and_witness(void **unused)
{
    cz_subgroup_class classes[] = {
        {.count = 3, .n_ways = 1, .ways = &whole[0]},
        {.count = 7, .n_ways = 2, .ways = split},
    };
    const cz_subgroup_bounds bounds = find(classes, 2, 2, 2);
    (void)unused;
    /* 3 * 5 + 7 * 100 on four ranks */
    expect(&bounds, CZ_SUBGROUP_MEAN, 179, 1, 0);
    /* alone 2 * (26 + 3), not 8 + 4 + 2 latencies + 2 * 50 */
    expect(&bounds, CZ_SUBGROUP_ITEM, 58, 1, 0);
    expect(&bounds, CZ_SUBGROUP_PIGEON, 0, -1, 0);
    /* 7 times the least of 12 and 2 * 2 * 3 on four ranks */
    expect(&bounds, CZ_SUBGROUP_LINK, 21, 1, 0);
    /* two matrices a rank: one whole, a half each of two others */
    expect(&bounds, CZ_SUBGROUP_FIT, 204, 1, 0);
    assert_int_equal(bounds.binding, CZ_SUBGROUP_FIT);
}

static void test_a_batch_lowers_the_mean(void **unused)
{
    cz_subgroup_class classes[] = {
        {.count = 7, .n_ways = 2, .ways = split, .least_work_ps = 80}};
    const cz_subgroup_bounds bounds = find(classes, 1, 2, 2);
    (void)unused;
    expect(&bounds, CZ_SUBGROUP_MEAN, 140, 0, 0);
}

/* Alone on one rank a matrix takes 114: where all must end before, each takes
 * two ranks, and two of the six halves are on one rank; of seven matrices a
 * rank has two, one of them whole. */
static void test_ways_that_end_too_late_do_not_count(void **unused)
{
    cz_subgroup_class classes[] = {{.count = 3, .n_ways = 2, .ways = split}};
    cz_subgroup_bounds bounds = find(classes, 1, 2, 2);
    (void)unused;
    expect(&bounds, CZ_SUBGROUP_MEAN, 75, 0, 0);
    expect(&bounds, CZ_SUBGROUP_FIT, 104, 0, 0);
    assert_int_equal(bounds.binding, CZ_SUBGROUP_FIT);
    classes[0].count = 7;
    bounds = find(classes, 1, 2, 2);
    expect(&bounds, CZ_SUBGROUP_FIT, 204, 0, 0);
}

/* Ten bytes for each matrix on two ranks, and 15 in all: one of three at most,
 * and the others take 114; with ways for none at all, no time fits. */
static void test_bytes_beyond_the_cap_do_not_fit(void **unused)
{
    cz_subgroup_way ways[] = {split[0], split[1]};
    cz_subgroup_class classes[] = {{.count = 3, .n_ways = 2, .ways = ways}};
    (void)unused;
    ways[1].wire_bytes = 10;
    cz_subgroup_bounds bounds = find_within(classes, 1, 2, 2, 15);
    expect(&bounds, CZ_SUBGROUP_FIT, 114, 0, 0);
    assert_true(bounds.of_kind[CZ_SUBGROUP_FIT].price > 0);
    bounds = find_within(classes, 1, 2, 2, 30);
    expect(&bounds, CZ_SUBGROUP_FIT, 104, 0, 0);
    ways[0].wire_bytes = 6;
    bounds = find_within(classes, 1, 2, 2, 17);
    expect(&bounds, CZ_SUBGROUP_FIT, 0, -1, 0);
}

/* Two matrices on each of four ranks: the first waits for its gather, 9, and
 * after the last comes a scatter, 5. */
static void test_ramps_count(void **unused)
{
    cz_subgroup_class classes[] = {{.count = 8, .n_ways = 1, .ways = split}};
    cz_subgroup_bounds bounds = find(classes, 1, 2, 2);
    (void)unused;
    expect(&bounds, CZ_SUBGROUP_MEAN, 200, 0, 0);
    expect(&bounds, CZ_SUBGROUP_FIT, 214, 0, 0);
}

/* A batch that nobody tries is counted, while it ends in time. */
static void test_other_ways_count(void **unused)
{
    static const cz_subgroup_part pair_part[] = {{120, 0}};
    static const cz_subgroup_way pair = {
        .g = 1, .batch = 2, .n_parts = 1, .parts = pair_part};
    cz_subgroup_class classes[] = {{.count = 4,
                                    .n_ways = 2,
                                    .ways = split,
                                    .n_others = 1,
                                    .others = &pair}};
    cz_subgroup_bounds bounds = find(classes, 1, 2, 2);
    (void)unused;
    expect(&bounds, CZ_SUBGROUP_FIT, 104, 0, 0); /* 4 * 104 / 4 */
    classes[0].count = 8;
    bounds = find(classes, 1, 2, 2);
    expect(&bounds, CZ_SUBGROUP_FIT, 120, 0, 0); /* 8 * 60 / 4 */
}

/* Two 9s and five 5s on four ranks: two of the five largest share one (5 + 5);
 * with nine items, three of 9 largest (2 + 2 + 5). */
static void test_pigeons_share_ranks(void **unused)
{
    cz_subgroup_class classes[] = {
        {.count = 5, .n_ways = 1, .ways = &whole[0]},
        {.count = 2, .n_ways = 1, .ways = &whole[1]},
        {.count = 0, .n_ways = 1, .ways = &whole[2]},
    };
    cz_subgroup_bounds bounds = find(classes, 3, 1, 4);
    (void)unused;
    expect(&bounds, CZ_SUBGROUP_PIGEON, 10, 0, 2);
    expect(&bounds, CZ_SUBGROUP_FIT, 14, 0, 0); /* 5 + 9 */
    assert_int_equal(bounds.binding, CZ_SUBGROUP_FIT);
    classes[0].count = 3;
    bounds = find(classes, 3, 1, 4);
    expect(&bounds, CZ_SUBGROUP_PIGEON, 10, 0, 2);
    assert_int_equal(bounds.binding, CZ_SUBGROUP_PIGEON);
    classes[0].count = 7;
    bounds = find(classes, 3, 1, 4);
    expect(&bounds, CZ_SUBGROUP_PIGEON, 15, 0, 3);
    classes[0].count = 0;
    bounds = find(classes, 3, 1, 4);
    expect(&bounds, CZ_SUBGROUP_PIGEON, 0, -1, 0);
    expect(&bounds, CZ_SUBGROUP_ITEM, 9, 1, 0);
}

static void test_nothing_takes_no_time(void **unused)
{
    const cz_subgroup_bounds bounds = find(NULL, 0, 1, 4);
    (void)unused;
    for (int kind = 0; kind < CZ_SUBGROUP_N_BOUNDS; kind++)
        expect(&bounds, (cz_subgroup_bound_kind)kind, 0, -1, 0);
}

/* ---- all placements of whole matrices ---- */

static uint64_t next_random(uint64_t *state, uint64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % n;
}

static void try_all(const int64_t *items, int n, int64_t *load, int n_ranks,
                    int64_t *best)
{
    int64_t most = 0;
    for (int r = 0; r < n_ranks; r++)
        most = load[r] > most ? load[r] : most;
    if (most >= *best)
        return;
    if (n == 0)
        *best = most;
    for (int r = 0; r < n_ranks && n > 0; r++) {
        load[r] += items[0];
        try_all(items + 1, n - 1, load, n_ranks, best);
        load[r] -= items[0];
    }
}

static void test_no_placement_beats_a_bound(void **unused)
{
    int n_reached = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed;
        cz_subgroup_way ways[MAX_CLASSES];
        cz_subgroup_part times[MAX_CLASSES];
        cz_subgroup_class classes[MAX_CLASSES];
        int64_t items[MAX_ITEMS], load[4] = {0}, best = INT64_MAX;
        const int width = 1 << next_random(&random, 3);
        int n = 0;
        for (int c = 0; c < MAX_CLASSES; c++) {
            ways[c] = whole[0];
            times[c] =
                (cz_subgroup_part){1 + (int64_t)next_random(&random, 20), 0};
            ways[c].parts = &times[c];
            classes[c] =
                (cz_subgroup_class){.count = (int)next_random(&random, 3),
                                    .n_ways = 1,
                                    .ways = &ways[c]};
            for (int i = 0; i < classes[c].count; i++)
                items[n++] = times[c].compute_ps;
        }
        try_all(items, n, load, width, &best);
        const cz_subgroup_bounds bounds = find(classes, MAX_CLASSES, 1, width);
        const int64_t bound = bounds.of_kind[bounds.binding].time_ps;
        assert_true(bound <= best);
        n_reached += bound == best;
    }
    assert_true(n_reached > 150); /* and they are no trifles */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_bound_has_its_value_and_witness),
        cmocka_unit_test(test_a_batch_lowers_the_mean),
        cmocka_unit_test(test_ways_that_end_too_late_do_not_count),
        cmocka_unit_test(test_bytes_beyond_the_cap_do_not_fit),
        cmocka_unit_test(test_ramps_count),
        cmocka_unit_test(test_other_ways_count),
        cmocka_unit_test(test_pigeons_share_ranks),
        cmocka_unit_test(test_nothing_takes_no_time),
        cmocka_unit_test(test_no_placement_beats_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
