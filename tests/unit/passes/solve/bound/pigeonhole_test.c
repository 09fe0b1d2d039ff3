/* Pigeons by hand, and against the same items one by one. */
#include "passes/solve/bound/pigeonhole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_BINS = 6, MAX_ITEMS = 64 };

static void as_many_items_as_slots_share_nothing(void **unused)
{
    cz_bin bins[] = {{5, 3, 7}, {2, 1, 8}};
    const cz_pigeons found = cz_pigeonhole_find(bins, 2, 4);
    (void)unused;
    assert_int_equal(found.k, 0);
    assert_int_equal(found.time_ps, 0);
    assert_int_equal(found.of, -1);
    assert_int_equal(cz_pigeonhole_find(NULL, 0, 1).of, -1);
}

/* Of 9, 9, 5, 5, 5 on four, two meet; on two, three do: 5 + 5 + 5. */
static void the_shortest_of_the_longest_meet(void **unused)
{
    cz_bin bins[] = {{5, 3, 1}, {4, 0, 2}, {9, 2, 0}};
    cz_pigeons found = cz_pigeonhole_find(bins, 3, 4);
    (void)unused;
    assert_int_equal(found.k, 1);
    assert_int_equal(found.time_ps, 10);
    assert_int_equal(found.of, 1);
    found = cz_pigeonhole_find(bins, 3, 2);
    assert_int_equal(found.k, 2);
    assert_int_equal(found.time_ps, 15);
}

static void what_is_too_long_is_cut_off(void **unused)
{
    cz_bin bins[] = {{INT64_MAX / 2, 5, 0}};
    (void)unused;
    assert_int_equal(cz_pigeonhole_find(bins, 1, 1).time_ps, (int64_t)1 << 62);
}

static int falling(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a < b) - (a > b);
}

static int64_t one_by_one(const int64_t *sorted, int n, int n_slots)
{
    int64_t most = 0;
    for (int k = 1; k * n_slots < n; k++) {
        int64_t sum = 0;
        for (int i = k * n_slots - k; i <= k * n_slots; i++)
            sum += sorted[i];
        most = sum > most ? sum : most;
    }
    return most;
}

static void bins_are_their_items(void **unused)
{
    uint64_t random = 1;
    (void)unused;
    for (int round = 0; round < 1000; round++) {
        cz_bin bins[MAX_BINS];
        int64_t items[MAX_ITEMS];
        int n = 0;
        for (int p = 0; p < MAX_BINS; p++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bins[p] = (cz_bin){(int64_t)(random >> 33) % 20,
                               (int64_t)(random >> 50) % 11, p};
            for (int64_t i = 0; i < bins[p].n; i++)
                items[n++] = bins[p].time_ps;
        }
        const int n_slots = 1 + round % 9;
        qsort(items, (size_t)n, sizeof *items, falling);
        assert_int_equal(cz_pigeonhole_find(bins, MAX_BINS, n_slots).time_ps,
                         one_by_one(items, n, n_slots));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_items_as_slots_share_nothing),
        cmocka_unit_test(the_shortest_of_the_longest_meet),
        cmocka_unit_test(what_is_too_long_is_cut_off),
        cmocka_unit_test(bins_are_their_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
