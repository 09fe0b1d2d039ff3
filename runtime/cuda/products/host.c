/* Products, planned: checks first, then numbers. */
#include "runtime/cuda/products/host.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    ELEMENT_BYTES = 2,
    /* 16 bytes: what copies and maps of tensors want. */
    ALIGNMENT = 8,
    WARPGROUP = 128,
    BLOCK = 64,
    /* Counters are ints, and go past the end by less than this. */
    MAX_EXTENT = INT_MAX - 1024,
    MAX_TILES = 1 << 30,
    INDEX_BITS = 20,
    BATCH_BITS = 24,
    REGISTERS = 65536,
    /* What a consumer has besides sums: addresses, counters, the epilogue. */
    OTHER_REGISTERS = 40,
    /* A block of threads may have so much shared memory on sm_90, less by 1 KiB
     * than an SM has. */
    SHARED_LIMIT = 232448,
    MIN_STAGES = 2,
    SM80_TILE = 128,
    SM80_STAGES = 3,
    SM80_THREADS = 256
};
/* A map has 40 bits for the distance of rows and matrices. */
#define MAX_STRIDE_BYTES (((int64_t)1 << 40) - 16)

/* False. */
__attribute__((format(printf, 2, 3))) static bool say(char *message,
                                                      const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(message, CZR_CUDA_PRODUCT_MESSAGE, format, list);
    va_end(list);
    return false;
}

/* ---- tiles -------------------------------------------------------------- */

int czr_cuda_product_shared_memory(const czr_cuda_product_tiles *tiles)
{
    const int stage = (tiles->rows + tiles->cols) * BLOCK * ELEMENT_BYTES;
    const int consumers = tiles->rows / BLOCK;
    const int blocks = consumers * 2 * BLOCK * BLOCK * ELEMENT_BYTES;

    /* Two barriers a stage, and room to align. */
    return tiles->stages * (stage + 16) + blocks + 1024;
}

bool czr_cuda_product_is_legal(const czr_cuda_product_tiles *tiles,
                               czr_cuda_product_split *split)
{
    /* By consumers, as SPLITS of product_sm90.cu. */
    static const czr_cuda_product_split splits[] = {{168, 40, 232},
                                                    {128, 32, 160}};
    const int most = 3, least = 2, consumers = tiles->rows / BLOCK;

    if (tiles->rows % BLOCK || consumers < least || consumers > most ||
        tiles->cols < BLOCK || tiles->cols > 4 * BLOCK || tiles->cols % BLOCK ||
        tiles->stages < MIN_STAGES || tiles->stages > SHARED_LIMIT / BLOCK ||
        czr_cuda_product_shared_memory(tiles) > SHARED_LIMIT)
        return false;
    *split = splits[consumers - least];
    /* A warpgroup's sums of 64 rows: half a row for each thread. */
    return tiles->cols / 2 + OTHER_REGISTERS <= split->consumer &&
           split->entry * WARPGROUP * (consumers + 1) <= REGISTERS;
}

static bool check_tiles(char *message, const czr_cuda_product *p,
                        const czr_cuda_product_device *d,
                        const czr_cuda_product_tiles *tiles)
{
    czr_cuda_product_split split;
    const bool is_right = d->architecture == 90
                              ? czr_cuda_product_is_legal(tiles, &split)
                              : tiles->rows == SM80_TILE &&
                                    tiles->cols == SM80_TILE &&
                                    tiles->stages == SM80_STAGES;

    if (d->architecture < 80 || d->sms < 1)
        return say(message,
                   "products need compute capability 8.0, this is %d.%d",
                   d->architecture / 10, d->architecture % 10);
    if (!is_right)
        return say(message, "no kernel has tiles of %d x %d in %d stages",
                   tiles->rows, tiles->cols, tiles->stages);
    const int64_t rows = (p->m + tiles->rows - 1) / tiles->rows;
    const int64_t cols = (p->n + tiles->cols - 1) / tiles->cols;
    if (rows > 1 << INDEX_BITS || cols > 1 << INDEX_BITS ||
        p->batch > 1 << BATCH_BITS || tiles->n > MAX_TILES)
        return say(message, "%lld x %lld tiles, %lld matrices: too many",
                   (long long)rows, (long long)cols, (long long)p->batch);
    /* Below 2^64: each tile has an element, and those were counted. */
    if (tiles->n < 1 || (uint64_t)tiles->n > (uint64_t)rows * (uint64_t)cols *
                                                 (uint64_t)p->batch)
        return say(message, "a table of %lld tiles is not this product's",
                   (long long)tiles->n);
    return true;
}

/* ---- sizes -------------------------------------------------------------- */

static bool check_sizes(char *message, const czr_cuda_product *p)
{
    if (p->m < 0 || p->n < 0 || p->k < 0 || p->batch < 0)
        return say(message, "a size is negative");
    if (p->is_symmetric && p->m != p->n)
        return say(message,
                   "a symmetric product is square: this is %lld x %lld",
                   (long long)p->m, (long long)p->n);
    if (!p->m || !p->n || !p->batch)
        return say(message, "c has no element");
    if (!p->k)
        return say(message, "k is 0: beta s is an element-wise kernel");
    if (p->m > MAX_EXTENT || p->n > MAX_EXTENT || p->k > MAX_EXTENT)
        return say(message, "kernels count rows and columns up to %d",
                   MAX_EXTENT);
    return true;
}

/* One operand: where it lies, once it is known to be right. */
typedef struct view {
    const char *name;
    const czr_cuda_product_matrix *matrix;
    int64_t rows, cols;
    uint64_t end; /* address behind the last byte */
} view;

/* How many elements from the first to the last of `rows` rows, the last one
 * `last` long. */
static bool span(const czr_cuda_product_matrix *m, int64_t batch, int64_t rows,
                 int64_t last, int64_t *n)
{
    int64_t matrices, within;

    return !__builtin_mul_overflow(batch - 1, m->batch_stride, &matrices) &&
           !__builtin_mul_overflow(rows - 1, m->stride, &within) &&
           !__builtin_add_overflow(within, last, &within) &&
           !__builtin_add_overflow(matrices, within, n);
}

static bool check_view(char *message, view *v, int64_t batch, int64_t last)
{
    const czr_cuda_product_matrix *m = v->matrix;
    int64_t elements, bytes, matrix;

    if (!m->address)
        return say(message, "%s is nowhere", v->name);
    if (m->stride < v->cols)
        return say(message, "rows of %s overlap: %lld columns, stride %lld",
                   v->name, (long long)v->cols, (long long)m->stride);
    if (m->stride % ALIGNMENT || (batch > 1 && m->batch_stride % ALIGNMENT))
        return say(message, "a stride of %s is no multiple of %d: pack first",
                   v->name, ALIGNMENT);
    if (m->address % ((uint64_t)ALIGNMENT * ELEMENT_BYTES))
        return say(message, "%s begins at no multiple of %d bytes: pack first",
                   v->name, ALIGNMENT * ELEMENT_BYTES);
    if (!span(m, 1, v->rows, v->cols, &matrix) ||
        (batch > 1 && m->batch_stride < matrix))
        return say(message, "matrices of %s overlap", v->name);
    if (!span(m, batch, v->rows, last, &elements) ||
        __builtin_mul_overflow(elements, (int64_t)ELEMENT_BYTES, &bytes) ||
        __builtin_add_overflow(m->address, (uint64_t)bytes, &v->end))
        return say(message, "%s ends beyond 64 bits", v->name);
    return true;
}

/* Bytes from the first of a matrix to the last. */
static uint64_t matrix_bytes(const view *v, int64_t batch)
{
    const uint64_t others = (uint64_t)(batch - 1) *
                            (uint64_t)v->matrix->batch_stride * ELEMENT_BYTES;

    return v->end - v->matrix->address - others;
}

/* Whether matrices of both, which are equally far from one to the next, lie in
 * turn: then none of one reaches into one of the other. */
static bool is_in_turn(const view *c, const view *other, int64_t batch)
{
    const uint64_t by = (uint64_t)c->matrix->batch_stride * ELEMENT_BYTES;

    if (batch < 2 || c->matrix->batch_stride != other->matrix->batch_stride)
        return false;
    const bool is_behind = other->matrix->address >= c->matrix->address;
    const uint64_t from =
        is_behind ? (other->matrix->address - c->matrix->address) % by
                  : (c->matrix->address - other->matrix->address) % by;
    const view *first = is_behind ? c : other, *second = is_behind ? other : c;
    return from >= matrix_bytes(first, batch) &&
           by - from >= matrix_bytes(second, batch);
}

/* Whole ranges are compared: c between the columns of an operand is refused. */
static bool check_apart(char *message, const view *c, const view *other,
                        int64_t batch)
{
    if (c->matrix->address < other->end && other->matrix->address < c->end &&
        !is_in_turn(c, other, batch))
        return say(message, "c may lie where %s lies", other->name);
    return true;
}

static bool check_operands(char *message, const czr_cuda_product *p)
{
    view views[] = {{"c", &p->c, p->m, p->n, 0},
                    {"x", &p->x, p->is_m_major ? p->k : p->m,
                     p->is_m_major ? p->m : p->k, 0},
                    {"y", &p->y, p->is_n_major ? p->k : p->n,
                     p->is_n_major ? p->n : p->k, 0},
                    {"s", &p->s, p->m, p->n, 0}};
    const int n_views = p->beta != 0.f ? 4 : 3;

    for (int i = 0; i < n_views; i++) {
        const int64_t last = i == 3 ? p->s.stride : views[i].cols;
        if (!check_view(message, &views[i], p->batch, last) ||
            (i && !check_apart(message, &views[0], &views[i], p->batch)))
            return false;
    }
    return true;
}

/* ---- numbers ------------------------------------------------------------ */

static bool make_map(char *message, const czr_cuda_product_matrix *m,
                     int64_t rows, int64_t cols, int64_t batch,
                     czr_cuda_product_map *out)
{
    int64_t matrix = m->batch_stride;

    if (batch == 1 && __builtin_mul_overflow(rows, m->stride, &matrix))
        matrix = INT64_MAX;
    if (m->stride > MAX_STRIDE_BYTES / ELEMENT_BYTES ||
        matrix > MAX_STRIDE_BYTES / ELEMENT_BYTES)
        return say(message, "a map of tensors has 40 bits for a stride");
    const czr_cuda_product_map map = {
        .address = m->address,
        .dims = {(uint64_t)cols, (uint64_t)rows, (uint64_t)batch},
        .stride_bytes = {(uint64_t)m->stride * ELEMENT_BYTES,
                         (uint64_t)matrix * ELEMENT_BYTES},
        .box = {BLOCK, BLOCK, 1},
    };
    *out = map;
    return true;
}

/* As BLAS has it: which of two operands in rows is transposed. */
static const char *form_of(const czr_cuda_product *p)
{
    static const char *const names[2][2][2] = {
        {{"nt", "nn"}, {"tt", "tn"}},
        {{"symmetric_nt", "symmetric_nn"}, {"symmetric_tt", "symmetric_tn"}}};

    return names[p->is_symmetric][p->is_m_major][p->is_n_major];
}

/* A second buffer of staging a consumer, where there is room: of a symmetric
 * product it holds a block and its mirror image, else two blocks. */
static int count_buffers(const czr_cuda_product *p,
                         const czr_cuda_product_tiles *tiles, int *more_bytes)
{
    const int all = tiles->rows / BLOCK * 2 * BLOCK * BLOCK * ELEMENT_BYTES;
    const bool has_room =
        !p->is_symmetric ||
        czr_cuda_product_shared_memory(tiles) + all <= SHARED_LIMIT;

    *more_bytes = has_room && p->is_symmetric ? all : 0;
    return has_room ? 2 : 1;
}

static bool make_maps(char *message, const czr_cuda_product *p,
                      czr_cuda_product_plan *plan)
{
    return make_map(message, &p->x, p->is_m_major ? p->k : p->m,
                    p->is_m_major ? p->m : p->k, p->batch, &plan->x) &&
           make_map(message, &p->y, p->is_n_major ? p->k : p->n,
                    p->is_n_major ? p->n : p->k, p->batch, &plan->y) &&
           make_map(message, &p->c, p->m, p->n, p->batch, &plan->c) &&
           make_map(message, p->beta != 0.f ? &p->s : &p->c, p->m, p->n,
                    p->batch, &plan->s);
}

static void fill_sm90(const czr_cuda_product *p,
                      const czr_cuda_product_tiles *tiles,
                      czr_cuda_product_plan *plan)
{
    int more_bytes;
    const int buffers = count_buffers(p, tiles, &more_bytes);

    plan->is_sm90 = true;
    plan->n_threads = WARPGROUP * (tiles->rows / BLOCK + 1);
    plan->shared_memory_bytes =
        czr_cuda_product_shared_memory(tiles) + more_bytes;
    plan->depth = (int)((p->k + BLOCK - 1) / BLOCK);
    czr_cuda_product_is_legal(tiles, &plan->split);
    snprintf(plan->kernel, sizeof plan->kernel, "product_%s_%dx%dx%d%s",
             form_of(p), tiles->rows, tiles->cols, tiles->stages,
             p->is_f16 ? "_f16" : "");
    snprintf(plan->header, sizeof plan->header,
             "#define KERNEL %s\n#define BM %d\n#define BN %d\n"
             "#define STAGES %d\n#define BUFFERS %d\n"
             "#define SYMMETRIC %d\n#define M_MAJOR %d\n#define N_MAJOR %d\n"
             "#define FP16 %d\n",
             plan->kernel, tiles->rows, tiles->cols, tiles->stages, buffers,
             p->is_symmetric, p->is_m_major, p->is_n_major, p->is_f16);
}

static void fill_sm80(const czr_cuda_product *p, czr_cuda_product_plan *plan)
{
    plan->n_threads = SM80_THREADS;
    plan->shared_memory_bytes =
        SM80_STAGES * 2 * SM80_TILE * BLOCK * ELEMENT_BYTES;
    plan->depth = (int)p->k;
    snprintf(plan->kernel, sizeof plan->kernel, "product_%s%s", form_of(p),
             p->is_f16 ? "_f16" : "");
    snprintf(plan->header, sizeof plan->header,
             "#define KERNEL %s\n#define SYMMETRIC %d\n#define M_MAJOR %d\n"
             "#define N_MAJOR %d\n#define FP16 %d\n",
             plan->kernel, p->is_symmetric, p->is_m_major, p->is_n_major,
             p->is_f16);
}

/* Blocks for so many tiles or parts. */
static int fill_wave(const czr_cuda_product_device *device, int64_t n)
{
    return n < device->sms ? (int)n : device->sms;
}

bool czr_cuda_product_plan_shape(const czr_cuda_product *product,
                                 const czr_cuda_product_device *device,
                                 const czr_cuda_product_tiles *tiles,
                                 czr_cuda_product_plan *plan,
                                 char message[CZR_CUDA_PRODUCT_MESSAGE])
{
    message[0] = '\0';
    memset(plan, 0, sizeof *plan);
    if (!check_sizes(message, product) ||
        !check_tiles(message, product, device, tiles))
        return false;
    plan->rows = (int)product->m;
    plan->cols = (int)product->n;
    plan->n_tiles = plan->n_full = (int)tiles->n;
    plan->splits = 1;
    plan->n_blocks = fill_wave(device, tiles->n);
    if (device->architecture == 90)
        fill_sm90(product, tiles, plan);
    else
        fill_sm80(product, plan);
    return true;
}

bool czr_cuda_product_plan_make(const czr_cuda_product *product,
                                const czr_cuda_product_device *device,
                                const czr_cuda_product_tiles *tiles,
                                czr_cuda_product_plan *plan,
                                char message[CZR_CUDA_PRODUCT_MESSAGE])
{
    message[0] = '\0';
    return check_sizes(message, product) && check_operands(message, product) &&
           czr_cuda_product_plan_shape(product, device, tiles, plan, message) &&
           (!plan->is_sm90 || make_maps(message, product, plan));
}

bool czr_cuda_product_plan_split(const czr_cuda_product *product,
                                 const czr_cuda_product_device *device,
                                 const czr_cuda_product_tiles *tiles,
                                 int splits, czr_cuda_product_plan *plan)
{
    const int wave = fill_wave(device, MAX_TILES);
    const int n_split = plan->n_tiles % wave;
    const int64_t n_sums = (int64_t)n_split * splits;

    if (splits < 2 || splits > (product->k + BLOCK - 1) / BLOCK || !n_split ||
        n_sums > MAX_TILES - plan->n_tiles)
        return false;
    plan->n_full = plan->n_tiles - n_split;
    plan->splits = splits;
    plan->sums_bytes = (size_t)n_sums * (size_t)tiles->rows *
                       (size_t)tiles->cols * sizeof(float);
    plan->n_blocks = fill_wave(device, plan->n_full + n_sums);
    return true;
}
