/* Numbers of rules: folded where that is exact alike everywhere, and equal
 * expressions are one node. */
#include "frontend/rule/scalar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static cz_arena arena;
static cz_scalars pool;

static int setup(void **state)
{
    (void)state;
    cz_arena_init(&arena);
    pool = (cz_scalars){.arena = &arena};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cz_arena_fini(&arena);
    return 0;
}

static const cz_scalar *apply(cz_opcode op, const cz_scalar *a,
                              const cz_scalar *b)
{
    return cz_scalar_apply(&pool, op, (const cz_scalar *[]){a, b}, b ? 2 : 1);
}

static double folded(cz_opcode op, double a, double b)
{
    const cz_scalar *scalar =
        apply(op, cz_scalar_real(&pool, a), cz_scalar_real(&pool, b));
    assert_true(cz_scalar_is_constant(scalar));
    return scalar->constant;
}

static void equal_expressions_are_one(void **state)
{
    (void)state;
    const cz_scalar *lr = cz_scalar_input(&pool, 2);
    const cz_scalar *two = cz_scalar_real(&pool, 2);
    const cz_scalar *product = apply(CZ_OP_MUL, lr, two);
    assert_ptr_equal(product, apply(CZ_OP_MUL, cz_scalar_input(&pool, 2),
                                    cz_scalar_real(&pool, 2)));
    assert_ptr_not_equal(product, apply(CZ_OP_MUL, two, lr));
    assert_ptr_not_equal(product, apply(CZ_OP_ADD, lr, two));
    assert_ptr_not_equal(cz_scalar_real(&pool, 0.0),
                         cz_scalar_real(&pool, -0.0));
    assert_ptr_not_equal(cz_scalar_compare(&pool, "olt", lr, two),
                         cz_scalar_compare(&pool, "ole", lr, two));
}

static void operands_come_first(void **state)
{
    (void)state;
    const cz_scalar *lr = cz_scalar_input(&pool, 2);
    const cz_scalar *sum = apply(CZ_OP_ADD, lr, apply(CZ_OP_EXP, lr, NULL));
    for (int i = 0; i < sum->n_operands; i++)
        assert_true(sum->operands[i]->id < sum->id);
}

static void exact_operations_fold(void **state)
{
    (void)state;
    assert_true(folded(CZ_OP_DIV, 1, 8) == 0.125);
    assert_true(folded(CZ_OP_MAX, 3, 4) == 4);
    assert_true(folded(CZ_OP_POW, 2, 10) == 1024);
    assert_true(folded(CZ_OP_POW, 2, -2) == 0.25);
    assert_true(apply(CZ_OP_SQRT, cz_scalar_real(&pool, 9), NULL)->constant ==
                3);
}

/* What libraries round differently must not reach the plan. */
static void the_others_wait_for_the_prologue(void **state)
{
    (void)state;
    const cz_scalar *half = cz_scalar_real(&pool, 0.5);
    const cz_opcode ops[] = {CZ_OP_EXP, CZ_OP_LOG, CZ_OP_TANH, CZ_OP_COS,
                             CZ_OP_SIN};
    for (int i = 0; i < 5; i++)
        assert_false(cz_scalar_is_constant(apply(ops[i], half, NULL)));
    assert_false(cz_scalar_is_constant(apply(CZ_OP_POW, half, half)));
}

static void integers_stay_integers(void **state)
{
    (void)state;
    const cz_scalar *six = cz_scalar_integer(&pool, 6);
    const cz_scalar *four = cz_scalar_integer(&pool, 4);
    assert_true(apply(CZ_OP_MUL, six, four)->is_integer);
    assert_true(apply(CZ_OP_NEG, six, NULL)->is_integer);
    assert_false(apply(CZ_OP_DIV, six, four)->is_integer);
    assert_false(apply(CZ_OP_SQRT, four, NULL)->is_integer);
    assert_false(apply(CZ_OP_ADD, six, cz_scalar_real(&pool, 1))->is_integer);
}

static void a_known_condition_chooses(void **state)
{
    (void)state;
    const cz_scalar *a = cz_scalar_input(&pool, 2);
    const cz_scalar *b = cz_scalar_input(&pool, 3);
    const cz_scalar *yes = cz_scalar_compare(
        &pool, "oge", cz_scalar_real(&pool, 2), cz_scalar_real(&pool, 2));
    assert_true(yes->is_bool && yes->constant == 1);
    assert_ptr_equal(a, cz_scalar_apply(&pool, CZ_OP_SELECT,
                                        (const cz_scalar *[]){yes, a, b}, 3));
    const cz_scalar *open = cz_scalar_compare(&pool, "une", a, b);
    assert_true(open->is_bool && !cz_scalar_is_constant(open));
}

static void symbols_have_an_example(void **state)
{
    (void)state;
    const double at[] = {7, 5};
    const cz_scalar *m = cz_scalar_symbol(&pool, 0, false, 2);
    const cz_scalar *n = cz_scalar_symbol(&pool, 1, false, 3);
    const cz_scalar *area = apply(CZ_OP_MUL, m, n);
    assert_true(area->is_fixed && !cz_scalar_is_constant(area));
    assert_true(area->constant == 6 && cz_scalar_at(area, at) == 35);
    const cz_scalar *tall = cz_scalar_compare(&pool, "ogt", m, n);
    assert_true(tall->constant == 0 && cz_scalar_at(tall, at) == 1);
    const cz_scalar *larger = cz_scalar_apply(
        &pool, CZ_OP_SELECT, (const cz_scalar *[]){tall, m, n}, 3);
    assert_true(larger->constant == 3 && cz_scalar_at(larger, at) == 7);
    assert_false(apply(CZ_OP_MUL, area, cz_scalar_input(&pool, 2))->is_fixed);
    assert_true(apply(CZ_OP_ADD, area, cz_scalar_open(&pool, 3))->is_open);
}

static void libraries_decide_nothing(void **state)
{
    (void)state;
    const cz_scalar *m = cz_scalar_symbol(&pool, 0, false, 2);
    const cz_scalar *one = cz_scalar_real(&pool, 1);
    assert_false(apply(CZ_OP_EXP, m, NULL)->is_fixed);
    assert_false(apply(CZ_OP_EXP, one, NULL)->is_fixed);
    assert_false(cz_scalar_compare(&pool, "olt", apply(CZ_OP_LOG, m, NULL), one)
                     ->is_fixed);
    assert_true(apply(CZ_OP_POW, m, cz_scalar_integer(&pool, 3))->is_fixed);
    assert_false(apply(CZ_OP_POW, m, cz_scalar_real(&pool, 0.3))->is_fixed);
}

static void dimensions_read_as_written(void **state)
{
    (void)state;
    static const char *const names[] = {"m", "n"};
    const cz_scalar *m = cz_scalar_symbol(&pool, 0, false, 2);
    const cz_scalar *n = cz_scalar_symbol(&pool, 1, false, 3);
    const cz_scalar *two = cz_scalar_integer(&pool, 2);
    const cz_scalar *rest =
        apply(CZ_OP_SUB, m, apply(CZ_OP_SUB, n, apply(CZ_OP_NEG, two, NULL)));
    const cz_scalar *all =
        apply(CZ_OP_MAX, apply(CZ_OP_MUL, apply(CZ_OP_ADD, m, n), two),
              apply(CZ_OP_NEG, apply(CZ_OP_MUL, m, n), NULL));
    assert_true(cz_scalar_is_dimension(rest) && cz_scalar_is_dimension(all));
    assert_string_equal(cz_scalar_text(&arena, rest, names), "m - (n - -2)");
    assert_string_equal(cz_scalar_text(&arena, all, names),
                        "max((m + n)*2, -(m*n))");
    assert_false(cz_scalar_is_dimension(apply(CZ_OP_DIV, m, two)));
    assert_false(cz_scalar_is_dimension(cz_scalar_real(&pool, 2.5)));
    assert_false(cz_scalar_is_dimension(cz_scalar_symbol(&pool, 2, true, 1)));
}

/* As many rows as a part of them rounds to. */
static void what_is_rounded_is_a_dimension(void **state)
{
    (void)state;
    static const char *const names[] = {"m"};
    const cz_scalar *m = cz_scalar_symbol(&pool, 0, false, 2);
    const cz_scalar *part =
        apply(CZ_OP_MUL, cz_scalar_real(&pool, 0.25),
              apply(CZ_OP_DIV, m, cz_scalar_integer(&pool, 3)));
    const cz_scalar *rounded = apply(CZ_OP_FLOOR, part, NULL);
    const double at[] = {25};
    assert_false(cz_scalar_is_dimension(part));
    assert_true(cz_scalar_is_dimension(rounded));
    assert_true(cz_scalar_at(rounded, at) == 2);
    assert_string_equal(cz_scalar_text(&arena, rounded, names),
                        "floor(0.25*(m/3))");
    assert_false(cz_scalar_is_dimension(
        apply(CZ_OP_MUL, rounded, cz_scalar_real(&pool, 0.5))));
    assert_true(
        apply(CZ_OP_FLOOR, cz_scalar_real(&pool, 2.5), NULL)->is_integer);
}

static void thousands_are_told_apart(void **state)
{
    (void)state;
    enum { N = 5000 };
    const cz_scalar *sum = cz_scalar_input(&pool, 2);
    for (int i = 0; i < N; i++)
        sum = apply(CZ_OP_ADD, sum, cz_scalar_integer(&pool, i));
    assert_int_equal(pool.n, 1 + 2 * N);
    assert_int_equal(sum->n_nodes, CZ_SCALAR_LARGE);
    for (int i = 0; i < N; i++)
        assert_int_equal(cz_scalar_integer(&pool, i)->constant, i);
    assert_int_equal(pool.n, 1 + 2 * N);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(equal_expressions_are_one),
        TEST(operands_come_first),
        TEST(exact_operations_fold),
        TEST(the_others_wait_for_the_prologue),
        TEST(integers_stay_integers),
        TEST(a_known_condition_chooses),
        TEST(symbols_have_an_example),
        TEST(libraries_decide_nothing),
        TEST(dimensions_read_as_written),
        TEST(what_is_rounded_is_a_dimension),
        TEST(thousands_are_told_apart),
    };
    return cmocka_run_group_tests_name("rule_scalar", tests, NULL, NULL);
}
