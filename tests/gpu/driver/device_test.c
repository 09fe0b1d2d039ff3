/* Memory and copies of a device of the runtime, within operations and outside
 * of them, on the double.  Then every call of the driver fails once. */
#include "tests/gpu/driver/bench.h"

#include "runtime/cuda/exec/device.h"

#include <string.h>

enum { WORDS = 4, BYTES = WORDS * 8, ORDERS = 200 };

/* Two operations on a stream each, of which none waits for the other. */
static const czr_op ops[] = {{.stream = 0}, {.stream = 1}};
static const czr_program program = {.ops = ops, .n_ops = 2};

/* A list: each operation copies the first words to a place of its own. */
static czr_status copy_words(czr_device *device, void *stream, uint64_t *memory)
{
    czr_queue *queue = czr_device_cuda_queue(device);
    czr_status status = czr_queue_fork(queue, stream);

    for (int op = 0; op < program.n_ops && status == CZR_OK; op++) {
        void *used;
        status = czr_device_cuda_begin(device, op, &used);
        if (status != CZR_OK)
            break;
        device->ops->copy(device, memory + (op + 1) * WORDS, memory, BYTES);
        status = czr_device_cuda_end(device, op);
    }
    return status == CZR_OK ? czr_queue_join(queue, stream) : status;
}

/* Words go to the device, there from one place to another, and back.  A copy
 * outside of operations is done on return; nobody waits for the last list
 * before the memory is given back. */
static czr_status move_words(czr_device *device, czr_context *context,
                             void *stream, uint64_t *words)
{
    uint64_t *memory = device->ops->alloc(device, 3 * WORDS, sizeof *memory);

    if (!memory)
        return context->status;
    device->ops->copy(device, memory, words, BYTES);
    czr_status status = copy_words(device, stream, memory);
    for (int place = 1; place < 3 && status == CZR_OK; place++) {
        memset(words, 0xff, BYTES);
        status = czr_context_copy(context, czr_address_of(words),
                                  czr_address_of(memory + place * WORDS), BYTES,
                                  stream);
    }
    if (status == CZR_OK)
        status = copy_words(device, stream, memory);
    device->ops->release(device, memory);
    return status == CZR_OK ? czr_device_cuda_use(device, NULL) : status;
}

static czr_status run_on_double(uint64_t *words, char *message)
{
    czr_device *device = NULL;
    void *stream = NULL;
    test_bench bench;

    czr_status status = bench_open(&bench);
    czr_context *context = bench.context;
    const czr_device_cuda_options options = {.context = context,
                                             .deadline_ms = 10000};
    if (status == CZR_OK)
        status = czr_context_open_stream(context, &stream);
    if (status == CZR_OK)
        status = czr_device_cuda_open(&options, &program, &device);
    if (status == CZR_OK)
        status = move_words(device, context, stream, words);
    if (device)
        device->ops->close(device);
    if (context)
        czr_context_close_stream(context, stream);
    strcpy(message, context ? context->error : bench.message);
    if (status == CZR_OK)
        status = context->status;
    bench_close(&bench);
    return status;
}

static void copies_in_the_order_of_streams(void **state)
{
    char message[CZR_DRIVER_MESSAGE];

    (void)state;
    for (uint64_t order = 1; order <= ORDERS; order++) {
        uint64_t words[WORDS] = {1, 2, 3, order};
        fake_reset(order, (int)(order % 3) * 45);
        assert_int_equal(run_on_double(words, message), CZR_OK);
        for (uint64_t i = 0; i < WORDS; i++)
            assert_true(words[i] == (i < 3 ? i + 1 : order));
        assert_int_equal(bench_leftovers(), 0);
    }
}

static void fails_cleanly_at_every_call(void **state)
{
    static const int codes[] = {1, 2, 700};
    uint64_t words[WORDS] = {0};
    char message[CZR_DRIVER_MESSAGE];

    (void)state;
    fake_reset(3, 30);
    assert_int_equal(run_on_double(words, message), CZR_OK);
    const int64_t n_calls = fake_calls();
    printf("%lld calls, each of which fails\n", (long long)n_calls);
    for (int64_t call = 1; call <= n_calls - 2; call++)
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
            fake_reset(3, 30);
            fake_fail(NULL, call, codes[i]);
            const czr_status status = run_on_double(words, message);
            assert_true(fake_has_failed());
            if (status == CZR_OK || bench_leftovers() || !message[0])
                fail_msg("call %lld, %s, with %d: %s, %lld left, \"%s\"",
                         (long long)call, fake_symbol(call - 1), codes[i],
                         czr_status_name(status), (long long)bench_leftovers(),
                         message);
        }
}

/* Memory that the device gives is zero, and asking for too much is no crash. */
static void gives_memory(void **state)
{
    test_bench bench;
    czr_device *device;
    uint64_t words[4] = {1, 1, 1, 1};

    (void)state;
    bench_reset(1, 0);
    assert_int_equal(bench_open(&bench), CZR_OK);
    const czr_device_cuda_options options = {.context = bench.context};
    assert_int_equal(czr_device_cuda_open(&options, &program, &device), CZR_OK);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_in_the_order_of_streams),
        cmocka_unit_test(fails_cleanly_at_every_call),
        cmocka_unit_test(gives_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
