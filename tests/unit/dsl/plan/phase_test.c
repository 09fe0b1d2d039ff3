/* Which blocks of a rule fire together, against a walk over all updates. */
#include "dsl/plan/phase.h"
#include "tests/unit/unit.h"

enum { WALK = 4000, LATE = 2000 };

/* By the definition, without any arithmetic of the code under test: the events
 * that fire at each update of [0, WALK]. */
static void walk(const cz_event *events, int n, int64_t stagger_offset,
                 uint32_t *masks)
{
    memset(masks, 0, (WALK + 1) * sizeof *masks);
    for (int e = 0; e < n; e++) {
        const int64_t start = events[e].start, period = events[e].period;
        int64_t early = events[e].staggered ? stagger_offset : 0;
        if (start <= WALK)
            masks[start] |= 1U << e;
        while (period > 0 && early >= period)
            early -= period;
        for (int64_t t = start + period - early; period > 0 && t <= WALK;
             t += period)
            masks[t] |= 1U << e;
    }
}

/* Of all turns, over one period, which begins when all have begun. */
static void check_counts(const cz_event *events, int n, const uint32_t *phases,
                         int n_phases)
{
    const int64_t turns = cz_events_n_offsets(events, n);
    const int64_t period = cz_events_period(events, n);
    int64_t counts[CZ_MAX_PHASES], walked[CZ_MAX_PHASES] = {0};
    uint32_t masks[WALK + 1];

    for (int64_t stagger_offset = 0; stagger_offset < turns; stagger_offset++) {
        walk(events, n, stagger_offset, masks);
        for (int i = 0; i < n_phases; i++)
            for (int64_t t = LATE; t < LATE + period; t++)
                walked[i] += masks[t] == phases[i];
    }
    assert_int_equal(cz_events_counts(events, n, phases, n_phases, counts),
                     turns * period);
    for (int i = 0; i < n_phases; i++)
        assert_int_equal(counts[i], walked[i]);
}

static void check(const cz_event *events, int n)
{
    uint32_t phases[CZ_MAX_PHASES], masks[WALK + 1];
    bool *seen = calloc((size_t)1 << n, sizeof *seen);
    int found, count = 0;

    assert_int_equal(cz_events_phases(events, n, phases, &found), CZ_PHASES_OK);
    for (int64_t stagger_offset = 0;
         stagger_offset < cz_events_n_offsets(events, n); stagger_offset++) {
        walk(events, n, stagger_offset, masks);
        for (int64_t t = 1; t <= WALK; t++) {
            assert_int_equal(cz_events_at(events, n, stagger_offset, t),
                             masks[t]);
            count += !seen[masks[t]];
            seen[masks[t]] = true;
        }
    }
    assert_int_equal(count, found);
    for (int i = 0; i < found; i++) {
        assert_true(seen[phases[i]]);
        assert_true(i == 0 || phases[i - 1] < phases[i]);
    }
    check_counts(events, n, phases, found);
    free(seen);
}

static void phases_are_those_of_a_walk(void **state)
{
    static const cz_event lists[][4] = {
        {{1, 0, false}},
        {{5, 0, false}, {1, 0, false}},
        {{10, 10, false}},
        {{1, 10, false}, {1, 0, false}},
        {{2, 2, false}, {3, 3, false}, {1, 0, false}},
        {{4, 2, false}, {4, 4, false}, {9, 6, false}},
        {{2, 1, false}, {1, 0, false}},
        {{700, 7, false}, {1, 0, false}, {1000, 0, false}},
        {{3, 7, false}, {2, 5, false}, {40, 11, false}},
        {{1, 1, false}, {3, 1, false}},
        {{1, 0, false}, {1, 10, true}},
        {{4, 4, true}, {2, 2, false}, {9, 6, false}},
        {{1, 4, true}, {30, 6, true}, {5, 0, false}},
    };
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
    static const cz_event events[] = {{1, 0, false}, {1, 10, false}};
    uint32_t phases[CZ_MAX_PHASES];
    int n;
    assert_int_equal(cz_events_phases(events, 2, phases, &n), CZ_PHASES_OK);
    assert_int_equal(n, 3);
    assert_int_equal(phases[0], 0);
    assert_int_equal(phases[1], 2);
    assert_int_equal(phases[2], 3);
}

static void random_events_are_those_of_a_walk(void **state)
{
    uint64_t seed = 7;
    for (int round = 0; round < 300; round++) {
        const bool is_staggered = round % 3 == 0;
        cz_event events[3];
        for (int e = 0; e < 3; e++) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            events[e].start = 1 + (int64_t)(seed >> 40) % 50;
            events[e].period =
                (int64_t)(seed >> 20 & 0xff) % (is_staggered ? 6 : 13);
            events[e].staggered =
                is_staggered && events[e].period > 0 && (seed >> 60 & 1);
        }
        check(events, 3);
    }
}

/* Nobody reads what was never made. */
static void staggered_work_is_done_for_all_at_its_start(void **state)
{
    static const cz_event event = {3, 5, true};
    for (int64_t stagger_offset = 0; stagger_offset < 12; stagger_offset++) {
        int64_t last = 3;
        assert_int_equal(cz_events_at(&event, 1, stagger_offset, 2), 0);
        assert_int_equal(cz_events_at(&event, 1, stagger_offset, 3), 1);
        for (int64_t t = 4; t < 40; t++) {
            const bool fires = (t - 3 + stagger_offset) % 5 == 0;
            assert_int_equal(cz_events_at(&event, 1, stagger_offset, t), fires);
            last = fires ? t : last;
            assert_true(t - last < 5);
        }
    }
}

static void late_starts_and_long_periods_are_no_walk(void **state)
{
    static const cz_event late[] = {{CZ_MAX_TIME, 3, false},
                                    {1, CZ_MAX_TIME, false}};
    uint32_t phases[CZ_MAX_PHASES];
    int n;
    assert_int_equal(cz_events_phases(late, 1, phases, &n), CZ_PHASES_OK);
    assert_int_equal(n, 2);
    assert_int_equal(cz_events_phases(late + 1, 1, phases, &n), CZ_PHASES_OK);
    assert_int_equal(n, 2);
}

static void too_many_and_too_long_are_told(void **state)
{
    static const cz_event many[] = {{2, 2, false},
                                    {3, 3, false},
                                    {5, 5, false},
                                    {7, 7, false},
                                    {11, 11, false}};
    static const cz_event turns[] = {{1, 100003, true}};
    static const cz_event longer[] = {
        {1, 1000003, false}, {1, 999983, false}, {2, 1000033, false}};
    uint32_t phases[CZ_MAX_PHASES];
    int n;
    assert_int_equal(cz_events_phases(many, 5, phases, &n), CZ_PHASES_TOO_MANY);
    assert_int_equal(cz_events_phases(longer, 3, phases, &n),
                     CZ_PHASES_TOO_LONG);
    assert_int_equal(cz_events_phases(longer, 2, phases, &n),
                     CZ_PHASES_TOO_LONG);
    assert_int_equal(cz_events_phases(turns, 1, phases, &n),
                     CZ_PHASES_TOO_LONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_are_those_of_a_walk),
        cmocka_unit_test(first_and_every_tenth_from_one_fire_together),
        cmocka_unit_test(random_events_are_those_of_a_walk),
        cmocka_unit_test(staggered_work_is_done_for_all_at_its_start),
        cmocka_unit_test(late_starts_and_long_periods_are_no_walk),
        cmocka_unit_test(too_many_and_too_long_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
