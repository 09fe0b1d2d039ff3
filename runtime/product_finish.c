/* What is done with products that are there: mirrored, scaled, added to. */
#include "runtime/product.h"

#include <stdbool.h>

enum { TURNED = 64, CHUNK = 1024 }; /* elements: side of a tile; at once */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A tile below the diagonal, or on it, to its mirror image, by way of a copy
 * that turns it: every line of x is met once. */
#define DEFINE_MIRROR(name, type)                                              \
    static void name(type *x, size_t n, size_t i, size_t j)                    \
    {                                                                          \
        type tile[TURNED][TURNED];                                             \
        const size_t n_rows = least(TURNED, n - i);                            \
        const size_t n_columns = least(TURNED, n - j);                         \
                                                                               \
        for (size_t r = 0; r < n_rows; r++)                                    \
            for (size_t s = 0; s < n_columns; s++)                             \
                tile[s][r] = x[(i + r) * n + j + s];                           \
        for (size_t s = 0; s < n_columns; s++) {                               \
            const size_t first = i == j ? s + 1 : 0;                           \
            memcpy(x + (j + s) * n + i + first, tile[s] + first,               \
                   (n_rows - first) * sizeof *x);                              \
        }                                                                      \
    }
DEFINE_MIRROR(mirror_f32, float)
DEFINE_MIRROR(mirror_bf16, czr_bf16)

void czr_mirror_lower(void *x, czr_dtype dtype, size_t n)
{
    for (size_t i = 0; i < n; i += TURNED)
        for (size_t j = 0; j <= i; j += TURNED)
            if (dtype == CZR_BF16)
                mirror_bf16(x, n, i, j);
            else
                mirror_f32(x, n, i, j);
}

/* Loops over the results are compiled for wide vectors, too. */
#if defined(__x86_64__) && defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define WIDE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
static bool has_wide(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#else
#define INLINE static inline
#define WIDE
static bool has_wide(void)
{
    return false;
}
#endif

INLINE void load(const void *from, czr_dtype dtype, size_t first, size_t n,
                 float *to)
{
    const czr_bf16 *bf16 = (const czr_bf16 *)from + first;

    if (dtype == CZR_F32) {
        memcpy(to, (const float *)from + first, n * sizeof *to);
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = czr_bf16_to_f32(bf16[i]);
}

INLINE void store(const float *from, void *to, czr_dtype dtype, size_t first,
                  size_t n)
{
    czr_bf16 *bf16 = (czr_bf16 *)to + first;

    if (dtype == CZR_F32) {
        memcpy((float *)to + first, from, n * sizeof *from);
        return;
    }
    for (size_t i = 0; i < n; i++)
        bf16[i] = czr_f32_to_bf16(from[i]);
}

/* At most CHUNK elements of the result, from element `first` on. */
INLINE void finish_chunk(const czr_product *p, const float *c, size_t first,
                         size_t n)
{
    float sum[CHUNK], other[CHUNK];

    for (size_t i = 0; i < n; i++)
        sum[i] = p->alpha * c[i];
    if (p->addend) {
        load(p->addend, p->addend_dtype, first, n, other);
        for (size_t i = 0; i < n; i++)
            sum[i] += p->beta * other[i];
    }
    store(sum, p->out, p->out_dtype, first, n);
}

INLINE void finish_rows(const czr_product *p, const czr_rows *rows)
{
    for (size_t i = 0; i < rows->n_rows; i++)
        for (size_t j = 0; j < rows->n_columns; j += CHUNK)
            finish_chunk(p, rows->c + i * rows->stride + j,
                         (rows->first + i) * p->n + j,
                         least(CHUNK, rows->n_columns - j));
}

WIDE static void finish_rows_wide(const czr_product *p, const czr_rows *rows)
{
    finish_rows(p, rows);
}

void czr_product_finish_rows(const czr_product *p, const czr_rows *rows)
{
    if (has_wide())
        finish_rows_wide(p, rows);
    else
        finish_rows(p, rows);
}

void czr_product_preload(const czr_product *p)
{
    float *out = p->out;
    const size_t n = p->m * p->n;

    for (size_t first = 0; first < n; first += CHUNK) {
        const size_t here = least(CHUNK, n - first);
        float values[CHUNK];
        load(p->addend, p->addend_dtype, first, here, values);
        for (size_t i = 0; i < here; i++)
            out[first + i] = p->beta * values[i];
    }
}
