/* Buckets resident on some stages: `a` on the first of three, `b` on the last,
 * `c` on both; two ranks of data parallelism, the first of which owns all. */
#include "tests/unit/passes/verify/bad_plan.h"

#define STAGES CANZONA_SOURCE_DIR "/tests/unit/passes/verify/three_stages.mlir"

static void stages_that_skip_what_they_have_not_are_accepted(void **state)
{
    static const bad_plan good = {STAGES, {{NULL}}, ""};
    (void)state;
    check_bad_plan(&good);
}

static void nothing_is_done_where_a_parameter_is_not_at_home(void **state)
{
    static const bad_plan bad[] = {
        {STAGES, /* a is on the second stage */
         {{"residents = array<i64: 0>,", "residents = array<i64: 1>,"}},
         "operation 6 (square_sum) on rank 0, a: the parameter is not resident "
         "on this rank"},
        {STAGES, /* the first stage updates b as well */
         {{"rows = array<i64: 1, 1, 0, 4, -1, -1, -1, -1>, selector = "
           "array<i64: 0, 1>, starts = array<i64: 0, 0, 0, 0, 0, 1, 1>",
           "rows = array<i64: 1, 1, 0, 4, -1, -1, -1, -1, 1, 1, 0, 4, -1, -1, "
           "-1, -1>, selector = array<i64: 0, 1>, starts = array<i64: 0, 1, 1, "
           "1, 1, 2, 2>"}},
         "operation 12 (kernel) on rank 0, b: the parameter is not resident on "
         "this rank"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

static void every_home_updates_its_copy(void **state)
{
    static const bad_plan bad[] = {
        {STAGES, /* the last stage does not update c */
         {{"2, 2, 0, 8, -1, -1, -1, -1, 2, 2, 0, 8, -1, -1, -1, -1>, selector "
           "= array<i64: 0, 1>, starts = array<i64: 0, 1, 1, 1, 1, 2, 2>",
           "2, 2, 0, 8, -1, -1, -1, -1>, selector = array<i64: 0, 1>, starts = "
           "array<i64: 0, 1, 1, 1, 1, 1, 1>"}},
         "operation 11 (all_gather) on rank 4, c: is the last that touches it, "
         "and 1 of 1 (itself, its stored copy, its states) were never updated"},
        {STAGES, /* c is on all stages, and the second knows nothing of it */
         {{"residents = array<i64: 0, 2>,",
           "residents = array<i64: 0, 1, 2>,"}},
         "operation 11 (all_gather) on rank 2, c: is the last that touches it, "
         "and 1 of 1 (itself, its stored copy, its states) were never updated"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

static void the_norm_counts_one_copy(void **state)
{
    static const bad_plan bad[] = {
        {STAGES,
         {{"rows = array<i64: 2, 0, 8>, selector = array<i64: 0, 1>, starts = "
           "array<i64: 0, 1, 1, 1, 1, 1, 1>",
           "rows = array<i64: 2, 0, 8, 2, 0, 8>, selector = array<i64: 0, 1>, "
           "starts = array<i64: 0, 1, 1, 1, 1, 2, 2>"}},
         "operation 4 (square_sum) on rank 4, c: elements [0, 8) are counted "
         "in the norm twice"},
        {STAGES,
         {{"rows = array<i64: 1, 0, 4>, selector = array<i64: 0, 1>, starts = "
           "array<i64: 0, 0, 0, 0, 0, 1, 1>",
           "rows = array<i64>, selector = array<i64: 0, 1>, starts = "
           "array<i64: 0, 0, 0, 0, 0, 0, 0>"}},
         "operation 5 (square_sum) on rank 4, b: the norm never counts this "
         "shard"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

/* A member that has no part in it would never come. */
static void members_of_a_collective_have_the_bucket(void **state)
{
    static const bad_plan bad[] = {
        {STAGES,
         {{"bucket = 1 : i64, comm = array<i64: 1>, kind = \"reduce_scatter\"",
           "bucket = 1 : i64, comm = array<i64: 0, 1>, kind = "
           "\"reduce_scatter\""}},
         "operation 1 (reduce_scatter) on rank 4, b: runs over an axis of the "
         "bucket's home: some of its members have no part in it"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_that_skip_what_they_have_not_are_accepted),
        cmocka_unit_test(nothing_is_done_where_a_parameter_is_not_at_home),
        cmocka_unit_test(every_home_updates_its_copy),
        cmocka_unit_test(the_norm_counts_one_copy),
        cmocka_unit_test(members_of_a_collective_have_the_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
