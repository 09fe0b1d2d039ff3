/* V6: stages that would read other values than they mean. */
#include "tests/unit/passes/verify/bad_plan.h"

/* Of the first member alone, to or from one peer. */
#define MEMBER_0 ", 0, 1, 1, 1, 1, 0"
#define MEMBER_1 ", 1, 1, 1, 1, 1, 0"
#define AFTER_ROW(offset, count) "2, 0, " offset ", " count ", -1, 0, -1, -1"

static void scratch_holds_what_is_read(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"rows = array<i64: 0, 0, 0, 0, 1, 32, 32, 1" MEMBER_0
           ", 0, 1, 0, 192",
           "rows = array<i64: 0, 0, 0, 64, 1, 32, 32, 1" MEMBER_0
           ", 0, 1, 0, 192"}},
         "operation 11 (transfer) on rank 0, a: sends scratch byte 64, where "
         "no value of it lies"},
        /* both shards come, in each other's place */
        {TWO_GROUPS,
         {{"0, 1, 0, 192, 1, 32, 32, 1" MEMBER_0 ", 0, 1, 1, 224",
           "0, 1, 1, 192, 1, 32, 32, 1" MEMBER_0 ", 0, 1, 0, 224"}},
         "operation 12 (kernel) on rank 0, a: reads scratch byte 192, where "
         "its gathered shards are not, or not all"},
        {TWO_GROUPS,
         {{"2, 0, 0, 8, -1, 0, -1, -1", "2, 0, 0, 8, -1, 64, -1, -1"},
          {"bytes = array<i64: 320, 64,", "bytes = array<i64: 320, 128,"}},
         "operation 14 (kernel) on rank 0, a: reads scratch byte 64, where its "
         "scattered results are not, or not all"},
        /* its half of the matrix never comes */
        {TWO_GROUPS,
         {{"0, 1, 1, 224, 1, 32, 32, 1", "0, 1, 1, 224, 1, 32, 32, 0"},
          {"0, 0, 0, 0, 1, 32, 32, 1" MEMBER_1 ">, selector",
           "0, 0, 0, 0, 1, 32, 32, 0" MEMBER_1 ">, selector"}},
         "operation 11 (transfer) on rank 1, a: sends scratch byte 0 in other "
         "phases of its rule than those that read it"},
        /* each half would read the first half's results */
        {TWO_GROUPS,
         {{AFTER_ROW("0", "8") ">, selector = array<i64: 0>, starts = "
                               "array<i64: 0, 1, 1>",
           AFTER_ROW("0", "4") ", " AFTER_ROW(
               "4", "4") ">, selector = array<i64: 0>, starts = array<i64: 0, "
                         "2, 2>"}},
         "operation 14 (kernel) on rank 0, a: works on 4 of the shard's 8 "
         "elements, which scratch holds as one"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

static void owners_compute_and_publish_in_time(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"shard_owner = array<i64: 0>", "shard_owner = array<i64: 1>"}},
         "operation 12 (kernel) on rank 0, a: is computed here, where it is "
         "not owned"},
        {TWO_GROUPS,
         {{"bucket = 0 : i64, comm = array<i64: 0>, kind = \"all_gather\"",
           "bucket = 1 : i64, comm = array<i64: 0>, kind = \"all_gather\""},
          {"bucket = 1 : i64, comm = array<i64: 0>, kind = \"all_gather\", "
           "section = \"update\", stream = 1 : i64, table = \"\", waits = "
           "array<i64: 14>",
           "bucket = 0 : i64, comm = array<i64: 0>, kind = \"all_gather\", "
           "section = \"update\", stream = 1 : i64, table = \"\", waits = "
           "array<i64: 14>"}},
         "operation 14 (kernel) on rank 0, a: writes what operation 9 still "
         "reads, and no stream or wait orders the two"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scratch_holds_what_is_read),
        cmocka_unit_test(owners_compute_and_publish_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
