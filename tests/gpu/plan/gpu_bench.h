/* Tests of the double that can run on the machine's GPU instead. */
#ifndef TESTS_CUDA_GPU_BENCH_H
#define TESTS_CUDA_GPU_BENCH_H

#include "runtime/cuda/library/nvrtc.h"
#include "tests/gpu/driver/bench.h"

#include <string.h>

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

/* main of a test: where its first argument is "gpu", those of its tests that
 * can run there, on the machine's GPU, with an NVRTC that `nvrtc` names. */
#define GPU_BENCH_RUN(argc, argv, nvrtc, tests, on_gpu)                        \
    ((argc) > 1 && !strcmp((argv)[1], "gpu")                                   \
         ? ((nvrtc) = gpu_bench_use(argc, argv))                               \
               ? cmocka_run_group_tests(on_gpu, NULL, NULL)                    \
               : GPU_BENCH_SKIPPED                                             \
         : cmocka_run_group_tests(tests, NULL, NULL))

/* [TRIALS [SEED]]; where the first is "gpu" so many trials. */
static inline void gpu_bench_arguments(int argc, char **argv, int *trials,
                                       unsigned *seed, int on_gpu)
{
    const bool is_gpu = argc > 1 && !strcmp(argv[1], "gpu");

    if (argc > 1)
        *trials = is_gpu ? on_gpu : atoi(argv[1]);
    if (argc > 2 && !is_gpu)
        *seed = (unsigned)strtoul(argv[2], NULL, 10);
    printf("%d trials, seed %u\n", *trials, *seed);
}

#endif
