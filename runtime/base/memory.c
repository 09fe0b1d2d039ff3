/* Memory of the runtime: counted, aligned, zeroed.  Conversions. */
#define _DEFAULT_SOURCE
#include "runtime/base/memory.h"

#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "runtime/base/testing.h"

static _Thread_local int64_t allocations;
static _Thread_local int64_t until_failure; /* 0: never */

void czr_testing_fail_allocation(int64_t n)
{
    until_failure = n;
}

static int is_planted_failure(void)
{
    return until_failure && --until_failure == 0;
}

void *czr_alloc(size_t n, size_t size)
{
    allocations++;
    if (is_planted_failure() || (size && n > (SIZE_MAX - 2 * CZR_ALIGN) / size))
        return NULL;
    /* Zeroed by the system, so that what is never used takes no memory.  Before
     * what is handed out lies where it begins. */
    const size_t head = CZR_ALIGN + sizeof(void *);
    void *whole = calloc(czr_round_up(n * size) + head, 1);
    if (!whole)
        return NULL;
    const uintptr_t at = ((uintptr_t)whole + head) / CZR_ALIGN * CZR_ALIGN;
    unsigned char *memory = (unsigned char *)whole + (at - (uintptr_t)whole);
    memcpy(memory - sizeof whole, &whole, sizeof whole);
    return memory;
}

void czr_free(void *memory)
{
    void *whole = NULL;

    if (memory)
        memcpy(&whole, (unsigned char *)memory - sizeof whole, sizeof whole);
    free(whole);
}

void czr_prefer_large_pages(void *memory, size_t bytes)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    /* Of Linux 6.1 and later: does now what else happens in the background. */
    enum { COLLAPSE = 25 };
    const size_t page = (size_t)2 << 20;
    const size_t head = (page - (uintptr_t)memory % page) % page;
    const size_t n = bytes > head ? (bytes - head) / page * page : 0;
    unsigned char *first = (unsigned char *)memory + head;

    if (n && madvise(first, n, MADV_HUGEPAGE) == 0)
        (void)madvise(first, n, COLLAPSE);
#else
    (void)memory, (void)bytes;
#endif
}

int64_t czr_allocations(void)
{
    return allocations;
}

size_t czr_round_up(size_t bytes)
{
    return (bytes + CZR_ALIGN - 1) / CZR_ALIGN * CZR_ALIGN;
}

static double load(const void *from, czr_dtype dtype, size_t i)
{
    switch (dtype) {
    case CZR_F64:
        return ((const double *)from)[i];
    case CZR_F32:
        return (double)((const float *)from)[i];
    case CZR_BF16:
        return (double)czr_bf16_to_f32(((const czr_bf16 *)from)[i]);
    case CZR_F16:
        return (double)czr_f16_to_f32(((const czr_f16 *)from)[i]);
    case CZR_N_DTYPES:
        break;
    }
    return 0;
}

static void store(void *to, czr_dtype dtype, size_t i, double value)
{
    switch (dtype) {
    case CZR_F64:
        ((double *)to)[i] = value;
        break;
    case CZR_F32:
        ((float *)to)[i] = (float)value;
        break;
    case CZR_BF16:
        ((czr_bf16 *)to)[i] = czr_f32_to_bf16((float)value);
        break;
    case CZR_F16:
        ((czr_f16 *)to)[i] = czr_f32_to_f16((float)value);
        break;
    case CZR_N_DTYPES:
        break;
    }
}

void czr_convert(void *to, czr_dtype to_dtype, const void *from,
                 czr_dtype from_dtype, size_t n)
{
    if (to_dtype == from_dtype) {
        if (n)
            memcpy(to, from, n * czr_dtype_bytes(to_dtype));
        return;
    }
    for (size_t i = 0; i < n; i++)
        store(to, to_dtype, i, load(from, from_dtype, i));
}

void czr_fill(void *to, czr_dtype dtype, double value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store(to, dtype, i, value);
}

#define HASH(type)                                                             \
    do {                                                                       \
        for (size_t i = 0; i < n; i++) {                                       \
            type bits;                                                         \
            memcpy(&bits, (const unsigned char *)data + i * sizeof bits,       \
                   sizeof bits);                                               \
            sum += (bits + UINT64_C(1)) * (i * HASH_PLACE | 1);                \
        }                                                                      \
    } while (0)

static const uint64_t HASH_PLACE = UINT64_C(0x9e3779b97f4a7c15);

uint64_t czr_hash(const void *data, size_t element_bytes, size_t n)
{
    uint64_t sum = 0;

    if (element_bytes == 2)
        HASH(uint16_t);
    else if (element_bytes == 4)
        HASH(uint32_t);
    else
        HASH(uint64_t);
    return sum;
}
