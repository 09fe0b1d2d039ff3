/* The machine of a plan: its tables as the source says them, and which entry
 * counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/passes/cost/fixture.h"

static void tables_are_those_of_the_source(void **state)
{
    fixture *f = *state;
    cz_machine machine;
    assert_true(cz_machine_of(&f->arena, f->view, &machine));
    assert_string_equal(machine.name, "bench");
    assert_int_equal(machine.n_times, 1);
    assert_int_equal(machine.times[0].time_ps, 1500000000);
    assert_int_equal(machine.n_unevens, 2);
    assert_int_equal(machine.unevens[0].link, CZ_LINK_NETWORK);
    assert_int_equal(machine.unevens[0].bytes, 400000000);
    assert_int_equal(machine.unevens[0].roots, 32);
    assert_int_equal(machine.unevens[0].thousandths, 850);
    assert_true(machine.unevens[0].is_measured);
    assert_int_equal(machine.unevens[1].link, CZ_LINK_NODE);
    assert_false(machine.unevens[1].is_measured);
}

static void expect(const cz_machine *machine, cz_link link, int64_t bytes,
                   int64_t roots, int64_t e)
{
    assert_int_equal(cz_machine_uneven_speed(machine, link, bytes, roots), e);
}

static void what_nobody_measured_is_assumed(void **unused)
{
    static const cz_machine_uneven assumed[] = {
        {CZ_LINK_NODE, 100, 8, 700, false}};
    cz_machine machine = {0};
    (void)unused;
    expect(&machine, CZ_LINK_NODE, 1, 1, 1000);
    machine.n_unevens = 1;
    machine.unevens = assumed;
    expect(&machine, CZ_LINK_NODE, 1, 1, 700);
    expect(&machine, CZ_LINK_NETWORK, 1, 1, 1000);
}

static void the_nearest_measured_entry_counts(void **unused)
{
    static const cz_machine_uneven entries[] = {
        {CZ_LINK_NODE, 100, 8, 700, false},
        {CZ_LINK_NODE, 1000, 4, 640, true},
        {CZ_LINK_NODE, 10, 4, 610, true},
        {CZ_LINK_NODE, 10, 32, 500, true},
        {CZ_LINK_NETWORK, 10, 4, 900, true},
        {CZ_LINK_NETWORK, 10, 4, 950, true}};
    const cz_machine machine = {.n_unevens = sizeof entries / sizeof *entries,
                                .unevens = entries};
    (void)unused;
    expect(&machine, CZ_LINK_NODE, 100, 8, 610);
    expect(&machine, CZ_LINK_NODE, 1000, 31, 640);
    expect(&machine, CZ_LINK_NODE, 5000, 32, 500);
    expect(&machine, CZ_LINK_NODE, 1, 1, 610);
    expect(&machine, CZ_LINK_NETWORK, 100, 8, 900);
}

/* Twelve ranks, axes of 2, 3 and 2, nodes of four or six. */
static void links_are_those_of_blocks(void **unused)
{
    const cz_axes axes = {3, (const int64_t[]){2, 3, 2}};
    static const struct {
        int node;
        int64_t set;
        cz_block block;
        cz_link link;
    } rows[] = {
        {4, 7, {0, 0}, CZ_LINK_NETWORK}, {4, 7, {4, 1}, CZ_LINK_NODE},
        {4, 7, {2, 2}, CZ_LINK_NODE},    {4, 7, {2, 6}, CZ_LINK_NETWORK},
        {4, 7, {6, 1}, CZ_LINK_NETWORK}, {6, 7, {4, 1}, CZ_LINK_NETWORK},
        {6, 6, {3, 1}, CZ_LINK_NODE},    {6, 6, {3, 2}, CZ_LINK_NODE},
        {6, 2, {3, 1}, CZ_LINK_NODE},    {4, 2, {3, 1}, CZ_LINK_NETWORK},
        {6, 1, {2, 1}, CZ_LINK_NETWORK}, {12, 1, {2, 1}, CZ_LINK_NODE},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const cz_machine machine = {.gpus_per_node = rows[i].node};
        assert_int_equal(
            cz_machine_link_over(&machine, axes, rows[i].set, rows[i].block),
            rows[i].link);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_those_of_the_source),
        cmocka_unit_test(what_nobody_measured_is_assumed),
        cmocka_unit_test(the_nearest_measured_entry_counts),
        cmocka_unit_test(links_are_those_of_blocks),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
