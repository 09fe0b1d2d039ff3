/* Ways of stages: bytes are those of the algebra, and what cannot be shared has
 * an owner. */
#include "passes/cost/candidates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "passes/cost/step.h"
#include "passes/cost/time.h"
#include "tests/unit/passes/cost/fixture.h"

enum { WIDTH = 8 };

static const cz_ints *shape_of(const fixture *f, const cz_view_stage *stage)
{
    return &f->view->rules[stage->rule].fact->shape;
}

static cz_candidates_call call_of(const fixture *f, const char *pattern)
{
    const cz_view_stage *stage = fixture_stage(f, pattern);
    const cz_ints *shape = shape_of(f, stage);
    return (cz_candidates_call){
        .stage = stage,
        .sharded = shape->v[0] > shape->v[1] ? CZ_CUT_ROWS : CZ_CUT_COLUMNS,
        .width = WIDTH,
        .n_near = WIDTH,
        .max_g = WIDTH};
}

static const cz_subgroup_candidate *
find(const cz_subgroup_candidate *candidates, int n, cz_subgroup_form form,
     int g)
{
    for (int w = 0; w < n; w++)
        if (candidates[w].g == g && candidates[w].form == form)
            return &candidates[w];
    return NULL;
}

static void assert_close(int64_t have, int64_t want, int64_t thousandths)
{
    const int64_t off = have > want ? have - want : want - have;
    if (off * 1000 > want * thousandths)
        fail_msg("%lld is not close to %lld", (long long)have, (long long)want);
}

static int64_t exchanged_ps(const cz_subgroup_candidate *candidate)
{
    return cz_subgroup_alone_ps(candidate, 0) - candidate->gather_ps -
           candidate->scatter_ps -
           cz_subgroup_work_ps(candidate) / candidate->g;
}

/* A table of coefficients more or less is a part more or less: one exchange
 * for the norm, one for each step. */
static void every_step_of_the_table_is_an_exchange(void **state)
{
    static const struct {
        const char *pattern;
        int n_steps;
    } rows[] = {{"fc1.weight", 5}, {"express.weight", 8}, {"once.weight", 1}};
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const cz_candidates_call call = call_of(f, rows[i].pattern);
        const cz_subgroup_candidate *candidates;
        const int n = cz_cost_candidates(&f->arena, f->view, &machine, &call,
                                         &candidates);
        const cz_subgroup_candidate *gram =
            find(candidates, n, CZ_SUBGROUP_GRAM, 4);
        const cz_subgroup_candidate *dealt =
            find(candidates, n, CZ_SUBGROUP_PARTITIONED, 4);
        assert_int_equal(find(candidates, n, CZ_SUBGROUP_OWNER, 1)->n_segments,
                         1);
        assert_int_equal(gram->n_segments, 1 + rows[i].n_steps + 1);
        assert_int_equal(dealt->n_segments, 1 + 2 * rows[i].n_steps + 1);
        for (int p = 0; p < gram->n_segments; p++)
            assert_true(gram->segments[p].compute_ps > 0);
        assert_int_equal(gram->segments[gram->n_segments - 1].exchange_ps, 0);
    }
}

/* Each of the five Gram matrices of 5120 x 5120 travels in f32 to the rank of
 * its rows and in bf16 back, then a square of it in bf16, of each 33 of 64
 * blocks; the norm is a sum of eight bytes.  A rank's rows are read in f32 and
 * written in bf16 once more.  Where the row is in one node, each rank of four
 * has its own shard of eight in its part; else it does not, there and back. */
static void ways_add_up_in_f32_and_deal_out_what_is_behind(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    const int64_t elements = (int64_t)5120 * 5120;
    const int64_t shard_bytes = (int64_t)51200 * 5120 / WIDTH * (4 + 2);
    cz_candidates_call call = call_of(f, "fc1.weight");
    const cz_subgroup_candidate *candidates;
    const int n =
        cz_cost_candidates(&f->arena, f->view, &machine, &call, &candidates);
    const cz_subgroup_candidate *near =
        find(candidates, n, CZ_SUBGROUP_PARTITIONED, 4);
    assert_int_equal(near->wire_bytes,
                     4 * (5 * 3 * (elements / 4) * 8 / 64 * 33 + shard_bytes +
                          2 * 3 * 8 / 4));
    const int n_steps = call.stage->n_steps;
    cz_step_cut *step_cuts = CZ_NEW(&f->arena, cz_step_cut, n_steps);
    cz_step_cost *costs = CZ_NEW(&f->arena, cz_step_cost, n_steps);
    const cz_stage_call four = {
        call.stage, 1, 4, cz_share_find(&f->arena, call.stage), CZ_LINK_NODE};
    int64_t work = 5 * cz_time_map(&machine, 6 * elements / 4);
    assert_true(cz_cost_form_cuts(&f->arena, f->view, &call, call.stage, near,
                                  step_cuts));
    cz_cost_steps(&f->arena, &machine, &four, step_cuts, costs);
    for (int s = 0; s < n_steps; s++)
        work += costs[s].compute_ps;
    assert_int_equal(cz_subgroup_work_ps(near), 4 * work);
    call.n_near = WIDTH / 2;
    cz_cost_candidates(&f->arena, f->view, &machine, &call, &candidates);
    const cz_subgroup_candidate *far =
        find(candidates, n, CZ_SUBGROUP_PARTITIONED, 4);
    assert_int_equal(far->wire_bytes - near->wire_bytes, 4 * shard_bytes);
}

static void blocks_interleave_where_the_row_is_in_one_node(void **unused)
{
    (void)unused;
    assert_int_equal(cz_candidates_stride(8, true, 2), 4);
    assert_int_equal(cz_candidates_stride(8, true, 8), 1);
    assert_int_equal(cz_candidates_stride(6, true, 3), 2);
    assert_int_equal(cz_candidates_stride(16, false, 4), 1);
}

/* Two nodes of eight hold shards: inputs come over the network, of which a rank
 * has nothing itself; sums and kernels are those of a row by itself. */
static void rows_of_a_node_share_what_more_nodes_hold(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    const int64_t elements = (int64_t)51200 * 5120;
    cz_candidates_call call = call_of(f, "fc1.weight");
    const cz_subgroup_candidate *one, *two;
    const int n = cz_cost_candidates(&f->arena, f->view, &machine, &call, &one);
    call.n_shards = 2 * WIDTH;
    assert_int_equal(
        cz_cost_candidates(&f->arena, f->view, &machine, &call, &two), n);
    const cz_subgroup_candidate *a = find(one, n, CZ_SUBGROUP_PARTITIONED, 4);
    const cz_subgroup_candidate *b = find(two, n, CZ_SUBGROUP_PARTITIONED, 4);
    assert_int_equal(b->gather_ps,
                     cz_time_of(elements / 4 * 4, machine.network_rate));
    assert_int_equal(b->wire_bytes - a->wire_bytes,
                     4 * (elements / 8) * (4 + 2));
    assert_int_equal(cz_subgroup_work_ps(a), cz_subgroup_work_ps(b));
    assert_int_equal(exchanged_ps(a), exchanged_ps(b));
    assert_int_equal(a->staging_bytes, b->staging_bytes);
}

/* Rows of the short side: the block's parts are cut across the shards. */
static void shards_of_the_short_side_always_travel(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    cz_candidates_call call = call_of(f, "fc2.weight");
    const cz_subgroup_candidate *along, *across;
    const int n =
        cz_cost_candidates(&f->arena, f->view, &machine, &call, &along);
    call.sharded = CZ_CUT_ROWS;
    assert_int_equal(cz_share_find(&f->arena, call.stage), CZ_CUT_COLUMNS);
    assert_int_equal(
        cz_cost_candidates(&f->arena, f->view, &machine, &call, &across), n);
    for (int w = 0; w < n; w++) {
        const bool is_row = along[w].g == WIDTH;
        assert_true(is_row ? along[w].gather_ps == 0 : along[w].gather_ps > 0);
        assert_true(across[w].gather_ps > 0);
        if (across[w].g > 1)
            assert_true(across[w].gather_ps > along[w].gather_ps);
    }
}

/* Of twelve ranks four share, of six two, of five none. */
static void blocks_are_powers_of_two_that_divide_the_row(void **state)
{
    static const int most[][2] = {{12, 4}, {6, 2}, {5, 1}, {8, 8}};
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        cz_candidates_call call = call_of(f, "fc1.weight");
        const cz_subgroup_candidate *candidates;
        int g = 1;
        call.width = call.max_g = most[i][0];
        const int n = cz_cost_candidates(&f->arena, f->view, &machine, &call,
                                         &candidates);
        for (int w = 0; w < n; w++)
            g = candidates[w].g > g ? candidates[w].g : g;
        assert_int_equal(g, most[i][1]);
    }
}

/* Three products in a row, of which the second needs all of the first. */
static void what_cannot_be_shared_has_an_owner_alone(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    const cz_candidates_call call = call_of(f, "needy.weight");
    const cz_subgroup_candidate *candidates;
    assert_int_equal(cz_share_find(&f->arena, call.stage), CZ_CUT_NONE);
    const int n =
        cz_cost_candidates(&f->arena, f->view, &machine, &call, &candidates);
    assert_int_equal(n, 1);
    assert_int_equal(candidates[0].g, 1);
}

static void blocks_over_the_network_exchange_over_it(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    cz_candidates_call call = call_of(f, "fc2.weight");
    const cz_subgroup_candidate *near, *far;
    const int n =
        cz_cost_candidates(&f->arena, f->view, &machine, &call, &near);
    call.n_near = 2;
    cz_cost_candidates(&f->arena, f->view, &machine, &call, &far);
    for (int w = 0; w < n; w++)
        if (near[w].g > 2)
            assert_true(exchanged_ps(&far[w]) > 5 * exchanged_ps(&near[w]));
        else
            assert_int_equal(exchanged_ps(&far[w]), exchanged_ps(&near[w]));
}

static void rare_steps_count_by_how_often_they_run(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    const cz_candidates_call call = call_of(f, "rare.weight");
    const cz_stage_call one = {.stage = call.stage,
                               .batch = 1,
                               .subgroup_size = 1,
                               .link = CZ_LINK_NODE};
    const cz_subgroup_candidate *candidates;
    cz_stage_cost mean;
    const int n =
        cz_cost_candidates(&f->arena, f->view, &machine, &call, &candidates);
    const cz_subgroup_candidate *owner =
        find(candidates, n, CZ_SUBGROUP_OWNER, 1);
    assert_true(cz_cost_stage_mean(&f->arena, f->view, &machine, &one, &mean));
    assert_int_equal(cz_subgroup_work_ps(owner), mean.time_ps);
}

static void measured_ways_take_what_was_measured(void **state)
{
    const cz_machine_time times[] = {{"muon", 5120, 25600, 1, 1, 90000000},
                                     {"muon", 5120, 25600, 2, 4, 70000000}};
    fixture *f = *state;
    cz_machine machine = fixture_machine();
    const cz_candidates_call call = call_of(f, "fc2.weight");
    const cz_subgroup_candidate *candidates;
    machine.n_times = 2;
    machine.times = times;
    cz_subgroup_candidate gram[2];
    const int n =
        cz_cost_candidates(&f->arena, f->view, &machine, &call, &candidates);
    const cz_subgroup_candidate *owner =
        find(candidates, n, CZ_SUBGROUP_OWNER, 1);
    assert_int_equal(
        cz_cost_forms(&f->arena, f->view, &machine, &call, 2, 4, gram), 1);
    assert_int_equal(owner->segments[0].compute_ps, 90000000);
    assert_int_equal(gram->form, CZ_SUBGROUP_GRAM);
    assert_close(cz_subgroup_alone_ps(gram, 0) - gram->gather_ps -
                     gram->scatter_ps,
                 70000000, 1);
    assert_non_null(find(candidates, n, CZ_SUBGROUP_PARTITIONED, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_of_the_table_is_an_exchange),
        cmocka_unit_test(ways_add_up_in_f32_and_deal_out_what_is_behind),
        cmocka_unit_test(rows_of_a_node_share_what_more_nodes_hold),
        cmocka_unit_test(blocks_interleave_where_the_row_is_in_one_node),
        cmocka_unit_test(shards_of_the_short_side_always_travel),
        cmocka_unit_test(blocks_are_powers_of_two_that_divide_the_row),
        cmocka_unit_test(what_cannot_be_shared_has_an_owner_alone),
        cmocka_unit_test(blocks_over_the_network_exchange_over_it),
        cmocka_unit_test(rare_steps_count_by_how_often_they_run),
        cmocka_unit_test(measured_ways_take_what_was_measured),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
