/* What is done with products that are there: mirrored, scaled, added to. */
#include "runtime/math/product.h"
#include "runtime/math/product_wide.h"

#include <stdbool.h>

/* Elements: side of a tile, and of one that a CPU turns in registers; at once.
 */
enum { TURNED = 64, LANES = 32, CHUNK = 1024 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* What of a tile lies below the diagonal, to its mirror image, by way of a copy
 * that turns it: every line of x is met once. */
#define DEFINE_MIRROR(name, type)                                              \
    static void name(type *x, size_t n, size_t i, size_t n_rows, size_t j)     \
    {                                                                          \
        type tile[TURNED][TURNED];                                             \
        const size_t n_columns = least(TURNED, i + n_rows - j);                \
                                                                               \
        for (size_t r = 0; r < n_rows; r++)                                    \
            for (size_t s = 0; s < n_columns; s++)                             \
                tile[s][r] = x[(i + r) * n + j + s];                           \
        for (size_t s = 0; s < n_columns; s++) {                               \
            const size_t first = j + s < i ? 0 : j + s + 1 - i;                \
            memcpy(x + (j + s) * n + i + first, tile[s] + first,               \
                   (n_rows - first) * sizeof *x);                              \
        }                                                                      \
    }
DEFINE_MIRROR(mirror_f32, float)
DEFINE_MIRROR(mirror_bf16, czr_bf16)

/* Loops over the results are compiled for wide vectors, too. */
#define WIDE CZR_WIDE
#define INLINE CZR_INLINE

/* ---- mirror images ---- */

#ifdef __x86_64__
/* Both halves of a and b, lanes of either in turn. */
WIDE INLINE void interleave(__m512i a, __m512i b, __m512i to[2])
{
    const __m512i step = _mm512_set1_epi32(0x10001);
    const __m512i lane =
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i lower = _mm512_add_epi32(_mm512_mullo_epi32(lane, step),
                                           _mm512_set1_epi32(LANES << 16));
    const __m512i upper = _mm512_add_epi32(lower, _mm512_set1_epi32(0x100010));

    to[0] = _mm512_permutex2var_epi16(a, lower, b);
    to[1] = _mm512_permutex2var_epi16(a, upper, b);
}

WIDE INLINE void interleave_all(const __m512i from[LANES], __m512i to[LANES])
{
    for (size_t i = 0; i < LANES / 2; i++)
        interleave(from[i], from[i + LANES / 2], to + 2 * i);
}

/* A tile at `from` to its transpose at `to`.  Interleaving moves each index by
 * a bit, of ten; after five rows and columns have changed places. */
WIDE static void turn_wide(const czr_bf16 *from, czr_bf16 *to, size_t stride)
{
    __m512i x[LANES], y[LANES];

    for (size_t i = 0; i < LANES; i++)
        x[i] = _mm512_loadu_si512(from + i * stride);
    interleave_all(x, y);
    interleave_all(y, x);
    interleave_all(x, y);
    interleave_all(y, x);
    interleave_all(x, y);
    for (size_t i = 0; i < LANES; i++)
        _mm512_storeu_si512(to + i * stride, y[i]);
}

/* Of f32 likewise, by half as many lanes. */
WIDE static void turn_wide_f32(const float *from, float *to, size_t stride)
{
    __m512i x[CZR_LANES];

    for (size_t i = 0; i < CZR_LANES; i++)
        x[i] = _mm512_loadu_si512(from + i * stride);
    czr_transpose_lanes(x);
    for (size_t i = 0; i < CZR_LANES; i++)
        _mm512_storeu_si512(to + i * stride, x[i]);
}

/* As mirror_bf16 and mirror_f32, of a whole tile off the diagonal. */
static void mirror_wide(void *x, czr_dtype dtype, size_t n, size_t i, size_t j)
{
    const size_t step = dtype == CZR_F32 ? CZR_LANES : LANES;

    for (size_t r = 0; r < TURNED; r += step)
        for (size_t s = 0; s < TURNED; s += step) {
            const size_t from = (i + r) * n + j + s, to = (j + s) * n + i + r;
            if (dtype == CZR_F32)
                turn_wide_f32((float *)x + from, (float *)x + to, n);
            else
                turn_wide((czr_bf16 *)x + from, (czr_bf16 *)x + to, n);
        }
}
#else
static void mirror_wide(void *x, czr_dtype dtype, size_t n, size_t i, size_t j)
{
    (void)x;
    (void)dtype;
    (void)n;
    (void)i;
    (void)j;
}
#endif

void czr_mirror_rows(void *x, czr_dtype dtype, size_t n, size_t first,
                     size_t n_rows)
{
    const size_t end = first + n_rows;
    const bool is_wide = czr_has_wide();

    for (size_t i = first; i < end; i += TURNED) {
        const size_t here = least(TURNED, end - i);
        for (size_t j = 0; j < i + here; j += TURNED)
            if (is_wide && here == TURNED && j + TURNED <= i)
                mirror_wide(x, dtype, n, i, j);
            else if (dtype == CZR_F32)
                mirror_f32(x, n, i, here, j);
            else
                mirror_bf16(x, n, i, here, j);
    }
}

void czr_mirror_lower(void *x, czr_dtype dtype, size_t n)
{
    czr_mirror_rows(x, dtype, n, 0, n);
}

/* ---- scaled, added to, rounded ---- */

INLINE void load(const void *from, czr_dtype dtype, size_t first, size_t n,
                 float *to)
{
    const uint16_t *narrow = (const uint16_t *)from + first;

    if (dtype == CZR_F32) {
        memcpy(to, (const float *)from + first, n * sizeof *to);
        return;
    }
    if (dtype == CZR_F16)
        for (size_t i = 0; i < n; i++)
            to[i] = czr_f16_to_f32(narrow[i]);
    else
        for (size_t i = 0; i < n; i++)
            to[i] = czr_bf16_to_f32(narrow[i]);
}

INLINE void store(const float *from, void *to, czr_dtype dtype, size_t first,
                  size_t n)
{
    uint16_t *narrow = (uint16_t *)to + first;

    if (dtype == CZR_F32) {
        memcpy((float *)to + first, from, n * sizeof *from);
        return;
    }
    if (dtype == CZR_F16)
        for (size_t i = 0; i < n; i++)
            narrow[i] = czr_f32_to_f16(from[i]);
    else
        for (size_t i = 0; i < n; i++)
            narrow[i] = czr_f32_to_bf16(from[i]);
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
    if (czr_has_wide())
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
