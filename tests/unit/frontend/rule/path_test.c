/* Paths of a rule: every side that some shape takes is followed, once, and no
 * other. */
#include "frontend/rule/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static cz_arena arena;
static cz_scalars pool;
static cz_rule_path path;
static int64_t left;
static const cz_scalar *m, *n, *flag;

/* As a run of a rule begins. */
static void begin(void)
{
    pool = (cz_scalars){.arena = &arena};
    m = cz_rule_path_symbol(&path, &pool, "m", false, 2);
    n = cz_rule_path_symbol(&path, &pool, "n", false, 3);
    flag = cz_rule_path_symbol(&path, &pool, "flag", true, 0);
}

static int setup(void **state)
{
    (void)state;
    cz_arena_init(&arena);
    left = 1000000;
    cz_rule_path_init(&path, &arena, &left);
    begin();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cz_arena_fini(&arena);
    return 0;
}

static bool decide(const char *predicate, const cz_scalar *a,
                   const cz_scalar *b)
{
    return cz_rule_path_decide(&path,
                               cz_scalar_compare(&pool, predicate, a, b));
}

static bool next(void)
{
    cz_rule_path_fork(&path);
    if (!cz_rule_path_next(&path))
        return false;
    begin();
    return true;
}

static void both_sides_are_followed(void **state)
{
    (void)state;
    bool seen[2][2] = {{false}};
    int n_paths = 0;
    do {
        const bool tall = decide("ogt", m, n);
        seen[tall][cz_rule_path_decide(&path, flag)] = true;
        assert_int_equal(tall, decide("ogt", m, n)); /* as before */
        n_paths++;
    } while (next());
    assert_int_equal(n_paths, 4);
    assert_true(seen[0][0] && seen[0][1] && seen[1][0] && seen[1][1]);
}

/* m < n, m == n and m > n: of eight combinations three are taken. */
static void no_shape_leads_to_the_others(void **state)
{
    (void)state;
    int n_paths = 0;
    do {
        const int n_true =
            decide("olt", m, n) + decide("oeq", m, n) + decide("ogt", m, n);
        assert_int_equal(n_true, 1);
        n_paths++;
    } while (next());
    assert_int_equal(n_paths, 3);
}

static void sizes_that_rules_name_are_tried(void **state)
{
    (void)state;
    const cz_scalar *limit = cz_scalar_integer(&pool, 31337);
    assert_true(decide("une", m, limit));
    assert_true(next());
    assert_false(decide("une", m, cz_scalar_integer(&pool, 31337)));
    assert_string_equal(cz_rule_path_text(&path, &arena), "m = 31337");
}

/* Under m == n the two are one, and m + n is n + m on every path. */
static void a_path_knows_what_it_assumes(void **state)
{
    (void)state;
    double at[CZ_PATH_SYMBOLS];
    assert_true(
        cz_rule_path_can(&path, cz_scalar_compare(&pool, "une", m, n), at));
    assert_true(at[0] != at[1]);
    assert_false(decide("oeq", m, n));
    assert_true(next());
    assert_true(decide("oeq", m, n));
    assert_false(
        cz_rule_path_can(&path, cz_scalar_compare(&pool, "une", m, n), at));
    const cz_scalar *sum =
        cz_scalar_apply(&pool, CZ_OP_ADD, (const cz_scalar *[]){m, n}, 2);
    const cz_scalar *other =
        cz_scalar_apply(&pool, CZ_OP_ADD, (const cz_scalar *[]){n, m}, 2);
    assert_false(cz_rule_path_can(
        &path, cz_scalar_compare(&pool, "une", sum, other), at));
}

static void examples_name_what_was_decided(void **state)
{
    (void)state;
    assert_string_equal(cz_rule_path_text(&path, &arena), "");
    decide("olt", m, n);
    assert_string_equal(cz_rule_path_text(&path, &arena), "m = 2, n = 3");
    cz_rule_path_decide(&path, flag);
    assert_string_equal(cz_rule_path_text(&path, &arena),
                        "m = 2, n = 3, flag = false");
}

static void there_is_an_end(void **state)
{
    (void)state;
    int n_paths = 0;
    do {
        for (int i = 1; i <= CZ_PATH_DECISIONS; i++)
            decide("olt", m, cz_scalar_integer(&pool, 10 * i));
        for (int i = 1; i <= CZ_PATH_DECISIONS; i++)
            decide("olt", n, cz_scalar_integer(&pool, 10 * i));
        n_paths++;
    } while (next());
    assert_true(n_paths > 2 && n_paths <= CZ_PATH_MOST);
    while (path.n_symbols < CZ_PATH_SYMBOLS)
        assert_non_null(cz_rule_path_symbol(&path, &pool, "x", true, 0));
    assert_null(cz_rule_path_symbol(&path, &pool, "x", true, 0));
}

static void nothing_is_tried_beyond_the_limit(void **state)
{
    (void)state;
    decide("ogt", m, n);
    left = -1;
    cz_rule_path_fork(&path);
    assert_false(cz_rule_path_next(&path));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(both_sides_are_followed),
        TEST(no_shape_leads_to_the_others),
        TEST(sizes_that_rules_name_are_tried),
        TEST(a_path_knows_what_it_assumes),
        TEST(examples_name_what_was_decided),
        TEST(there_is_an_end),
        TEST(nothing_is_tried_beyond_the_limit),
    };
    return cmocka_run_group_tests_name("rule_path", tests, NULL, NULL);
}
