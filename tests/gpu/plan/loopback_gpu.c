/* PROGRAM, which cz_double_program made, as the machine's GPU compiles it. */
#include "tests/gpu/plan/loopback_kernels.h"

#define PASTE_(name, end) name##_##end
#define PASTE(name, end) PASTE_(name, end)
#define plan_cuda PASTE(PROGRAM, cuda)
extern const czr_cuda_program plan_cuda;

const czr_cuda_program *kernels_open(int argc, char **argv, char ***args)
{
    (void)argc;
    *args = argv + 1;
    return &plan_cuda;
}

void kernels_register(bool has_graphs)
{
    (void)has_graphs;
}

const char *kernels_nvrtc_path(void)
{
    return NULL;
}
