/* V3, and the ordering half of V9. */
#include "tests/unit/passes/verify/bad_plan.h"

static void collectives_are_there_once_over_the_right_ranks(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"bucket = 0 : i64, comm = array<i64: 0>, kind = \"all_gather\"",
           "bucket = 0 : i64, comm = array<i64: 1>, kind = \"all_gather\""}},
         "operation 8 (all_gather) on every rank, b: runs over other axes than "
         "the gradients are summed and the state is split over"},
        {TWO_GROUPS,
         {{"bucket = 1 : i64, comm = array<i64: 0>, kind = \"all_gather\"",
           "bucket = 0 : i64, comm = array<i64: 0>, kind = \"all_gather\""}},
         "operation 14 (all_gather) on every rank, b: bucket 0 comes a second "
         "time"},
        {TWO_GROUPS,
         {{"array<i64: 0, 1>, kind = \"all_reduce\"",
           "array<i64: 0>, kind = \"all_reduce\""}},
         "operation 4 (all_reduce) on every rank, every tensor: leaves ranks "
         "out of the norm"},
        {TWO_GROUPS,
         {{"starts = array<i64: 0, 3, 4, 4, 4>, sym_name = \"table4\"",
           "starts = array<i64: 0, 4, 4, 4, 4>, sym_name = \"table4\""}},
         "operation 10 (transfer) on rank 1, a: is empty here or on rank 0, "
         "but not on both"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

static void the_decision_comes_first(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"kind = \"decide\", section = \"decide\"",
           "kind = \"decide\", section = \"reduce\""}},
         "operation 5 (decide) on every rank, every tensor: stands behind the "
         "section after its own"},
        {TWO_GROUPS,
         {{"kind = \"prologue\", section = \"update\"",
           "kind = \"prologue\", section = \"decide\""}},
         "operation 6 (prologue) on every rank, every tensor: stands in the "
         "wrong section"},
        {SCHEDULES "valid.mlir",
         {{"skip = 0 : i64", "skip = 1 : i64"}},
         "plan on every rank, every tensor: nothing takes the clip-and-skip "
         "decision"},
        {TWO_GROUPS,
         {{"clip = 1.000000e+00", "clip = 0.000000e+00"},
          {"skip = 1 : i64", "skip = 0 : i64"}},
         "plan on every rank, every tensor: a decision that nobody asked for"},
        {TWO_GROUPS,
         {{"kind = \"prologue\", section = \"update\", stream = 0",
           "kind = \"prologue\", section = \"update\", stream = 3"}},
         "operation 6 (prologue) on rank 0, every tensor: may start before the "
         "clip-and-skip decision"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_are_there_once_over_the_right_ranks),
        cmocka_unit_test(the_decision_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
