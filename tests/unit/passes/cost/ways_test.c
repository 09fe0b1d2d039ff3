/* Ways of stages: the study's closed form comes out where it applies, bytes
 * are those of the algebra, and what cannot be shared has an owner. */
#include "passes/cost/ways.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "passes/cost/time.h"
#include "tests/unit/passes/cost/fixture.h"
#include "tests/unit/passes/solve/published_ways.h"

enum { WIDTH = 8, MAX_BATCH = 3 };

static const cz_ints *shape_of(const fixture *f, const cz_view_stage *stage)
{
    return &f->view->rules[stage->rule].fact->shape;
}

static cz_ways_call call_of(const fixture *f, const char *pattern)
{
    const cz_view_stage *stage = fixture_stage(f, pattern);
    const cz_ints *shape = shape_of(f, stage);
    return (cz_ways_call){.stage = stage,
                          .sharded = shape->v[0] > shape->v[1] ? CZ_CUT_ROWS
                                                               : CZ_CUT_COLUMNS,
                          .width = WIDTH,
                          .n_near = WIDTH,
                          .max_g = WIDTH,
                          .max_batch = MAX_BATCH,
                          .packs = true};
}

static const cz_subgroup_way *find(const cz_subgroup_way *ways, int n,
                                   cz_subgroup_form form, int g, int batch)
{
    for (int w = 0; w < n; w++)
        if (ways[w].g == g && ways[w].form == form && ways[w].batch == batch)
            return &ways[w];
    return NULL;
}

/* The study's constants, as far as its closed form has them. */
static published_machine published_of(const cz_machine *m)
{
    return (published_machine){.flops_per_s = m->bf16_rate,
                               .tile_rows = (int)m->tile_rows,
                               .tile_columns = (int)m->tile_columns,
                               .n_units = (int)m->sms,
                               .launch_ps = m->launch,
                               .memory_bytes_per_s = m->memory_rate,
                               .latency_ps = m->node_latency,
                               .node_bytes_per_s = m->node_rate,
                               .net_bytes_per_s = m->network_rate,
                               .node = WIDTH,
                               .gather_bytes = 4,
                               .scatter_bytes = 2,
                               .exchange_bytes = 2,
                               .is_packed = true,
                               .n_rounds = 5,
                               .gather_scale = 1,
                               .cube_scale = 1,
                               .reduce_scale = 1};
}

static void assert_close(int64_t have, int64_t want, int64_t thousandths)
{
    const int64_t off = have > want ? have - want : want - have;
    if (off * 1000 > want * thousandths)
        fail_msg("%lld is not close to %lld", (long long)have, (long long)want);
}

static int64_t exchanged_ps(const cz_subgroup_way *way)
{
    return cz_subgroup_alone_ps(way, 0) - way->gather_ps - way->scatter_ps -
           cz_subgroup_work_ps(way) / way->g;
}

/* Kernels besides products, which the closed form has none of, take nothing
 * here but their launches. */
static void ways_are_those_of_the_closed_form(void **state)
{
    static const char *const patterns[] = {"fc1.weight", "fc2.weight",
                                           "qkv.weight", "o.weight"};
    fixture *f = *state;
    cz_machine machine = fixture_machine();
    machine.memory_rate = INT64_MAX;
    machine.launch = machine.node_latency = 0;
    const published_machine published = published_of(&machine);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        const cz_ways_call call = call_of(f, patterns[i]);
        const cz_ints *shape = shape_of(f, call.stage);
        const int64_t a = shape->v[0], b = shape->v[1];
        const published_shape matrix = {a < b ? a : b, a < b ? b : a, false,
                                        false};
        const cz_subgroup_way *ways, *wanted;
        const int n = cz_cost_ways(&f->arena, f->view, &machine, &call, &ways);
        const int n_wanted = published_list_ways(&f->arena, &published, &matrix,
                                                 WIDTH, MAX_BATCH, &wanted);
        assert_int_equal(n, MAX_BATCH * 7);
        for (int w = 0; w < n_wanted; w++) {
            const cz_subgroup_way *want = &wanted[w];
            const cz_subgroup_way *have =
                find(ways, n, want->form, want->g, want->batch);
            assert_non_null(have);
            assert_close(cz_subgroup_work_ps(have), cz_subgroup_work_ps(want),
                         1);
            assert_close(exchanged_ps(have), exchanged_ps(want), 1);
            assert_close(have->gather_ps, want->gather_ps, 1);
            assert_close(have->scatter_ps, want->scatter_ps, 1);
            assert_close(have->wire_bytes, want->wire_bytes, 1);
            assert_close(have->staging_bytes, want->staging_bytes, 1);
        }
    }
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
        const cz_ways_call call = call_of(f, rows[i].pattern);
        const cz_subgroup_way *ways;
        const int n = cz_cost_ways(&f->arena, f->view, &machine, &call, &ways);
        const cz_subgroup_way *gram = find(ways, n, CZ_SUBGROUP_GRAM, 4, 1);
        const cz_subgroup_way *dealt = find(ways, n, CZ_SUBGROUP_SHARED, 4, 1);
        assert_int_equal(find(ways, n, CZ_SUBGROUP_OWNER, 1, 1)->n_parts, 1);
        assert_int_equal(gram->n_parts, 1 + rows[i].n_steps + 1);
        assert_int_equal(dealt->n_parts, 1 + 2 * rows[i].n_steps + 1);
        for (int p = 0; p < gram->n_parts; p++)
            assert_true(gram->parts[p].compute_ps > 0);
        assert_int_equal(gram->parts[gram->n_parts - 1].exchange_ps, 0);
    }
}

/* Each of the five Gram matrices of 5120 x 5120 travels in f32 to the rank of
 * its rows and in bf16 back, then a square of it in bf16, of each 33 of 64
 * blocks: three quarters of it in bytes of four ranks, where sums in bf16 would
 * travel twice and whole; and a rank's rows are read in f32 and written in bf16
 * once more.  Where the row is in one node, each rank of four has its own shard
 * of eight in its part; else it does not, there and back. */
static void ways_as_run_add_up_in_f32_and_deal_out_what_is_behind(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    const int64_t elements = (int64_t)5120 * 5120;
    const int64_t shard_bytes = (int64_t)51200 * 5120 / WIDTH * (4 + 2);
    cz_ways_call call = call_of(f, "fc1.weight");
    const cz_subgroup_way *plain, *run;
    call.packs = false;
    const int n = cz_cost_ways(&f->arena, f->view, &machine, &call, &plain);
    call.as_run = true;
    assert_int_equal(cz_cost_ways(&f->arena, f->view, &machine, &call, &run),
                     n);
    const cz_subgroup_way *a = find(plain, n, CZ_SUBGROUP_SHARED, 4, 1);
    const cz_subgroup_way *b = find(run, n, CZ_SUBGROUP_SHARED, 4, 1);
    assert_int_equal(b->wire_bytes - a->wire_bytes,
                     4 * 5 * 3 * (elements / 4) * 8 / 64 * 33 -
                         4 * 5 * 3 * (elements / 4) * 6);
    assert_int_equal(cz_subgroup_work_ps(b) - cz_subgroup_work_ps(a),
                     4 * 5 * cz_time_map(&machine, 6 * elements / 4));
    assert_int_equal(
        cz_subgroup_work_ps(find(plain, n, CZ_SUBGROUP_OWNER, 1, 1)),
        cz_subgroup_work_ps(find(run, n, CZ_SUBGROUP_OWNER, 1, 1)));
    call.n_near = WIDTH / 2;
    cz_cost_ways(&f->arena, f->view, &machine, &call, &run);
    const cz_subgroup_way *far = find(run, n, CZ_SUBGROUP_SHARED, 4, 1);
    assert_int_equal(far->wire_bytes - b->wire_bytes, 4 * shard_bytes);
}

static void blocks_interleave_where_the_row_is_in_one_node(void **unused)
{
    (void)unused;
    assert_int_equal(cz_ways_stride(8, true, 2), 4);
    assert_int_equal(cz_ways_stride(8, true, 8), 1);
    assert_int_equal(cz_ways_stride(6, true, 3), 2);
    assert_int_equal(cz_ways_stride(16, false, 4), 1);
}

/* Two nodes of eight hold shards: inputs come over the network, of which a rank
 * has half as much itself; sums and kernels are those of a row by itself. */
static void rows_of_a_node_share_what_more_nodes_hold(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    const int64_t elements = (int64_t)51200 * 5120;
    cz_ways_call call = call_of(f, "fc1.weight");
    const cz_subgroup_way *one, *two;
    const int n = cz_cost_ways(&f->arena, f->view, &machine, &call, &one);
    call.n_shards = 2 * WIDTH;
    assert_int_equal(cz_cost_ways(&f->arena, f->view, &machine, &call, &two),
                     n);
    const cz_subgroup_way *a = find(one, n, CZ_SUBGROUP_SHARED, 4, 1);
    const cz_subgroup_way *b = find(two, n, CZ_SUBGROUP_SHARED, 4, 1);
    assert_int_equal(
        b->gather_ps,
        cz_time_of((elements / 4 - elements / 16) * 4, machine.network_rate));
    assert_int_equal(b->wire_bytes - a->wire_bytes,
                     4 * (elements / 8 - elements / 16) * (4 + 2));
    assert_int_equal(cz_subgroup_work_ps(a), cz_subgroup_work_ps(b));
    assert_int_equal(exchanged_ps(a), exchanged_ps(b));
    assert_int_equal(a->staging_bytes, b->staging_bytes);
}

/* Rows of the short side: the block's parts are cut across the shards. */
static void shards_of_the_short_side_always_travel(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    cz_ways_call call = call_of(f, "fc2.weight");
    const cz_subgroup_way *along, *across;
    const int n = cz_cost_ways(&f->arena, f->view, &machine, &call, &along);
    call.sharded = CZ_CUT_ROWS;
    assert_int_equal(cz_share_find(&f->arena, call.stage), CZ_CUT_COLUMNS);
    assert_int_equal(cz_cost_ways(&f->arena, f->view, &machine, &call, &across),
                     n);
    for (int w = 0; w < n; w++) {
        const bool is_row = along[w].g == WIDTH;
        assert_true(is_row ? along[w].gather_ps == 0 : along[w].gather_ps > 0);
        assert_true(across[w].gather_ps > 0);
        if (across[w].g > 1)
            assert_true(across[w].gather_ps > along[w].gather_ps);
    }
    call.lie = CZ_LIES_ON_BLOCK;
    cz_cost_ways(&f->arena, f->view, &machine, &call, &across);
    for (int w = 0; w < n; w++)
        assert_int_equal(across[w].gather_ps + across[w].scatter_ps, 0);
}

/* Of twelve ranks four share, of six two, of five none. */
static void blocks_are_powers_of_two_that_divide_the_row(void **state)
{
    static const int most[][2] = {{12, 4}, {6, 2}, {5, 1}, {8, 8}};
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        cz_ways_call call = call_of(f, "fc1.weight");
        const cz_subgroup_way *ways;
        int g = 1;
        call.width = call.max_g = most[i][0];
        const int n = cz_cost_ways(&f->arena, f->view, &machine, &call, &ways);
        for (int w = 0; w < n; w++)
            g = ways[w].g > g ? ways[w].g : g;
        assert_int_equal(g, most[i][1]);
    }
}

/* Three products in a row, of which the second needs all of the first. */
static void what_cannot_be_shared_has_an_owner_alone(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    const cz_ways_call call = call_of(f, "needy.weight");
    const cz_subgroup_way *ways;
    assert_int_equal(cz_share_find(&f->arena, call.stage), CZ_CUT_NONE);
    const int n = cz_cost_ways(&f->arena, f->view, &machine, &call, &ways);
    assert_int_equal(n, MAX_BATCH);
    for (int w = 0; w < n; w++)
        assert_int_equal(ways[w].g, 1);
}

static void blocks_over_the_network_exchange_over_it(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    cz_ways_call call = call_of(f, "fc2.weight");
    const cz_subgroup_way *near, *far;
    const int n = cz_cost_ways(&f->arena, f->view, &machine, &call, &near);
    call.n_near = 2;
    cz_cost_ways(&f->arena, f->view, &machine, &call, &far);
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
    const cz_ways_call call = call_of(f, "rare.weight");
    const cz_stage_call one = {
        .stage = call.stage, .batch = 2, .group = 1, .link = CZ_LINK_NODE};
    const cz_subgroup_way *ways;
    cz_stage_cost mean;
    const int n = cz_cost_ways(&f->arena, f->view, &machine, &call, &ways);
    const cz_subgroup_way *owner = find(ways, n, CZ_SUBGROUP_OWNER, 1, 2);
    assert_true(cz_cost_stage_mean(&f->arena, f->view, &machine, &one, &mean));
    assert_int_equal(cz_subgroup_work_ps(owner), mean.time_ps);
}

static void measured_ways_take_what_was_measured(void **state)
{
    const cz_machine_time times[] = {{"muon", 5120, 25600, 1, 1, 90000000},
                                     {"muon", 5120, 25600, 2, 4, 70000000}};
    fixture *f = *state;
    cz_machine machine = fixture_machine();
    const cz_ways_call call = call_of(f, "fc2.weight");
    const cz_subgroup_way *ways;
    machine.n_times = 2;
    machine.times = times;
    const int n = cz_cost_ways(&f->arena, f->view, &machine, &call, &ways);
    const cz_subgroup_way *owner = find(ways, n, CZ_SUBGROUP_OWNER, 1, 1);
    const cz_subgroup_way *gram = find(ways, n, CZ_SUBGROUP_GRAM, 4, 2);
    assert_int_equal(owner->parts[0].compute_ps, 90000000);
    assert_close(cz_subgroup_alone_ps(gram, 0) - gram->gather_ps -
                     gram->scatter_ps,
                 70000000, 1);
    assert_null(find(ways, n, CZ_SUBGROUP_SHARED, 4, 2));
    assert_non_null(find(ways, n, CZ_SUBGROUP_SHARED, 4, 1));
}

/* No way in a batch that fits is below it, and some way is it. */
static void least_work_is_the_least_of_the_ways(void **state)
{
    fixture *f = *state;
    const cz_machine machine = fixture_machine();
    cz_ways_call call = call_of(f, "qkv.weight");
    const int64_t room = 2 * 4 * 10240 * 5120LL; /* two whole matrices */
    const cz_subgroup_way *ways;
    int64_t least = INT64_MAX;
    call.max_batch = 9;
    const int n = cz_cost_ways(&f->arena, f->view, &machine, &call, &ways);
    for (int w = 0; w < n; w++) {
        const int64_t work = cz_subgroup_work_ps(&ways[w]) / ways[w].batch;
        if (ways[w].staging_bytes <= room && work < least)
            least = work;
    }
    call.max_batch = 1;
    assert_int_equal(
        cz_cost_least_work(&f->arena, f->view, &machine, &call, 9, room),
        least);
    assert_true(cz_cost_least_work(&f->arena, f->view, &machine, &call, 1,
                                   room) > least);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_are_those_of_the_closed_form),
        cmocka_unit_test(every_step_of_the_table_is_an_exchange),
        cmocka_unit_test(ways_as_run_add_up_in_f32_and_deal_out_what_is_behind),
        cmocka_unit_test(rows_of_a_node_share_what_more_nodes_hold),
        cmocka_unit_test(blocks_interleave_where_the_row_is_in_one_node),
        cmocka_unit_test(shards_of_the_short_side_always_travel),
        cmocka_unit_test(blocks_are_powers_of_two_that_divide_the_row),
        cmocka_unit_test(what_cannot_be_shared_has_an_owner_alone),
        cmocka_unit_test(blocks_over_the_network_exchange_over_it),
        cmocka_unit_test(rare_steps_count_by_how_often_they_run),
        cmocka_unit_test(measured_ways_take_what_was_measured),
        cmocka_unit_test(least_work_is_the_least_of_the_ways),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
