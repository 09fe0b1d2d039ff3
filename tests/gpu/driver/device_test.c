/* The same lists on three devices of the runtime, by the same table of
 * functions: the host, the host as late as waits allow, and the GPU's on the
 * double.  Then every call of the driver fails once. */
#include "tests/gpu/driver/bench.h"
#include "tests/gpu/driver/drawn.h"

#include "runtime/cuda/exec/device.h"

#include <pthread.h>

enum { ORDERS = 6, LISTS = 150, CELL_BYTES = DRAWN_CELLS * 8 };

static const uint64_t seed = 4711;

/* mix(op, a, b, out). */
#define MIX_CODE "FAKE sm_90\nmix 0 8 8 8 8\n"

static void mix(void **arguments)
{
    uint64_t *at[4] = {NULL};

    for (int i = 1; i < 4; i++)
        at[i] = fake_at(*(uint64_t *)arguments[i], sizeof **at);
    if (at[1] && at[2] && at[3])
        *at[3] = drawn_mix(*at[1], *at[2], *(uint64_t *)arguments[0]);
}

static void mix_on_host(const czr_call *call)
{
    const uint64_t *a = call->in[0], *b = call->in[1];

    *(uint64_t *)call->out[0] = drawn_mix(*a, *b, call->equal_part);
}

static void on_host_alone(const czr_call *call)
{
    (void)call;
}

static czr_status put_mix(const void *kernel, czr_context *context,
                          const czr_call *call, void *stream)
{
    static const czr_launch once = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    uint64_t op = call->equal_part;
    const void *a = call->in[0], *b = call->in[1], *out = call->out[0];
    void *arguments[] = {&op, &a, &b, &out};

    return czr_module_launch(context, *(void *const *)kernel, &once, arguments,
                             stream);
}

/* A list on some device: each operation mixes cells and keeps a copy of what it
 * made. */
typedef struct runner {
    czr_device *device;
    drawn_list *list;
    uint64_t *cells, *kept; /* of the device: [DRAWN_CELLS], [DRAWN_OPS] */
    czr_kernel kernel;
    czr_status task_status;
} runner;

static czr_status run_op(void *user, int op)
{
    const runner *r = user;
    const drawn_list *list = r->list;
    uint64_t *written = r->cells + list->writes[op];
    const void *in[] = {r->cells + list->reads[op][0],
                        r->cells + list->reads[op][1]};
    void *out[] = {written};
    const czr_call call = {.in = in, .out = out, .equal_part = (size_t)op};

    r->device->ops->launch(r->device, r->kernel, &call);
    r->device->ops->copy(r->device, r->kept + op, written, sizeof *written);
    return r->task_status;
}

static czr_status submit_all(runner *r)
{
    czr_status status = CZR_OK;

    for (int op = 0; op < r->list->program.n_ops && status == CZR_OK; op++)
        if (!r->list->is_skipped[op])
            status = r->device->ops->submit(r->device, op);
    return status;
}

/* What follows an operation whose task failed is submitted all the same. */
static czr_status submit_last(runner *r)
{
    int op = r->list->program.n_ops - 1;

    while (r->list->is_skipped[op])
        op--;
    r->task_status = CZR_OK;
    return r->device->ops->submit(r->device, op);
}

typedef struct outcome {
    uint64_t cells[DRAWN_CELLS], kept[DRAWN_OPS];
} outcome;

/* Two lists, one behind the other. */
static czr_status run_runner(runner *r, outcome *out)
{
    const czr_device_ops *ops = r->device->ops;
    czr_status status = CZR_ERR_NO_MEMORY;

    r->cells = ops->alloc(r->device, DRAWN_CELLS, sizeof *r->cells);
    r->kept = ops->alloc(r->device, DRAWN_OPS, sizeof *r->kept);
    if (r->cells && r->kept) {
        memset(out->cells, 3, sizeof out->cells);
        ops->copy(r->device, r->cells, out->cells, sizeof out->cells);
        status = CZR_OK;
        for (int turn = 0; turn < 2 && status == CZR_OK; turn++) {
            status = submit_all(r);
            if (status == CZR_OK)
                status = ops->finish(r->device);
        }
        if (r->task_status != CZR_OK && submit_last(r) != CZR_OK)
            status = CZR_ERR_STATE;
    }
    if (status == CZR_OK) {
        ops->copy(r->device, out->cells, r->cells, sizeof out->cells);
        ops->copy(r->device, out->kept, r->kept, sizeof out->kept);
        status = ops->finish(r->device);
    }
    ops->release(r->device, r->cells);
    ops->release(r->device, r->kept);
    return status;
}

static void run_on_host(drawn_list *list, bool is_late, outcome *out)
{
    runner r = {.list = list, .kernel = mix_on_host};

    assert_int_equal((is_late ? czr_device_late_open : czr_device_host_open)(
                         &list->program, run_op, &r, &r.device),
                     CZR_OK);
    assert_int_equal(run_runner(&r, out), CZR_OK);
    r.device->ops->close(r.device);
}

/* What a run on the double is to be, and its message. */
typedef struct cuda_run {
    czr_kernel kernel;
    czr_status task_status;
    bool hangs;
    int64_t at; /* the operation that it hangs in */
    char message[CZR_DRIVER_MESSAGE];
} cuda_run;

static czr_status run_on_context(drawn_list *list, czr_context *context,
                                 const cuda_run *run, outcome *out)
{
    czr_module module;
    void *kernel = NULL;
    const czr_cuda_body bodies[] = {{mix_on_host, put_mix, &kernel}};
    const czr_device_cuda_options options = {.context = context,
                                             .bodies = bodies,
                                             .n_bodies = 1,
                                             .deadline_ms =
                                                 run->hangs ? 20 : 10000};
    runner r = {
        .list = list, .kernel = run->kernel, .task_status = run->task_status};

    czr_status status = czr_module_open(context, MIX_CODE, "mix", &module);
    if (status == CZR_OK)
        status = czr_module_find(&module, "mix", 0, &kernel);
    if (status == CZR_OK)
        status = czr_device_cuda_open(&options, &list->program, run_op, &r,
                                      &r.device);
    if (status == CZR_OK) {
        status = run_runner(&r, out);
        r.device->ops->close(r.device);
    }
    czr_module_close(&module);
    return status == CZR_OK ? context->status : status;
}

static czr_status run_on_double(drawn_list *list, cuda_run *run, outcome *out)
{
    test_bench bench;

    fake_register("mix", mix);
    if (run->hangs)
        fake_hang_at(run->at);
    czr_status status = bench_open(&bench);
    if (status == CZR_OK)
        status = run_on_context(list, bench.context, run, out);
    snprintf(run->message, sizeof run->message, "%s",
             bench.context ? bench.context->error : bench.message);
    bench_close(&bench);
    return status;
}

static void makes_the_same_bits_on_three_devices(void **state)
{
    static drawn_list list;
    uint64_t random = seed;

    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < LISTS; i++) {
        outcome host = {0}, late = {0};
        drawn_make(&list, &random);
        run_on_host(&list, false, &host);
        run_on_host(&list, true, &late);
        assert_memory_equal(&host, &late, sizeof host);
        for (uint64_t order = 1; order <= ORDERS; order++) {
            outcome out = {0};
            cuda_run run = {.kernel = mix_on_host};
            fake_reset(order * 997 + (uint64_t)i, (int)(order % 3) * 45);
            assert_int_equal(run_on_double(&list, &run, &out), CZR_OK);
            assert_memory_equal(&host, &out, sizeof host);
            assert_int_equal(bench_leftovers(), 0);
        }
    }
}

/* Until it has something to do, on more than one stream. */
static void make_busy(drawn_list *list, uint64_t *random)
{
    do
        drawn_make(list, random);
    while (list->program.n_ops < 12 || list->is_skipped[0] ||
           list->ops[0].stream == list->ops[1].stream ||
           list->ops[0].stream == list->ops[2].stream);
}

static void fails_cleanly_at_every_call(void **state)
{
    static const int codes[] = {1, 2, 700};
    static drawn_list list;
    uint64_t random = seed + 1;
    outcome out;

    (void)state;
    make_busy(&list, &random);
    fake_reset(3, 30);
    cuda_run run = {.kernel = mix_on_host};
    assert_int_equal(run_on_double(&list, &run, &out), CZR_OK);
    const int64_t n_calls = fake_calls();
    printf("%lld calls, each of which fails\n", (long long)n_calls);
    for (int64_t call = 1; call <= n_calls - 2; call++)
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
            fake_reset(3, 30);
            fake_fail(NULL, call, codes[i]);
            const czr_status status = run_on_double(&list, &run, &out);
            assert_true(fake_has_failed());
            if (status == CZR_OK || bench_leftovers() || !run.message[0])
                fail_msg("call %lld, %s, with %d: %s, %lld left, \"%s\"",
                         (long long)call, fake_symbol(call - 1), codes[i],
                         czr_status_name(status), (long long)bench_leftovers(),
                         run.message);
        }
}

/* An empty sentence: the driver has nothing to say. */
static void expect_failure(cuda_run run, czr_status expected,
                           const char *sentence)
{
    static drawn_list list;
    uint64_t random = seed + 2;
    outcome out;

    make_busy(&list, &random);
    fake_reset(1, 0);
    assert_int_equal(run_on_double(&list, &run, &out), expected);
    if (!strstr(run.message, sentence) || (run.message[0] && !sentence[0]))
        fail_msg("\"%s\" does not say \"%s\"", run.message, sentence);
    assert_int_equal(bench_leftovers(), 0);
}

static void says_what_went_wrong(void **state)
{
    (void)state;
    expect_failure((cuda_run){.kernel = on_host_alone}, CZR_ERR_DEVICE_CODE,
                   "a stage without a kernel for double");
    expect_failure(
        (cuda_run){.kernel = mix_on_host, .task_status = CZR_ERR_SINGULAR},
        CZR_ERR_SINGULAR, "");
}

/* Whatever can be done without the one that hangs is done: it is the first. */
static void names_the_operation_that_hangs(void **state)
{
    static drawn_list list;
    uint64_t random = seed + 2;
    char sentence[80];

    (void)state;
    make_busy(&list, &random);
    for (int op = 0; op < list.program.n_ops; op++) {
        if (list.is_skipped[op])
            continue;
        snprintf(sentence, sizeof sentence,
                 "operation %d, reduce_scatter on stream %d, was not complete",
                 op, list.ops[op].stream);
        expect_failure(
            (cuda_run){.kernel = mix_on_host, .hangs = true, .at = op},
            CZR_ERR_TIMEOUT, sentence);
    }
}

/* Memory that the device gives is zero, and asking for too much is no crash. */
static void gives_memory(void **state)
{
    static const czr_program nothing;
    test_bench bench;
    czr_device *device;
    uint64_t words[4] = {1, 1, 1, 1};

    (void)state;
    bench_reset(1, 0);
    assert_int_equal(bench_open(&bench), CZR_OK);
    const czr_device_cuda_options options = {.context = bench.context};
    assert_int_equal(
        czr_device_cuda_open(&options, &nothing, run_op, NULL, &device),
        CZR_OK);
    void *memory = device->ops->alloc(device, 4, 8);
    assert_non_null(memory);
    device->ops->copy(device, words, memory, sizeof words);
    for (int i = 0; i < 4; i++)
        assert_true(words[i] == 0);
    void *empty = device->ops->alloc(device, 0, 8);
    assert_non_null(empty);
    assert_null(device->ops->alloc(device, SIZE_MAX / 2, 3));
    assert_null(device->ops->alloc(device, SIZE_MAX - 1, 1));
    assert_null(device->ops->alloc(device, 1, (size_t)1 << 40));
    assert_int_equal(bench.context->status, CZR_ERR_NO_MEMORY);
    device->ops->release(device, memory);
    device->ops->release(device, empty);
    device->ops->release(device, NULL);
    device->ops->close(device);
    bench_close(&bench);
    assert_int_equal(bench_leftovers(), 0);
}

/* ---- another thread ----------------------------------------------------- */

static void *submit_elsewhere(void *user)
{
    runner *r = user;

    r->task_status = CZR_OK;
    r->task_status = submit_all(r);
    return NULL;
}

static void submits_from_another_thread(void **state)
{
    static drawn_list list;
    uint64_t random = seed + 3, expected[DRAWN_CELLS], got[DRAWN_CELLS];
    test_bench bench;
    czr_module module;
    void *kernel;
    pthread_t thread;
    runner r = {.list = &list, .kernel = mix_on_host};

    (void)state;
    make_busy(&list, &random);
    fake_reset(5, 0);
    fake_register("mix", mix);
    assert_int_equal(bench_open(&bench), CZR_OK);
    assert_int_equal(czr_module_open(bench.context, MIX_CODE, "mix", &module),
                     CZR_OK);
    assert_int_equal(czr_module_find(&module, "mix", 0, &kernel), CZR_OK);
    const czr_cuda_body body = {mix_on_host, put_mix, &kernel};
    const czr_device_cuda_options options = {
        .context = bench.context, .bodies = &body, .n_bodies = 1};
    assert_int_equal(
        czr_device_cuda_open(&options, &list.program, run_op, &r, &r.device),
        CZR_OK);
    r.cells = r.device->ops->alloc(r.device, DRAWN_CELLS, 8);
    r.kept = r.device->ops->alloc(r.device, DRAWN_OPS, 8);
    assert_int_equal(pthread_create(&thread, NULL, submit_elsewhere, &r), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(r.task_status, CZR_OK);
    assert_int_equal(r.device->ops->finish(r.device), CZR_OK);
    r.device->ops->copy(r.device, got, r.cells, CELL_BYTES);
    memset(expected, 0, sizeof expected);
    drawn_run(&list, expected);
    assert_memory_equal(expected, got, sizeof got);
    r.device->ops->release(r.device, r.cells);
    r.device->ops->release(r.device, r.kept);
    r.device->ops->close(r.device);
    czr_module_close(&module);
    bench_close(&bench);
    assert_int_equal(bench_leftovers(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_the_same_bits_on_three_devices),
        cmocka_unit_test(fails_cleanly_at_every_call),
        cmocka_unit_test(says_what_went_wrong),
        cmocka_unit_test(names_the_operation_that_hangs),
        cmocka_unit_test(gives_memory),
        cmocka_unit_test(submits_from_another_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
