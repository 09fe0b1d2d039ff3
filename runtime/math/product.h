/* Matrix products on the host: our own in a fixed order, and libraries. */
#ifndef CZR_MATH_PRODUCT_H
#define CZR_MATH_PRODUCT_H

#include "runtime/czr.h"

#include <stdbool.h>

/* What a czr_math of ours is: with room to pack one block of each operand. */
typedef struct czr_host_math {
    czr_math math;
    float *packed_a, *packed_b;
    float *partials; /* strict: CZR_BLOCK_LEVELS results of a block */
    czr_bf16 *pairs; /* CZR_SYRK_WORKSPACE of each of n_syrk threads, where
                        there is czr_product_syrk */
    int n_syrk;
    float *panels; /* CZR_SYRK_F32_WORKSPACE, where there is
                      czr_product_syrk_f32 */
    int n_threads; /* of a library, per call */
} czr_host_math;

/* The processors that this process may use, shared among its ranks; at least
 * one. */
int czr_threads_per_rank(int n_ranks);
/* `strict`: the fixed order.  Otherwise libraries, where they are found, each
 * call with n_threads. */
czr_status czr_host_math_open(czr_host_math *math, int strict, int n_threads);
void czr_host_math_close(czr_host_math *math);

/* Each c[i][j] is summed over k upwards, one f32 multiplication and one
 * addition after the other, in each part of k: the bits depend on nothing but
 * the operands and the number of parts, of which there may be more than one
 * only where the math was opened as strict. */
void czr_product_fixed_order(const czr_math *math, const czr_product *product);
/* By a CBLAS in f32, or oneDNN for bf16; bits depend on the library.  Of a
 * symmetric product about half is computed. */
void czr_product_library(const czr_math *math, const czr_product *product);

/* What lies above the diagonal of x[n, n], f32 or bf16, becomes the mirror
 * image of what lies below it; or what is above it in columns [first,
 * first + n_rows), of what rows of these numbers have below it. */
void czr_mirror_lower(void *x, czr_dtype dtype, size_t n);
void czr_mirror_rows(void *x, czr_dtype dtype, size_t n, size_t first,
                     size_t n_rows);

/* The first n_columns of rows [first, first + n_rows) of a product, `stride`
 * apart; of a symmetric one, up to the diagonal and perhaps beyond. */
typedef struct czr_rows {
    float *c;
    size_t stride, first, n_rows, n_columns;
    int thread; /* that makes them */
} czr_rows;

/* Of rows of a product: what is wanted of them, in `out`. */
void czr_product_finish_rows(const czr_product *product, const czr_rows *rows);
/* What is to be added to: out, which is f32, becomes beta * addend. */
void czr_product_preload(const czr_product *product);

/* One block of a product: packed_a holds its rows of op(a), CZR_BLOCK_DEPTH
 * apart, packed_b its rows of op(b), CZR_BLOCK_COLUMNS apart, both f32. */
enum { CZR_BLOCK_ROWS = 64, CZR_BLOCK_COLUMNS = 256, CZR_BLOCK_DEPTH = 128 };

typedef struct czr_block {
    size_t row, column, depth; /* first of each */
    size_t n_rows, n_columns, n_depth;
    float *c; /* where its result is added, rows `stride` apart */
    size_t stride;
} czr_block;

enum { CZR_BLOCK_LEVELS = 4 }; /* 1 + log2(CZR_MAX_BLOCKS) */

typedef void (*czr_add_block)(const czr_product *product,
                              const czr_host_math *math,
                              const czr_block *block);

/* Sets rows of c to zero and adds all their blocks, depth upwards for each; of
 * a symmetric product those that reach the diagonal or what lies below it. */
void czr_product_blocks(const czr_host_math *math, const czr_product *product,
                        const czr_rows *rows, czr_add_block add_block);

/* Rows of op(a) @ op(b), alone, into rows->c. */
typedef void (*czr_make_rows)(const czr_host_math *math,
                              const czr_product *product, const czr_rows *rows);

/* The product, strip by strip of at most CZR_STRIP_ROWS rows, and as many as
 * there is room for; by threads, more than one where czr_library_has_threads,
 * of which each takes the longest strip that is left.  With `out` each is
 * finished while caches hold it. */
enum { CZR_STRIP_ROWS = 192 };
void czr_product_by_strips(const czr_host_math *math,
                           const czr_product *product, int n_threads,
                           czr_make_rows make_rows);

/* Rows of x @ x', which is own squares in bf16, up to the diagonal, by one
 * thread of at most CZR_SYRK_THREADS; only where this CPU has what it takes,
 * and nothing faster. */
enum {
    CZR_SYRK_DEPTH = 512, /* of k at once */
    CZR_SYRK_COLUMNS = 48,
    /* More have strips so short that they pack more than they multiply. */
    CZR_SYRK_THREADS = 4,
    /* Two more, so that groups of rows do not share lines of a cache. */
    CZR_SYRK_WORKSPACE = 2 * CZR_STRIP_ROWS * (CZR_SYRK_DEPTH + 2)
};
bool czr_product_has_syrk(void);
void czr_product_syrk(const czr_host_math *math, const czr_product *product,
                      const czr_rows *rows);

/* A symmetric product of f32, all of it, with an addend in f32 if there is one,
 * by one thread; only where this CPU has what it takes, and nothing faster. */
enum {
    CZR_SYRK_F32_DEPTH = 384, /* of k at once */
    CZR_SYRK_F32_ROWS = 1024, /* of both operands at once */
    /* Numbers of 16 rows: a line more, so that groups do not share lines. */
    CZR_SYRK_F32_STEP = 16 * (CZR_SYRK_F32_DEPTH + 1),
    CZR_SYRK_F32_WORKSPACE = CZR_SYRK_F32_ROWS / 16 * CZR_SYRK_F32_STEP
};
bool czr_product_has_syrk_f32(void);
void czr_product_syrk_f32(const czr_host_math *math,
                          const czr_product *product);

#endif
