/* The machine in the plan view. */
#include "tests/unit/dsl/module.h"

static void the_machine_is_as_it_stands(void **state)
{
    const cz_plan_view *view = sample(*state);
    assert_string_equal(view->machine->name, "m");
    assert_string_equal(view->machine->constants.v[2], "tile_rows");
    assert_int_equal(view->machine->values.v[2], 12);
    assert_int_equal(view->machine->measured.v[2], 1);
    assert_int_equal(view->n_timings, 1);
    assert_int_equal(view->timings[0].time, 77);
    assert_int_equal(view->n_uneven_reduces, 1);
    assert_string_equal(view->uneven_reduces[0].link, "node");
    assert_int_equal(view->uneven_reduces[0].thousandths, 750);
}

static void a_machine_that_cannot_be_is_an_error(void **state)
{
    static const sample_change changes[] = {
        {"\"tile_rows\"", "\"rows\"",
         "machine: constant 2 is tile_rows, not 'rows'"},
        {"values = array<i64: 10,", "values = array<i64: 0,",
         "gpus_per_node is 0, not in [1, "},
        {"values = array<i64: 10,", "values = array<i64: ",
         "machine: a constant, its value or its source is missing"},
        {"measured = array<i64: 0,", "measured = array<i64: 2,",
         "machine: measured is 2, not in [0, 1]"},
        {"array<i64: 4, 6>, batch", "array<i64: 4>, batch", "timing: shape"},
        {"batch = 2", "batch = 0", "timing: batch is 0, not in [1, "},
        {"time = 77", "time = 0", "timing: time is 0, not in [1, "},
        {"link = \"node\"", "link = \"air\"", "uneven_reduce: link is 'air'"},
        {"roots = 3", "roots = 0", "uneven_reduce: roots is 0, not in [1, "},
        {"thousandths = 750", "thousandths = 1001",
         "uneven_reduce: thousandths is 1001, not in [1, 1000]"},
        {"\"canzona.timing\"", "\"canzona.timings\"", "canzona.timings"},
    };
    check_changes(*state, NULL, changes, sizeof changes / sizeof *changes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_machine_is_as_it_stands, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_machine_that_cannot_be_is_an_error,
                                        setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
