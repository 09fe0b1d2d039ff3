/* V3, and the ordering half of V9. */
#include "tests/unit/passes/verify/bad_plan.h"

static void collectives_are_there_once_over_the_right_ranks(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"bucket = 0 : i64, comm = array<i64: 0>, kind = \"all_gather\"",
           "bucket = 0 : i64, comm = array<i64: 1>, kind = \"all_gather\""}},
         "operation 8 (all_gather) on rank 0, b: runs over other axes than "
         "the gradients are summed and the state is split over"},
        {TWO_GROUPS,
         {{"bucket = 1 : i64, comm = array<i64: 0>, kind = \"all_gather\"",
           "bucket = 0 : i64, comm = array<i64: 0>, kind = \"all_gather\""}},
         "operation 14 (all_gather) on rank 0, b: bucket 0 comes a second "
         "time, after operation 8"},
        {TWO_GROUPS,
         {{"array<i64: 0, 1>, kind = \"all_reduce\"",
           "array<i64: 0>, kind = \"all_reduce\""}},
         "operation 4 (all_reduce) on rank 1, a: sums a norm that leaves out "
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
         "operation 3 (square_sum) on rank 0, a: no reduce_scatter before it "
         "sums the gradients of bucket 1"},
        {TWO_GROUPS,
         {{"bucket = 1 : i64, comm = array<i64: 0>, kind = \"all_gather\"",
           "bucket = 1 : i64, comm = array<i64: 0>, kind = \"decide\""}},
         "operation 13 (kernel) on rank 0, a: no all_gather behind it sends on "
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
        "operation 8 (all_gather) on rank 0, b: runs over other axes than the "
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
         "operation 5 (decide) on rank 0, b: stands behind operation 4, which "
         "is of a later section"},
        {TWO_GROUPS,
         {{"kind = \"prologue\", section = \"update\"",
           "kind = \"prologue\", section = \"decide\""}},
         "operation 6 (prologue) on rank 0, b: stands in the wrong section"},
        {SCHEDULES "valid.mlir",
         {{"skip = 0 : i64", "skip = 1 : i64"}},
         "operation 1 (prologue) on rank 0, b: begins the update, and nothing "
         "before it takes the clip-and-skip decision"},
        {TWO_GROUPS,
         {{"clip = 1.000000e+00", "clip = 0.000000e+00"},
          {"skip = 1 : i64", "skip = 0 : i64"}},
         "operation 5 (decide) on rank 0, b: takes a decision that nobody "
         "asked for"},
        {TWO_GROUPS,
         {{"kind = \"prologue\", section = \"update\", stream = 0",
           "kind = \"prologue\", section = \"update\", stream = 3"}},
         "operation 6 (prologue) on rank 0, b: may start before the "
         "clip-and-skip decision"},
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
