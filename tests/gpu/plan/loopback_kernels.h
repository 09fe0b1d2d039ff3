/* Which plan a test of loop-back runs, and by which kernels: those of a
 * compiled plan for the host (loopback_host.c), or NAME.cu and the engine's own
 * on the model of the device (loopback_model.c). */
#ifndef TESTS_CUDA_LOOPBACK_KERNELS_H
#define TESTS_CUDA_LOOPBACK_KERNELS_H

#include "runtime/cuda/library/nvrtc.h"
#include "runtime/czr_cuda.h"

#include <stdbool.h>

/* Once; NULL, and a sentence was printed: there is none.  *args are the
 * arguments of the program that are left. */
const czr_cuda_program *kernels_open(int argc, char **argv, char ***args);
/* Behind each fake_reset; launches may come again, by graphs. */
void kernels_register(bool has_graphs);
/* The double that compiles; NULL: nothing needs it. */
const char *kernels_nvrtc_path(void);

#endif
