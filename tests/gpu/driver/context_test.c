/* One device: memory, copies, kernels, maps, graphs; and that whatever call
 * fails, there is one status, one sentence, and nothing left behind. */
#include "tests/gpu/driver/bench.h"

#include <string.h>
#include <time.h>

enum { N = 1000, BYTES = N * (int)sizeof(float) };

static void expect_sentence(const czr_context *context, czr_status status,
                            const char *sentence)
{
    assert_int_equal(context->status, status);
    if (!strstr(context->error, sentence))
        fail_msg("\"%s\" does not say \"%s\"", context->error, sentence);
}

static void start(test_bench *bench)
{
    bench_reset(1, 0);
    assert_int_equal(bench_open(bench), CZR_OK);
}

/* A context keeps its first failure: the next test begins with a new one. */
static void end(test_bench *bench)
{
    bench_close(bench);
    assert_int_equal(bench_leftovers(), 0);
}

/* ---- one of everything -------------------------------------------------- */

/* x = i and y = 2 x: stream 0 fills them, stream 1 adds. */
typedef struct test_parts {
    czr_address x, y;
    float *host;
    void *streams[2], *event;
    czr_module module;
    void *add, *scale;
    czr_graph graph;
} test_parts;

static czr_status open_parts(czr_context *context, test_parts *parts)
{
    czr_status status = czr_context_alloc(context, BYTES, &parts->x);

    if (status == CZR_OK)
        status = czr_context_alloc(context, BYTES, &parts->y);
    if (status == CZR_OK)
        status =
            czr_context_alloc_pinned(context, BYTES, (void **)&parts->host);
    for (int i = 0; i < 2 && status == CZR_OK; i++)
        status = czr_context_open_stream(context, &parts->streams[i]);
    if (status == CZR_OK)
        status = czr_context_open_event(context, &parts->event);
    if (status == CZR_OK)
        status = czr_module_open(context, BENCH_CODE, "bench", &parts->module);
    if (status == CZR_OK)
        status = czr_module_find(&parts->module, "add", 64 << 10, &parts->add);
    if (status == CZR_OK)
        status = czr_module_find(&parts->module, "scale", 0, &parts->scale);
    return status;
}

static void close_parts(czr_context *context, test_parts *parts)
{
    for (int i = 0; i < 2; i++)
        if (parts->streams[i] && context->status != CZR_ERR_TIMEOUT)
            czr_context_synchronize(context, parts->streams[i], 0);
    czr_graph_close(&parts->graph);
    czr_module_close(&parts->module);
    czr_context_close_event(context, parts->event);
    for (int i = 0; i < 2; i++)
        czr_context_close_stream(context, parts->streams[i]);
    czr_context_free_pinned(context, parts->host);
    czr_context_free(context, parts->y);
    czr_context_free(context, parts->x);
}

static czr_status launch_add(czr_context *context, test_parts *parts)
{
    const czr_launch launch = {.grid = {4, 1, 1},
                               .block = {256, 1, 1},
                               .shared_memory_bytes = 64 << 10};
    int64_t n = N;
    void *arguments[] = {&n, &parts->x, &parts->y};

    return czr_module_launch(context, parts->add, &launch, arguments,
                             parts->streams[1]);
}

/* Stream 1 adds x to y once stream 0 has filled both. */
static czr_status put_all(czr_context *context, test_parts *parts)
{
    czr_status status =
        czr_context_copy(context, parts->x, czr_address_of(parts->host), BYTES,
                         parts->streams[0]);

    if (status == CZR_OK)
        status =
            czr_context_fill(context, parts->y, 0, BYTES, parts->streams[0]);
    if (status == CZR_OK)
        status = czr_context_record(context, parts->event, parts->streams[0]);
    if (status == CZR_OK)
        status = czr_context_wait(context, parts->streams[1], parts->event);
    if (status == CZR_OK)
        status = launch_add(context, parts);
    return status;
}

/* Adds x once more, by a graph of one kernel. */
static czr_status double_by_graph(czr_context *context, test_parts *parts)
{
    czr_status status = czr_graph_begin(context, parts->streams[1]);

    if (status != CZR_OK)
        return status;
    status = launch_add(context, parts);
    const czr_status ended =
        czr_graph_end(context, parts->streams[1], &parts->graph);
    if (status == CZR_OK)
        status = ended;
    return status == CZR_OK ? czr_graph_launch(&parts->graph, parts->streams[1])
                            : status;
}

static czr_status run_parts(czr_context *context, test_parts *parts)
{
    czr_status status = open_parts(context, parts);

    if (status != CZR_OK)
        return status;
    for (int i = 0; i < N; i++)
        parts->host[i] = (float)i;
    status = put_all(context, parts);
    if (status == CZR_OK)
        status = double_by_graph(context, parts);
    if (status == CZR_OK)
        status = czr_context_copy(context, czr_address_of(parts->host),
                                  parts->y, BYTES, parts->streams[1]);
    return status == CZR_OK
               ? czr_context_synchronize(context, parts->streams[1], 1000)
               : status;
}

static czr_status run_bench(test_bench *bench, float *out)
{
    test_parts parts = {0};
    czr_status status = bench_open(bench);

    if (status != CZR_OK) {
        bench_close(bench);
        return status;
    }
    status = run_parts(bench->context, &parts);
    if (status == CZR_OK)
        memcpy(out, parts.host, BYTES);
    close_parts(bench->context, &parts);
    /* What gives back returns nothing: the context has noted it. */
    if (status == CZR_OK)
        status = bench->context->status;
    snprintf(bench->message, sizeof bench->message, "%s",
             bench->context->error);
    bench_close(bench);
    return status;
}

static void computes_in_any_permitted_order(void **state)
{
    float out[N];
    test_bench bench;

    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        memset(out, 0, sizeof out);
        bench_reset(seed, (int)(seed * 37 % 100));
        assert_int_equal(run_bench(&bench, out), CZR_OK);
        assert_string_equal(bench.message, "");
        for (int i = 0; i < N; i++)
            assert_true(out[i] == 2.0f * (float)i);
        assert_int_equal(fake_last_shared(), 64 << 10);
        assert_int_equal(bench_leftovers(), 0);
    }
}

/* ---- any call may fail -------------------------------------------------- */

/* Behind the last word: nobody is left to hear it. */
static bool is_farewell(int64_t call, int64_t n_calls)
{
    return call > n_calls - 2;
}

static void fails_cleanly_at_every_call(void **state)
{
    static const int codes[] = {1, 2, 100, 700, 719, 999};
    float out[N];
    test_bench bench;

    (void)state;
    bench_reset(7, 20);
    assert_int_equal(run_bench(&bench, out), CZR_OK);
    const int64_t n_calls = fake_calls();
    printf("%lld calls, each of which fails\n", (long long)n_calls);
    for (int64_t call = 1; call <= n_calls; call++)
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
            bench_reset(7, 20);
            fake_fail(NULL, call, codes[i]);
            const czr_status status = run_bench(&bench, out);
            assert_true(fake_has_failed());
            if (bench_leftovers() ||
                (status == CZR_OK && !is_farewell(call, n_calls)))
                fail_msg("call %lld, %s, with %d: %s, %lld handles",
                         (long long)call, fake_symbol(call - 1), codes[i],
                         czr_status_name(status), (long long)bench_leftovers());
            if (status != CZR_OK && call > 1)
                assert_int_equal(status, czr_driver_status(codes[i]));
            if (status != CZR_OK)
                assert_true(strlen(bench.message) > 0);
        }
}

/* ---- single failures ---------------------------------------------------- */

static void names_the_bytes_that_are_not_there(void **state)
{
    test_bench bench;
    czr_address address;

    (void)state;
    start(&bench);
    fake_set_memory(1 << 20);
    assert_int_equal(czr_context_alloc(bench.context, 1 << 19, &address),
                     CZR_OK);
    czr_address more;
    assert_int_equal(czr_context_alloc(bench.context, 600000, &more),
                     CZR_ERR_NO_MEMORY);
    assert_true(more == 0);
    expect_sentence(bench.context, CZR_ERR_NO_MEMORY,
                    "600000 bytes on double 0, which has 524288 of 1048576");
    czr_context_free(bench.context, address);
    end(&bench);
}

static void refuses_code(void **state)
{
    static const struct {
        const char *code, *kernel;
        int shared;
        const char *sentence;
    } rows[] = {
        {"ELF", "add", 0, "loading plan on double 0 (sm_90)"},
        {"FAKE sm_100\nadd 0\n", "add", 0, "loading plan on double 0 (sm_90)"},
        {BENCH_CODE, "subtract", 0, "kernel subtract"},
        {BENCH_CODE, "add", 232448 - 1023,
         "kernel add takes 232449 bytes of shared memory, and a block of "
         "double 0 has 232448"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_bench bench;
        czr_module module;
        void *kernel;
        start(&bench);
        czr_status status =
            czr_module_open(bench.context, rows[i].code, "plan", &module);
        if (status == CZR_OK)
            status = czr_module_find(&module, rows[i].kernel, rows[i].shared,
                                     &kernel);
        assert_int_equal(status, CZR_ERR_DEVICE_CODE);
        expect_sentence(bench.context, CZR_ERR_DEVICE_CODE, rows[i].sentence);
        czr_module_close(&module);
        end(&bench);
    }
}

static void refuses_launches(void **state)
{
    static const czr_launch rows[] = {
        {.grid = {0, 1, 1}, .block = {32, 1, 1}},
        {.grid = {1, 1, 1}, .block = {1056, 1, 1}},
        {.grid = {1, 1, 1}, .block = {32, 1, 1}, .shared_memory_bytes = 49153},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_bench bench;
        test_parts parts = {0};
        int64_t n = 0;
        void *arguments[] = {&n, &parts.y};
        start(&bench);
        assert_int_equal(open_parts(bench.context, &parts), CZR_OK);
        assert_int_equal(czr_module_launch(bench.context, parts.scale, &rows[i],
                                           arguments, parts.streams[0]),
                         CZR_ERR_DEVICE);
        expect_sentence(bench.context, CZR_ERR_DEVICE, "launching");
        close_parts(bench.context, &parts);
        end(&bench);
    }
}

static void copies_within_bounds_alone(void **state)
{
    test_bench bench;
    test_parts parts = {0};

    (void)state;
    start(&bench);
    czr_context *context = bench.context;
    assert_int_equal(open_parts(context, &parts), CZR_OK);
    void *stream = parts.streams[0];
    assert_int_equal(czr_context_copy(context, parts.y, parts.x, 0, stream),
                     CZR_OK);
    assert_int_equal(
        czr_context_copy(context, parts.y + 4, parts.x, BYTES, stream),
        CZR_ERR_DEVICE);
    expect_sentence(context, CZR_ERR_DEVICE,
                    "copying 4000 bytes: sentence of the driver for 1 (1)");
    assert_int_equal(czr_context_fill(context, parts.y, 0, BYTES + 1, stream),
                     CZR_ERR_DEVICE);
    close_parts(context, &parts);
    end(&bench);
}

/* What a kernel does wrong is heard when somebody waits; then all is lost, and
 * still given back. */
static void hears_of_an_illegal_address(void **state)
{
    const czr_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    test_bench bench;
    test_parts parts = {0};

    (void)state;
    start(&bench);
    assert_int_equal(open_parts(bench.context, &parts), CZR_OK);
    int64_t n = N + 1;
    void *arguments[] = {&n, &parts.y};
    assert_int_equal(czr_module_launch(bench.context, parts.scale, &launch,
                                       arguments, parts.streams[0]),
                     CZR_OK);
    assert_int_equal(
        czr_context_synchronize(bench.context, parts.streams[0], 0),
        CZR_ERR_DEVICE);
    expect_sentence(bench.context, CZR_ERR_DEVICE, "waiting for a stream");
    expect_sentence(bench.context, CZR_ERR_DEVICE, "(700)");
    assert_int_equal(launch_add(bench.context, &parts), CZR_ERR_DEVICE);
    expect_sentence(bench.context, CZR_ERR_DEVICE, "waiting for a stream");
    close_parts(bench.context, &parts);
    end(&bench);
}

static void hears_of_memory_freed_too_soon(void **state)
{
    test_bench bench;
    test_parts parts = {0};

    (void)state;
    start(&bench);
    assert_int_equal(open_parts(bench.context, &parts), CZR_OK);
    assert_int_equal(launch_add(bench.context, &parts), CZR_OK);
    czr_context_free(bench.context, parts.x);
    parts.x = 0;
    assert_int_equal(
        czr_context_synchronize(bench.context, parts.streams[1], 0),
        CZR_ERR_DEVICE);
    close_parts(bench.context, &parts);
    end(&bench);
}

/* A wait that failed has not waited: what the stream has still uses memory that
 * is given back. */
static void drains_where_a_wait_fails(void **state)
{
    test_bench bench;
    czr_address memory;
    void *stream;

    (void)state;
    start(&bench);
    assert_int_equal(czr_context_open_stream(bench.context, &stream), CZR_OK);
    assert_int_equal(czr_context_alloc(bench.context, BYTES, &memory), CZR_OK);
    assert_int_equal(czr_context_fill(bench.context, memory, 1, BYTES, stream),
                     CZR_OK);
    fake_fail("cuStreamSynchronize", 1, 999);
    czr_context_drain(bench.context, stream);
    assert_true(fake_has_failed());
    czr_context_free(bench.context, memory);
    czr_context_close_stream(bench.context, stream);
    expect_sentence(bench.context, CZR_ERR_DEVICE, "waiting for a stream");
    end(&bench);
}

static void hears_of_a_stream_that_hangs(void **state)
{
    test_bench bench;
    test_parts parts = {0};

    (void)state;
    start(&bench);
    assert_int_equal(open_parts(bench.context, &parts), CZR_OK);
    fake_hang();
    assert_int_equal(launch_add(bench.context, &parts), CZR_OK);
    const clock_t before = clock();
    assert_int_equal(
        czr_context_synchronize(bench.context, parts.streams[1], 30),
        CZR_ERR_TIMEOUT);
    assert_true(clock() - before < 5 * CLOCKS_PER_SEC);
    expect_sentence(bench.context, CZR_ERR_TIMEOUT,
                    "a stream of double 0 did not come to its end in 30 ms");
    close_parts(bench.context, &parts);
    end(&bench);
}

/* ---- tensor maps -------------------------------------------------------- */

static void encodes_tensor_maps(void **state)
{
    static const czr_tiled good = {.rank = 3,
                                   .dims = {520, 300, 2},
                                   .strides = {1040, 312000},
                                   .box = {64, 128, 1},
                                   .swizzle = CZR_TENSOR_MAP_SWIZZLE_128B};
    test_bench bench;
    czr_address address;
    czr_tensor_map map;

    (void)state;
    for (int fault = 0; fault < 7; fault++) {
        czr_tiled tiled = good;
        start(&bench);
        assert_int_equal(czr_context_alloc(bench.context, 624000, &address),
                         CZR_OK);
        tiled.address = address + (fault == 1 ? 8 : 0);
        tiled.strides[0] += fault == 2 ? 8 : 0;
        tiled.box[0] = fault == 3 ? 128 : 64;
        tiled.box[1] = fault == 4 ? 257 : 128;
        tiled.rank = fault == 5 ? 6 : 3;
        tiled.type = fault == 6 ? 0 : CZR_TENSOR_MAP_FLOAT16;
        assert_int_equal(czr_module_encode(bench.context, &tiled, &map),
                         fault ? CZR_ERR_DEVICE : CZR_OK);
        if (fault)
            expect_sentence(bench.context, CZR_ERR_DEVICE, "a tensor map of");
        else
            assert_true(map.opaque[0] == address && map.opaque[1] == 520 &&
                        map.opaque[3] == CZR_TENSOR_MAP_SWIZZLE_128B &&
                        map.opaque[FAKE_MAP_TYPE] == CZR_TENSOR_MAP_FLOAT16);
        czr_context_free(bench.context, address);
        end(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_in_any_permitted_order),
        cmocka_unit_test(fails_cleanly_at_every_call),
        cmocka_unit_test(names_the_bytes_that_are_not_there),
        cmocka_unit_test(refuses_code),
        cmocka_unit_test(refuses_launches),
        cmocka_unit_test(copies_within_bounds_alone),
        cmocka_unit_test(hears_of_an_illegal_address),
        cmocka_unit_test(hears_of_memory_freed_too_soon),
        cmocka_unit_test(drains_where_a_wait_fails),
        cmocka_unit_test(hears_of_a_stream_that_hangs),
        cmocka_unit_test(encodes_tensor_maps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
