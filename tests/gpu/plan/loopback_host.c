/* PLAN.so PROGRAM, on the host's arithmetic; in batches where the plan was
 * built for a GPU. */
#include "tests/gpu/plan/loopback_kernels.h"

#include "tests/gpu/plan/deferred.h"
#include "tests/gpu/plan/host_stage.h"
#include "tests/gpu/plan/loopback_rank.h"

#include <dlfcn.h>
#include <stdio.h>

/* Rows that run as one; none where the plan is of the host alone. */
static const czr_cuda_batches *find_batches(void *plan, const char *name)
{
    char symbol[256];

    snprintf(symbol, sizeof symbol, "%s_cuda", name);
    const czr_cuda_program *program = dlsym(plan, symbol);
    return program ? program->batches : NULL;
}

const czr_cuda_program *kernels_open(int argc, char **argv, char ***args)
{
    void *plan = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    const czr_program *program = plan ? dlsym(plan, argv[2]) : NULL;

    if (!program)
        printf("PLAN.so PROGRAM [ORDERS [FAILURES [REPLAYS]]]: %s\n",
               argc > 2 ? dlerror() : "usage");
    *args = argv + 3;
    const czr_cuda_program *host = program ? host_stages(program) : NULL;
    if (!host)
        return NULL;
    static czr_cuda_program result;
    result = *host;
    result.batches = find_batches(plan, program->name);
    rank_has_batches = result.batches != NULL;
    return &result;
}

void kernels_register(bool has_graphs)
{
    deferred_keep(has_graphs);
}

const char *kernels_nvrtc_path(void)
{
    return NULL;
}
