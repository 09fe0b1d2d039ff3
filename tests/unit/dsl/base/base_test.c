/* Arena, text and checked arithmetic. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, strdup */

#include "dsl/base/arena.h"
#include "dsl/base/checked.h"
#include "dsl/base/text.h"
#include "tests/unit/unit.h"

#include <unistd.h>

static void arena_gives_zeroed_aligned_memory(void **state)
{
    cz_arena arena;
    cz_arena_init(&arena);
    for (size_t n = 1; n < 200000; n = n * 3 + 1) {
        unsigned char *bytes = cz_arena_alloc(&arena, n, 1);
        assert_int_equal((uintptr_t)bytes % 16, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(bytes[i], 0);
        memset(bytes, 0xff, n);
    }
    cz_arena_fini(&arena);
    assert_non_null(cz_arena_alloc(&arena, 1, 1));
    cz_arena_fini(&arena);
}

static void a_cleared_arena_gives_zeroed_memory_again(void **state)
{
    cz_arena arena;
    cz_arena_init(&arena);
    cz_arena_clear(&arena);
    for (size_t round = 1; round < 8; round++) {
        for (size_t n = 1; n < 200000; n = n * 3 + round) {
            unsigned char *bytes = cz_arena_alloc(&arena, n, 1);
            for (size_t i = 0; i < n; i++)
                assert_int_equal(bytes[i], 0);
            memset(bytes, 0xff, n);
        }
        assert_true(arena.used_bytes > 0);
        cz_arena_clear(&arena);
        assert_int_equal(arena.used_bytes, 0);
    }
    cz_arena_fini(&arena);
}

static void pushed_elements_stay(void **state)
{
    cz_arena arena;
    int *first = NULL, *second = NULL, n_first = 0, n_second = 0;
    cz_arena_init(&arena);
    for (int i = 0; i < 1000; i++) {
        *CZ_PUSH(&arena, first, n_first) = i;
        *CZ_PUSH(&arena, second, n_second) = -i;
    }
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(first[i], i);
        assert_int_equal(second[i], -i);
    }
    cz_arena_fini(&arena);
}

static void arena_copies_and_prints(void **state)
{
    cz_arena arena;
    cz_arena_init(&arena);
    assert_string_equal(cz_arena_copy(&arena, "abcdef", 3), "abc");
    assert_string_equal(cz_arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    cz_arena_fini(&arena);
}

static void text_grows(void **state)
{
    cz_text text;
    cz_text_init(&text);
    assert_string_equal(cz_text_string(&text), "");
    for (int i = 0; i < 1000; i++)
        cz_text_printf(&text, "%03d", i);
    assert_int_equal(text.n, 3000);
    assert_memory_equal(text.bytes + 2997, "999", 4);
    cz_text_fini(&text);
}

static void integers_are_printed_in_decimal(void **state)
{
    static const int64_t values[] = {0, 7, -1, 10, -9, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        cz_text text = {0}, expected = {0};
        cz_text_put_int(&text, values[i]);
        cz_text_printf(&expected, "%lld", (long long)values[i]);
        assert_string_equal(cz_text_string(&text), cz_text_string(&expected));
        cz_text_fini(&text);
        cz_text_fini(&expected);
    }
}

static void files_come_back_as_written(void **state)
{
    char path[] = "/tmp/cz_base_testXXXXXX";
    const char *why = NULL;
    cz_text text, back;
    assert_non_null(mkdtemp(path));
    cz_text_init(&text);
    cz_text_init(&back);
    cz_text_printf(&text, "%s/file", path);
    char *file = strdup(text.bytes);
    assert_true(cz_text_write_file(&text, file));
    assert_true(cz_text_read_file(&back, file, text.n, &why));
    assert_string_equal(back.bytes, text.bytes);
    cz_text_fini(&back);
    cz_text_init(&back);
    assert_false(cz_text_read_file(&back, file, text.n - 1, &why));
    assert_false(cz_text_read_file(&back, path, 100, &why));
    assert_non_null(why);
    assert_false(cz_text_write_file(&text, "/no/such/folder/x"));
    remove(file);
    remove(path);
    free(file);
    cz_text_fini(&text);
    cz_text_fini(&back);
}

static void overflow_is_seen(void **state)
{
    int64_t out = 42;
    assert_false(cz_checked_add(INT64_MAX, 1, &out));
    assert_false(cz_checked_mul(INT64_MAX, 2, &out));
    const int64_t large[] = {CZ_MAX_DIM, CZ_MAX_DIM};
    assert_false(cz_checked_product(large, 2, &out));
    assert_int_equal(out, 42);
    const int64_t small[] = {3, 5, 7};
    assert_true(cz_checked_product(small, 3, &out));
    assert_int_equal(out, 105);
    assert_true(cz_checked_product(NULL, 0, &out));
    assert_int_equal(out, 1);
    assert_int_equal(cz_ceil_div(7, 4), 2);
    assert_int_equal(cz_ceil_div(-7, 4), -1);
    assert_true(cz_ceil_div(INT64_MAX - 1, 2) == INT64_MAX / 2);
    assert_int_equal(cz_round_up(8, 4), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(a_cleared_arena_gives_zeroed_memory_again),
        cmocka_unit_test(pushed_elements_stay),
        cmocka_unit_test(arena_copies_and_prints),
        cmocka_unit_test(text_grows),
        cmocka_unit_test(integers_are_printed_in_decimal),
        cmocka_unit_test(files_come_back_as_written),
        cmocka_unit_test(overflow_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
