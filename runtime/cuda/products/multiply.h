/* Products and factorisations of a program's stages on a device: what computes
 * each is settled, compiled and loaded while stages are opened, so that a step
 * launches and does nothing else.  czr_cuda_multiply and czr_cuda_factorise of
 * czr_cuda.h stand on this. */
#ifndef CZR_CUDA_PRODUCTS_MULTIPLY_H
#define CZR_CUDA_PRODUCTS_MULTIPLY_H

#include "runtime/cuda/products/deferred.h"

/* Room for one line of what follows, with its final zero. */
enum { CZR_CUDA_LINE = 400 };

/* Whether the same kernel or library computes both: all but addresses and
 * factors. */
bool czr_cuda_product_is_alike(const czr_product *a, const czr_product *b);
/* Puts n of them, alike and with the same factors, as one, where that was
 * prepared while stages were opened and they lie as tensor cores' kernels can
 * have them; the bits of each are those that it has alone unless the plan is
 * not strict and the last wave is split along k.  False: nothing was put. */
bool czr_cuda_multiply_batch(const czr_cuda_call *call,
                             const czr_product *product, size_t n,
                             const czr_cuda_apart *apart, czr_status *status);

/* One line where kernels are PTX, as target.h says.  One line for each product
 * and each factorisation that the stages asked for when they were opened, in
 * the order of asking: sizes, types, and the kernel or library that computes
 * it.  A line is gone when the call returns. */
void czr_cuda_products_describe(const czr_cuda_stages *stages,
                                void (*say)(void *user, const char *line),
                                void *user);
/* Whether no call of a stage waits for its stream, so that a graph may hold it.
 */
bool czr_cuda_products_is_capturable(const czr_cuda_stages *stages);
/* What was started has ended before.  czr_cuda_stages_close does this. */
void czr_cuda_products_close(czr_cuda_stages *stages);

#endif
