/* In which order a device computes the tiles of a product: a table, so that
 * kernels decide nothing.  Plain integers. */
#ifndef CZ_PASSES_GPU_TILE_ORDER_H
#define CZ_PASSES_GPU_TILE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an entry has room for: 20 bits of tile row, then 20 of tile column, then
 * 24 of matrix; runtime/cuda/kernels/product.cuh takes them apart. */
enum { CZ_TILE_INDEX_BITS = 20, CZ_TILE_BATCH_BITS = 24 };
/* A kernel counts tiles in 32 bits, and counts past the last by a grid. */
#define CZ_TILES_MAX ((int64_t)1 << 30)

/* A batch of outputs [rows, cols] in tiles of tile_rows x tile_cols elements.
 * Symmetric ones, where rows = cols, need the tiles that have an element on or
 * above the diagonal. */
typedef struct cz_tiling {
    int64_t rows, cols, batch;
    int tile_rows, tile_cols;
    bool is_symmetric;
    /* So many rows of tiles are gone through column by column, so that what
     * runs at once reads the same operands.  At least 1. */
    int order_rows;
} cz_tiling;

/* How many tiles there are.  False: a size is not positive, a symmetric output
 * is not square, or the table would not have room. */
bool cz_tile_count(const cz_tiling *tiling, int64_t *count);

/* Those tiles, each once, matrix after matrix; `tiles` holds cz_tile_count. */
void cz_tile_order(const cz_tiling *tiling, uint64_t *tiles);

#endif
