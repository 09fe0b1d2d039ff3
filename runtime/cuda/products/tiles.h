/* Tiles of products: those that the compiler has chosen, or by a rule of thumb,
 * in an order of the runtime's own.  Plain integers. */
#ifndef CZR_CUDA_PRODUCTS_TILES_H
#define CZR_CUDA_PRODUCTS_TILES_H

#include "runtime/cuda/products/host.h"
#include "runtime/czr_cuda.h"

/* What the program says of a product whose addresses do not count, also in how
 * many splits of k tiles are that fill no wave.  False: it
 * says nothing, or is for another GPU, or there is no kernel for it. */
bool czr_tiles_find(const czr_cuda_program *program,
                    const czr_cuda_product *product,
                    const czr_cuda_product_device *device,
                    czr_cuda_product_tiles *out, int *splits);
/* Whether the program says that cuBLASLt computes it, if it is not symmetric.
 */
bool czr_tiles_is_library(const czr_cuda_program *program,
                          const czr_cuda_product *product,
                          const czr_cuda_product_device *device);
/* On sm_90 the shape whose waves cost least: as many as the device needs, each
 * the elements of a tile times what shared memory slows it by; of equal ones
 * the larger.  Elsewhere the one that there is.  False: a size is not positive,
 * or there are too many tiles. */
bool czr_tiles_choose(const czr_cuda_product *product,
                      const czr_cuda_product_device *device,
                      czr_cuda_product_tiles *out);
/* In how many parts of k those tiles are computed best that do not fill a wave,
 * by a rule of thumb; 1: in one. */
int czr_tiles_splits(const czr_cuda_product *product,
                     const czr_cuda_product_device *device,
                     const czr_cuda_product_tiles *tiles);
/* Their table, tiles->n entries as product.cuh takes them apart: eight rows of
 * tiles are gone through column by column, so that what runs at once reads the
 * same operands. */
void czr_tiles_fill(const czr_cuda_product *product,
                    const czr_cuda_product_tiles *tiles, uint64_t *table);

#endif
