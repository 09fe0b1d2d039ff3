/* Products and factorisations of a program's stages on a device: what computes
 * each is settled, compiled and loaded while stages are opened, so that a step
 * launches and does nothing else. */
#ifndef CZR_CUDA_PRODUCTS_MULTIPLY_H
#define CZR_CUDA_PRODUCTS_MULTIPLY_H

#include "runtime/cuda/products/stage.h"

/* Room for one line of what follows, with its final zero. */
enum { CZR_CUDA_LINE = 400 };

/* Where operands of the next product of a batch lie behind those of the one
 * before, in bytes. */
typedef struct czr_cuda_apart {
    int64_t a, b, addend, out;
} czr_cuda_apart;

/* Whether the same kernel or library computes both: all but addresses and
 * factors. */
bool czr_cuda_product_is_alike(const czr_product *a, const czr_product *b);

/* While stages are opened: what products like this one need, whose pointers
 * mean nothing, and in *workspace_bytes, where it is not NULL, how much of a
 * call's room one takes.  batch: as many of them may come at once. */
czr_status czr_cuda_product_prepare(czr_cuda_stages *stages,
                                    const czr_product *shape, int64_t batch,
                                    size_t *workspace_bytes);
/* The same of a factorisation. */
czr_status czr_cuda_factor_prepare(czr_cuda_stages *stages,
                                   const czr_factor *shape);

/* Puts a product that was prepared; `c` is not used.  The addend counts where
 * beta is not 0. */
czr_status czr_cuda_multiply(const czr_cuda_call *call,
                             const czr_product *product);
/* Puts n of them, alike and with the same factors, as one, where that was
 * prepared and they lie as tensor cores' kernels can have them; the bits of
 * each are those that it has alone unless the plan is not strict and the last
 * wave is split along k.  False: nothing was put. */
bool czr_cuda_multiply_batch(const czr_cuda_call *call,
                             const czr_product *product, size_t n,
                             const czr_cuda_apart *apart, czr_status *status);
/* Puts a factorisation that was prepared; `work` is not used.  One that cannot
 * be is a failure on the device. */
czr_status czr_cuda_factorise(const czr_cuda_call *call,
                              const czr_factor *factor);

/* One line where kernels are PTX, as target.h says.  One line for each product
 * and each factorisation that was prepared, in that order: sizes, types, and
 * the kernel or library that computes it.  A line is gone when the call
 * returns. */
void czr_cuda_products_describe(const czr_cuda_stages *stages,
                                void (*say)(void *user, const char *line),
                                void *user);
/* Whether no call of a stage waits for its stream, so that a graph may hold it.
 */
bool czr_cuda_products_is_capturable(const czr_cuda_stages *stages);
/* What was started has ended before.  czr_cuda_stages_close does this. */
void czr_cuda_products_close(czr_cuda_stages *stages);

#endif
