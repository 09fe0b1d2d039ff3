/* Kernels of products for the double of the driver: they compute what their
 * arguments say in plain loops, tile by tile of the table that they are given.
 */
#ifndef TESTS_CUDA_PRODUCT_BODIES_H
#define TESTS_CUDA_PRODUCT_BODIES_H

#include "runtime/cuda/products/kernel.h"

#include <stdint.h>

/* To nearest, ties to even; no NaN. */
uint16_t bf16_of(float x);
float bf16_to_f32(uint16_t x);

/* All that runtime/cuda/products/host.h can plan, under the plan's names; and
 * "gemm", which has a bodies_gemm as its argument. */
void bodies_register(void);
/* Launches of those since then, also by graphs. */
int64_t bodies_launches(void);

/* The double's machine code for the kernel of this name. */
enum { BODIES_CODE = 256 };
void bodies_write_code(const char *kernel, bool is_sm90,
                       char code[BODIES_CODE]);

/* c = x y', or x y. */
typedef struct bodies_gemm {
    czr_product_operand x, y, c;
    int m, n, k, batch, is_n_major;
} bodies_gemm;

#endif
