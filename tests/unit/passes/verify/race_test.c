/* V5: accesses that nothing orders. */
#include "tests/unit/passes/verify/bad_plan.h"

static void conflicts_need_a_path_of_waits(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"waits = array<i64: 11>", "waits = array<i64>"}},
         "operation 12 (kernel) on rank 0, a: reads what operation 11 writes, "
         "and no stream or wait orders the two"},
        {TWO_GROUPS,
         {{"waits = array<i64: 6, 8>", "waits = array<i64: 6>"}},
         "operation 9 (all_gather) on rank 0, b: reads what operation 8 "
         "writes, and no stream or wait orders the two"},
        /* streams 0 and 16 are two streams */
        {TWO_GROUPS,
         {{"stream = 0 : i64, table = @table2",
           "stream = 16 : i64, table = @table2"}},
         "operation 8 (kernel) on rank 0, b: may start before the "
         "clip-and-skip decision"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

/* Every step may be undone, and need not. */
static void recovery_is_ordered(void **state)
{
    static const bad_plan bad[] = {
        {SCHEDULES "valid.mlir",
         {{"waits = array<i64: 1>", "waits = array<i64>"}},
         "operation 3 (prologue) on rank 0, b: may start before the guard of "
         "gradients has decided"},
        {SCHEDULES "valid.mlir",
         {{"waits = array<i64: 7, 8>", "waits = array<i64: 7>"}},
         "operation 9 (undo) on rank 0, b: reads what operation 8 writes, and "
         "no stream or wait orders the two"},
        {SCHEDULES "valid.mlir",
         {{"kind = \"keep\", section = \"recover\", stream = 0",
           "kind = \"keep\", section = \"recover\", stream = 3"}},
         "operation 9 (undo) on rank 0, b: reads what operation 2 writes, and "
         "no stream or wait orders the two"},
        {SCHEDULES "valid.mlir",
         {{"kind = \"keep\", section = \"recover\", stream = 0",
           "kind = \"keep\", section = \"recover\", stream = 3"},
          {"waits = array<i64: 7, 8>", "waits = array<i64: 2, 7, 8>"}},
         "operation 8 (kernel) on rank 0, b: writes what operation 2 still "
         "reads, and no stream or wait orders the two"},
        /* ordered behind the guard through keep alone */
        {SCHEDULES "valid.mlir",
         {{"stream = 0 : i64, table = \"\", waits = array<i64>",
           "stream = 0 : i64, table = \"\", waits = array<i64: 1>"},
          {"waits = array<i64: 1>, block_size = 0 : i64, stride = 0 : i64} : "
           "() -> "
           "()\n  \"canzona.op\"() {kind = \"kernel\"",
           "waits = array<i64>, block_size = 0 : i64, stride = 0 : i64} : () "
           "-> "
           "()\n  \"canzona.op\"() {kind = \"kernel\""}},
         "operation 3 (prologue) on rank 0, b: may start before the guard of "
         "gradients has decided"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

/* Also on ranks that count nothing of a bucket, as another has its copy. */
static void the_norm_hears_of_every_copy(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"bucket = 0 : i64, comm = array<i64: 0>, kind = \"reduce_scatter\", "
           "section = \"reduce\", stream = 1",
           "bucket = 0 : i64, comm = array<i64: 0>, kind = \"reduce_scatter\", "
           "section = \"reduce\", stream = 5"}},
         "operation 5 (all_reduce) on rank 1, b: reads what operation 0 "
         "writes, "
         "and no stream or wait orders the two"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

static void boxes_of_a_group_do_not_meet(void **state)
{
    static const bad_plan bad = {
        TWO_GROUPS,
        {{"0, 1, 1, 224, 1, 32, 32", "0, 1, 1, 208, 1, 32, 32"}},
        "operation 11 (transfer) on rank 0, a: receives into bytes that "
        "another row of the group moves at the same time"};
    (void)state;
    check_bad_plan(&bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conflicts_need_a_path_of_waits),
        cmocka_unit_test(recovery_is_ordered),
        cmocka_unit_test(the_norm_hears_of_every_copy),
        cmocka_unit_test(boxes_of_a_group_do_not_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
