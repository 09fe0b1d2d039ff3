/* Tests of the double that can run on the machine's GPU instead. */
#ifndef TESTS_CUDA_GPU_BENCH_H
#define TESTS_CUDA_GPU_BENCH_H

#include "runtime/cuda/library/nvrtc.h"
#include "tests/gpu/driver/bench.h"

/* Exit status of a test that says skipped. */
enum { GPU_BENCH_SKIPPED = 77 };

/* The first of the libraries that serves, which is opened where `out` is not
 * NULL; NULL: none does, and why is printed. */
static inline const char *gpu_bench_find_nvrtc(int n, char **paths,
                                               czr_nvrtc **out)
{
    char message[CZR_NVRTC_MESSAGE] = "no NVRTC was named";
    czr_nvrtc *nvrtc = NULL;

    for (int i = 0; i < n; i++) {
        if (czr_nvrtc_open(paths[i], &nvrtc, message) != CZR_NVRTC_OK)
            continue;
        if (out)
            *out = nvrtc;
        else
            czr_nvrtc_close(nvrtc);
        return paths[i];
    }
    printf("skipped: %s\n", message);
    return NULL;
}

/* From now on tests open the machine's own driver.  The first NVRTC of argv[2],
 * ... that serves; NULL: there is none, or no GPU.  The context stays open:
 * each trial opens it, and to make it anew takes a GPU a third of a second. */
static inline const char *gpu_bench_use(int argc, char **argv)
{
    test_bench bench;

    bench_path = NULL;
    const bool has_gpu = bench_open(&bench) == CZR_OK;
    printf("%s\n", has_gpu ? bench.context->name : bench.message);
    return has_gpu ? gpu_bench_find_nvrtc(argc - 2, argv + 2, NULL) : NULL;
}

#endif
