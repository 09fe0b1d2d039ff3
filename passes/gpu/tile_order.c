/* Tables of tiles.  Knows nothing of devices. */
#include "passes/gpu/tile_order.h"

#include "dsl/base/checked.h"

static bool is_valid(const cz_tiling *t)
{
    const int64_t most = (int64_t)1 << CZ_TILE_INDEX_BITS;

    return t->rows > 0 && t->cols > 0 && t->batch > 0 && t->tile_rows > 0 &&
           t->tile_cols > 0 && t->order_rows > 0 && t->rows <= CZ_MAX_DIM &&
           t->cols <= CZ_MAX_DIM &&
           cz_ceil_div(t->rows, t->tile_rows) <= most &&
           cz_ceil_div(t->cols, t->tile_cols) <= most &&
           t->batch <= (int64_t)1 << CZ_TILE_BATCH_BITS &&
           (!t->is_symmetric || t->rows == t->cols);
}

/* The last column of tile j reaches the first row of tile i. */
static bool is_needed(const cz_tiling *t, int64_t i, int64_t j)
{
    return !t->is_symmetric || (j + 1) * t->tile_cols > i * t->tile_rows;
}

/* The first column of tiles that row i needs. */
static int64_t first_column(const cz_tiling *t, int64_t i)
{
    return t->is_symmetric ? i * t->tile_rows / t->tile_cols : 0;
}

bool cz_tile_count(const cz_tiling *tiling, int64_t *count)
{
    int64_t n = 0;

    if (!is_valid(tiling))
        return false;
    const int64_t n_rows = cz_ceil_div(tiling->rows, tiling->tile_rows);
    const int64_t n_cols = cz_ceil_div(tiling->cols, tiling->tile_cols);
    for (int64_t i = 0; i < n_rows; i++)
        n += n_cols - first_column(tiling, i);
    if (!cz_checked_mul(n, tiling->batch, &n) || n > CZ_TILES_MAX)
        return false;
    *count = n;
    return true;
}

static uint64_t *add_group(const cz_tiling *t, int64_t z, int64_t start,
                           int64_t end, uint64_t *to)
{
    const int64_t n_cols = cz_ceil_div(t->cols, t->tile_cols);

    for (int64_t j = first_column(t, start); j < n_cols; j++)
        for (int64_t i = start; i < end; i++)
            if (is_needed(t, i, j))
                *to++ = (uint64_t)i | (uint64_t)j << CZ_TILE_INDEX_BITS |
                        (uint64_t)z << 2 * CZ_TILE_INDEX_BITS;
    return to;
}

void cz_tile_order(const cz_tiling *tiling, uint64_t *tiles)
{
    const int64_t n_rows = cz_ceil_div(tiling->rows, tiling->tile_rows);
    const int64_t order_rows = tiling->order_rows;

    for (int64_t z = 0; z < tiling->batch; z++)
        for (int64_t i = 0; i < n_rows; i += order_rows) {
            const int64_t end = i + order_rows;
            tiles = add_group(tiling, z, i, end < n_rows ? end : n_rows, tiles);
        }
}
