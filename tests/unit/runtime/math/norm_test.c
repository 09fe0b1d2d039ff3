/* The exact norm: any order and any cut gives the same bits, equal to a sum
 * in wider arithmetic; overflow, subnormals, infinities and NaN. */
#include "tests/unit/unit.h"

#include <float.h>

#include "runtime/math/norm.h"

static uint32_t seed;

static uint32_t next_bits(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 16) ^ (seed << 13);
}

/* Any finite number, all exponents alike. */
static float next_value(void)
{
    uint32_t bits = next_bits() ^ next_bits() << 11;
    float x;

    if ((bits >> 23 & 255) == 255)
        bits ^= 1u << 23;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double norm_of(const float *x, size_t n)
{
    czr_norm norm = {{0}};

    czr_norm_add(&norm, x, n);
    return czr_norm_root(&norm);
}

static void shuffle(float *x, size_t n)
{
    for (size_t i = n - 1; i > 0; i--) {
        const size_t j = next_bits() % (i + 1);
        const float swapped = x[i];
        x[i] = x[j];
        x[j] = swapped;
    }
}

static void order_and_cuts_change_no_bit(void **state)
{
    enum { N = 100000, ROUNDS = 5 };
    float *x = malloc(N * sizeof *x);

    for (size_t i = 0; i < N; i++)
        x[i] = next_value();
    const double whole = norm_of(x, N);
    for (int round = 0; round < ROUNDS; round++) {
        czr_norm parts[2] = {{{0}}, {{0}}};
        const size_t cut = next_bits() % N;
        shuffle(x, N);
        czr_norm_add(&parts[0], x, cut);
        czr_norm_add(&parts[1], x + cut, N - cut);
        for (int word = 0; word < CZR_NORM_WORDS; word++)
            parts[0].words[word] += parts[1].words[word];
        const double again = czr_norm_root(&parts[0]);
        assert_memory_equal(&again, &whole, sizeof whole);
    }
    free(x);
}

static void equals_a_wider_sum(void **state)
{
    enum { N = 1000, ROUNDS = 200 };
    float x[N];

    for (int round = 0; round < ROUNDS; round++) {
        long double sum = 0;
        for (int i = 0; i < N; i++) { /* 64 bits hold these sums exactly */
            x[i] = (float)((int)(next_bits() % 8191) - 4095) / 1024;
            sum += (long double)x[i] * (long double)x[i];
        }
        const double expected = sqrt((double)sum);
        const double found = norm_of(x, N);
        assert_memory_equal(&found, &expected, sizeof found);
    }
}

static void single_values_are_exact(void **state)
{
    enum { ROUNDS = 100000 };

    for (int round = 0; round < ROUNDS; round++) {
        const float x = next_value();
        const double found = norm_of(&x, 1), expected = fabs((double)x);
        assert_memory_equal(&found, &expected, sizeof found);
    }
    const float least = FLT_TRUE_MIN, most = FLT_MAX, zero = 0;
    assert_true(norm_of(&least, 1) > 0);
    assert_true(norm_of(&most, 1) < 3.5e38);
    assert_true(norm_of(&zero, 1) == 0);
    assert_true(norm_of(&zero, 0) == 0);
}

static void many_large_values_do_not_overflow(void **state)
{
    enum { N = 300000 };
    float *x = malloc(N * sizeof *x);

    for (int i = 0; i < N; i++)
        x[i] = FLT_MAX;
    const double expected = (double)FLT_MAX * sqrt((double)N);
    assert_true(fabs(norm_of(x, N) / expected - 1) < 1e-15);
    free(x);
}

static void specials_are_counted(void **state)
{
    float x[5] = {1, 2, 3, 4, 5};
    czr_norm norm = {{0}};

    czr_norm_add(&norm, x, 5);
    assert_true(czr_norm_is_finite(&norm));
    x[2] = -INFINITY;
    czr_norm_add(&norm, x, 5);
    assert_false(czr_norm_is_finite(&norm));
    assert_true(isinf(czr_norm_root(&norm)));
    x[3] = NAN;
    czr_norm_add(&norm, x, 5);
    assert_true(isnan(czr_norm_root(&norm)));
    assert_int_equal(norm.words[CZR_NORM_INFINITIES], 2);
    assert_int_equal(norm.words[CZR_NORM_NANS], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_cuts_change_no_bit),
        cmocka_unit_test(equals_a_wider_sum),
        cmocka_unit_test(single_values_are_exact),
        cmocka_unit_test(many_large_values_do_not_overflow),
        cmocka_unit_test(specials_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
