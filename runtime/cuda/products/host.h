/* The host's side of products: what a kernel of product_sm90.cu or
 * product_sm80.cu is specialised by, and what its launch needs, as plain
 * numbers. Touches no device: addresses are compared and never read. */
#ifndef CZR_CUDA_PRODUCTS_HOST_H
#define CZR_CUDA_PRODUCTS_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CZR_CUDA_PRODUCT_MESSAGE = 160,
    CZR_CUDA_PRODUCT_NAME = 64,
    CZR_CUDA_PRODUCT_HEADER = 256
};

/* A batch of matrices of bf16, or of f16; strides in elements, of rows and of
 * matrices.  The latter does not count where there is one matrix. */
typedef struct czr_cuda_product_matrix {
    uint64_t address;
    int64_t stride, batch_stride;
} czr_cuda_product_matrix;

/* c = alpha x y' + beta s, c [m, n], x [m, k] or, M-major, [k, m],
 * y [n, k] or, N-major, [k, n].  s is looked at where beta is not 0, and its
 * rows are as long as its stride.  Rows of c own what lies up to the next
 * multiple of 8 columns: TMA stores 16 bytes at a time. */
typedef struct czr_cuda_product {
    int64_t m, n, k, batch;
    bool is_symmetric, is_m_major, is_n_major, is_f16; /* else bf16 */
    czr_cuda_product_matrix x, y, s, c;
    float alpha, beta;
} czr_cuda_product;

typedef struct czr_cuda_product_device {
    int architecture; /* 10 major + minor */
    int sms;          /* that the product may have */
} czr_cuda_product_device;

/* Chosen by the compiler, with the table of `n` tiles.  The body for sm_80 has
 * tiles of 128 x 128 in 3 stages and no others. */
typedef struct czr_cuda_product_tiles {
    int rows, cols, stages;
    int64_t n;
} czr_cuda_product_tiles;

/* What cuTensorMapEncodeTiled is reported, innermost dimension first. */
typedef struct czr_cuda_product_map {
    uint64_t address;
    uint64_t dims[3], stride_bytes[2];
    uint32_t box[3];
} czr_cuda_product_map;

/* Registers a thread: as compiled, then of producers and of consumers. */
typedef struct czr_cuda_product_split {
    int entry, producer, consumer;
} czr_cuda_product_split;

typedef struct czr_cuda_product_plan {
    bool is_sm90;
    char kernel[CZR_CUDA_PRODUCT_NAME];
    /* Goes in front of the body: definitions, a line each. */
    char header[CZR_CUDA_PRODUCT_HEADER];
    int n_blocks, n_threads, shared_memory_bytes;
    /* Arguments: rows and columns of c; steps of 64 along k for sm_90, k itself
     * for sm_80; tiles. */
    int rows, cols, depth, n_tiles;
    /* Tiles that a block computes alone, then those of which it computes one of
     * so many parts along k; a second launch adds the parts.  Of a plan that is
     * not split all tiles and 1. */
    int n_full, splits;
    size_t sums_bytes; /* of all parts' sums, 0: none */
    /* Of sm_90 alone; s is c where beta is 0, and is not read. */
    czr_cuda_product_split split;
    czr_cuda_product_map x, y, s, c;
} czr_cuda_product_plan;

/* Dynamic shared memory that the body for sm_90a takes with these tiles at
 * least; a plan takes more where that lets stores overlap. */
int czr_cuda_product_shared_memory(const czr_cuda_product_tiles *tiles);
/* Whether the body for sm_90a can be had with these tiles: shapes of its
 * instructions, shared memory, registers.  Sets the split if so. */
bool czr_cuda_product_is_legal(const czr_cuda_product_tiles *tiles,
                               czr_cuda_product_split *split);

/* The plan of one product.  False: `message` says in one sentence what is
 * wrong, and the plan is not to be used.  c may not lie where an operand lies,
 * and strides and addresses are such that copies of 16 bytes can begin there.
 */
bool czr_cuda_product_plan_make(const czr_cuda_product *product,
                                const czr_cuda_product_device *device,
                                const czr_cuda_product_tiles *tiles,
                                czr_cuda_product_plan *plan,
                                char message[CZR_CUDA_PRODUCT_MESSAGE]);
/* The same wherever operands lie: the product's matrices are not looked at, and
 * the plan has no maps. */
bool czr_cuda_product_plan_shape(const czr_cuda_product *product,
                                 const czr_cuda_product_device *device,
                                 const czr_cuda_product_tiles *tiles,
                                 czr_cuda_product_plan *plan,
                                 char message[CZR_CUDA_PRODUCT_MESSAGE]);

/* Splits the tiles that do not fill a wave of the device in so many parts of k,
 * where a plan is whole.  False, and it stays so: fewer than 2 parts, more than
 * there are steps of 64, too many, or all waves are full. */
bool czr_cuda_product_plan_split(const czr_cuda_product *product,
                                 const czr_cuda_product_device *device,
                                 const czr_cuda_product_tiles *tiles,
                                 int splits, czr_cuda_product_plan *plan);

#endif
