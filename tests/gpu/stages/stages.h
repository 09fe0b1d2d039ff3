/* What tests of products and factorisations have in common: a device whose
 * stages are being opened, on the doubles of driver and NVRTC. */
#ifndef TESTS_CUDA_STAGES_H
#define TESTS_CUDA_STAGES_H

#include "runtime/cuda/products/multiply.h"
#include "tests/gpu/plan/gpu_bench.h"
#include "tests/gpu/bodies/plain_bodies.h"
#include "tests/gpu/bodies/product_bodies.h"

#include <string.h>

typedef struct test_stages {
    test_bench bench;
    czr_nvrtc *nvrtc;
    czr_program program;
    czr_cuda_program cuda;
    czr_cuda_stages stages;
    void *stream;
} test_stages;

/* NVRTC's double, or what a GPU wants. */
static const char *stages_nvrtc = NVRTC_PATH;

static inline int stages_draw(int least, int most)
{
    return least + rand() % (most - least + 1);
}

/* The double as new, with the kernels of all bodies. */
static inline void stages_restart(unsigned seed)
{
    bench_reset(seed, stages_draw(0, 100));
    bodies_register();
    plain_bodies_register();
}

/* Closed by stages_close, also where it fails. */
static inline czr_status stages_open(test_stages *s, bool is_strict)
{
    char message[CZR_NVRTC_MESSAGE];

    *s = (test_stages){.program = {.name = "test", .strict = is_strict}};
    s->cuda.program = &s->program;
    assert_int_equal(czr_nvrtc_open(stages_nvrtc, &s->nvrtc, message), 0);
    const czr_status status = bench_open(&s->bench);
    if (status != CZR_OK)
        return status;
    s->stages = (czr_cuda_stages){
        .program = &s->cuda, .context = s->bench.context, .nvrtc = s->nvrtc};
    return czr_context_open_stream(s->bench.context, &s->stream);
}

static inline void stages_close(test_stages *s)
{
    if (s->stream)
        czr_context_synchronize(s->bench.context, s->stream, 0);
    czr_cuda_products_close(&s->stages);
    if (s->stream)
        czr_context_close_stream(s->bench.context, s->stream);
    bench_close(&s->bench);
    czr_nvrtc_close(s->nvrtc);
}

#define STAGES_RUN(argc, argv, tests, on_gpu)                                  \
    GPU_BENCH_RUN(argc, argv, stages_nvrtc, tests, on_gpu)

/* Behind what describes products, one line each. */
enum { LINES = 2000 };
static inline void keep_line(void *user, const char *line)
{
    char *lines = user;

    if (strlen(lines) + strlen(line) + 2 < LINES)
        strcat(strcat(lines, line), "\n");
}

/* To memory of the device that is taken for it. */
static inline czr_status stages_send(test_stages *s, czr_address *to,
                                     const void *from, size_t bytes)
{
    czr_status status = czr_context_alloc(s->bench.context, bytes + !bytes, to);

    if (status == CZR_OK && bytes)
        status = czr_context_copy(s->bench.context, *to, czr_address_of(from),
                                  bytes, s->stream);
    return status;
}

/* Back, when the stream has come so far. */
static inline czr_status stages_fetch(test_stages *s, void *to,
                                      czr_address from, size_t bytes)
{
    czr_status status = CZR_OK;

    if (bytes)
        status = czr_context_copy(s->bench.context, czr_address_of(to), from,
                                  bytes, s->stream);
    return status == CZR_OK
               ? czr_context_synchronize(s->bench.context, s->stream, 0)
               : status;
}

#endif
