/* Which blocks of a rule fire together, against a walk over all updates. */
#include "dsl/phase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WALK = 4000, LATE = 2000 };

/* By the definition, without any arithmetic of the code under test. */
static uint32_t fires_at(const cz_event *events, int n, int64_t t)
{
    uint32_t mask = 0;
    for (int e = 0; e < n; e++)
        for (int64_t at = events[e].start; at <= t; at += events[e].period) {
            if (at == t)
                mask |= 1U << e;
            if (events[e].period == 0)
                break;
        }
    return mask;
}

static int count_by_walk(const cz_event *events, int n, bool *seen)
{
    int count = 0;
    for (int64_t t = 1; t <= WALK; t++) {
        const uint32_t mask = fires_at(events, n, t);
        count += !seen[mask];
        seen[mask] = true;
    }
    return count;
}

/* Counted over one period, by a walk that begins when all have begun. */
static void check_counts(const cz_event *events, int n, const uint32_t *phases,
                         int n_phases)
{
    int64_t counts[CZ_MAX_PHASES];
    const int64_t period =
        cz_events_counts(events, n, phases, n_phases, counts);

    for (int i = 0; i < n_phases; i++) {
        int64_t walked = 0;
        for (int64_t t = LATE; t < LATE + period; t++)
            walked += fires_at(events, n, t) == phases[i];
        assert_int_equal(counts[i], walked);
    }
}

static void check(const cz_event *events, int n)
{
    uint32_t phases[CZ_MAX_PHASES];
    bool *seen = calloc((size_t)1 << n, sizeof *seen);
    int found;

    assert_int_equal(cz_events_phases(events, n, phases, &found), CZ_PHASES_OK);
    assert_int_equal(count_by_walk(events, n, seen), found);
    for (int i = 0; i < found; i++) {
        assert_true(seen[phases[i]]);
        assert_true(i == 0 || phases[i - 1] < phases[i]);
    }
    for (int64_t t = 1; t <= WALK; t++)
        assert_int_equal(cz_events_at(events, n, t), fires_at(events, n, t));
    check_counts(events, n, phases, found);
    free(seen);
}

static void phases_are_those_of_a_walk(void **state)
{
    static const cz_event lists[][4] = {
        {{1, 0}},
        {{5, 0}, {1, 0}},
        {{10, 10}},
        {{1, 10}, {1, 0}},
        {{2, 2}, {3, 3}, {1, 0}},
        {{4, 2}, {4, 4}, {9, 6}},
        {{2, 1}, {1, 0}},
        {{700, 7}, {1, 0}, {1000, 0}},
        {{3, 7}, {2, 5}, {40, 11}},
        {{1, 1}, {3, 1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        int n = 0;
        while (n < 4 && lists[i][n].start)
            n++;
        check(lists[i], n);
    }
    check(NULL, 0);
}

static void first_and_every_tenth_from_one_fire_together(void **state)
{
    static const cz_event events[] = {{1, 0}, {1, 10}};
    uint32_t phases[CZ_MAX_PHASES];
    int n;
    (void)state;
    assert_int_equal(cz_events_phases(events, 2, phases, &n), CZ_PHASES_OK);
    assert_int_equal(n, 3);
    assert_int_equal(phases[0], 0);
    assert_int_equal(phases[1], 2);
    assert_int_equal(phases[2], 3);
}

static void random_events_are_those_of_a_walk(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (int round = 0; round < 300; round++) {
        cz_event events[3];
        for (int e = 0; e < 3; e++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            events[e].start = 1 + (int64_t)(seed >> 40) % 50;
            events[e].period = (int64_t)(seed >> 20 & 0xff) % 13;
        }
        check(events, 3);
    }
}

static void late_starts_and_long_periods_are_no_walk(void **state)
{
    static const cz_event late[] = {{CZ_MAX_TIME, 3}, {1, CZ_MAX_TIME}};
    uint32_t phases[CZ_MAX_PHASES];
    int n;
    (void)state;
    assert_int_equal(cz_events_phases(late, 1, phases, &n), CZ_PHASES_OK);
    assert_int_equal(n, 2);
    assert_int_equal(cz_events_phases(late + 1, 1, phases, &n), CZ_PHASES_OK);
    assert_int_equal(n, 2);
}

static void too_many_and_too_long_are_told(void **state)
{
    static const cz_event many[] = {{2, 2}, {3, 3}, {5, 5}, {7, 7}, {11, 11}};
    static const cz_event longer[] = {{1, 1000003}, {1, 999983}, {2, 1000033}};
    uint32_t phases[CZ_MAX_PHASES];
    int n;
    (void)state;
    assert_int_equal(cz_events_phases(many, 5, phases, &n), CZ_PHASES_TOO_MANY);
    assert_int_equal(cz_events_phases(longer, 3, phases, &n),
                     CZ_PHASES_TOO_LONG);
    assert_int_equal(cz_events_phases(longer, 2, phases, &n),
                     CZ_PHASES_TOO_LONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_are_those_of_a_walk),
        cmocka_unit_test(first_and_every_tenth_from_one_fire_together),
        cmocka_unit_test(random_events_are_those_of_a_walk),
        cmocka_unit_test(late_starts_and_long_periods_are_no_walk),
        cmocka_unit_test(too_many_and_too_long_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
