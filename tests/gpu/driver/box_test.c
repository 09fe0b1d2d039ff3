/* Boxes between memories of a device, beside the host's: which are copied,
 * which are moved by one kernel, and how many a launch takes.
 *
 * box_test [SEED [TRIALS]] */
#include "runtime/base/box.h"
#include "runtime/cuda/collect/box.h"
#include "tests/gpu/driver/bench.h"

enum { MOST_BOXES = 3 * CZR_PACK_MOVES, ROOM = 1024, ALL = MOST_BOXES * ROOM };

static unsigned first_seed = 1;
static int trials = 40;

typedef struct session {
    test_bench bench;
    czr_collect *collect;
    void *stream;
    czr_address from, to;
    czr_boxes boxes;
    unsigned char given[ALL], wanted[ALL], made[ALL];
    int n_packed, n_copied; /* boxes */
} session;

static size_t draw(size_t n)
{
    return (size_t)rand() % n;
}

static void open_session(session *s)
{
    memset(s, 0, sizeof *s);
    bench_reset(first_seed, 30);
    assert_int_equal(bench_open(&s->bench), CZR_OK);
    czr_context *context = s->bench.context;
    assert_int_equal(
        czr_collect_open(context, NULL, NULL, &s->collect, s->bench.message),
        CZR_OK);
    assert_int_equal(czr_context_open_stream(context, &s->stream), CZR_OK);
    assert_int_equal(czr_context_alloc(context, ALL, &s->from), CZR_OK);
    assert_int_equal(czr_context_alloc(context, ALL, &s->to), CZR_OK);
    s->boxes = (czr_boxes){.collect = s->collect, .stream = s->stream};
}

static void close_session(session *s)
{
    czr_context *context = s->bench.context;

    czr_context_synchronize(context, s->stream, 0);
    czr_context_free(context, s->from);
    czr_context_free(context, s->to);
    czr_context_close_stream(context, s->stream);
    czr_collect_close(s->collect);
    bench_close(&s->bench);
    assert_int_equal(bench_leftovers(), 0);
}

static czr_status copy(session *s, czr_address to, czr_address from)
{
    return czr_context_copy(s->bench.context, to, from, ALL, s->stream);
}

/* What a row says of a box in its own part of the memory. */
static czr_box draw_end(int i, int64_t n_rows, int64_t bytes)
{
    return (czr_box){.offset = i * (int64_t)ROOM + (int64_t)draw(40),
                     .n_rows = n_rows,
                     .row_bytes = bytes,
                     .stride_bytes = bytes + (int64_t)draw(3) * 8};
}

/* On the host at once, and on the device where `boxes` are put. */
static void put_box(session *s, int i)
{
    const int64_t n_rows = 1 + (int64_t)draw(8);
    const int64_t bytes = 1 + (int64_t)draw(100);
    const czr_box to = draw_end(i, n_rows, bytes);
    const czr_box from = draw_end(i, n_rows, bytes);
    const bool is_one = to.stride_bytes == bytes && from.stride_bytes == bytes;
    const bool is_packed = !is_one && n_rows > 3;

    s->n_packed += is_packed;
    s->n_copied += !is_packed;
    czr_box_copy(s->wanted, &to, s->given, &from);
    assert_int_equal(czr_box_put(s->bench.context, &s->boxes,
                                 czr_pointer_of(s->to), &to,
                                 czr_pointer_of(s->from), &from, s->stream),
                     CZR_OK);
}

static int count_entries(fake_entry_kind kind)
{
    int64_t n;
    const fake_entry *log = fake_log(&n);
    int count = 0;

    for (int64_t i = 0; i < n; i++)
        count += log[i].kind == kind;
    return count;
}

static void move_boxes(session *s, int n)
{
    open_session(s);
    for (int i = 0; i < ALL; i++)
        s->given[i] = (unsigned char)draw(256);
    assert_int_equal(copy(s, s->from, czr_address_of(s->given)), CZR_OK);
    assert_int_equal(copy(s, s->to, czr_address_of(s->wanted)), CZR_OK);
    fake_clear_log();
    for (int i = 0; i < n; i++)
        put_box(s, i);
    assert_int_equal(czr_boxes_put(&s->boxes), CZR_OK);
    assert_int_equal(czr_boxes_put(&s->boxes), CZR_OK);
    assert_int_equal(count_entries(FAKE_LAUNCH),
                     (s->n_packed + CZR_PACK_MOVES - 1) / CZR_PACK_MOVES);
    assert_int_equal(count_entries(FAKE_COPY), s->n_copied);
    assert_int_equal(copy(s, czr_address_of(s->made), s->to), CZR_OK);
    assert_int_equal(czr_context_synchronize(s->bench.context, s->stream, 0),
                     CZR_OK);
    assert_memory_equal(s->made, s->wanted, ALL);
    close_session(s);
}

static void move_as_on_the_host(void **state)
{
    static session s;

    (void)state;
    for (int i = 0; i < trials; i++) {
        srand(first_seed + (unsigned)i);
        move_boxes(&s, (int)draw(MOST_BOXES + 1));
    }
}

static void keeps_the_first_failure(void **state)
{
    static session s;

    (void)state;
    srand(first_seed);
    open_session(&s);
    fake_fail("cuLaunchKernelEx", 1, CZR_CUDA_OUT_OF_MEMORY);
    for (int i = 0; i <= CZR_PACK_MOVES; i++)
        czr_boxes_add(&s.boxes, 8, 16,
                      (czr_strided){s.from + (czr_address)i * ROOM, 32},
                      (czr_strided){s.to + (czr_address)i * ROOM, 16});
    assert_true(fake_has_failed());
    assert_int_equal(s.boxes.status, CZR_ERR_NO_MEMORY);
    fake_clear_log();
    assert_int_equal(czr_boxes_put(&s.boxes), CZR_ERR_NO_MEMORY);
    assert_int_equal(count_entries(FAKE_LAUNCH), 0);
    close_session(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(move_as_on_the_host),
        cmocka_unit_test(keeps_the_first_failure),
    };

    if (argc > 1)
        first_seed = (unsigned)strtoul(argv[1], NULL, 10);
    if (argc > 2)
        trials = atoi(argv[2]);
    printf("seed %u, %d trials\n", first_seed, trials);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
