/* Conversions between types, fills, alignment and limits of memory. */
#include "tests/unit/unit.h"
#include "runtime/base/memory.h"

enum { N = 6 };

static const double values[N] = {0, 1, -2.5, 1e-3, 3e38, -7.0 / 3};

static double read_value(const void *data, czr_dtype dtype, int i)
{
    if (dtype == CZR_F64)
        return ((const double *)data)[i];
    if (dtype == CZR_F32)
        return (double)((const float *)data)[i];
    if (dtype == CZR_F16)
        return (double)czr_f16_to_f32(((const czr_f16 *)data)[i]);
    return (double)czr_bf16_to_f32(((const czr_bf16 *)data)[i]);
}

/* What a type keeps of a number. */
static double round_to(double x, czr_dtype dtype)
{
    if (dtype == CZR_F64)
        return x;
    if (dtype == CZR_F32)
        return (double)(float)x;
    if (dtype == CZR_F16)
        return (double)czr_f16_to_f32(czr_f32_to_f16((float)x));
    return (double)czr_bf16_to_f32(czr_f32_to_bf16((float)x));
}

static void every_type_converts_to_every_other(void **state)
{
    double from[N], to[N];

    for (int a = 0; a < CZR_N_DTYPES; a++)
        for (int b = 0; b < CZR_N_DTYPES; b++) {
            const czr_dtype from_type = (czr_dtype)a, to_type = (czr_dtype)b;
            czr_convert(from, from_type, values, CZR_F64, N);
            czr_convert(to, to_type, from, from_type, N);
            for (int i = 0; i < N; i++)
                assert_true(read_value(to, to_type, i) ==
                            round_to(round_to(values[i], from_type), to_type));
            czr_fill(to, to_type, values[2], N);
            assert_true(read_value(to, to_type, N - 1) == values[2]);
        }
}

/* By the definition of binary16: 11 bits, the last at least 2^-24. */
static double as_f16(double x)
{
    int exponent;
    (void)frexp(x, &exponent);
    const int last = exponent - 11 > -24 ? exponent - 11 : -24;
    const double near = ldexp(nearbyint(ldexp(x, -last)), last);
    return fabs(near) >= 65536 ? copysign(INFINITY, x) : near;
}

static double number_of(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                        : exponent == 0 ? ldexp(fraction, -24)
                                        : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
}

static void f16_has_the_numbers_of_its_definition(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (uint32_t i = 0; i < 65536; i++) {
        const uint16_t bits = (uint16_t)i;
        const double number = number_of(bits),
                     got = (double)czr_f16_to_f32(bits);
        assert_true(got == number || (isnan(got) && isnan(number)));
        assert_int_equal(signbit(got) != 0, bits >> 15);
        if (!isnan(got))
            assert_int_equal(czr_f32_to_f16((float)got), bits);
        assert_int_equal(czr_nonfinite_f16(bits) != 0, !isfinite(number));
    }
    for (int i = 0; i < 1000000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint32_t drawn = (uint32_t)(random >> 32);
        float wide;
        memcpy(&wide, &drawn, sizeof wide);
        const double got = (double)czr_f16_to_f32(czr_f32_to_f16(wide));
        assert_true(isnan(wide) ? isnan(got) : got == as_f16((double)wide));
    }
}

static void bf16_rounds_to_nearest_even(void **state)
{
    assert_int_equal(czr_f32_to_bf16(1.00390625f), 0x3f80); /* halfway, even */
    assert_int_equal(czr_f32_to_bf16(1.01171875f), 0x3f82); /* halfway, odd */
    assert_int_equal(czr_f32_to_bf16(1.00390637f), 0x3f81); /* above */
    assert_int_equal(czr_f32_to_bf16(3.4e38f), 0x7f80);     /* to infinity */
    assert_true(isnan(czr_bf16_to_f32(czr_f32_to_bf16((float)NAN))));
    assert_int_equal(czr_f32_to_bf16(-0.0f), 0x8000);
}

static void memory_is_zero_aligned_counted_and_limited(void **state)
{
    const int64_t before = czr_allocations();
    unsigned char *memory = czr_alloc(3, 7), *empty = czr_alloc(0, 8);

    assert_non_null(memory);
    assert_non_null(empty);
    assert_int_equal((uintptr_t)memory % CZR_ALIGN, 0);
    for (int i = 0; i < 3 * 7; i++)
        assert_int_equal(memory[i], 0);
    assert_null(czr_alloc(SIZE_MAX / 2, 3));
    assert_null(czr_alloc(SIZE_MAX, 1));
    assert_int_equal(czr_allocations() - before, 4);
    czr_free(memory);
    czr_free(empty);
    czr_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_converts_to_every_other),
        cmocka_unit_test(bf16_rounds_to_nearest_even),
        cmocka_unit_test(f16_has_the_numbers_of_its_definition),
        cmocka_unit_test(memory_is_zero_aligned_counted_and_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
