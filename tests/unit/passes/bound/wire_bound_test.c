/* Necessary bytes by hand. */
#include "passes/cost/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "passes/cost/time.h"
#include "tests/unit/passes/cost/fixture.h"

/* Each of the two groups of dp has 1024 elements of the matrix and 16 of the
 * vector: f32 sums and bf16 parameters, 6 bytes an element, three times in
 * all, of which once between its two nodes. */
static void sums_and_parameters_travel(void **state)
{
    fixture *f = *state;
    cz_wire_bound bounds[CZ_N_LINKS];
    cz_machine machine;
    assert_true(cz_machine_of(&f->arena, f->view, &machine));
    cz_wire_bounds_find(f->view, &machine, bounds);
    assert_int_equal(bounds[CZ_LINK_NODE].bytes, 2 * (1024 + 16) * 6 * 3);
    assert_int_equal(bounds[CZ_LINK_NETWORK].bytes, 2 * (1024 + 16) * 6);
    assert_int_equal(bounds[CZ_LINK_NETWORK].rank_ps,
                     cz_time_of(2 * (1024 + 16) * 6 / 8, 40000000000));
    assert_string_equal(
        f->view->patterns[bounds[CZ_LINK_NETWORK].pattern].fact->name,
        "big.weight");
}

/* One node of eight: nothing has to leave it. */
static void inside_a_node_the_network_is_not_needed(void **state)
{
    fixture *f = *state;
    cz_wire_bound bounds[CZ_N_LINKS];
    cz_machine machine;
    assert_true(cz_machine_of(&f->arena, f->view, &machine));
    machine.gpus_per_node = 8;
    cz_wire_bounds_find(f->view, &machine, bounds);
    assert_int_equal(bounds[CZ_LINK_NETWORK].bytes, 0);
    assert_int_equal(bounds[CZ_LINK_NETWORK].pattern, -1);
    assert_int_equal(bounds[CZ_LINK_NODE].bytes, 2 * (1024 + 16) * 6 * 3);
    machine.gpus_per_node = 1;
    cz_wire_bounds_find(f->view, &machine, bounds);
    assert_int_equal(bounds[CZ_LINK_NETWORK].bytes, bounds[CZ_LINK_NODE].bytes);
}

static int open_wire(void **state)
{
    return fixture_open_file(state, CANZONA_SOURCE_DIR
                             "/tests/unit/passes/cost/wire.cz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_parameters_travel),
        cmocka_unit_test(inside_a_node_the_network_is_not_needed),
    };
    return cmocka_run_group_tests(tests, open_wire, fixture_close);
}
