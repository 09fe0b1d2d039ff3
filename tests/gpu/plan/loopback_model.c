/* PROGRAM, which cz_double_program made, on the model of the device. */
#include "tests/gpu/plan/loopback_kernels.h"

#include "tests/gpu/double/fake.h"
#include "tests/gpu/bodies/plain_bodies.h"

#define PASTE_(name, end) name##_##end
#define PASTE(name, end) PASTE_(name, end)
#define plan_cuda PASTE(PROGRAM, cuda)
#define register_kernels PASTE(PROGRAM, kernels)
extern const czr_cuda_program plan_cuda;
void register_kernels(void);
void collect_kernels(void);

const czr_cuda_program *kernels_open(int argc, char **argv, char ***args)
{
    (void)argc;
    *args = argv + 1;
    return &plan_cuda;
}

void kernels_register(bool has_graphs)
{
    (void)has_graphs;
    fake_share_addresses();
    register_kernels();
    collect_kernels();
    plain_bodies_register();
}

const char *kernels_nvrtc_path(void)
{
    return NVRTC_PATH;
}
