/* PLAN.so PROGRAM, on the host's arithmetic. */
#include "tests/cuda/driver/loopback_kernels.h"

#include "tests/cuda/driver/deferred.h"
#include "tests/cuda/driver/host_stage.h"

#include <dlfcn.h>
#include <stdio.h>

const czr_cuda_program *kernels_open(int argc, char **argv, char ***args)
{
    void *plan = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    const czr_program *program = plan ? dlsym(plan, argv[2]) : NULL;

    if (!program)
        printf("PLAN.so PROGRAM [ORDERS [FAILURES [REPLAYS]]]: %s\n",
               argc > 2 ? dlerror() : "usage");
    *args = argv + 3;
    return program ? host_stages(program) : NULL;
}

void kernels_register(bool has_graphs)
{
    deferred_keep(has_graphs);
}

const char *kernels_nvrtc_path(void)
{
    return NULL;
}
