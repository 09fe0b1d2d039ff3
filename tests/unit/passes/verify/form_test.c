/* V0: numbers out of range, rows outside their memory. */
#include "tests/unit/passes/verify/bad_plan.h"

static void good_plans_hold(void **state)
{
    static const bad_plan good[] = {
        {TWO_GROUPS, {{NULL}}, ""},
        {SCHEDULES "valid.mlir", {{NULL}}, ""},
    };
    (void)state;
    CHECK_BAD_PLANS(good);
}

static void scratch_is_inside_aligned_and_apart(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"bytes = array<i64: 320,", "bytes = array<i64: 256,"}},
         "operation 12 (kernel) on rank 0, a: bytes [256, 320) lie outside the "
         "scratch of 256 bytes"},
        {TWO_GROUPS,
         {{"0, 0, 0, 8, 0, -1, -1, -1>", "0, 0, 0, 8, 4, -1, -1, -1>"}},
         "operation 10 (kernel) on rank 0, a: scratch byte 4 is not aligned to "
         "64"},
        {TWO_GROUPS,
         {{"192, 256, -1, 64>", "192, 256, -1, 192>"}},
         "operation 12 (kernel) on rank 0, a: its scratch at bytes 192 and 192 "
         "overlaps"},
        {TWO_GROUPS,
         {{"0, 1, 1, 224, 1, 32, 32", "0, 1, 1, 304, 1, 32, 32"}},
         "operation 11 (transfer) on rank 0, a: a box lies outside the scratch "
         "of 320 bytes"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

static void rows_stay_in_their_parameter_and_slice(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"3, 1, 0, 4, -1", "3, 1, 2, 4, -1"}},
         "operation 8 (kernel) on rank 0, b: elements [2, 6) of bucket 0 are "
         "not its own"},
        {TWO_GROUPS,
         {{"slices = array<i64: 0, 16, 16>, sym_name = \"bucket0\"",
           "slices = array<i64: 0, 2, 16>, sym_name = \"bucket0\""}},
         "operation 3 (square_sum) on rank 0, b: elements [0, 4) lie outside "
         "the slice [0, 2) that the rank owns"},
        {TWO_GROUPS,
         {{"1, 0, 0, 16, 192", "1, 0, 0, 8, 192"}},
         "operation 12 (kernel) on rank 0, a: the matrix, or the rank's part "
         "of it, is elements [0, 16), not [0, 8)"},
        {TWO_GROUPS,
         {{"3, 1, 0, 4, -1", "0, 1, 0, 4, -1"}},
         "operation 8 (kernel) on rank 0, b: stage 0 is not of its rule"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_plans_hold),
        cmocka_unit_test(scratch_is_inside_aligned_and_apart),
        cmocka_unit_test(rows_stay_in_their_parameter_and_slice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
