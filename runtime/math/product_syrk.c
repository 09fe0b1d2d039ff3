/* Rows of x @ x' in bf16 by a CPU's own pairwise products, up to the diagonal:
 * oneDNN has no such product, and by strips of full ones up to a quarter more
 * is computed than is wanted, and packed once for each.
 *
 * Operands are packed in groups of LANES rows, a pair of neighbours in k of all
 * of them in one vector, which serves for rows of the result as well as for its
 * columns. */
#include "runtime/math/product.h"
#include "runtime/math/product_wide.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>

#define WIDE                                                                   \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prfchw,"         \
                          "avx512bf16")))
#define INLINE WIDE static inline __attribute__((always_inline))

enum {
    LANES = CZR_LANES,
    PAIRS = 2 * LANES, /* numbers of a vector */
    TILE_ROWS = 8,
    TILE_COLUMNS = CZR_SYRK_COLUMNS,
    TILE_GROUPS = TILE_COLUMNS / LANES,
    STEP = CZR_SYRK_DEPTH + 2, /* numbers of a packed row */
    STRIP = CZR_STRIP_ROWS * STEP,
    AHEAD = 4 * LANES, /* numbers of a row, asked for in time */
    AHEAD_LINES = 16   /* of columns, likewise */
};
_Static_assert(CZR_STRIP_ROWS % CZR_SYRK_COLUMNS == 0, "tiles fill strips");
_Static_assert(CZR_SYRK_COLUMNS % LANES == 0, "groups fill tiles");

/* AMX multiplies several times as fast, and is oneDNN's. */
static bool has_amx(void)
{
    unsigned a, b, c, d = 0;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1);
}

bool czr_product_has_syrk(void)
{
    return czr_has_wide() && __builtin_cpu_supports("avx512bf16") && !has_amx();
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- packing ---- */

/* Rows of op(x), and where in k. */
typedef struct piece {
    const czr_product *p;
    size_t row, n_rows, depth, n_depth;
} piece;

INLINE __mmask32 first_lanes(size_t n)
{
    return (__mmask32)((1ull << n) - 1);
}

/* A block of a group whose rows are contiguous: n_rows rows, n numbers. */
WIDE static void pack_block(const czr_bf16 *from, size_t stride, size_t n_rows,
                            size_t n, czr_bf16 *packed)
{
    const __mmask32 mask = first_lanes(n);
    __m512i lines[LANES];

    for (size_t i = 0; i < LANES; i++) {
        lines[i] =
            _mm512_maskz_loadu_epi16(i < n_rows ? mask : 0, from + i * stride);
        __builtin_prefetch(from + i * stride + AHEAD);
    }
    czr_transpose_lanes(lines);
    for (size_t i = 0; i < LANES; i++)
        _mm512_storeu_si512(packed + i * 2 * LANES, lines[i]);
}

static void pack_rows(const piece *x, size_t row, czr_bf16 *packed)
{
    const czr_bf16 *from =
        (const czr_bf16 *)x->p->a + (x->row + row) * x->p->k + x->depth;

    for (size_t k = 0; k < x->n_depth; k += PAIRS)
        pack_block(from + k, x->p->k, least(LANES, x->n_rows - row),
                   least(PAIRS, x->n_depth - k), packed + k * LANES);
}

/* A pair of a group whose columns are contiguous. */
INLINE __m512i load_pair(const czr_bf16 *from, size_t stride, __mmask16 mask,
                         bool is_whole)
{
    const __m256i first = _mm256_maskz_loadu_epi16(mask, from);
    const __m256i second =
        _mm256_maskz_loadu_epi16(is_whole ? mask : 0, from + stride);

    __builtin_prefetch(from + AHEAD_LINES * stride);
    __builtin_prefetch(from + (AHEAD_LINES + 1) * stride);
    return _mm512_or_si512(
        _mm512_cvtepu16_epi32(first),
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(second), 16));
}

/* All groups, line by line of x, whose columns are rows of op(x). */
WIDE static void pack_columns(const piece *x, czr_bf16 *packed)
{
    const size_t stride = x->p->m;
    const czr_bf16 *from =
        (const czr_bf16 *)x->p->a + x->depth * stride + x->row;

    for (size_t k = 0; k < x->n_depth; k += 2, from += 2 * stride)
        for (size_t row = 0; row < x->n_rows; row += LANES) {
            const __mmask16 mask =
                (__mmask16)first_lanes(least(LANES, x->n_rows - row));
            _mm512_storeu_si512(
                packed + row * STEP + k * LANES,
                load_pair(from + row, stride, mask, k + 1 < x->n_depth));
        }
}

static void pack(const piece *x, czr_bf16 *packed)
{
    if (x->p->transpose_a)
        pack_columns(x, packed);
    else
        for (size_t row = 0; row < x->n_rows; row += LANES)
            pack_rows(x, row, packed + row * STEP);
}

/* ---- multiplying ---- */

/* A tile of c, of which only n_rows and n_columns are there. */
typedef struct tile {
    float *c;
    size_t stride, n_rows, n_columns;
} tile;

INLINE __mmask16 mask_of(size_t n_columns, size_t group)
{
    const size_t first = group * LANES;

    return n_columns <= first
               ? 0
               : (__mmask16)first_lanes(least(LANES, n_columns - first));
}

INLINE void add_sums(const tile *t, __m512 sums[TILE_ROWS][TILE_GROUPS])
{
    for (size_t j = 0; j < TILE_GROUPS; j++) {
        const __mmask16 mask = mask_of(t->n_columns, j);
        for (size_t i = 0; i < TILE_ROWS; i++) {
            float *c = t->c + i * t->stride + j * LANES;
            if (i < t->n_rows)
                _mm512_mask_storeu_ps(
                    c, mask,
                    _mm512_add_ps(_mm512_maskz_loadu_ps(mask, c), sums[i][j]));
        }
    }
}

/* a: TILE_ROWS rows of a group; b: TILE_GROUPS groups. */
WIDE static void add_tile(const czr_bf16 *a, const czr_bf16 *b, size_t n_pairs,
                          const tile *t)
{
    __m512 sums[TILE_ROWS][TILE_GROUPS];

    for (size_t i = 0; i < TILE_ROWS; i++)
        for (size_t j = 0; j < TILE_GROUPS; j++)
            sums[i][j] = _mm512_setzero_ps();
    for (size_t k = 0; k < n_pairs; k++) {
        __m512bh y[TILE_GROUPS];
        for (size_t j = 0; j < TILE_GROUPS; j++)
            y[j] = (__m512bh)_mm512_loadu_si512(b + (j * STEP + 2 * k) * LANES);
        for (size_t i = 0; i < TILE_ROWS; i++) {
            int pair;
            memcpy(&pair, a + (k * LANES + i) * 2, sizeof pair);
            const __m512bh x = (__m512bh)_mm512_set1_epi32(pair);
            for (size_t j = 0; j < TILE_GROUPS; j++)
                sums[i][j] = _mm512_dpbf16_ps(sums[i][j], x, y[j]);
        }
    }
    add_sums(t, sums);
}

/* All rows of the strip by columns [first, first + n) of it, from the row on
 * that meets the diagonal. */
static void add_columns(const czr_rows *rows, const czr_bf16 *a,
                        const czr_bf16 *b, size_t n_pairs, size_t first,
                        size_t n)
{
    const size_t above = first > rows->first ? first - rows->first : 0;

    for (size_t i = above / TILE_ROWS * TILE_ROWS; i < rows->n_rows;
         i += TILE_ROWS) {
        const size_t group = i / LANES * LANES;
        add_tile(a + group * STEP + (i - group) * 2, b, n_pairs,
                 &(tile){rows->c + i * rows->stride + first, rows->stride,
                         least(TILE_ROWS, rows->n_rows - i), n});
    }
}

/* By as many columns as a strip has rows. */
static void add_strip(const czr_rows *rows, const czr_bf16 *a,
                      const czr_bf16 *b, size_t n_pairs, size_t first, size_t n)
{
    for (size_t j = 0; j < n; j += TILE_COLUMNS)
        add_columns(rows, a, b + j * STEP, n_pairs, first + j,
                    least(TILE_COLUMNS, n - j));
}

/* The terms of n_depth numbers from `depth` on. */
static void add_depth(const czr_host_math *math, const czr_product *p,
                      const czr_rows *rows, size_t depth, size_t n_depth)
{
    const size_t n_pairs = (n_depth + 1) / 2;
    czr_bf16 *a = math->pairs + (size_t)rows->thread * CZR_SYRK_WORKSPACE;
    czr_bf16 *b = a + STRIP;

    pack(&(piece){p, rows->first, rows->n_rows, depth, n_depth}, a);
    add_strip(rows, a, a, n_pairs, rows->first, rows->n_rows);
    for (size_t j = 0; j < rows->first; j += CZR_STRIP_ROWS) {
        const size_t n = least(CZR_STRIP_ROWS, rows->first - j);
        pack(&(piece){p, j, n, depth, n_depth}, b);
        add_strip(rows, a, b, n_pairs, j, n);
    }
}

void czr_product_syrk(const czr_host_math *math, const czr_product *p,
                      const czr_rows *rows)
{
    for (size_t i = 0; i < rows->n_rows; i++)
        memset(rows->c + i * rows->stride, 0, rows->n_columns * sizeof *p->c);
    for (size_t k = 0; k < p->k; k += CZR_SYRK_DEPTH)
        add_depth(math, p, rows, k, least(CZR_SYRK_DEPTH, p->k - k));
}

#else

bool czr_product_has_syrk(void)
{
    return false;
}

void czr_product_syrk(const czr_host_math *math, const czr_product *p,
                      const czr_rows *rows)
{
    (void)math;
    (void)p;
    (void)rows;
}

#endif
