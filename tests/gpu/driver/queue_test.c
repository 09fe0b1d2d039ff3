/* The queue on drawn lists: what its calls order is exactly what streams and
 * waits say, by a brute-force closure of both; and on the double, whatever
 * order that runs things in, the bits are those of list order.
 *
 * queue_test [SEED [LISTS]]; queue_test gpu NVRTC...: the bits alone, on the
 * machine's own driver; queue_test text NVRTC...: whether the kernel for that
 * compiles.  Exit status 77 where one of them is not there: skipped. */
#include "runtime/program/program.h"
#include "tests/gpu/driver/lists.h"

enum { ON_GPU = 40, MAX_ENTRIES = 512, ORDERS = 8 };

static uint64_t seed = 20261123;
static int n_lists = 300;

/* ---- happens-before ----------------------------------------------------- */

typedef struct relation {
    int64_t n;
    bool before[MAX_ENTRIES][MAX_ENTRIES]; /* of entries of the log */
} relation;

/* The record that a wait means: the event's last; -1: none in the log. */
static int64_t find_record(const fake_entry *log, int64_t wait)
{
    for (int64_t i = wait - 1; i >= 0; i--)
        if (log[i].kind == FAKE_RECORD && log[i].event == log[wait].event)
            return i;
    return -1;
}

static void relate(relation *r)
{
    const fake_entry *log = fake_log(&r->n);

    assert_true(r->n <= MAX_ENTRIES);
    for (int64_t b = 0; b < r->n; b++) {
        const int64_t record =
            log[b].kind == FAKE_WAIT ? find_record(log, b) : -1;
        assert_true(log[b].kind != FAKE_WAIT || record >= 0);
        for (int64_t a = b - 1; a >= 0; a--) {
            r->before[a][b] = log[a].stream == log[b].stream || a == record;
            for (int64_t c = a + 1; c < b && !r->before[a][b]; c++)
                r->before[a][b] = r->before[a][c] && r->before[c][b];
        }
    }
}

/* Launches of operations are ordered as the list says, all of them behind -1
 * and before -2. */
static void compare_orders(const drawn_list *list, const relation *r)
{
    int64_t n;
    const fake_entry *log = fake_log(&n);

    for (int64_t b = 0; b < n; b++)
        for (int64_t a = 0; a < b; a++) {
            if (log[a].kind != FAKE_LAUNCH || log[b].kind != FAKE_LAUNCH)
                continue;
            const int64_t x = log[a].tag, y = log[b].tag;
            const bool wanted = x < 0 || y < 0 || list->before[x][y];
            if (r->before[a][b] != wanted)
                fail_msg("operation %d is %sordered before %d", (int)x,
                         wanted ? "not " : "", (int)y);
        }
}

/* Operations that come and that another stream has a wait for, of any that may
 * come: a wait is known when the queue is opened, a skip is not. */
static int64_t count_awaited(const drawn_list *list)
{
    int64_t n = 0;

    for (int a = 0; a < list->program.n_ops; a++) {
        bool is_awaited = false;
        for (int b = a + 1; b < list->program.n_ops; b++)
            is_awaited |= drawn_waits(list, b, a) &&
                          list->ops[a].stream != list->ops[b].stream;
        n += is_awaited && !list->is_skipped[a];
    }
    return n;
}

static int64_t count_records(void)
{
    int64_t n, sum = 0;
    const fake_entry *log = fake_log(&n);

    for (int64_t i = 0; i < n; i++)
        sum += log[i].kind == FAKE_RECORD;
    return sum;
}

/* Also of the lists behind the first; events are recorded for a fork, for each
 * stream of a join, and for what is waited for. */
static void orders_what_the_list_says(void **state)
{
    static drawn_list list;
    static relation orders;
    uint64_t random = seed;
    queue_bench q;

    (void)state;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < n_lists; i++) {
        drawn_make(&list, &random);
        lists_open(&q, &list, random, 50);
        for (int turn = 0; turn < 3; turn++) {
            fake_clear_log();
            lists_launch(&q, -1, q.user_stream);
            lists_put(&q);
            lists_launch(&q, -2, q.user_stream);
            relate(&orders);
            compare_orders(&list, &orders);
            assert_int_equal(count_records(),
                             1 + czr_program_streams(&list.program) +
                                 count_awaited(&list));
            lists_wait(&q);
        }
        lists_close(&q, CZR_OK);
    }
}

static void what_travels_goes_before_what_is_computed(void **state)
{
    static drawn_list list;
    uint64_t random = seed;
    bool has_urgent = false;
    queue_bench q;
    void *stream;

    (void)state;
    drawn_make(&list, &random);
    lists_open(&q, &list, random, 0);
    for (int op = 0; op < list.program.n_ops; op++) {
        const bool is_urgent = list.ops[op].stream > 0;
        assert_int_equal(czr_queue_begin(q.queue, op, &stream), CZR_OK);
        assert_true(is_urgent ? fake_priority(stream) < 0
                              : fake_priority(stream) == 0);
        assert_int_equal(czr_queue_end(q.queue, op), CZR_OK);
        has_urgent |= is_urgent;
    }
    assert_true(has_urgent);
    lists_close(&q, CZR_OK);
}

/* ---- data --------------------------------------------------------------- */

/* Two lists one after the other, in one order; what the cells are then. */
static void run_lists(queue_bench *q, uint64_t *out)
{
    lists_first_cells(q->host);
    lists_copy(q, false);
    lists_put(q);
    lists_put(q);
    lists_copy(q, true);
    lists_wait(q);
    memcpy(out, q->host, LISTS_BYTES);
}

static bool runs_alike(drawn_list *list, uint64_t order, int eagerness)
{
    uint64_t expected[DRAWN_CELLS], got[DRAWN_CELLS];
    queue_bench q;

    lists_first_cells(expected);
    drawn_run(list, expected);
    drawn_run(list, expected);
    lists_open(&q, list, order, eagerness);
    run_lists(&q, got);
    lists_close(&q, CZR_OK);
    return !memcmp(expected, got, sizeof got);
}

static void has_the_bits_of_list_order_in_every_order(void **state)
{
    static drawn_list list;
    uint64_t random = seed + 2;

    (void)state;
    for (int i = 0; i < n_lists; i++) {
        drawn_make(&list, &random);
        for (uint64_t order = 1; order <= ORDERS; order++)
            assert_true(runs_alike(&list, order * 1000 + (uint64_t)i,
                                   (int)(order % 3) * 45));
    }
}

/* ---- misuse ------------------------------------------------------------- */

static void refuses_what_is_out_of_turn(void **state)
{
    static drawn_list list;
    uint64_t random = seed;
    void *stream;
    queue_bench q;

    (void)state;
    do
        drawn_make(&list, &random);
    while (list.program.n_ops < 2);
    for (int fault = 0; fault < 3; fault++) {
        lists_open(&q, &list, 1, 0);
        if (fault == 0) /* another one has begun */
            assert_int_equal(czr_queue_begin(q.queue, 0, &stream), CZR_OK);
        if (fault == 1) /* joined, and not forked */
            assert_int_equal(czr_queue_join(q.queue, q.user_stream), CZR_OK);
        assert_int_equal(fault == 2 ? czr_queue_end(q.queue, 1)
                                    : czr_queue_begin(q.queue, 1, &stream),
                         CZR_ERR_STATE);
        assert_int_equal(q.bench.context->status, CZR_ERR_STATE);
        assert_non_null(strstr(q.bench.context->error, "operation 1: "));
        q.bench.context->status = CZR_OK;
        lists_close(&q, CZR_OK);
    }
}

static int compile_text(int argc, char **argv)
{
    static const int architectures[] = {80, 90, 100};
    czr_nvrtc *nvrtc;
    int status = 0;

    if (!gpu_bench_find_nvrtc(argc - 2, argv + 2, &nvrtc))
        return GPU_BENCH_SKIPPED;
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        void *code = lists_compile(nvrtc, architectures[i]);
        status |= !code;
        free(code);
    }
    czr_nvrtc_close(nvrtc);
    return status;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_what_the_list_says),
        cmocka_unit_test(what_travels_goes_before_what_is_computed),
        cmocka_unit_test(has_the_bits_of_list_order_in_every_order),
        cmocka_unit_test(refuses_what_is_out_of_turn),
    };

    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(has_the_bits_of_list_order_in_every_order),
        cmocka_unit_test(refuses_what_is_out_of_turn),
    };

    if (argc > 1 && !strcmp(argv[1], "text"))
        return compile_text(argc, argv);
    if (argc > 1 && !strcmp(argv[1], "gpu")) {
        n_lists = ON_GPU;
        return lists_use_gpu(argc, argv)
                   ? cmocka_run_group_tests(on_gpu, NULL, NULL)
                   : GPU_BENCH_SKIPPED;
    }
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        n_lists = atoi(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
