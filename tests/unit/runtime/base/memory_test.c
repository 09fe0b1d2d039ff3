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
    return (double)czr_bf16_to_f32(((const czr_bf16 *)data)[i]);
}

/* What a type keeps of a number. */
static double round_to(double x, czr_dtype dtype)
{
    if (dtype == CZR_F64)
        return x;
    if (dtype == CZR_F32)
        return (double)(float)x;
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
        cmocka_unit_test(memory_is_zero_aligned_counted_and_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
