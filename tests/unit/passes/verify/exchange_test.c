/* V2 of equal buckets: two ranks, slices of 96 and 32 elements, parts of 64.
 * Elements [64, 96) of `a` are of the second part and the first slice. */
#include "tests/unit/passes/verify/bad_plan.h"

#define PARTS CANZONA_SOURCE_DIR "/tests/unit/passes/verify/equal_parts.mlir"
#define RECEIVE_OF_0 "1, 1, 64, 32, 0, 0, 64, 32, "
#define SEND_OF_0 "array<i64: 0, 1, 64, 32, 1, 0, 64, 32>"

static void what_is_exchanged_holds(void **state)
{
    static const bad_plan good = {PARTS, {{NULL}}, ""};
    (void)state;
    check_bad_plan(&good);
}

static void rows_go_where_elements_belong(void **state)
{
    static const bad_plan bad[] = {
        {PARTS,
         {{RECEIVE_OF_0, "1, 1, 64, 32, 0, 1, 64, 32, "}},
         "operation 0 (reduce_scatter) on rank 0, a: receives elements [64, "
         "96) that rank 1 never sends"},
        {PARTS,
         {{RECEIVE_OF_0, "1, 1, 60, 32, 0, 0, 64, 32, "}},
         "operation 0 (reduce_scatter) on rank 0, a: moves elements [60, 92) "
         "of bucket 0 from rank 1, which does not have them all"},
        {PARTS,
         {{RECEIVE_OF_0, "1, 1, 64, 16, 0, 0, 64, 32, "}},
         "operation 0 (reduce_scatter) on rank 0, a: moves elements [64, 80) "
         "of bucket 0, where rank 1 moves [64, 96)"},
        {PARTS,
         {{SEND_OF_0, "array<i64: 0, 1, 64, 40, 1, 0, 64, 32>"}},
         "operation 5 (all_gather) on rank 0, a: moves elements [64, 104) of "
         "bucket 0 from rank 0, which does not have them all"},
        {PARTS,
         {{SEND_OF_0, "array<i64: 1, 1, 64, 32, 1, 0, 64, 32>"}},
         "operation 5 (all_gather) on rank 0, a: moves elements [64, 96) of "
         "bucket 0 from rank 1, which does not have them all"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

static void each_element_arrives_once(void **state)
{
    static const bad_plan bad[] = {
        {PARTS,
         {{RECEIVE_OF_0, "0, 0, 64, 32, "},
          {"array<i64: 0, 3, 6>, sym_name = \"table1\"",
           "array<i64: 0, 2, 5>, sym_name = \"table1\""}},
         "operation 0 (reduce_scatter) on rank 0, a: element 64 of bucket 0, "
         "and on up to 96, does not arrive there once"},
        {PARTS,
         {{RECEIVE_OF_0, "1, 1, 64, 32, " RECEIVE_OF_0},
          {"array<i64: 0, 3, 6>, sym_name = \"table1\"",
           "array<i64: 0, 4, 7>, sym_name = \"table1\""}},
         "operation 0 (reduce_scatter) on rank 0, a: receives elements [64, "
         "96) that rank 1 never sends"},
        {PARTS,
         {{SEND_OF_0, "array<i64>"},
          {"array<i64: 0, 1, 2>", "array<i64: 0, 0, 0>"}},
         "operation 5 (all_gather) on rank 1, a: element 64 of bucket 0, and "
         "on up to 96, does not arrive there once"},
        {PARTS,
         {{"table = @table2", "table = \"\""}},
         "operation 5 (all_gather) on rank 0, a: has no table of what travels "
         "between equal parts and slices"},
        {PARTS,
         {{"geometry = \"equal\", length", "geometry = \"uneven\", length"}},
         "operation 0 (reduce_scatter) on rank 0, a: has a table of equal "
         "parts, which its bucket has not"},
    };
    (void)state;
    CHECK_BAD_PLANS(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_exchanged_holds),
        cmocka_unit_test(rows_go_where_elements_belong),
        cmocka_unit_test(each_element_arrives_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
