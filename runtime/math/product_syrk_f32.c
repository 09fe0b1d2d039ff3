/* Symmetric products in f32, up to the diagonal, by a CPU's own vectors: for
 * some, libraries have no kernel that comes near what the CPU can do.
 *
 * Operands are packed in groups of CZR_LANES rows of op(a), or columns of
 * op(b), for each of k one vector of a group, which serves for rows of the
 * result as well as for its columns. */
#include "runtime/math/product.h"
#include "runtime/math/product_wide.h"

#if defined(__x86_64__) && defined(__GNUC__)

enum {
    LANES = CZR_LANES,
    TILE_ROWS = 8,
    TILE_GROUPS = 3,
    TILE_COLUMNS = TILE_GROUPS * LANES,
    DEPTH = CZR_SYRK_F32_DEPTH, /* of k at once */
    STEP = CZR_SYRK_F32_STEP,   /* numbers of a packed group */
    LINES = 16,                 /* of k that are packed together */
    AHEAD = 3 * LANES           /* numbers of a row, asked for in time */
};
_Static_assert(DEPTH % LANES == 0, "blocks of a row fill groups");
_Static_assert(LANES % TILE_ROWS == 0, "tiles fill groups");

bool czr_product_has_syrk_f32(void)
{
    return czr_has_wide() && __builtin_cpu_is("amd");
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- packing ---- */

/* x[row, k]: rows are contiguous, or, if it is turned, columns. */
typedef struct operand {
    const float *data;
    size_t stride;
    bool is_turned;
} operand;

/* Rows of x, and where in k. */
typedef struct piece {
    operand x;
    size_t row, n_rows, depth, n_depth;
} piece;

/* A block of a group whose rows are contiguous: n_rows rows, n numbers. */
CZR_WIDE static void pack_block(const float *from, size_t stride, size_t n_rows,
                                size_t n, float *packed)
{
    const __mmask16 mask = czr_first_lanes(n);
    __m512i lines[LANES];

    for (size_t i = 0; i < LANES; i++) {
        lines[i] =
            _mm512_maskz_loadu_epi32(i < n_rows ? mask : 0, from + i * stride);
        __builtin_prefetch(from + i * stride + AHEAD);
    }
    czr_transpose_lanes(lines);
    for (size_t i = 0; i < LANES; i++)
        _mm512_storeu_si512(packed + i * LANES, lines[i]);
}

static void pack_rows(const piece *p, float *packed)
{
    const size_t stride = p->x.stride;

    for (size_t i = 0; i < p->n_rows; i += LANES, packed += STEP) {
        const float *from = p->x.data + (p->row + i) * stride + p->depth;
        for (size_t k = 0; k < p->n_depth; k += LANES)
            pack_block(from + k, stride, least(LANES, p->n_rows - i),
                       least(LANES, p->n_depth - k), packed + k * LANES);
    }
}

/* Of one group n columns, which are contiguous. */
CZR_WIDE static void pack_columns(const float *from, size_t stride,
                                  size_t n_rows, size_t n, float *packed)
{
    const __mmask16 mask = czr_first_lanes(n_rows);

    for (size_t k = 0; k < n; k++)
        _mm512_storeu_ps(packed + k * LANES,
                         _mm512_maskz_loadu_ps(mask, from + k * stride));
}

static void pack_turned(const piece *p, float *packed)
{
    const size_t stride = p->x.stride;
    const float *from = p->x.data + p->depth * stride + p->row;

    for (size_t k = 0; k < p->n_depth; k += LINES)
        for (size_t i = 0; i < p->n_rows; i += LANES)
            pack_columns(from + k * stride + i, stride,
                         least(LANES, p->n_rows - i),
                         least(LINES, p->n_depth - k),
                         packed + i / LANES * STEP + k * LANES);
}

static void pack(const piece *p, float *packed)
{
    if (p->x.is_turned)
        pack_turned(p, packed);
    else
        pack_rows(p, packed);
}

/* ---- multiplying ---- */

/* A tile of c, of which only n_rows and n_columns are there: alpha times its
 * sums and beta times the addend, if there is one. */
typedef struct tile {
    const float *a, *b; /* TILE_ROWS of a group; groups */
    size_t n_depth;
    float *c;
    const float *addend;
    float alpha, beta;
    size_t stride, n_rows, n_columns;
} tile;

CZR_WIDE CZR_INLINE void store_sums(const tile *t, const __m512 *sums, size_t i,
                                    size_t n_groups)
{
    const __m512 alpha = _mm512_set1_ps(t->alpha);
    const __m512 beta = _mm512_set1_ps(t->beta);

    for (size_t j = 0; j < n_groups; j++) {
        const size_t at = i * t->stride + j * LANES;
        const __mmask16 mask =
            czr_first_lanes(least(LANES, t->n_columns - j * LANES));
        __m512 value = _mm512_mul_ps(alpha, sums[j]);
        if (t->addend)
            value = _mm512_fmadd_ps(
                beta, _mm512_maskz_loadu_ps(mask, t->addend + at), value);
        _mm512_mask_storeu_ps(t->c + at, mask, value);
    }
}

CZR_WIDE CZR_INLINE void make_groups(const tile *t, size_t n_groups)
{
    const float *addend = t->addend ? t->addend : t->c;
    __m512 sums[TILE_ROWS][TILE_GROUPS];

    for (size_t i = 0; i < TILE_ROWS; i++)
        for (size_t j = 0; j < n_groups; j++) {
            sums[i][j] = _mm512_setzero_ps();
            __builtin_prefetch(addend + i * t->stride + j * LANES);
        }
    for (size_t k = 0; k < t->n_depth; k++) {
        __m512 y[TILE_GROUPS];
        for (size_t j = 0; j < n_groups; j++)
            y[j] = _mm512_loadu_ps(t->b + j * STEP + k * LANES);
        for (size_t i = 0; i < TILE_ROWS; i++) {
            const __m512 x = _mm512_set1_ps(t->a[k * LANES + i]);
            for (size_t j = 0; j < n_groups; j++)
                sums[i][j] = _mm512_fmadd_ps(x, y[j], sums[i][j]);
        }
    }
    for (size_t i = 0; i < TILE_ROWS; i++)
        if (i < t->n_rows)
            store_sums(t, sums[i], i, n_groups);
}

CZR_WIDE static void make_tile(const tile *t)
{
    const size_t n_groups = (t->n_columns + LANES - 1) / LANES;

    if (n_groups == 3)
        make_groups(t, 3);
    else if (n_groups == 2)
        make_groups(t, 2);
    else
        make_groups(t, 1);
}

/* Rows [row, row + n_rows) of the result by columns [column, column +
 * n_columns), of which the diagonal ends those that reach it. */
typedef struct square {
    const float *a, *b;
    size_t row, n_rows, column, n_columns;
} square;

/* Columns of a group that row `last` has below the diagonal, or on it, and so
 * many more that they fill vectors. */
static size_t columns_to(size_t last, size_t column)
{
    return (last - column) / LANES * LANES + LANES;
}

static void make_columns(const square *s, const tile *shape, size_t j)
{
    const size_t n = shape->stride, column = s->column + j;
    const size_t n_columns = least(TILE_COLUMNS, s->n_columns - j);
    const size_t above = column > s->row ? column - s->row : 0;

    for (size_t i = above / LANES * LANES; i < s->n_rows; i += TILE_ROWS) {
        const size_t at = (s->row + i) * n + column;
        tile t = *shape;
        t.a = s->a + i / LANES * STEP + i % LANES;
        t.b = s->b + j / LANES * STEP;
        t.c += at;
        if (t.addend)
            t.addend += at;
        t.n_rows = least(TILE_ROWS, s->n_rows - i);
        t.n_columns =
            least(n_columns, columns_to(s->row + i + t.n_rows - 1, column));
        make_tile(&t);
    }
}

static void make_square(const square *s, const tile *shape)
{
    for (size_t j = 0; j < s->n_columns; j += TILE_COLUMNS)
        make_columns(s, shape, j);
}

/* ---- the product ---- */

typedef struct walk {
    operand a, b;
    bool is_own; /* both are one */
    float *room_a, *room_b;
    size_t n_strip; /* rows at once, but the last */
    size_t depth;
    tile shape;
} walk;

/* Where both are one, they are what is copied in whole lines. */
static walk walk_of(const czr_host_math *math, const czr_product *p)
{
    const operand a = {p->a, p->transpose_a ? p->m : p->k, p->transpose_a};
    const operand b = {p->b, p->transpose_b ? p->k : p->n, !p->transpose_b};
    const bool is_own = p->a == p->b;
    const size_t all = CZR_SYRK_F32_ROWS, half = all / 2;
    const size_t n_strips =
        is_own && p->n <= all ? 1 : (p->n + half - 1) / half;
    const size_t n_strip = (p->n + n_strips - 1) / n_strips;

    return (walk){.a = is_own && b.is_turned ? b : a,
                  .b = b,
                  .is_own = is_own,
                  .room_a = math->panels,
                  .room_b = math->panels + half / LANES * STEP,
                  .n_strip = (n_strip + LANES - 1) / LANES * LANES,
                  .shape = {.c = p->out ? p->out : p->c,
                            .alpha = p->out ? p->alpha : 1,
                            .beta = p->beta,
                            .stride = p->n}};
}

/* The terms of shape.n_depth numbers from w->depth on, rows from `row` on. */
static void make_strip(const walk *w, size_t row)
{
    const size_t n = w->shape.stride, n_depth = w->shape.n_depth;
    const size_t n_rows = least(w->n_strip, n - row);

    pack(&(piece){w->a, row, n_rows, w->depth, n_depth}, w->room_a);
    for (size_t i = 0; i <= row; i += w->n_strip) {
        const size_t n_columns = least(w->n_strip, n - i);
        const bool is_packed = w->is_own && i == row;
        if (!is_packed)
            pack(&(piece){w->b, i, n_columns, w->depth, n_depth}, w->room_b);
        make_square(&(square){w->room_a, is_packed ? w->room_a : w->room_b, row,
                              n_rows, i, n_columns},
                    &w->shape);
    }
}

void czr_product_syrk_f32(const czr_host_math *math, const czr_product *p)
{
    walk w = walk_of(math, p);

    w.shape.addend = p->out ? p->addend : NULL;
    for (w.depth = 0; w.depth < p->k; w.depth += DEPTH) {
        w.shape.n_depth = least(DEPTH, p->k - w.depth);
        for (size_t row = 0; row < p->n; row += w.n_strip)
            make_strip(&w, row);
        w.shape.addend = w.shape.c;
        w.shape.beta = 1;
    }
    czr_mirror_lower(w.shape.c, CZR_F32, p->n);
}

#else

bool czr_product_has_syrk_f32(void)
{
    return false;
}

void czr_product_syrk_f32(const czr_host_math *math, const czr_product *p)
{
    (void)math;
    (void)p;
}

#endif
