/* A double of runtime/cuda/products/stage.c: the stages of a program for the
 * host as kernels of the double of the driver. */
#ifndef TESTS_CUDA_HOST_STAGE_H
#define TESTS_CUDA_HOST_STAGE_H

#include "runtime/cuda/products/stage.h"

/* The program's stages, in all phases; one program at a time.  NULL: it has too
 * many. */
const czr_cuda_program *host_stages(const czr_program *program);

#endif
