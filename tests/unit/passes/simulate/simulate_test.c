/* Training iterations of plans small enough to be worked out by hand. */
#include "passes/simulate/simulate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* One flop takes 1 ps, one byte of memory 1 ps, one of a link 100 ps. */
static cz_machine machine_of(int64_t gpus_per_node)
{
    return (cz_machine){.name = "plain",
                        .gpus_per_node = gpus_per_node,
                        .sms = 1,
                        .tile_rows = 1,
                        .tile_columns = 1,
                        .bf16_rate = 1000000000000,
                        .f32_rate = 1000000000000,
                        .memory_rate = 1000000000000,
                        .node_rate = 20000000000,
                        .network_rate = 10000000000,
                        .launch = 0,
                        .network_latency = 7};
}

static cz_simulate_options options_of(const cz_machine *machine)
{
    return (cz_simulate_options){.machine = machine,
                                 .is_plans_machine = true,
                                 .tokens = 2,
                                 .mfu = CZ_TIME_MILLION,
                                 .active = CZ_TIME_MILLION,
                                 .uneven = CZ_TIME_MILLION,
                                 .slowdown = CZ_TIME_MILLION};
}

/* Two ranks along one axis, one bucket of two layers with 100 elements each.
 * Forward 200 ps a layer on each rank, backward 400; reduction
 * 7 + 200 x 4 / 2 x 100 = 40007, gather 7 + 200 x 2 / 2 x 100 = 20007. */
typedef struct fixture {
    cz_document document;
    cz_document_param params[2];
    cz_document_reduction reduction;
    cz_document_bucket bucket;
    cz_document_stage stage;
    cz_document_work work;
    cz_document_op ops[3];
    cz_document_axis axes[1];
    int64_t own[2], rows[2], elements[2], zero[1], one[1];
} fixture;

static void make(fixture *f)
{
    *f = (fixture){
        .params = {{.name = "a.0.w", .elements = 100, .n_names = 1},
                   {.name = "a.1.w", .elements = 100, .n_names = 1}},
        .reduction = {.reduce_set = 1, .split_set = 1, .grad_bytes = 4},
        .bucket = {.element_bytes = 2,
                   .length = 200,
                   .n_slices = 2,
                   .longest = 100},
        .stage = {.is_shaped = true, .time_ps = 1000},
        .axes = {{"dp", 2}},
        .own = {100, 100},
        .rows = {1, 2},
        .elements = {100, 200},
        .one = {1},
    };
    f->bucket.own = f->own;
    f->work = (cz_document_work){0, f->rows, f->elements};
    f->ops[0] = (cz_document_op){.kind = CZ_STEP_REDUCE_SCATTER,
                                 .section = CZ_SECTION_REDUCE,
                                 .stream = 1,
                                 .comm = 1};
    f->ops[1] = (cz_document_op){.kind = CZ_STEP_KERNEL,
                                 .section = CZ_SECTION_UPDATE,
                                 .bucket = -1,
                                 .n_waits = 1,
                                 .waits = f->zero,
                                 .over = 1,
                                 .n_work = 1,
                                 .work = &f->work};
    f->ops[2] = (cz_document_op){.kind = CZ_STEP_ALL_GATHER,
                                 .section = CZ_SECTION_UPDATE,
                                 .stream = 1,
                                 .comm = 1,
                                 .n_waits = 1,
                                 .waits = f->one};
    f->document = (cz_document){.name = "two",
                                .n_axes = 1,
                                .axes = f->axes,
                                .n_ranks = 2,
                                .n_stages = 1,
                                .stages = &f->stage,
                                .n_params = 2,
                                .params = f->params,
                                .n_reductions = 1,
                                .reductions = &f->reduction,
                                .n_buckets = 1,
                                .buckets = &f->bucket,
                                .n_ops = 3,
                                .ops = f->ops};
}

enum {
    FORWARD = 400,
    BACKWARD = 800,
    REDUCE = 40007,
    GATHER = 20007,
    UPDATE = 2000
};

static void test_an_iteration_is_the_sum_where_nothing_overlaps(void **unused)
{
    const cz_machine machine = machine_of(1);
    const cz_simulate_options options = options_of(&machine);
    fixture f;
    (void)unused;
    make(&f);
    const cz_simulate_times times = cz_simulate_plan(&f.document, &options);
    assert_int_equal(times.forward, FORWARD);
    assert_int_equal(times.backward, BACKWARD);
    assert_int_equal(times.reduce, REDUCE);
    assert_int_equal(times.gather, GATHER);
    assert_int_equal(times.update, UPDATE);
    assert_int_equal(times.update_sum, 3000);
    assert_int_equal(times.step, UPDATE);
    assert_int_equal(times.step_gather, UPDATE + GATHER);
    assert_int_equal(times.iteration,
                     FORWARD + BACKWARD + REDUCE + GATHER + UPDATE);
}

/* Each layer has a bucket: the reduction of the last layer's begins under the
 * backward pass of the first. */
static void test_reductions_run_under_the_backward_pass(void **unused)
{
    const cz_machine machine = machine_of(1);
    const cz_simulate_options options = options_of(&machine);
    const int64_t both[] = {0, 1}, each = 7 + 100 * 4 / 2 * 100;
    fixture f;
    cz_document_bucket buckets[2];
    cz_document_op ops[3];
    (void)unused;
    make(&f);
    for (int b = 0; b < 2; b++) {
        ops[b] = f.ops[0];
        ops[b].bucket = b;
        buckets[b] = f.bucket;
        buckets[b].length = 100;
        buckets[b].message = b;
        f.params[1 - b].bucket = b;
    }
    ops[2] = f.ops[1];
    ops[2].waits = both;
    ops[2].n_waits = 2;
    f.document.buckets = buckets;
    f.document.n_buckets = 2;
    f.document.ops = ops;
    const cz_simulate_times apart = cz_simulate_plan(&f.document, &options);
    assert_int_equal(apart.reduce, 2 * each);
    assert_int_equal(apart.iteration,
                     FORWARD + BACKWARD / 2 + 2 * each + UPDATE);
    assert_int_equal(apart.step, UPDATE);
    buckets[1].message = 0;
    const cz_simulate_times together = cz_simulate_plan(&f.document, &options);
    assert_int_equal(together.reduce, 2 * each - 7);
    assert_int_equal(together.iteration,
                     FORWARD + BACKWARD + 2 * each - 7 + UPDATE);
}

/* Rank 0 is done with its matrix before rank 1 is with two; both gather when
 * the later one can. */
static void test_a_step_by_itself_starts_at_0(void **unused)
{
    const cz_machine machine = machine_of(1);
    const cz_simulate_options options = options_of(&machine);
    const int64_t start[] = {
        0, 0, REDUCE, REDUCE, REDUCE + UPDATE, REDUCE + UPDATE};
    const int64_t end[] = {REDUCE,
                           REDUCE,
                           REDUCE + UPDATE / 2,
                           REDUCE + UPDATE,
                           REDUCE + UPDATE + GATHER,
                           REDUCE + UPDATE + GATHER};
    fixture f;
    cz_arena arena;
    (void)unused;
    make(&f);
    cz_arena_init(&arena);
    const cz_simulate_timeline line =
        cz_simulate_step(&arena, &f.document, &options);
    assert_memory_equal(line.start, start, sizeof start);
    assert_memory_equal(line.end, end, sizeof end);
    assert_int_equal(line.makespan, REDUCE + UPDATE + GATHER);
    f.rows[0] = 0;
    const cz_simulate_timeline skipped =
        cz_simulate_step(&arena, &f.document, &options);
    assert_int_equal(skipped.start[2], -1);
    assert_int_equal(skipped.end[2], -1);
    assert_int_equal(skipped.makespan, line.makespan);
    cz_arena_fini(&arena);
}

static void test_ranks_of_one_node_have_its_links(void **unused)
{
    const cz_machine near = machine_of(2);
    fixture f;
    (void)unused;
    make(&f);
    const cz_simulate_options options = options_of(&near);
    const cz_simulate_times times = cz_simulate_plan(&f.document, &options);
    assert_int_equal(times.reduce, 20000);
}

static void test_uneven_slices_take_longer_by_e(void **unused)
{
    const cz_machine machine = machine_of(1);
    cz_simulate_options options = options_of(&machine);
    fixture f;
    (void)unused;
    make(&f);
    options.uneven = CZ_TIME_MILLION / 2;
    assert_int_equal(cz_simulate_plan(&f.document, &options).reduce, REDUCE);
    f.bucket.is_uneven = true;
    assert_int_equal(cz_simulate_plan(&f.document, &options).reduce, 80007);
    f.bucket.is_uneven = false;
    f.bucket.is_padded = true;
    f.bucket.longest = 150;
    assert_int_equal(cz_simulate_plan(&f.document, &options).reduce, 60007);
}

/* Reduction of 800 bytes and gather of 400, each by the entry nearest to it. */
static void test_uneven_slices_take_longer_as_the_machine_says(void **unused)
{
    const cz_machine_uneven unevens[] = {{CZ_LINK_NETWORK, 800, 2, 500, false},
                                         {CZ_LINK_NETWORK, 400, 2, 250, false}};
    cz_machine machine = machine_of(1);
    machine.n_unevens = 2;
    machine.unevens = unevens;
    cz_simulate_options options = options_of(&machine);
    fixture f;
    (void)unused;
    make(&f);
    options.uneven = 0;
    assert_int_equal(cz_simulate_plan(&f.document, &options).reduce, REDUCE);
    f.bucket.is_uneven = true;
    const cz_simulate_times times = cz_simulate_plan(&f.document, &options);
    assert_int_equal(times.reduce, 80007);
    assert_int_equal(times.gather, 80007);
    machine.n_unevens = 0;
    assert_int_equal(cz_simulate_plan(&f.document, &options).reduce, REDUCE);
}

static void test_a_straggler_holds_up_all(void **unused)
{
    const cz_machine machine = machine_of(1);
    cz_simulate_options options = options_of(&machine);
    fixture f;
    (void)unused;
    make(&f);
    f.rows[0] = 2;
    options.n_stragglers = 1;
    options.slowdown = 3 * (int64_t)CZ_TIME_MILLION;
    const cz_simulate_times times = cz_simulate_plan(&f.document, &options);
    assert_int_equal(times.update_sum, 8000);
    assert_int_equal(times.iteration,
                     3 * (FORWARD + BACKWARD + UPDATE) + REDUCE + GATHER);
}

static void test_jitter_only_adds_and_equal_seeds_agree(void **unused)
{
    const cz_machine machine = machine_of(1);
    cz_simulate_options options = options_of(&machine);
    fixture f;
    (void)unused;
    make(&f);
    options.jitter = CZ_TIME_MILLION / 10;
    options.seed = 1;
    const cz_simulate_times one = cz_simulate_plan(&f.document, &options);
    const cz_simulate_times again = cz_simulate_plan(&f.document, &options);
    options.seed = 2;
    const cz_simulate_times other = cz_simulate_plan(&f.document, &options);
    assert_int_equal(one.iteration, again.iteration);
    assert_int_not_equal(one.iteration, other.iteration);
    assert_in_range(one.backward, BACKWARD + 1, BACKWARD * 11 / 10);
    assert_int_equal(one.reduce, REDUCE);
}

/* Of one parameter. */
static cz_document_message message_of(const fixture *f, const int64_t *param,
                                      int64_t elements)
{
    return (cz_document_message){.elements = elements,
                                 .bytes = 2 * elements,
                                 .residents = f->params[*param].residents,
                                 .n_params = 1,
                                 .params = param,
                                 .n_slices = 2,
                                 .own = f->own};
}

/* Its one baseline. */
static cz_simulate_times simulated(const cz_document *document,
                                   const cz_simulate_options *options)
{
    cz_arena arena;
    cz_simulate_times times;
    cz_arena_init(&arena);
    assert_true(cz_simulate_baseline(
        cz_simulate_baselines_make(&arena, document, options), 0, INT64_MAX,
        &times));
    cz_arena_fini(&arena);
    return times;
}

static cz_simulate_times
times_of(fixture *f, const cz_document_message *messages, int n_messages)
{
    static const int64_t nothing[4] = {0};
    const cz_machine machine = machine_of(1);
    const cz_simulate_options options = options_of(&machine);
    const cz_document_baseline baseline = {.name = "all",
                                           .time_ps = nothing,
                                           .gathers = true,
                                           .n_messages = n_messages,
                                           .messages = messages};
    f->document.n_baselines = 1;
    f->document.baselines = &baseline;
    return simulated(&f->document, &options);
}

/* All dense messages stand before those of experts.  The dense one of the first
 * layer is complete at the end of the backward pass, behind which it is reduced
 * over two ranks of four, after that of the last layer's experts over the other
 * two. */
static void
test_a_dense_message_of_the_first_layer_is_not_ready_early(void **unused)
{
    const int64_t params[] = {0, 1};
    const cz_document_reduction reductions[] = {
        {.reduce_set = 3, .split_set = 3, .grad_bytes = 4},
        {.reduce_set = 1, .split_set = 1, .grad_bytes = 2}};
    fixture f;
    (void)unused;
    make(&f);
    const cz_document_axis axes[] = {{"dp.0", 2}, {"dp.1", 2}};
    f.document.n_axes = 2;
    f.document.axes = axes;
    f.document.n_ranks = 4;
    f.document.n_reductions = 2;
    f.document.reductions = reductions;
    cz_document_message messages[] = {message_of(&f, &params[0], 100),
                                      message_of(&f, &params[1], 100)};
    messages[1].reduction = 1;
    const int64_t dense = 7 + 100 * 4 * 3 / 4 * 100;
    const int64_t experts = 7 + 100 * 2 / 2 * 100;
    const int64_t dense_back = 7 + 100 * 2 * 3 / 4 * 100;
    const int64_t experts_back = 7 + 100 * 2 / 2 * 100;
    const cz_simulate_times times = times_of(&f, messages, 2);
    assert_int_equal(times.reduce, dense + experts);
    assert_int_equal(times.gather, dense_back + experts_back);
    /* On four ranks layers take half the time.  The last layer's reduction
     * runs from the middle of the backward pass. */
    assert_int_equal(times.iteration, BACKWARD / 4 + experts + dense +
                                          dense_back + experts_back +
                                          FORWARD / 4);
}

/* Two stages on two ranks each: one layer and one message a stage. */
static void
test_a_rank_sends_the_baseline_messages_of_its_stage_alone(void **unused)
{
    const int64_t params[] = {1, 0}, stages[] = {0, 1};
    const cz_document_reduction reduction = {
        .reduce_set = 2, .split_set = 2, .grad_bytes = 4};
    const cz_document_axis axes[] = {{"pp", 2}, {"dp", 2}};
    fixture f;
    (void)unused;
    make(&f);
    for (int p = 0; p < 2; p++)
        f.params[p].residents = (cz_document_residents){1, 1, &stages[p]};
    f.document.n_axes = 2;
    f.document.axes = axes;
    f.document.n_ranks = 4;
    f.document.reductions = &reduction;
    const cz_document_message messages[] = {message_of(&f, &params[0], 100),
                                            message_of(&f, &params[1], 100)};
    const int64_t reduce = 7 + 100 * 4 / 2 * 100,
                  gather = 7 + 100 * 2 / 2 * 100;
    const cz_simulate_times times = times_of(&f, messages, 2);
    assert_int_equal(times.reduce, reduce);
    assert_int_equal(times.gather, gather);
    assert_int_equal(times.iteration,
                     (FORWARD + BACKWARD) / 2 + reduce + gather);
}

static void test_a_baseline_reduces_all_then_waits_for_all(void **unused)
{
    const cz_machine machine = machine_of(1);
    const cz_simulate_options options = options_of(&machine);
    const int64_t compute[] = {500, 3000};
    fixture f;
    (void)unused;
    make(&f);
    const int64_t params[] = {1, 0};
    const cz_document_message messages[] = {message_of(&f, &params[0], 100),
                                            message_of(&f, &params[1], 100)};
    cz_document_baseline baseline = {.name = "all",
                                     .time_ps = compute,
                                     .all_reduces = true,
                                     .gathers = true,
                                     .is_exposed = true,
                                     .n_messages = 2,
                                     .messages = messages};
    f.document.n_baselines = 1;
    f.document.baselines = &baseline;
    const cz_simulate_times times = simulated(&f.document, &options);
    const int64_t reduce = 2 * (7 + 20000), gather = 7 + 10000;
    assert_int_equal(times.update, 3000);
    assert_int_equal(times.reduce, 2 * reduce);
    assert_int_equal(times.step_gather, 3000 + 2 * gather);
    /* The second layer's message goes under the first one's backward. */
    assert_int_equal(times.iteration,
                     FORWARD + BACKWARD / 2 + 2 * reduce + 3000 + 2 * gather);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_iteration_is_the_sum_where_nothing_overlaps),
        cmocka_unit_test(test_reductions_run_under_the_backward_pass),
        cmocka_unit_test(test_a_step_by_itself_starts_at_0),
        cmocka_unit_test(test_ranks_of_one_node_have_its_links),
        cmocka_unit_test(test_uneven_slices_take_longer_by_e),
        cmocka_unit_test(test_uneven_slices_take_longer_as_the_machine_says),
        cmocka_unit_test(test_a_straggler_holds_up_all),
        cmocka_unit_test(test_jitter_only_adds_and_equal_seeds_agree),
        cmocka_unit_test(test_a_baseline_reduces_all_then_waits_for_all),
        cmocka_unit_test(
            test_a_dense_message_of_the_first_layer_is_not_ready_early),
        cmocka_unit_test(
            test_a_rank_sends_the_baseline_messages_of_its_stage_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
