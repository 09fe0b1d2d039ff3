/* Necessary bytes by hand. */
#include "passes/cost/wire_bound.h"

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
        f->view->families[bounds[CZ_LINK_NETWORK].family].fact->pattern,
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
    assert_int_equal(bounds[CZ_LINK_NETWORK].family, -1);
    assert_int_equal(bounds[CZ_LINK_NODE].bytes, 2 * (1024 + 16) * 6 * 3);
    machine.gpus_per_node = 1;
    cz_wire_bounds_find(f->view, &machine, bounds);
    assert_int_equal(bounds[CZ_LINK_NETWORK].bytes, bounds[CZ_LINK_NODE].bytes);
}

/* Eight ranks: four along dp, of which tp is inside. */
static void links_are_those_of_blocks(void **state)
{
    fixture *f = *state;
    static const int64_t axes[] = {0, 1};
    const cz_ints dp = {axes, 1}, tp = {axes + 1, 1}, both = {axes, 2};
    cz_machine machine = {.gpus_per_node = 4};
    assert_int_equal(
        cz_machine_link_over(&machine, f->view, &dp, (cz_block){0, 0}),
        CZ_LINK_NETWORK);
    assert_int_equal(
        cz_machine_link_over(&machine, f->view, &dp, (cz_block){2, 1}),
        CZ_LINK_NODE);
    assert_int_equal(
        cz_machine_link_over(&machine, f->view, &tp, (cz_block){0, 0}),
        CZ_LINK_NODE);
    assert_int_equal(
        cz_machine_link_over(&machine, f->view, &both, (cz_block){2, 2}),
        CZ_LINK_NODE);
    machine.gpus_per_node = 3;
    assert_int_equal(
        cz_machine_link_over(&machine, f->view, &both, (cz_block){2, 1}),
        CZ_LINK_NETWORK);
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
        cmocka_unit_test(links_are_those_of_blocks),
    };
    return cmocka_run_group_tests(tests, open_wire, fixture_close);
}
