/* Arguments of the kernel of product_plain.cu, which computes any product.
 * Touches no device: addresses are copied and never read. */
#ifndef CZR_CUDA_PRODUCTS_PLAIN_H
#define CZR_CUDA_PRODUCTS_PLAIN_H

#include "runtime/czr.h"

/* As in product_plain.cu. */
typedef struct czr_plain_product {
    uint64_t m, n, k;
    const void *a, *b, *addend;
    void *out;
    float alpha, beta;
    uint32_t a_dtype, b_dtype, addend_dtype, out_dtype; /* enum czr_dtype */
    uint32_t transpose_a, transpose_b, symmetric, blocks, narrow, unused;
} czr_plain_product;

/* As in product_plain.cu and elementwise.cuh. */
enum { CZR_PLAIN_TILE = 64, CZR_PLAIN_THREADS = 256 };

/* Of a product whose pointers are the device's: what czr_product_fixed_order
 * does in strict mode, into `out`. */
czr_plain_product czr_plain_product_of(const czr_product *product);
/* Blocks of threads that a launch has, a tile each where the device allows; 0:
 * no element is to be written. */
unsigned czr_plain_blocks(const czr_product *product);

#endif
