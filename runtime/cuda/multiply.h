/* Products and factorisations of a program's stages on a device: what computes
 * each is settled, compiled and loaded while stages are opened, so that a step
 * launches and does nothing else.  czr_cuda_multiply and czr_cuda_factorise of
 * czr_cuda.h stand on this. */
#ifndef CZR_CUDA_MULTIPLY_H
#define CZR_CUDA_MULTIPLY_H

#include "runtime/cuda/stage.h"

/* Room for one line of what follows, with its final zero. */
enum { CZR_CUDA_LINE = 400 };

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
