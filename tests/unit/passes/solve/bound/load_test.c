/* What a rank can hold, against dynamic programming over the seconds. */
#include "passes/solve/bound/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_ITEMS = 30, MAX_TIME = 4000 };

static int64_t draw(uint64_t *random, uint64_t n)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((*random >> 33) % n);
}

static int64_t find_beside(const cz_bin_item *items, int n,
                           const cz_bin_divisible *divisible, int64_t time_ps,
                           cz_bin_load *load)
{
    cz_arena arena;
    cz_arena_init(&arena);
    cz_bin_loader *loader = cz_bin_loader_make(&arena, items, n);
    const int64_t worth = cz_bin_most_worth(loader, divisible, time_ps, load);
    cz_arena_fini(&arena);
    return worth;
}

static int64_t find(const cz_bin_item *items, int n, int64_t time_ps,
                    cz_bin_load *load)
{
    const cz_bin_divisible none = {0};
    return find_beside(items, n, &none, time_ps, load);
}

/* Of loads whose gathers and scatters are no shorter than these. */
static int64_t best_of(const cz_bin_item *items, int n, int64_t gather,
                       int64_t scatter, int64_t room)
{
    static int64_t most[MAX_TIME + 1];
    if (room < 0)
        return -1;
    memset(most, 0, sizeof most);
    for (int64_t t = 1; t <= room; t++)
        for (int i = 0; i < n; i++) {
            const cz_bin_item *p = &items[i];
            if (p->gather_ps >= gather && p->scatter_ps >= scatter &&
                p->compute_ps <= t &&
                most[t - p->compute_ps] + p->worth > most[t])
                most[t] = most[t - p->compute_ps] + p->worth;
        }
    return most[room];
}

/* a has the least gather and b the least scatter. */
static int64_t best_load(const cz_bin_item *items, int n, int64_t time)
{
    int64_t most = 0;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            const int64_t gather = items[a].gather_ps;
            const int64_t scatter = items[b].scatter_ps;
            const bool are_two = a != b;
            if (items[b].gather_ps < gather || items[a].scatter_ps < scatter)
                continue;
            const int64_t rest =
                best_of(items, n, gather, scatter,
                        time - gather - scatter - items[a].compute_ps -
                            are_two * items[b].compute_ps);
            const int64_t worth =
                items[a].worth + are_two * items[b].worth + rest;
            if (rest >= 0 && worth > most)
                most = worth;
        }
    return most;
}

static void draw_items(uint64_t *random, cz_bin_item *items, int n,
                       bool have_ramps)
{
    for (int i = 0; i < n; i++) {
        const int64_t compute = 20 + draw(random, 200);
        const int64_t gather = have_ramps ? draw(random, 40) : 0;
        items[i] =
            (cz_bin_item){.compute_ps = compute,
                          .gather_ps = gather,
                          .scatter_ps = have_ramps ? draw(random, 20) : 0,
                          .worth = compute * (900 + draw(random, 200))};
    }
}

static int64_t time_of(const cz_bin_load *load)
{
    int64_t compute = 0, gather = INT64_MAX, scatter = INT64_MAX;
    for (int i = 0; i < load->n; i++) {
        const cz_bin_item *p = load->of[i].item;
        compute += load->of[i].times * p->compute_ps;
        gather = p->gather_ps < gather ? p->gather_ps : gather;
        scatter = p->scatter_ps < scatter ? p->scatter_ps : scatter;
    }
    return load->n == 0 ? 0 : compute + gather + scatter;
}

static int64_t worth_of(const cz_bin_load *load)
{
    int64_t worth = 0;
    for (int i = 0; i < load->n; i++)
        worth += load->of[i].times * load->of[i].item->worth;
    return worth;
}

/* Without ramps to a part in 2^14; with them no less, and no more than what
 * could be done had a rank a little longer: gathers are told apart to an
 * eighth, and scatters are those of the shortest. */
static void test_no_load_is_worth_more(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed;
        cz_bin_item items[MAX_ITEMS];
        cz_bin_load load;
        const bool have_ramps = seed % 2;
        const int n = 1 + (int)draw(&random, have_ramps ? 6 : MAX_ITEMS);
        const int64_t time = 100 + draw(&random, 900);
        draw_items(&random, items, n, have_ramps);
        const int64_t found = find(items, n, time, &load);
        const int64_t best = best_load(items, n, time);
        const int64_t more = best_load(items, n, time + have_ramps * 25);
        assert_true(found >= best);
        assert_true(found <= more + (more >> 14) + 1);
        assert_true(worth_of(&load) + (worth_of(&load) >> 14) == found);
        assert_true(time_of(&load) <= time + have_ramps * 25);
    }
}

/* As if a rank were full of it, and each item worth what it adds to that. */
static void test_what_is_divisible_fills_the_rest(void **unused)
{
    int n_beside = 0, n_alone = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed;
        cz_bin_item items[MAX_ITEMS];
        cz_bin_load load;
        const bool have_ramps = seed % 2;
        const int n = 1 + (int)draw(&random, have_ramps ? 6 : MAX_ITEMS);
        const int64_t time = 100 + draw(&random, 900);
        const int64_t rate = 850 + draw(&random, 300);
        const cz_bin_divisible divisible = {100, 100 * rate};
        draw_items(&random, items, n, have_ramps);
        const int64_t found = find_beside(items, n, &divisible, time, &load);
        n_beside += load.n > 0 && load.divisible_ps > 0;
        n_alone += load.n == 0;
        assert_in_range(load.divisible_ps + time_of(&load), time,
                        time + have_ramps * 60);
        for (int i = 0; i < n; i++)
            items[i].worth -= rate * items[i].compute_ps;
        const int64_t rest = best_load(items, n, time);
        const int64_t more = best_load(items, n, time + have_ramps * 25);
        assert_true(found >= rate * time + rest);
        assert_true(found - (found >> 14) <= rate * time + more + 2);
    }
    assert_true(n_beside > 100 && n_alone > 10);
}

static void test_a_search_cut_short_is_still_no_less(void **unused)
{
    uint64_t random = 1;
    cz_bin_item items[MAX_ITEMS];
    cz_bin_load load;
    (void)unused;
    for (int i = 0; i < MAX_ITEMS; i++)
        items[i] =
            (cz_bin_item){.compute_ps = 6 + 2 * i, .worth = 6000 + 2000 * i};
    const int64_t found = find(items, MAX_ITEMS, 3999, &load);
    assert_true(found >= best_load(items, MAX_ITEMS, 3999));
    assert_true(found <= 3999 * 1000 + 1000);
    draw_items(&random, items, MAX_ITEMS, false);
    assert_true(find(items, MAX_ITEMS, MAX_TIME, &load) >=
                best_load(items, MAX_ITEMS, MAX_TIME));
}

/* A loader has so many steps, then estimates all. */
static void test_many_searches_are_still_no_less(void **unused)
{
    const cz_bin_divisible none = {0};
    cz_bin_item items[MAX_ITEMS];
    cz_bin_load load;
    cz_arena arena;
    (void)unused;
    cz_arena_init(&arena);
    for (int i = 0; i < MAX_ITEMS; i++)
        items[i] =
            (cz_bin_item){.compute_ps = 6 + 2 * i, .worth = 6000 + 2000 * i};
    cz_bin_loader *loader = cz_bin_loader_make(&arena, items, MAX_ITEMS);
    for (int64_t time = MAX_TIME - 1; time > MAX_TIME - 200; time -= 2) {
        const int64_t found = cz_bin_most_worth(loader, &none, time, &load);
        assert_true(found >= best_of(items, MAX_ITEMS, 0, 0, time));
        assert_true(found <= time * 1000 + 1000);
    }
    cz_arena_fini(&arena);
}

static void test_what_does_not_fit_is_worth_nothing(void **unused)
{
    const cz_bin_item item = {
        .compute_ps = 10, .gather_ps = 2, .scatter_ps = 1, .worth = 5};
    cz_bin_load load;
    (void)unused;
    assert_int_equal(find(&item, 1, 12, &load), 0);
    assert_int_equal(load.n, 0);
    assert_int_equal(find(&item, 1, 13, &load), 5);
    assert_int_equal(find(&item, 1, 23, &load), 10);
    assert_int_equal(find(NULL, 0, 23, &load), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_load_is_worth_more),
        cmocka_unit_test(test_what_is_divisible_fills_the_rest),
        cmocka_unit_test(test_a_search_cut_short_is_still_no_less),
        cmocka_unit_test(test_many_searches_are_still_no_less),
        cmocka_unit_test(test_what_does_not_fit_is_worth_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
