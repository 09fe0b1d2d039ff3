/* Times of whole stages: the published figures, and what holds of any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "passes/cost/time.h"
#include "tests/unit/passes/cost/fixture.h"

static cz_stage_cost cost(fixture *f, const cz_machine *machine,
                          const char *pattern, int64_t batch,
                          int64_t subgroup_size, cz_cut_of cut)
{
    cz_stage_cost out;
    const cz_stage_call call = {fixture_stage(f, pattern), batch, subgroup_size,
                                cut, CZ_LINK_NODE};
    assert_non_null(call.stage);
    assert_true(cz_cost_stage_mean(&f->arena, f->view, machine, &call, &out));
    return out;
}

static double microseconds(int64_t ps)
{
    return (double)ps / 1e6;
}

/* Within so many per cent. */
static void assert_near(double have, double want, double percent)
{
    if (have < want * (1 - percent / 100) || have > want * (1 + percent / 100))
        fail_msg("%.1f is not within %.1f %% of %.1f", have, percent, want);
}

/* Newton-Schulz in microseconds per matrix, as published for a model of its
 * products alone; ours has two kernels more, for the norm, which here read and
 * write for nothing. */
static void batches_take_what_is_published(void **state)
{
    static const struct {
        const char *pattern;
        int64_t batch;
        double us;
    } rows[] = {
        {"expert.a.weight", 1, 299},   {"expert.a.weight", 16, 58},
        {"expert.a.weight", 64, 47},   {"expert.b.weight", 1, 401},
        {"expert.b.weight", 16, 215},  {"expert.b.weight", 64, 206},
        {"expert.c.weight", 1, 2104},  {"expert.c.weight", 16, 1648},
        {"expert.c.weight", 64, 1642}, {"fc1.weight", 1, 47000},
        {"fc1.weight", 64, 43400},
    };
    cz_machine machine = fixture_machine();
    machine.memory_rate = INT64_MAX;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const cz_stage_cost c = cost(*state, &machine, rows[i].pattern,
                                     rows[i].batch, 1, CZ_CUT_NONE);
        print_message("%-16s x %-3d %8.1f us, published %8.1f\n",
                      rows[i].pattern, (int)rows[i].batch,
                      microseconds(c.time_ps) / (double)rows[i].batch,
                      rows[i].us);
        assert_near(microseconds(c.time_ps) / (double)rows[i].batch, rows[i].us,
                    4);
    }
}

/* The long dimension of the matrix, as the stage sees it. */
static cz_cut_of long_side(fixture *f, const char *pattern)
{
    const cz_ints *shape =
        &f->view->rules[fixture_stage(f, pattern)->rule].fact->shape;
    return shape->v[0] > shape->v[1] ? CZ_CUT_ROWS : CZ_CUT_COLUMNS;
}

/* The update of one matrix by a group, in milliseconds: published with the
 * element-wise parts, 25 bytes an element at memory speed, and with a flat
 * 600 TF where ours has waves: the 800 tiles of a Gram matrix are 6.06, so 7.
 */
static void groups_take_what_is_published(void **state)
{
    static const struct {
        const char *pattern;
        int64_t elements;
        double ms[4];
    } rows[] = {
        {"fc1.weight", 51200 * 5120, {49.5, 26.7, 15.2, 9.5}},
        {"fc2.weight", 25600 * 5120, {25.9, 14.9, 9.3, 6.5}},
        {"qkv.weight", 10240 * 5120, {11.7, 7.8, 5.8, 4.8}},
        {"o.weight", 8192 * 5120, {9.8, 6.9, 5.3, 4.5}},
    };
    cz_machine machine = fixture_machine();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 4; k++) {
            const int64_t subgroup_size = 1 << k;
            machine.memory_rate = INT64_MAX;
            const cz_stage_cost c =
                cost(*state, &machine, rows[i].pattern, 1, subgroup_size,
                     long_side(*state, rows[i].pattern));
            const int64_t maps = cz_time_of(
                25 * rows[i].elements / subgroup_size, 2600000000000);
            const double ms = (double)(c.time_ps + maps) / 1e9;
            print_message("%-10s g %d %6.2f ms, published %5.1f\n",
                          rows[i].pattern, (int)subgroup_size, ms,
                          rows[i].ms[k]);
            assert_near(ms, rows[i].ms[k], 10);
        }
}

/* X X' of a matrix that is cut by rows needs the other rows. */
static void rows_of_a_wide_matrix_cannot_be_shared_out(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    const cz_stage_call call = {fixture_stage(f, "fc2.weight"), 1, 2,
                                CZ_CUT_ROWS, CZ_LINK_NODE};
    cz_stage_cost out;
    assert_false(cz_cost_stage(&f->arena, f->view, &machine, &call, &out));
}

static void symmetric_products_save_up_to_a_third(void **state)
{
    cz_machine machine = fixture_machine();
    machine.tile_rows = machine.tile_columns = 128;
    const cz_stage_cost full =
        cost(*state, &machine, "fc2.weight", 1, 1, CZ_CUT_NONE);
    machine.symmetric = true;
    const cz_stage_cost half =
        cost(*state, &machine, "fc2.weight", 1, 1, CZ_CUT_NONE);
    /* 5 (4 k k l + 2 k k k) against 5 (3 k k l + k k k) */
    assert_near((double)half.flops / (double)full.flops, 16. / 22, 0.1);
    assert_near((double)half.time_ps / (double)full.time_ps, 16. / 22, 4);
}

/* Nine updates of ten do without the two products of the tenth. */
static void rare_steps_cost_their_share(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    const cz_view_stage *stage = fixture_stage(f, "rare.weight");
    cz_stage_call call = {stage, 1, 1, CZ_CUT_NONE, CZ_LINK_NODE};
    cz_stage_cost often, rare, mean;
    assert_int_equal(stage->n_variants, 2);
    call.stage = &stage->variants[0];
    assert_true(cz_cost_stage(&f->arena, f->view, &machine, &call, &often));
    call.stage = &stage->variants[1];
    assert_true(cz_cost_stage(&f->arena, f->view, &machine, &call, &rare));
    call.stage = stage;
    assert_true(cz_cost_stage_mean(&f->arena, f->view, &machine, &call, &mean));
    assert_true(rare.flops > often.flops);
    assert_int_equal(mean.flops, (9 * often.flops + rare.flops + 9) / 10);
    assert_int_equal(mean.time_ps, (9 * often.time_ps + rare.time_ps + 9) / 10);
}

static void a_measured_time_wins_where_it_was_measured(void **state)
{
    const cz_machine_time measured = {"muon", 5120, 25600, 2, 1, 12345};
    cz_machine machine = fixture_machine();
    const cz_stage_cost modelled =
        cost(*state, &machine, "fc2.weight", 1, 1, CZ_CUT_NONE);
    machine.n_times = 1;
    machine.times = &measured;
    const cz_stage_cost two =
        cost(*state, &machine, "fc2.weight", 2, 1, CZ_CUT_NONE);
    const cz_stage_cost one =
        cost(*state, &machine, "fc2.weight", 1, 1, CZ_CUT_NONE);
    assert_true(two.is_measured);
    assert_int_equal(two.time_ps, 12345);
    assert_false(one.is_measured);
    assert_int_equal(one.time_ps, modelled.time_ps);
}

/* More matrices never take less, two batches at once never more than one
 * after the other, and a group never computes less than there is to do. */
static void batches_and_groups_are_reasonable(void **state)
{
    static const char *const patterns[] = {"expert.a.weight", "expert.b.weight",
                                           "qkv.weight", "o.weight"};
    const cz_machine machine = fixture_machine();
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const cz_cut_of cut = long_side(*state, patterns[i]);
        int64_t time[33] = {0};
        for (int b = 1; b <= 32; b++)
            time[b] = cost(*state, &machine, patterns[i], b, 1, cut).time_ps;
        for (int b = 2; b <= 32; b++) {
            assert_true(time[b] >= time[b - 1]);
            for (int a = 1; a < b; a++)
                assert_true(time[b] <= time[a] + time[b - a]);
        }
        const int64_t alone =
            cost(*state, &machine, patterns[i], 1, 1, cut).flops;
        for (int64_t g = 2; g <= 64; g *= 2) {
            const cz_stage_cost c =
                cost(*state, &machine, patterns[i], 1, g, cut);
            assert_true(c.flops * g >= alone);
            assert_true(c.wire_ps > 0 && c.wire_ps < c.time_ps);
            assert_true(c.wire_bytes > 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_take_what_is_published),
        cmocka_unit_test(groups_take_what_is_published),
        cmocka_unit_test(rows_of_a_wide_matrix_cannot_be_shared_out),
        cmocka_unit_test(symmetric_products_save_up_to_a_third),
        cmocka_unit_test(rare_steps_cost_their_share),
        cmocka_unit_test(a_measured_time_wins_where_it_was_measured),
        cmocka_unit_test(batches_and_groups_are_reasonable),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
