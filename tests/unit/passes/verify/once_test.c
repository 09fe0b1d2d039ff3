/* V1, and the counting half of V9. */
#include "tests/unit/passes/verify/bad_plan.h"

#define VECTOR_ROWS "rows = array<i64: 3, 1, 0, 4, -1, -1, -1, -1>"
#define AFTER "2, 0, 0, 8, -1, 0, -1, -1"
#define SPANS                                                                  \
    "rows = array<i64: 1, 0, 4>, selector = array<i64: 0, 1>, starts = "       \
    "array<i64: 0, 1, 1, 1, 1>"

static void every_element_is_updated_once(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{"3, 1, 0, 4, -1", "3, 1, 0, 3, -1"}},
         "operation 8 (kernel) on rank 0, b: elements [3, 4) are never "
         "updated"},
        {TWO_GROUPS,
         {{"3, 1, 0, 4, -1", "3, 1, 1, 3, -1"}},
         "operation 8 (kernel) on rank 0, b: elements [0, 1) are never "
         "updated"},
        {TWO_GROUPS,
         {{AFTER ">, selector = array<i64: 0>, starts = array<i64: 0, 1, 1>",
           AFTER ", " AFTER
                 ">, selector = array<i64: 0>, starts = array<i64: 0, 2, 2>"}},
         "operation 14 (kernel) on rank 0, a: elements [0, 8) are updated "
         "twice"},
        {TWO_GROUPS,
         {{VECTOR_ROWS ", selector = array<i64: 0>, starts = array<i64: 0, 1, "
                       "1>",
           "rows = array<i64>, selector = array<i64: 0>, starts = array<i64: "
           "0, 0, 0>"}},
         "operation 9 (all_gather) on rank 0, b: is the last that touches it, "
         "and 2 of 2 (itself, its stored copy, its states) were never "
         "updated"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

static void the_norm_counts_every_element_once(void **state)
{
    static const bad_plan bad[] = {
        {TWO_GROUPS,
         {{SPANS, "rows = array<i64: 1, 0, 4, 1, 0, 4>, selector = array<i64: "
                  "0, 1>, starts = array<i64: 0, 1, 2, 2, 2>"}},
         "operation 3 (square_sum) on rank 1, b: elements [0, 4) are counted "
         "in the norm twice"},
        {TWO_GROUPS,
         {{"rows = array<i64: 1, 0, 4>", "rows = array<i64: 1, 0, 3>"}},
         "operation 3 (square_sum) on rank 0, b: elements [3, 4) are never "
         "counted in the norm"},
        {TWO_GROUPS,
         {{SPANS, "rows = array<i64>, selector = array<i64: 0, 1>, starts = "
                  "array<i64: 0, 0, 0, 0, 0>"}},
         "operation 3 (square_sum) on rank 0, b: the norm never counts this "
         "shard"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_is_updated_once),
        cmocka_unit_test(the_norm_counts_every_element_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
