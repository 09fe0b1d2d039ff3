/* Lists captured once and launched again: the bits of list order whatever order
 * the graph runs in, one call a launch, and nothing that grows; and captures
 * that fail leave streams as they were. */
#include "tests/gpu/driver/lists.h"

enum {
    LISTS = 60,
    LAUNCHES = 1000,
    FEW_LAUNCHES = 5,
    FILLS = 50,
    BLOCK_BYTES = 1 << 20
};

static const uint64_t seed = 90210;

static void capture(queue_bench *q, czr_graph *graph)
{
    assert_int_equal(czr_graph_begin(q->bench.context, q->user_stream), CZR_OK);
    lists_put(q);
    assert_int_equal(czr_graph_end(q->bench.context, q->user_stream, graph),
                     CZR_OK);
}

static void start_cells(queue_bench *q, uint64_t *expected)
{
    lists_first_cells(expected);
    lists_first_cells(q->host);
    lists_copy(q, false);
    lists_wait(q);
}

static void expect_cells(queue_bench *q, const uint64_t *expected)
{
    lists_copy(q, true);
    lists_wait(q);
    assert_memory_equal(expected, q->host, LISTS_BYTES);
}

/* Capture does nothing yet; launches do, on whatever stream, one by one; a list
 * without the graph may follow. */
static void runs_what_was_captured(void **state)
{
    static drawn_list list;
    uint64_t random = seed, expected[DRAWN_CELLS];
    queue_bench q;
    czr_graph graph;

    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < LISTS; i++) {
        drawn_make(&list, &random);
        lists_open(&q, &list, random, i % 3 * 45);
        start_cells(&q, expected);
        capture(&q, &graph);
        expect_cells(&q, expected);
        for (int turn = 0; turn < FEW_LAUNCHES; turn++) {
            assert_int_equal(
                czr_graph_launch(&graph, turn % 2 ? q.side : q.user_stream),
                CZR_OK);
            drawn_run(&list, expected);
        }
        assert_int_equal(czr_context_synchronize(q.bench.context, q.side, 0),
                         CZR_OK);
        expect_cells(&q, expected);
        lists_put(&q);
        drawn_run(&list, expected);
        expect_cells(&q, expected);
        czr_graph_close(&graph);
        lists_close(&q, CZR_OK);
    }
}

static void does_not_grow(void **state)
{
    static drawn_list list;
    uint64_t random = seed + 1, expected[DRAWN_CELLS];
    queue_bench q;
    czr_graph graph;

    (void)state;
    do
        drawn_make(&list, &random);
    while (list.program.n_ops < DRAWN_OPS - 4);
    lists_open(&q, &list, random, 20);
    start_cells(&q, expected);
    capture(&q, &graph);
    fake_live live = {0};
    for (int turn = 0; turn < LAUNCHES; turn++) {
        const int64_t calls = fake_calls();
        assert_int_equal(czr_graph_launch(&graph, q.user_stream), CZR_OK);
        assert_int_equal(fake_calls() - calls, bench_path ? 1 : 0);
        lists_wait(&q);
        drawn_run(&list, expected);
        if (turn == 0)
            live = fake_count();
        const fake_live now = fake_count();
        assert_memory_equal(&live, &now, sizeof now);
    }
    assert_int_equal(live.graphs, 0);
    assert_int_equal(live.execs, bench_path ? 1 : 0);
    expect_cells(&q, expected);
    printf("%d launches of %d operations: %lld internals of the double\n",
           LAUNCHES, list.program.n_ops, (long long)live.internals);
    czr_graph_close(&graph);
    lists_close(&q, CZR_OK);
}

/* Fills a block again and again, says so, and goes on with another one. */
static void capture_announcement(test_bench *bench, const czr_address *blocks,
                                 void *event, czr_graph *graph, void *stream)
{
    czr_context *context = bench->context;

    assert_int_equal(czr_graph_begin(context, stream), CZR_OK);
    for (int i = 1; i <= FILLS; i++)
        assert_int_equal(czr_context_fill(context, blocks[0], (unsigned char)i,
                                          BLOCK_BYTES, stream),
                         CZR_OK);
    assert_int_equal(czr_context_announce(context, event, stream), CZR_OK);
    assert_int_equal(
        czr_context_fill(context, blocks[1], FILLS, BLOCK_BYTES, stream),
        CZR_OK);
    assert_int_equal(czr_graph_end(context, stream, graph), CZR_OK);
}

/* What the stream finds in a block behind the event. */
static void expect_filled(czr_context *context, czr_address block, void *event,
                          void *stream)
{
    void *pinned;

    assert_int_equal(czr_context_alloc_pinned(context, BLOCK_BYTES, &pinned),
                     CZR_OK);
    assert_int_equal(czr_context_wait(context, stream, event), CZR_OK);
    assert_int_equal(czr_context_copy(context, czr_address_of(pinned), block,
                                      BLOCK_BYTES, stream),
                     CZR_OK);
    assert_int_equal(czr_context_synchronize(context, stream, 0), CZR_OK);
    for (int i = 0; i < BLOCK_BYTES; i++)
        assert_int_equal(((unsigned char *)pinned)[i], FILLS);
    czr_context_free_pinned(context, pinned);
}

/* Each launch lets a stream beside it go on from there, and no earlier. */
static void says_how_far_it_is(void **state)
{
    static drawn_list list;
    uint64_t random = seed + 3;
    queue_bench q;
    czr_graph graph;
    czr_address blocks[2];
    void *event;

    (void)state;
    drawn_make(&list, &random);
    lists_open(&q, &list, random, 0);
    czr_context *context = q.bench.context;
    void *first = q.user_stream;
    assert_int_equal(czr_context_open_event(context, &event), CZR_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(czr_context_alloc(context, BLOCK_BYTES, &blocks[i]),
                         CZR_OK);
    capture_announcement(&q.bench, blocks, event, &graph, first);
    for (int turn = 0; turn < FEW_LAUNCHES; turn++) {
        assert_int_equal(
            czr_context_fill(context, blocks[0], 0, BLOCK_BYTES, first),
            CZR_OK);
        assert_int_equal(czr_graph_launch(&graph, first), CZR_OK);
        expect_filled(context, blocks[0], event, q.side);
    }
    assert_int_equal(czr_context_synchronize(context, first, 0), CZR_OK);
    czr_graph_close(&graph);
    czr_context_close_event(context, event);
    for (int i = 0; i < 2; i++)
        czr_context_free(context, blocks[i]);
    lists_close(&q, CZR_OK);
}

/* ---- captures that fail ------------------------------------------------- */

typedef enum fault {
    NOT_JOINED,
    WAITS_OUTSIDE,
    SYNCHRONIZES,
    ALLOCATES,
    LOADS,
    N_FAULTS
} fault;

/* What cannot be while a stream is in capture. */
static void do_wrong(queue_bench *q, fault what, void *event)
{
    czr_context *context = q->bench.context;
    void *first = q->user_stream;
    czr_address address;
    czr_module module;

    switch (what) {
    case NOT_JOINED: /* the other stream has work that none waits for */
        assert_int_equal(czr_context_record(context, event, first), CZR_OK);
        assert_int_equal(czr_context_wait(context, q->side, event), CZR_OK);
        lists_launch(q, -1, q->side);
        break;
    case WAITS_OUTSIDE: /* for an event of before */
        assert_int_equal(czr_context_wait(context, first, event),
                         CZR_ERR_DEVICE);
        break;
    case SYNCHRONIZES:
        assert_int_equal(czr_context_synchronize(context, first, 0),
                         CZR_ERR_DEVICE);
        break;
    case ALLOCATES:
        assert_int_equal(czr_context_alloc(context, 64, &address),
                         CZR_ERR_DEVICE);
        break;
    case LOADS:
        assert_int_equal(czr_module_open(context, LISTS_CODE, "late", &module),
                         CZR_ERR_DEVICE);
        break;
    case N_FAULTS:
        break;
    }
}

/* Whether code may be loaded in capture is not documented: the double refuses
 * it, a GPU is not asked. */
static void fails_and_leaves_streams_alone(void **state)
{
    static drawn_list list;
    uint64_t random = seed + 2, expected[DRAWN_CELLS];

    (void)state;
    drawn_make(&list, &random);
    for (int what = NOT_JOINED; what < (bench_path ? N_FAULTS : LOADS);
         what++) {
        queue_bench q;
        czr_graph graph;
        void *event;
        lists_open(&q, &list, random, 0);
        czr_context *context = q.bench.context;
        void *first = q.user_stream;
        start_cells(&q, expected);
        assert_int_equal(czr_context_open_event(context, &event), CZR_OK);
        assert_int_equal(czr_context_record(context, event, first), CZR_OK);
        assert_int_equal(czr_graph_begin(context, first), CZR_OK);
        lists_launch(&q, -1, first);
        do_wrong(&q, (fault)what, event);
        assert_int_equal(czr_graph_end(context, first, &graph), CZR_ERR_DEVICE);
        assert_null(graph.exec);
        assert_true(strlen(context->error) > 0);
        /* As before: a list runs. */
        lists_put(&q);
        drawn_run(&list, expected);
        expect_cells(&q, expected);
        czr_context_close_event(context, event);
        lists_close(&q, CZR_ERR_DEVICE);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_what_was_captured),
        cmocka_unit_test(does_not_grow),
        cmocka_unit_test(says_how_far_it_is),
        cmocka_unit_test(fails_and_leaves_streams_alone),
    };

    if (argc > 1 && !strcmp(argv[1], "gpu") && !lists_use_gpu(argc, argv))
        return GPU_BENCH_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
