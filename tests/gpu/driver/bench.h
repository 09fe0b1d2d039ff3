/* What tests of the driver's parts have in common: the double opened as a
 * driver, a device on it, and one kernel. */
#ifndef TESTS_CUDA_BENCH_H
#define TESTS_CUDA_BENCH_H

#include "runtime/cuda/driver/graph.h"
#include "runtime/cuda/driver/module.h"
#include "tests/gpu/double/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* add(n, x, y): y += x, f32, of n elements.  scale(n, y): y *= 2. */
#define BENCH_CODE "FAKE sm_90\nadd 1024 8 8 8\nscale 0 8 8\nbeyond 0 8 8\n"

typedef struct test_bench {
    czr_driver *driver;
    czr_context *context;
    char message[CZR_DRIVER_MESSAGE];
} test_bench;

static inline void bench_add(void **arguments)
{
    const int64_t n = *(int64_t *)arguments[0];
    const float *x = fake_at(*(uint64_t *)arguments[1], (size_t)n * sizeof *x);
    float *y = fake_at(*(uint64_t *)arguments[2], (size_t)n * sizeof *y);

    for (int64_t i = 0; x && y && i < n; i++)
        y[i] += x[i];
}

static inline void bench_scale(void **arguments)
{
    const int64_t n = *(int64_t *)arguments[0];
    float *y = fake_at(*(uint64_t *)arguments[1], (size_t)n * sizeof *y);

    for (int64_t i = 0; y && i < n; i++)
        y[i] *= 2;
}

/* Handles that were not given back, and what the double holds for them. */
static inline int64_t bench_leftovers(void)
{
    return fake_handles() + fake_count().internals + fake_gone();
}

/* Launches of the double, since it was new. */
static inline int64_t bench_launches(void)
{
    int64_t n, launches = 0;
    const fake_entry *log = fake_log(&n);

    for (int64_t i = 0; i < n; i++)
        launches += log[i].kind == FAKE_LAUNCH;
    return launches;
}

/* The double as new, with its kernels; "beyond" is scale too. */
static inline void bench_reset(uint64_t seed, int eagerness)
{
    fake_reset(seed, eagerness);
    fake_register("add", bench_add);
    fake_register("scale", bench_scale);
    fake_register("beyond", bench_scale);
}

/* The driver that tests open; NULL: the machine's own. */
static const char *bench_path = FAKE_PATH;

static inline czr_status bench_open(test_bench *bench)
{
    *bench = (test_bench){0};
    czr_status status =
        czr_driver_open(bench_path, &bench->driver, bench->message);
    if (status == CZR_OK)
        status =
            czr_context_open(bench->driver, 0, &bench->context, bench->message);
    return status;
}

static inline void bench_close(test_bench *bench)
{
    czr_context_close(bench->context);
    czr_driver_close(bench->driver);
}

#endif
