/* Blocks of a row of positions: they are a partition of it, each in order, and
 * those that interleave nest. */
#include "dsl/base/block.h"
#include "tests/unit/unit.h"

enum { MOST = 24 };

static void check_partition(cz_block block, int64_t n)
{
    int64_t next[MOST] = {0};
    for (int64_t p = 0; p < n; p++) {
        const int64_t number = cz_block_number(block, p);
        const int64_t first = cz_block_first(block, p);
        assert_in_range(number, 0, n / block.size - 1);
        assert_int_equal(cz_block_number(block, first), number);
        assert_int_equal(cz_block_place(block, p), next[number]++);
        assert_int_equal(p, first + cz_block_place(block, p) * block.stride);
    }
    for (int64_t b = 0; b < n / block.size; b++)
        assert_int_equal(next[b], block.size);
}

static void blocks_are_a_partition(void **state)
{
    for (int64_t n = 1; n <= MOST; n++)
        for (int64_t size = 1; size <= n; size++)
            for (int64_t stride = 1; stride <= n; stride++)
                if (cz_block_divides((cz_block){size, stride}, n))
                    check_partition((cz_block){size, stride}, n);
}

static void members_are_those_of_one_block(void **state)
{
    const cz_block block = {4, 2};
    static const int64_t seats[8] = {-1, 0, -1, 1, -1, 2, -1, 3};
    for (int64_t p = 0; p < 8; p++)
        assert_int_equal(cz_block_member(block, 1, p), seats[p]);
    assert_int_equal(cz_block_member(block, 3, 3), -1);
    assert_int_equal(cz_block_member(block, -1, 7), -1);
}

static void what_makes_no_blocks_is_refused(void **state)
{
    static const cz_block wrong[] = {{0, 1},  {2, 0},  {3, 1},  {4, 4},
                                     {-2, 1}, {2, -1}, {16, 1}, {INT64_MAX, 2}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(cz_block_divides(wrong[i], 8));
    assert_true(cz_block_divides((cz_block){2, 4}, 8));
}

/* Two ranks of 16 that are 8 apart are both in one block of four 4 apart. */
static void interleaved_blocks_nest(void **state)
{
    for (int64_t size = 2; size <= 16; size *= 2)
        for (int64_t p = 0; p < 16; p++) {
            const cz_block small = {size / 2, 32 / size},
                           large = {size, 16 / size};
            assert_int_equal(cz_block_number(large, cz_block_first(small, p)),
                             cz_block_number(large, p));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_a_partition),
        cmocka_unit_test(members_are_those_of_one_block),
        cmocka_unit_test(what_makes_no_blocks_is_refused),
        cmocka_unit_test(interleaved_blocks_nest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
