/* Bytes of a rule that reads one slot every third update, another always. */
#include "dsl/plan/frequency.h"
#include "tests/unit/unit.h"

enum { ALWAYS = 3, THIRD = 2, OTHERS = 1 };

static const cz_event events[] = {{2, 3, false}};
static const cz_view_phase phases[] = {{NULL, 0}, {NULL, 1}};
static const cz_view_rule rules[] = {
    {0}, {.n_events = 1, .events = events, .n_phases = 2, .phases = phases}};
static const cz_view_pattern patterns[] = {{.rule = 0}, {.rule = 1}};
static const cz_view_param params[] = {{.pattern = 0}, {.pattern = 1}};
static const cz_plan_view view = {.n_rules = 2,
                                  .rules = rules,
                                  .n_patterns = 2,
                                  .patterns = patterns,
                                  .n_params = 2,
                                  .params = params};

/* Of parameter 0, then 1: 2 runs of 50 bytes to rank 1 and back, one to
 * itself. */
#define ENTRY(...)                                                             \
    {                                                                          \
        __VA_ARGS__, 0, 1, 1, 1, 1, 0                                          \
    }
static const cz_view_transfer_entry rows[] = {
    ENTRY(0, 0, 1, 0, 2, 50, 64, 1),      ENTRY(0, 1, 1, 0, 2, 50, 64, 1),
    ENTRY(0, 0, 0, 0, 9, 50, 64, 1),      ENTRY(1, 0, 1, 0, 2, 50, 64, ALWAYS),
    ENTRY(1, 0, 1, 0, 1, 10, 10, THIRD),  ENTRY(1, 1, 1, 0, 1, 10, 10, THIRD),
    ENTRY(1, 1, 1, 0, 1, 30, 30, OTHERS),
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static int64_t moved(int64_t n_updates, bool is_recv)
{
    cz_arena arena;
    cz_arena_init(&arena);
    const cz_frequency *f = cz_frequencies(&arena, &view, n_updates);
    const int64_t bytes =
        cz_frequency_moved(&view, f, rows, 0, N_ROWS, 0, is_recv);
    cz_arena_fini(&arena);
    return bytes;
}

/* Updates 2 and 5 of six read the slot. */
static void updates_are_counted_one_by_one(void **state)
{
    assert_int_equal(moved(0, false), 0);
    assert_int_equal(moved(1, false), 100 + 100);
    assert_int_equal(moved(2, false), 2 * (100 + 100) + 10);
    assert_int_equal(moved(6, false), 6 * (100 + 100) + 2 * 10);
    assert_int_equal(moved(6, true), 6 * 100 + 2 * 10 + 4 * 30);
}

/* 100 + 10 / 3, and (10 + 2 * 30) / 3, each rounded up once. */
static void the_mean_of_a_matrix_is_rounded_up(void **state)
{
    assert_int_equal(moved(CZ_MEAN_UPDATE, false), 100 + 104);
    assert_int_equal(moved(CZ_MEAN_UPDATE, true), 100 + 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_are_counted_one_by_one),
        cmocka_unit_test(the_mean_of_a_matrix_is_rounded_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
