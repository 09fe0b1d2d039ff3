#include "tests/gpu/bodies/product_bodies.h"

#include "tests/gpu/double/fake.h"

#include <stdio.h>
#include <string.h>

uint16_t bf16_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float bf16_to_f32(uint16_t x)
{
    const uint32_t bits = (uint32_t)x << 16;
    float y;

    memcpy(&y, &bits, sizeof y);
    return y;
}

/* What a specialisation knows. */
typedef struct form {
    bool is_sm90, is_symmetric, is_m_major, is_n_major;
    int rows, cols;
    bool is_f16;
} form;

typedef struct arguments {
    form of;
    czr_product_operand x, y, s, c;
    czr_product_epilogue e;
    int rows, cols, k;
    czr_product_list list;
} arguments;

/* Of a tile k from first to end; what sums there are already, or are to be. */
typedef struct part {
    int first, end;
    float *sums;
} part;

/* Matrix z, of which so many rows and columns are touched; NULL: not there. */
static uint16_t *matrix(const czr_product_operand *m, int z, int rows, int cols)
{
    const uint64_t n = (uint64_t)(rows - 1) * m->stride + (uint64_t)cols;

    return fake_at(m->data + 2 * ((uint64_t)z * m->batch), n * 2);
}

static double number(const form *of, uint16_t element)
{
    return (double)(of->is_f16 ? czr_f16_to_f32(element)
                               : bf16_to_f32(element));
}

/* Of every x_by-th element and every y_by-th. */
static double dot(const form *of, const uint16_t *x, uint64_t x_by,
                  const uint16_t *y, uint64_t y_by, int k)
{
    double sum = 0;

    for (uint64_t i = 0; i < (uint64_t)k; i++)
        sum += number(of, x[i * x_by]) * number(of, y[i * y_by]);
    return sum;
}

/* Element (i, j) of sums of products, over k from `first` to `end`. */
static double product_at(const arguments *a, const uint16_t *x,
                         const uint16_t *y, int i, int j, part p)
{
    const uint64_t first = (uint64_t)p.first;
    const uint64_t x_by = a->of.is_m_major ? a->x.stride : 1;
    const uint64_t y_by = a->of.is_n_major ? a->y.stride : 1;
    const uint64_t row = (uint64_t)i * (a->of.is_m_major ? 1 : a->x.stride);
    const uint64_t column = (uint64_t)j * (a->of.is_n_major ? 1 : a->y.stride);

    return dot(&a->of, x + row + first * x_by, x_by, y + column + first * y_by,
               y_by, p.end - p.first);
}

/* Number `at` of the tile. */
static double sum_at(const arguments *a, const uint16_t *x, const uint16_t *y,
                     int i, int j, part p, int at)
{
    const int size = a->of.rows * a->of.cols;
    double sum = 0;

    if (!p.sums || !a->list.is_end)
        sum = product_at(a, x, y, i, j, p);
    for (int n = 0; a->list.is_end && n < a->list.splits; n++)
        sum += (double)p.sums[n * size + at];
    if (p.sums && !a->list.is_end)
        p.sums[at] = (float)sum;
    return sum;
}

/* With `sums`, of as many elements as the tile has: of a part those alone, at
 * the end c from those of all parts. */
static void compute_tile(const arguments *a, uint64_t tile, part p)
{
    const int z = (int)(tile >> 40);
    const int i0 = (int)(tile & 0xfffff) * a->of.rows;
    const int j0 = (int)(tile >> 20 & 0xfffff) * a->of.cols;
    const bool is_m = a->of.is_m_major, is_n = a->of.is_n_major;
    uint16_t *c = matrix(&a->c, z, a->rows, a->cols);
    const uint16_t *x =
        matrix(&a->x, z, is_m ? a->k : a->rows, is_m ? a->rows : a->k);
    const uint16_t *y =
        matrix(&a->y, z, is_n ? a->k : a->cols, is_n ? a->cols : a->k);
    const uint16_t *s =
        a->e.beta != 0.f ? matrix(&a->s, z, a->rows, a->cols) : c;

    if (!c || !x || !y || !s)
        return;
    for (int i = i0; i < i0 + a->of.rows && i < a->rows; i++)
        for (int j = j0; j < j0 + a->of.cols && j < a->cols; j++) {
            if (a->of.is_symmetric && i > j)
                continue;
            double sum =
                sum_at(a, x, y, i, j, p, (i - i0) * a->of.cols + j - j0);
            if (p.sums && !a->list.is_end)
                continue;
            sum *= (double)a->e.alpha;
            if (a->e.beta != 0.f)
                sum +=
                    (double)a->e.beta *
                    number(&a->of, s[(uint64_t)i * a->s.stride + (uint64_t)j]);
            const uint16_t v =
                a->of.is_f16 ? czr_f32_to_f16((float)sum) : bf16_of((float)sum);
            c[(uint64_t)i * a->c.stride + (uint64_t)j] = v;
            if (a->of.is_symmetric)
                c[(uint64_t)j * a->c.stride + (uint64_t)i] = v;
        }
}

/* sm_90 has maps instead of operands. */
static czr_product_operand operand(const void *argument, bool is_map)
{
    czr_product_operand operand;

    if (!is_map) {
        memcpy(&operand, argument, sizeof operand);
        return operand;
    }
    const czr_tensor_map *map = argument;
    const uint64_t *strides = &map->opaque[FAKE_MAP_STRIDES];
    return (czr_product_operand){map->opaque[FAKE_MAP_ADDRESS], strides[0] / 2,
                                 strides[1] / 2};
}

/* Number `split` of the tiles that are in parts, negative: not in parts. */
static void compute_parts(const arguments *a, uint64_t tile, int split)
{
    const czr_product_list *l = &a->list;
    const size_t size = (size_t)a->of.rows * (size_t)a->of.cols * sizeof(float);
    const int64_t steps = (a->k + 63) / 64;

    if (split < 0) {
        if (!l->is_end)
            compute_tile(a, tile, (part){0, a->k, NULL});
        return;
    }
    for (int64_t i = 0; i < (l->is_end ? 1 : l->splits); i++) {
        const int end = (int)(steps * (i + 1) / l->splits) * 64;
        const czr_address at =
            l->sums + size * (size_t)(split * (int64_t)l->splits + i);
        const part p = {
            (int)(steps * i / l->splits) * 64, end < a->k ? end : a->k,
            fake_at(at, l->is_end ? size * (size_t)l->splits : size)};
        if (p.sums)
            compute_tile(a, tile, p);
    }
}

/* Whether maps of sm_90 say the type that the body is for. */
static bool has_type(void **from, const form *of)
{
    const uint64_t type =
        of->is_f16 ? CZR_TENSOR_MAP_FLOAT16 : CZR_TENSOR_MAP_BFLOAT16;

    for (int i = 0; i < CZR_PRODUCT_OPERANDS && of->is_sm90; i++)
        if (((const czr_tensor_map *)from[i])->opaque[FAKE_MAP_TYPE] != type)
            return false;
    return true;
}

static int64_t n_launches;

/* For sm_90 k is in steps of 64, beyond the end of x: what is there is 0 and
 * is left out. */
static void run(void **from, form of)
{
    arguments a = {.of = of,
                   .x = operand(from[0], of.is_sm90),
                   .y = operand(from[1], of.is_sm90),
                   .s = operand(from[2], of.is_sm90),
                   .c = operand(from[3], of.is_sm90),
                   .rows = *(int *)from[5],
                   .cols = *(int *)from[6],
                   .k = *(int *)from[7] * (of.is_sm90 ? 64 : 1)};

    n_launches++;
    if (!has_type(from, &of))
        return;
    memcpy(&a.e, from[4], sizeof a.e);
    memcpy(&a.list, from[8], sizeof a.list);
    if (of.is_sm90) {
        const uint64_t *map = ((const czr_tensor_map *)from[0])->opaque;
        const uint64_t k =
            map[of.is_m_major ? FAKE_MAP_ROWS : FAKE_MAP_COLUMNS];
        a.k = (uint64_t)a.k > k && (uint64_t)a.k < k + 64 ? (int)k : a.k;
    }
    const czr_address at_skip = *(czr_address *)from[9];
    const int32_t *skip = at_skip ? fake_at(at_skip, sizeof *skip) : NULL;
    if ((at_skip && !skip) || (skip && *skip))
        return;
    const uint64_t *tiles =
        fake_at(a.list.tiles, (size_t)a.list.n_tiles * sizeof(uint64_t));
    for (int t = 0; tiles && t < a.list.n_tiles; t++)
        compute_parts(&a, tiles[t], t - a.list.n_full);
}

static void run_gemm(void **from)
{
    bodies_gemm g;

    memcpy(&g, from[0], sizeof g);
    const arguments a = {
        .of = {.is_n_major = g.is_n_major, .rows = g.m, .cols = g.n},
        .x = g.x,
        .y = g.y,
        .c = g.c,
        .e = {.alpha = 1},
        .rows = g.m,
        .cols = g.n,
        .k = g.k};
    for (int z = 0; z < g.batch; z++)
        compute_tile(&a, (uint64_t)z << 40, (part){0, g.k, NULL});
}

/* ---- by name ------------------------------------------------------------ */

#define ORDERS(X, prefix, symmetric, ...)                                      \
    X(prefix##nt, symmetric, false, false, __VA_ARGS__)                        \
    X(prefix##nn, symmetric, false, true, __VA_ARGS__)                         \
    X(prefix##tt, symmetric, true, false, __VA_ARGS__)                         \
    X(prefix##tn, symmetric, true, true, __VA_ARGS__)
#define FORMS(X, ...)                                                          \
    ORDERS(X, , false, __VA_ARGS__)                                            \
    ORDERS(X, symmetric_, true, __VA_ARGS__)
#define TILES(X)                                                               \
    FORMS(X, 128, 256, 4)                                                      \
    FORMS(X, 192, 192, 3)                                                      \
    FORMS(X, 128, 192, 4)                                                      \
    FORMS(X, 128, 128, 5)
#define BODY_90(name, symmetric, m_major, n_major, m, n, stages)               \
    static void name##_##m##x##n(void **from)                                  \
    {                                                                          \
        run(from, (form){true, symmetric, m_major, n_major, m, n, false});     \
    }                                                                          \
    static void name##_##m##x##n##_f16(void **from)                            \
    {                                                                          \
        run(from, (form){true, symmetric, m_major, n_major, m, n, true});      \
    }
#define BODY_80(name, symmetric, m_major, n_major, m)                          \
    static void name##_80(void **from)                                         \
    {                                                                          \
        run(from, (form){false, symmetric, m_major, n_major, m, m, false});    \
    }                                                                          \
    static void name##_80_f16(void **from)                                     \
    {                                                                          \
        run(from, (form){false, symmetric, m_major, n_major, m, m, true});     \
    }
#define NAME_90(name, symmetric, m_major, n_major, m, n, stages)               \
    fake_register("product_" #name "_" #m "x" #n "x" #stages,                  \
                  name##_##m##x##n);                                           \
    fake_register("product_" #name "_" #m "x" #n "x" #stages "_f16",           \
                  name##_##m##x##n##_f16);
#define NAME_80(name, symmetric, m_major, n_major, m)                          \
    fake_register("product_" #name, name##_80);                                \
    fake_register("product_" #name "_f16", name##_80_f16);

TILES(BODY_90)
FORMS(BODY_80, 128)

int64_t bodies_launches(void)
{
    return n_launches;
}

void bodies_register(void)
{
    n_launches = 0;
    TILES(NAME_90)
    FORMS(NAME_80, 128)
    fake_register("gemm", run_gemm);
}

void bodies_write_code(const char *kernel, bool is_sm90, char code[BODIES_CODE])
{
    int n = snprintf(code, BODIES_CODE, "FAKE sm_90\n%s 0", kernel);

    for (int i = 0; i < CZR_PRODUCT_ARGUMENTS; i++)
        n += snprintf(code + n, (size_t)(BODIES_CODE - n), " %d",
                      czr_product_kernel_bytes[is_sm90][i]);
    snprintf(code + n, (size_t)(BODIES_CODE - n), "\n");
}
