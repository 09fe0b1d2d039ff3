/* The engine's own kernels on the double of the driver: opened, the device's
 * memory with what the host has, and what is expected there. */
#ifndef TESTS_CUDA_COLLECT_SETTING_H
#define TESTS_CUDA_COLLECT_SETTING_H

#include "runtime/cuda/collect/collect.h"
#include "runtime/base/memory.h"
#include "tests/gpu/plan/gpu_bench.h"

#include <string.h>

/* Generated: gives the double all kernels of collect_*.cu. */
void collect_kernels(void);

enum { MAX_TAKEN = 64, MAX_MEMBERS = 5 };

static const char *setting_nvrtc = NVRTC_PATH;

typedef struct setting {
    test_bench bench;
    char message[CZR_DRIVER_MESSAGE];
    czr_nvrtc *nvrtc;
    czr_collect *collect;
    void *stream;
    czr_status status; /* the first failure; nothing is done behind it */
    int n_taken;
    czr_address taken[MAX_TAKEN];
    czr_collect_result *result;
    bool draws_integers;
} setting;

static inline bool note(setting *s, czr_status status)
{
    if (s->status == CZR_OK)
        s->status = status;
    return s->status == CZR_OK;
}

static inline void open_setting(setting *s, unsigned seed, int64_t failing)
{
    *s = (setting){0};
    bench_reset(seed, 50);
    fake_share_addresses();
    collect_kernels();
    assert_int_equal(bench_open(&s->bench), CZR_OK);
    assert_int_equal(czr_nvrtc_open(setting_nvrtc, &s->nvrtc, s->message),
                     CZR_NVRTC_OK);
    if (failing)
        fake_fail(NULL, failing, CZR_CUDA_OUT_OF_MEMORY);
    note(s, czr_context_open_stream(s->bench.context, &s->stream));
    if (s->status == CZR_OK)
        note(s, czr_collect_open(s->bench.context, s->nvrtc, NULL, &s->collect,
                                 s->message));
    if (s->status != CZR_OK)
        assert_null(s->collect);
}

/* When what uses it is over. */
static inline void free_taken(setting *s)
{
    if (s->stream)
        czr_context_synchronize(s->bench.context, s->stream, 0);
    while (s->n_taken > 0)
        czr_context_free(s->bench.context, s->taken[--s->n_taken]);
}

static inline void close_setting(setting *s)
{
    free_taken(s);
    czr_context_free_pinned(s->bench.context, s->result);
    czr_collect_close(s->collect);
    czr_context_close_stream(s->bench.context, s->stream);
    czr_nvrtc_close(s->nvrtc);
    bench_close(&s->bench);
    assert_int_equal(bench_leftovers(), 0);
}

/* ---- memory ------------------------------------------------------------- */

static inline size_t draw(size_t n)
{
    return (size_t)rand() % n;
}

/* The device's, with these bytes; NULL where something failed. */
static inline void *give(setting *s, const void *bytes, size_t n)
{
    czr_address address = 0;

    if (s->status != CZR_OK || n == 0)
        return NULL;
    assert_true(s->n_taken < MAX_TAKEN);
    if (!note(s, czr_context_alloc(s->bench.context, n, &address)))
        return NULL;
    s->taken[s->n_taken++] = address;
    note(s, czr_context_copy(s->bench.context, address, czr_address_of(bytes),
                             n, s->stream));
    return czr_pointer_of(address);
}

/* When all that was put has been done. */
static inline void expect(setting *s, const void *memory, const void *wanted,
                          size_t n)
{
    if (s->status != CZR_OK || n == 0)
        return;
    void *mine = malloc(n);
    assert_non_null(mine);
    note(s, czr_context_copy(s->bench.context, czr_address_of(mine),
                             czr_address_of(memory), n, s->stream));
    note(s, czr_context_synchronize(s->bench.context, s->stream, 0));
    if (s->status == CZR_OK)
        assert_memory_equal(mine, wanted, n);
    else /* the copy may still come */
        czr_context_synchronize(s->bench.context, s->stream, 0);
    free(mine);
}

static inline void draw_numbers(void *to, czr_dtype dtype, size_t n)
{
    for (size_t i = 0; i < n; i++)
        czr_fill((unsigned char *)to + i * czr_dtype_bytes(dtype), dtype,
                 ((double)draw(20001) - 10000) / 777, 1);
}

/* int64 */
static inline void draw_integers(unsigned char *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t x = ((int64_t)draw(1 << 30) - (1 << 29)) * (1 << 20);
        memcpy(to + i * sizeof x, &x, sizeof x);
    }
}

/* ---- members ------------------------------------------------------------ */

/* One piece of memory of each member. */
typedef struct group {
    int n;
    size_t count;
    czr_dtype dtype;
    unsigned char *host[MAX_MEMBERS];
    void *device[MAX_MEMBERS], *table;
    czr_collective units[MAX_MEMBERS];
    const czr_collective *posted[MAX_MEMBERS];
} group;

static inline size_t bytes_of(const group *g)
{
    return g->count * czr_dtype_bytes(g->dtype);
}

static inline void open_group(setting *s, group *g, int n, size_t count,
                              czr_dtype dtype)
{
    *g = (group){.n = n, .count = count, .dtype = dtype};
    for (int m = 0; m < n; m++) {
        g->host[m] = malloc(bytes_of(g) + 1);
        assert_non_null(g->host[m]);
        if (s->draws_integers)
            draw_integers(g->host[m], count);
        else
            draw_numbers(g->host[m], dtype, count);
        g->device[m] = give(s, g->host[m], bytes_of(g));
        g->posted[m] = &g->units[m];
    }
    g->table = give(s, g->device, (size_t)n * sizeof *g->device);
}

static inline void close_group(setting *s, group *g)
{
    for (int m = 0; m < g->n; m++) {
        expect(s, g->device[m], g->host[m], bytes_of(g));
        free(g->host[m]);
    }
    free_taken(s);
}

static inline czr_collect_members members_of(const group *g)
{
    return (czr_collect_members){
        .data = g->table, .n_members = g->n, .to_end = g->n};
}

static inline void set_sums(group *g, czr_sum type, czr_band band)
{
    for (int m = 0; m < g->n; m++)
        g->units[m].of.all_reduce =
            (czr_all_reduce){g->host[m], g->count, type, band};
}

#endif
