/* V5: accesses that nothing orders. */
#include "tests/unit/passes/verify/bad_plan.h"

static void conflicts_need_a_path_of_waits(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"waits = array<i64: 10>", "waits = array<i64>"}},
         "operation 11 (kernel) on rank 0, a: reads what operation 10 writes, "
         "and no stream or wait orders the two"},
        {TWO_GROUPS,
         {{"waits = array<i64: 5, 7>", "waits = array<i64: 5>"}},
         "operation 8 (all_gather) on rank 0, b: reads what operation 7 "
         "writes, and no stream or wait orders the two"},
        /* streams 0 and 16 are two streams */
        {TWO_GROUPS,
         {{"stream = 0 : i64, table = @table2",
           "stream = 16 : i64, table = @table2"}},
         "operation 7 (kernel) on rank 0, b: may start before the "
         "clip-and-skip decision"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

static void boxes_of_a_group_do_not_meet(void **state)
{
    static const bad_plan bad = {
        TWO_GROUPS,
        {{"0, 1, 1, 224, 1, 32, 32", "0, 1, 1, 208, 1, 32, 32"}},
        "operation 10 (transfer) on rank 0, a: receives into bytes that "
        "another row of the group moves at the same time"};
    (void)state;
    check_bad_plan(&bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conflicts_need_a_path_of_waits),
        cmocka_unit_test(boxes_of_a_group_do_not_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
