/* V3, and the ordering half of V9. */
#include "tests/unit/passes/verify/bad_plan.h"

static void collectives_are_there_once_over_the_right_ranks(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"bucket = 0 : i64, comm = array<i64: 0>, kind = \"all_gather\"",
           "bucket = 0 : i64, comm = array<i64: 1>, kind = \"all_gather\""}},
         "operation 9 (all_gather) on rank 0, b: runs over other axes than "
         "the gradients are summed and the state is split over"},
        {TWO_GROUPS,
         {{"bucket = 1 : i64, comm = array<i64: 0>, kind = \"all_gather\"",
           "bucket = 0 : i64, comm = array<i64: 0>, kind = \"all_gather\""}},
         "operation 15 (all_gather) on rank 0, b: bucket 0 comes a second "
         "time, after operation 9"},
        {TWO_GROUPS,
         {{"array<i64: 0, 1>, kind = \"all_reduce\"",
           "array<i64: 0>, kind = \"all_reduce\""}},
         "operation 5 (all_reduce) on rank 1, a: sums a norm that leaves out "
         "rank 0, as rank 0's leaves out this rank"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

/* Named is who would have needed it, or made what it should have sent. */
static void what_is_missing_is_missed_somewhere(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"bucket = 1 : i64, comm = array<i64: 0>, kind = \"reduce_scatter\"",
           "bucket = 1 : i64, comm = array<i64: 0>, kind = \"decide\""}},
         "operation 4 (square_sum) on rank 0, a: no reduce_scatter before it "
         "sums the gradients of bucket 1"},
        {TWO_GROUPS,
         {{"bucket = 1 : i64, comm = array<i64: 0>, kind = \"all_gather\"",
           "bucket = 1 : i64, comm = array<i64: 0>, kind = \"decide\""}},
         "operation 14 (kernel) on rank 0, a: no all_gather behind it sends on "
         "the parameters of bucket 1"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

static void a_wrong_collective_is_not_called_missing_too(void **state)
{
    static const bad_plan bad = {
        TWO_GROUPS,
        {{"bucket = 0 : i64, comm = array<i64: 0>, kind = \"all_gather\"",
          "bucket = 0 : i64, comm = array<i64: 1>, kind = \"all_gather\""}},
        "operation 9 (all_gather) on rank 0, b: runs over other axes than the "
        "gradients are summed and the state is split over"};
    (void)state;
    assert_int_equal(check_bad_plan(&bad), 1);
}

static void the_decision_comes_first(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"kind = \"decide\", section = \"decide\"",
           "kind = \"decide\", section = \"reduce\""}},
         "operation 6 (decide) on rank 0, b: stands in the wrong section"},
        {TWO_GROUPS,
         {{"kind = \"prologue\", section = \"update\"",
           "kind = \"prologue\", section = \"decide\""}},
         "operation 7 (prologue) on rank 0, b: stands in the wrong section"},
        {SCHEDULES "valid.mlir",
         {{"skip = 0 : i64", "skip = 1 : i64"}},
         "operation 3 (prologue) on rank 0, b: begins the update, and nothing "
         "before it takes the clip-and-skip decision"},
        {TWO_GROUPS,
         {{"clip = 1.000000e+00", "clip = 0.000000e+00"},
          {"skip = 1 : i64", "skip = 0 : i64"}},
         "operation 6 (decide) on rank 0, b: takes a decision that nobody "
         "asked for"},
        {TWO_GROUPS,
         {{"kind = \"prologue\", section = \"update\", stream = 0",
           "kind = \"prologue\", section = \"update\", stream = 3"}},
         "operation 7 (prologue) on rank 0, b: may start before the "
         "clip-and-skip decision"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

static void guard_keep_and_undo_are_there_once(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"clip = 1.000000e+00", "clip = 0.000000e+00"}},
         "operation 7 (prologue) on rank 0, b: begins the update, and nothing "
         "before it guards the gradients"},
        {SCHEDULES "valid.mlir",
         {{"array<i64: 0, 1>, kind = \"guard\"",
           "array<i64: 0>, kind = \"guard\""}},
         "operation 1 (guard) on rank 1, b: guards gradients with an agreement "
         "that leaves out rank 0, as rank 0's leaves out this rank"},
        {SCHEDULES "valid.mlir",
         {{"array<i64: 0, 1>, kind = \"undo\"",
           "array<i64: 0>, kind = \"undo\""}},
         "operation 9 (undo) on rank 1, b: undoes steps by an agreement that "
         "leaves out rank 0, as rank 0's leaves out this rank"},
        {SCHEDULES "valid.mlir",
         {{"kind = \"guard\"", "kind = \"keep\""}},
         "operation 2 (keep) on rank 0, b: keeps what the update writes a "
         "second time, after operation 1"},
        {SCHEDULES "valid.mlir",
         {{"kind = \"guard\"", "kind = \"undo\""}},
         "operation 2 (keep) on rank 0, b: stands behind operation 1, which is "
         "of a later section"},
        {SCHEDULES "valid.mlir",
         {{"kind = \"undo\"", "kind = \"guard\""}},
         "operation 9 (guard) on rank 0, b: stands behind operation 8, which "
         "is of a later section"},
        {SCHEDULES "valid.mlir",
         {{"kind = \"undo\", section = \"recover\"",
           "kind = \"undo\", section = \"update\""}},
         "operation 9 (undo) on rank 0, b: stands in the wrong section"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_are_there_once_over_the_right_ranks),
        cmocka_unit_test(what_is_missing_is_missed_somewhere),
        cmocka_unit_test(a_wrong_collective_is_not_called_missing_too),
        cmocka_unit_test(the_decision_comes_first),
        cmocka_unit_test(guard_keep_and_undo_are_there_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
