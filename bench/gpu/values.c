/* Random operands, and clocks. */
#define _POSIX_C_SOURCE 200809L
#include "bench/gpu/gpu.h"

#include "runtime/base/memory.h"

#include <stdlib.h>
#include <time.h>

/* Of an odd count, so that rows differ. */
enum { PATTERN = (1 << 20) - 1 };

/* Sums of uniform numbers. */
static void draw(float values[PATTERN])
{
    uint64_t state = 88172645463325252u;

    for (int i = 0; i < PATTERN; i++) {
        values[i] = 0;
        for (int k = 0; k < 4; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            values[i] += (float)(int32_t)(state >> 32) * 0x1p-31f;
        }
    }
}

static const unsigned char *pattern_of(czr_dtype dtype)
{
    static float values[PATTERN];
    static double others[CZR_N_DTYPES][PATTERN];
    static bool has[CZR_N_DTYPES], has_values;

    if (!has_values)
        draw(values);
    has_values = true;
    if (!has[dtype])
        czr_convert(others[dtype], dtype, values, CZR_F32, PATTERN);
    has[dtype] = true;
    return (const unsigned char *)others[dtype];
}

czr_status gpu_fill(const gpu_machine *machine, czr_address to, czr_dtype dtype,
                    int64_t n, int64_t first)
{
    const size_t element = czr_dtype_bytes(dtype);
    int64_t from = first % PATTERN;
    czr_status status = CZR_OK;

    for (int64_t part = 0; n > 0 && status == CZR_OK; n -= part) {
        part = n < PATTERN - from ? n : PATTERN - from;
        status = czr_context_copy(
            machine->context, to,
            czr_address_of(pattern_of(dtype) + (size_t)from * element),
            (size_t)part * element, machine->stream);
        to += (size_t)part * element;
        from = 0;
    }
    return status;
}

double gpu_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double gpu_median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_size);
    return values[n / 2];
}
