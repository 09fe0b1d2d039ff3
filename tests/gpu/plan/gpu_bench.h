/* Tests of the double that can run on the machine's GPU instead. */
#ifndef TESTS_CUDA_GPU_BENCH_H
#define TESTS_CUDA_GPU_BENCH_H

#include "runtime/cuda/library/nvrtc.h"
#include "tests/gpu/driver/bench.h"

/* Exit status of a test that says skipped. */
enum { GPU_BENCH_SKIPPED = 77 };

/* From now on tests open the machine's own driver.  The first NVRTC of argv[2],
 * ... that serves; NULL: there is none, or no GPU.  The context stays open:
 * each trial opens it, and to make it anew takes a GPU a third of a second. */
static inline const char *gpu_bench_use(int argc, char **argv)
{
    char message[CZR_NVRTC_MESSAGE] = "no NVRTC was named";
    const char *found = NULL;
    czr_nvrtc *nvrtc = NULL;
    test_bench bench;

    bench_path = NULL;
    const bool has_gpu = bench_open(&bench) == CZR_OK;
    printf("%s\n", has_gpu ? bench.context->name : bench.message);
    for (int i = 2; i < argc && !found; i++)
        if (czr_nvrtc_open(argv[i], &nvrtc, message) == CZR_NVRTC_OK)
            found = argv[i];
    czr_nvrtc_close(nvrtc);
    if (!found)
        printf("%s\n", message);
    return has_gpu ? found : NULL;
}

#endif
