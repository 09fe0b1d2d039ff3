#include "runtime/cuda/products/tiles.h"

#include <stddef.h>

enum {
    MAX_TILES = 1 << 30,
    GROUP = 8, /* rows of tiles */
    STEP = 64, /* of k */
    /* So that sums stay in L2. */
    MAX_PARTS = 8,
    MAX_ROUNDS = 2,
    INDEX_BITS = 20
};

/* traffic: bytes that shared memory moves in a clock at the full rate of tensor
 * cores, of the 128 that it can. */
static const struct {
    int rows, cols, stages, traffic;
} shapes[] = {{128, 256, 4, 128},
              {192, 192, 3, 128},
              {128, 192, 4, 139},
              {128, 128, 5, 160}};

static int64_t divide_up(int64_t n, int64_t by)
{
    return n / by + (n % by != 0);
}

/* The first column of tiles that row i needs: of a symmetric product those that
 * have an element on or above the diagonal. */
static int64_t first_column(const czr_cuda_product *p,
                            const czr_cuda_product_tiles *t, int64_t i)
{
    return p->is_symmetric ? i * t->rows / t->cols : 0;
}

static bool count(const czr_cuda_product *p, czr_cuda_product_tiles *t)
{
    const int64_t rows = divide_up(p->m, t->rows);
    const int64_t cols = divide_up(p->n, t->cols);
    const int64_t most = (int64_t)1 << INDEX_BITS;

    t->n = 0;
    if (rows > most || cols > most || p->batch > MAX_TILES)
        return false;
    for (int64_t i = 0; i < rows; i++)
        t->n += cols - first_column(p, t, i);
    if (t->n > MAX_TILES / p->batch)
        return false;
    t->n *= p->batch;
    return true;
}

bool czr_tiles_choose(const czr_cuda_product *product,
                      const czr_cuda_product_device *device,
                      czr_cuda_product_tiles *out)
{
    int64_t least = INT64_MAX;

    if (product->m < 1 || product->n < 1 || product->batch < 1 ||
        device->sms < 1)
        return false;
    if (device->architecture != 90) {
        *out = (czr_cuda_product_tiles){128, 128, 3, 0};
        return count(product, out);
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        czr_cuda_product_tiles t = {shapes[i].rows, shapes[i].cols,
                                    shapes[i].stages, 0};
        if (!count(product, &t))
            return false;
        const int64_t cost =
            divide_up(t.n, device->sms) * t.rows * t.cols * shapes[i].traffic;
        if (cost < least) {
            least = cost;
            *out = t;
        }
    }
    return true;
}

static bool is_of(const czr_cuda_tiling *t, const czr_cuda_product *p)
{
    return t->m == p->m && t->n == p->n && t->k == p->k &&
           t->batch == p->batch && t->is_symmetric == p->is_symmetric &&
           t->has_addend == (p->beta != 0);
}

/* NULL: the program says nothing of it, or is for another GPU. */
static const czr_cuda_tiling *find(const czr_cuda_program *program,
                                   const czr_cuda_product *product,
                                   const czr_cuda_product_device *device)
{
    const czr_cuda_tiling *t = program->tilings;
    const czr_cuda_tiling *end = t + program->n_tilings;

    if (device->architecture != 90 || device->sms != program->tiled_sms)
        return NULL;
    while (t != end && !is_of(t, product))
        t++;
    return t == end ? NULL : t;
}

bool czr_tiles_is_library(const czr_cuda_program *program,
                          const czr_cuda_product *product,
                          const czr_cuda_product_device *device)
{
    const czr_cuda_tiling *t = find(program, product, device);

    return t && t->is_library;
}

bool czr_tiles_find(const czr_cuda_program *program,
                    const czr_cuda_product *product,
                    const czr_cuda_product_device *device,
                    czr_cuda_product_tiles *out, int *splits)
{
    const czr_cuda_tiling *t = find(program, product, device);
    czr_cuda_product_split split;

    if (!t)
        return false;
    *out = (czr_cuda_product_tiles){t->rows, t->cols, t->stages, 0};
    *splits = t->splits;
    return czr_cuda_product_is_legal(out, &split) && count(product, out);
}

/* Steps of k that the last wave takes in so many splits, and what adding them
 * costs in the time of a step: the launch, and writing and reading sums. */
static int64_t last_wave(int64_t n_split, int64_t wave, int64_t steps,
                         int64_t splits)
{
    return divide_up(n_split * splits, wave) * (divide_up(steps, splits) + 3) +
           8 + 2 * splits;
}

int czr_tiles_splits(const czr_cuda_product *product,
                     const czr_cuda_product_device *device,
                     const czr_cuda_product_tiles *tiles)
{
    const int64_t wave = device->sms;
    const int64_t steps = divide_up(product->k, STEP);
    const int64_t n_split = wave ? tiles->n % wave : 0;
    int64_t least = steps;
    int best = 1;

    for (int splits = 2; n_split && splits <= MAX_PARTS && splits <= steps &&
                         n_split * splits <= MAX_ROUNDS * wave;
         splits++) {
        const int64_t cost = last_wave(n_split, wave, steps, splits);
        if (cost < least) {
            least = cost;
            best = splits;
        }
    }
    return best;
}

static uint64_t *fill_group(const czr_cuda_product *p,
                            const czr_cuda_product_tiles *t, int64_t z,
                            int64_t first, uint64_t *to)
{
    const int64_t rows = divide_up(p->m, t->rows);
    const int64_t cols = divide_up(p->n, t->cols);
    const int64_t end = first + GROUP < rows ? first + GROUP : rows;

    for (int64_t j = first_column(p, t, first); j < cols; j++)
        for (int64_t i = first; i < end; i++)
            if (j >= first_column(p, t, i))
                *to++ = (uint64_t)i | (uint64_t)j << INDEX_BITS |
                        (uint64_t)z << 2 * INDEX_BITS;
    return to;
}

void czr_tiles_fill(const czr_cuda_product *product,
                    const czr_cuda_product_tiles *tiles, uint64_t *table)
{
    const int64_t rows = divide_up(product->m, tiles->rows);

    for (int64_t z = 0; z < product->batch; z++)
        for (int64_t i = 0; i < rows; i += GROUP)
            table = fill_group(product, tiles, z, i, table);
}
