/* Grouping: what is joined, what must not be, and the order of steps. */
#include "passes/kernel/join.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MAX_UNITS = 8, MAX_IN = 3 };

typedef struct sketch {
    cz_kernel_node nodes[MAX_UNITS];
    int in[MAX_UNITS][MAX_IN];
    bool far[MAX_UNITS][MAX_IN];
    int n;
    int step[MAX_UNITS];
} sketch;

/* A unit of 4 bytes that reads units a and b (-1: none). */
static int add(sketch *s, int space, int a, int b)
{
    const int in[2] = {a, b};
    cz_kernel_node *unit = &s->nodes[s->n];

    *unit = (cz_kernel_node){.space = space, .bytes = 4};
    for (int i = 0; i < 2; i++)
        if (in[i] >= 0)
            s->in[s->n][unit->n_in++] = in[i];
    unit->in = s->in[s->n];
    unit->far = s->far[s->n];
    return s->n++;
}

static int solve(sketch *s)
{
    cz_arena arena;
    int n;

    cz_arena_init(&arena);
    n = cz_kernel_join(&arena, s->nodes, s->n, s->step);
    cz_arena_fini(&arena);
    return n;
}

/* Momentum feeds two users: one step with all of them. */
static void test_two_users(void **state)
{
    sketch s = {.n = 0};
    const int grad = add(&s, CZ_KERNEL_GIVEN, -1, -1);
    const int momentum = add(&s, 0, grad, -1);
    const int left = add(&s, 0, momentum, grad);
    const int right = add(&s, 0, momentum, -1);

    (void)state;
    assert_int_equal(solve(&s), 1);
    assert_int_equal(s.step[grad], -1);
    assert_int_equal(s.step[left], 0);
    assert_int_equal(s.step[right], 0);
}

static void test_far_operand_splits(void **state)
{
    sketch s = {.n = 0};
    const int grad = add(&s, CZ_KERNEL_GIVEN, -1, -1);
    const int square = add(&s, 0, grad, -1);
    const int sum = add(&s, 0, square, -1);
    const int quotient = add(&s, 0, grad, sum);

    (void)state;
    s.far[quotient][1] = true;
    assert_int_equal(solve(&s), 2);
    assert_int_equal(s.step[square], 0);
    assert_int_equal(s.step[sum], 0);
    assert_int_equal(s.step[quotient], 1);
}

/* A product between two units keeps them apart, though they share much. */
static void test_no_cycle_through_product(void **state)
{
    sketch s = {.n = 0};
    const int grad = add(&s, CZ_KERNEL_GIVEN, -1, -1);
    const int before = add(&s, 0, grad, -1);
    const int product = add(&s, CZ_KERNEL_ALONE, before, before);
    const int after = add(&s, 0, product, before);

    (void)state;
    s.nodes[before].bytes = 1000;
    assert_int_equal(solve(&s), 3);
    assert_int_equal(s.step[before], 0);
    assert_int_equal(s.step[product], 1);
    assert_int_equal(s.step[after], 2);
}

/* Computed where it is used, not where it could be first: then its operand,
 * which is stored anyway, is loaded once, and it is never stored. */
static void test_late_where_it_saves(void **state)
{
    sketch s = {.n = 0};
    const int grad = add(&s, CZ_KERNEL_GIVEN, -1, -1);
    const int x = add(&s, 0, grad, -1);
    const int product = add(&s, CZ_KERNEL_ALONE, x, -1);
    const int scaled = add(&s, 0, product, -1);
    const int second = add(&s, CZ_KERNEL_ALONE, product, -1);
    const int sum = add(&s, 0, scaled, second);

    (void)state;
    s.nodes[x].stored = true;
    assert_int_equal(solve(&s), 4);
    assert_int_equal(s.step[second], 2);
    assert_int_equal(s.step[scaled], 3);
    assert_int_equal(s.step[sum], 3);
}

static void test_other_space_stays_apart(void **state)
{
    sketch s = {.n = 0};
    const int grad = add(&s, CZ_KERNEL_GIVEN, -1, -1);
    const int a = add(&s, 0, grad, -1);
    const int b = add(&s, 1, grad, -1);

    (void)state;
    assert_int_equal(solve(&s), 2);
    assert_int_equal(s.step[a], 0);
    assert_int_equal(s.step[b], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_users),
        cmocka_unit_test(test_far_operand_splits),
        cmocka_unit_test(test_no_cycle_through_product),
        cmocka_unit_test(test_late_where_it_saves),
        cmocka_unit_test(test_other_space_stays_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
