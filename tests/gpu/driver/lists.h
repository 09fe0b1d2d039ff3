/* Drawn lists on a queue over the double, or over a GPU where there is one:
 * what tests of queues and of graphs have in common. */
#ifndef TESTS_CUDA_LISTS_H
#define TESTS_CUDA_LISTS_H

#include "tests/gpu/driver/drawn.h"
#include "tests/gpu/plan/gpu_bench.h"

#include "runtime/cuda/exec/queue.h"

/* mix(op, cells, read, read, write): see drawn_mix.  Negative ones do nothing.
 */
#define LISTS_CODE "FAKE sm_90\nmix 0 8 8 4 4 4\n"

/* The same for a GPU; operations take longer and shorter. */
static const char lists_text[] =
    "extern \"C\" __global__ void mix(long long op, unsigned long long "
    "*cells,\n"
    "                               int a, int b, int out)\n"
    "{\n"
    "    const long long start = clock64();\n"
    "    while (clock64() - start < (op & 7) * 3000) {}\n"
    "    if (op < 0)\n"
    "        return;\n"
    "    const unsigned long long x =\n"
    "        (cells[a] ^ (cells[b] << 23 | cells[b] >> 41)) + op;\n"
    "    cells[out] = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;\n"
    "}\n";

enum { LISTS_BYTES = DRAWN_CELLS * 8 };

static const void *lists_code = LISTS_CODE;

static inline void lists_mix(void **arguments)
{
    const int64_t op = *(int64_t *)arguments[0];
    uint64_t *cells = fake_at(*(uint64_t *)arguments[1], LISTS_BYTES);

    if (cells && op >= 0)
        cells[*(int *)arguments[4]] =
            drawn_mix(cells[*(int *)arguments[2]], cells[*(int *)arguments[3]],
                      (uint64_t)op);
}

/* The code for an architecture, 10 major + minor, which stays; or NULL. */
static inline void *lists_compile(czr_nvrtc *nvrtc, int architecture)
{
    char option[32];
    const char *const options[] = {option};
    czr_nvrtc_code code = {0};

    snprintf(option, sizeof option, "-arch=sm_%d", architecture);
    if (czr_nvrtc_compile(nvrtc, lists_text, options, 1, &code) !=
        CZR_NVRTC_OK) {
        printf("not compiled for sm_%d: %s\n", architecture,
               code.log ? code.log : "no memory");
        czr_nvrtc_code_fini(&code);
        return NULL;
    }
    free(code.log);
    return code.bytes;
}

/* The machine's own driver from now on, with the first NVRTC of argv[2], ...
 * that serves.  False: there is none, or no GPU.  The context stays open, as
 * each list opens it. */
static inline bool lists_use_gpu(int argc, char **argv)
{
    test_bench bench;
    czr_nvrtc *nvrtc = NULL;

    bench_path = NULL;
    if (bench_open(&bench) != CZR_OK) {
        printf("skipped: %s\n", bench.message);
        return false;
    }
    const int architecture = 10 * bench.context->major + bench.context->minor;
    printf("%s, sm_%d, driver for CUDA %d\n", bench.context->name, architecture,
           bench.driver->version);
    lists_code = gpu_bench_find_nvrtc(argc - 2, argv + 2, &nvrtc)
                     ? lists_compile(nvrtc, architecture)
                     : NULL;
    czr_nvrtc_close(nvrtc);
    return lists_code != NULL;
}

/* A queue, and what its operations are made of. */
typedef struct queue_bench {
    test_bench bench;
    drawn_list *list;
    czr_queue *queue;
    czr_module module;
    void *kernel, *user_stream, *side;
    czr_address cells;
    uint64_t *host; /* pinned */
} queue_bench;

static inline void lists_open(queue_bench *q, drawn_list *list, uint64_t order,
                              int eagerness)
{
    *q = (queue_bench){.list = list};
    fake_reset(order, eagerness);
    fake_register("mix", lists_mix);
    assert_int_equal(bench_open(&q->bench), CZR_OK);
    czr_context *context = q->bench.context;
    assert_int_equal(czr_queue_open(context, &list->program, &q->queue),
                     CZR_OK);
    assert_int_equal(czr_module_open(context, lists_code, "mix", &q->module),
                     CZR_OK);
    assert_int_equal(czr_module_find(&q->module, "mix", 0, &q->kernel), CZR_OK);
    assert_int_equal(czr_context_alloc(context, LISTS_BYTES, &q->cells),
                     CZR_OK);
    assert_int_equal(
        czr_context_alloc_pinned(context, LISTS_BYTES, (void **)&q->host),
        CZR_OK);
    assert_int_equal(czr_context_open_stream(context, &q->user_stream), CZR_OK);
    assert_int_equal(czr_context_open_stream(context, &q->side), CZR_OK);
}

/* All is given back; `status` is what the context has seen. */
static inline void lists_close(queue_bench *q, czr_status status)
{
    czr_context *context = q->bench.context;

    assert_int_equal(context->status, status);
    czr_queue_close(q->queue);
    czr_context_close_stream(context, q->user_stream);
    czr_context_close_stream(context, q->side);
    czr_context_free_pinned(context, q->host);
    czr_context_free(context, q->cells);
    czr_module_close(&q->module);
    bench_close(&q->bench);
    assert_int_equal(bench_leftovers(), 0);
}

static inline void lists_launch(queue_bench *q, int64_t op, void *stream)
{
    static const czr_launch once = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    const int number = op < 0 ? 0 : (int)op;
    void *arguments[] = {&op, &q->cells, &q->list->reads[number][0],
                         &q->list->reads[number][1], &q->list->writes[number]};

    assert_int_equal(czr_module_launch(q->bench.context, q->kernel, &once,
                                       arguments, stream),
                     CZR_OK);
}

/* A list of the queue's, behind what the user's stream has and before what
 * comes there. */
static inline void lists_put(queue_bench *q)
{
    void *stream;

    assert_int_equal(czr_queue_fork(q->queue, q->user_stream), CZR_OK);
    for (int op = 0; op < q->list->program.n_ops; op++) {
        if (q->list->is_skipped[op])
            continue;
        assert_int_equal(czr_queue_begin(q->queue, op, &stream), CZR_OK);
        lists_launch(q, op, stream);
        assert_int_equal(czr_queue_end(q->queue, op), CZR_OK);
    }
    assert_int_equal(czr_queue_join(q->queue, q->user_stream), CZR_OK);
}

static inline void lists_wait(const queue_bench *q)
{
    assert_int_equal(
        czr_context_synchronize(q->bench.context, q->user_stream, 0), CZR_OK);
}

static inline void lists_first_cells(uint64_t *cells)
{
    for (int i = 0; i < DRAWN_CELLS; i++)
        cells[i] = (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
}

/* The cells to the device, or from it. */
static inline void lists_copy(queue_bench *q, bool is_back)
{
    const czr_address host = czr_address_of(q->host);

    assert_int_equal(czr_context_copy(q->bench.context,
                                      is_back ? host : q->cells,
                                      is_back ? q->cells : host, LISTS_BYTES,
                                      q->user_stream),
                     CZR_OK);
}

#endif
