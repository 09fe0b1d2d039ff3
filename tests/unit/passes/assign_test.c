/* Owners: known optima, Graham's bound on random inputs, and that equal work
 * spreads evenly over rows. */
#include "passes/assign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_ITEMS = 200, MAX_RANKS = 64 };

typedef struct solved {
    cz_assign_place places[MAX_ITEMS];
    int64_t loads[MAX_RANKS];
} solved;

static solved solve(const cz_assign_item *items, int n, int n_rows, int n_shard)
{
    solved result;
    cz_arena scratch;
    cz_arena_init(&scratch);
    cz_assign_item *own = CZ_NEW(&scratch, cz_assign_item, n);
    int *rows = CZ_NEW(&scratch, int, n_rows);
    const cz_assign_problem problem = {n, own, n_rows, n_shard, NULL};
    for (int i = 0; i < n_rows; i++)
        rows[i] = i;
    for (int i = 0; i < n; i++) {
        own[i] = items[i];
        own[i].n_splits = own[i].n_splits ? own[i].n_splits : n_rows;
        own[i].split_of_row =
            items[i].split_of_row ? items[i].split_of_row : rows;
    }
    memset(&result, 0, sizeof result);
    cz_assign_solve(&scratch, &problem, result.places, result.loads);
    cz_arena_fini(&scratch);
    return result;
}

static int64_t highest(const int64_t *loads, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++)
        most = loads[i] > most ? loads[i] : most;
    return most;
}

static void test_longest_first_beats_list_order(void **unused)
{
    /* In the order given 1, 1, 2 puts 3 on one of two ranks. */
    const cz_assign_item items[] = {{.cost = 1}, {.cost = 1}, {.cost = 2}};
    const solved got = solve(items, 3, 2, 1);
    (void)unused;
    assert_int_equal(highest(got.loads, 2), 2);
    assert_int_equal(got.places[2].split, 0);
    assert_int_equal(got.places[0].split, 1);
    assert_int_equal(got.places[0].shard, 0);
}

static void test_equal_items_fill_rows_before_columns(void **unused)
{
    cz_assign_item items[4];
    (void)unused;
    for (int i = 0; i < 4; i++)
        items[i] = (cz_assign_item){.cost = 5, .memory = 1};
    const solved got = solve(items, 4, 2, 2);
    assert_int_equal(got.places[0].split, 0);
    assert_int_equal(got.places[1].split, 1);
    assert_int_equal(highest(got.loads, 4), 5);
}

static void test_a_row_computes_alike(void **unused)
{
    const cz_assign_item items[] = {
        {.cost = 10, .on_row = true}, {.cost = 3, .shared = 1}, {.cost = 3}};
    const solved got = solve(items, 3, 2, 2);
    (void)unused;
    assert_int_equal(got.places[0].split, 0);
    assert_int_equal(got.places[0].shard, -1);
    assert_int_equal(got.loads[0], 10);
    assert_int_equal(got.loads[1], 10);
    assert_int_equal(got.loads[2] + got.loads[3], 3 + 1 + 3 + 1);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Makespan <= sum / ranks + largest (list scheduling), loads add up. */
static void test_random_items_stay_within_grahams_bound(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        uint64_t random = seed;
        cz_assign_item items[MAX_ITEMS] = {{0}};
        const int n = 1 + (int)(next_random(&random) % MAX_ITEMS);
        const int n_rows = 1 + (int)(next_random(&random) % 8);
        const int n_shard = 1 + (int)(next_random(&random) % 8);
        int64_t sum = 0, largest = 0, loaded = 0;
        for (int i = 0; i < n; i++) {
            items[i].cost = (int64_t)(next_random(&random) % 1000);
            sum += items[i].cost;
            largest = items[i].cost > largest ? items[i].cost : largest;
        }
        const solved got = solve(items, n, n_rows, n_shard);
        const int n_ranks = n_rows * n_shard;
        for (int i = 0; i < n_ranks; i++)
            loaded += got.loads[i];
        assert_int_equal(loaded, sum);
        assert_true(highest(got.loads, n_ranks) <= sum / n_ranks + largest);
    }
}

/* A spread item lies on both rows of its coordinate; the next dense one goes
 * where less has come together. */
static void test_a_spread_item_loads_all_its_rows(void **unused)
{
    static const int halves[] = {0, 0, 1, 1};
    const cz_assign_item items[] = {
        {.cost = 9, .on_row = true, .split_of_row = halves, .n_splits = 2},
        {.cost = 5, .on_row = true},
        {.cost = 4, .on_row = true, .split_of_row = halves, .n_splits = 2}};
    const solved got = solve(items, 3, 4, 1);
    (void)unused;
    assert_int_equal(got.places[0].split, 0);
    assert_int_equal(got.loads[0], 9);
    assert_int_equal(got.loads[1], 9);
    assert_int_equal(got.places[1].split, 2);
    assert_int_equal(got.places[2].split, 1);
    assert_int_equal(got.loads[2], 9);
    assert_int_equal(got.loads[3], 4);
}

/* Rows of two stages, two split coordinates each: an item loads its own alone,
 * and one with both for its home loads both alike. */
static void test_stages_balance_each_by_itself(void **unused)
{
    const int first[] = {0, 1, -1, -1}, second[] = {-1, -1, 0, 1};
    const int both[] = {0, 1, 0, 1};
    const cz_assign_item items[] = {
        {.cost = 10, .n_splits = 2, .split_of_row = first},
        {.cost = 3, .n_splits = 2, .split_of_row = second},
        {.cost = 2, .n_splits = 2, .split_of_row = second},
        {.cost = 5, .n_splits = 2, .split_of_row = both}};
    const solved got = solve(items, 4, 4, 1);
    (void)unused;
    assert_int_equal(got.loads[0] + got.loads[1], 15);
    assert_int_equal(got.loads[2] + got.loads[3], 10);
    assert_int_equal(highest(got.loads, 2), 10);
    assert_int_equal(highest(got.loads + 2, 2), 5);
    assert_int_not_equal(got.places[3].split, got.places[0].split);
}

/* Of 2 x 2 columns the second axis alone shards some items: each loads two
 * columns. */
static void test_an_item_may_lie_alike_in_several_columns(void **unused)
{
    static const int shards[] = {0, 1, 0, 1};
    const cz_assign_item items[] = {
        {.cost = 9, .shard_of_column = shards, .n_shards = 2},
        {.cost = 5},
        {.cost = 4, .shard_of_column = shards, .n_shards = 2}};
    const solved got = solve(items, 3, 1, 4);
    (void)unused;
    assert_int_equal(got.places[0].shard, 0);
    assert_int_equal(got.places[1].shard, 1);
    assert_int_equal(got.places[2].shard, 1);
    assert_int_equal(got.loads[0], 9);
    assert_int_equal(got.loads[1], 9);
    assert_int_equal(got.loads[2], 9);
    assert_int_equal(got.loads[3], 4);
}

/* One axis has two coordinates: it splits the first item and shards the second,
 * so that only two cells of the grid are ranks.  The second goes to the one
 * that the first has left free. */
static void test_cells_without_ranks_do_not_count(void **unused)
{
    static const int both[] = {0, 1}, same[] = {0, 0};
    static const bool has_rank[] = {true, false, false, true};
    const cz_assign_item items[] = {{.cost = 9,
                                     .split_of_row = both,
                                     .n_splits = 2,
                                     .shard_of_column = same,
                                     .n_shards = 1},
                                    {.cost = 5,
                                     .split_of_row = same,
                                     .n_splits = 1,
                                     .shard_of_column = both,
                                     .n_shards = 2}};
    const cz_assign_problem problem = {2, items, 2, 2, has_rank};
    cz_assign_place places[2];
    int64_t loads[4];
    cz_arena scratch;
    (void)unused;
    cz_arena_init(&scratch);
    cz_assign_solve(&scratch, &problem, places, loads);
    cz_arena_fini(&scratch);
    assert_int_equal(places[0].split, 0);
    assert_int_equal(places[1].shard, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest_first_beats_list_order),
        cmocka_unit_test(test_an_item_may_lie_alike_in_several_columns),
        cmocka_unit_test(test_cells_without_ranks_do_not_count),
        cmocka_unit_test(test_equal_items_fill_rows_before_columns),
        cmocka_unit_test(test_a_row_computes_alike),
        cmocka_unit_test(test_a_spread_item_loads_all_its_rows),
        cmocka_unit_test(test_random_items_stay_within_grahams_bound),
        cmocka_unit_test(test_stages_balance_each_by_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
