/* bench_gpu TILES [PAIRS]: products on this machine's first GPU beside cuBLAS,
 * and what is wanted of them.  Exit status 1: no GPU, or something failed. */
#include "bench/gpu/gpu.h"

#include <stdio.h>
#include <stdlib.h>

/* Gram matrices of n rows, k long. */
#define GRAM(n, k, batch)                                                      \
    {                                                                          \
        n, n, k, batch, true, false, true, false                               \
    }

static const gpu_case cases[] = {
    {GRAM(8192, 8192, 1), 0.93, true},  {GRAM(6144, 6144, 1), 0.90, true},
    {GRAM(5120, 5120, 1), 0.88, true},  {GRAM(5120, 5120, 4), 0.92, true},
    {GRAM(4096, 4096, 1), 0.88, true},  {GRAM(2048, 2048, 8), 1.6, false},
    {GRAM(1024, 5120, 64), 1.5, false}, {GRAM(768, 2048, 128), 1.3, false},
};

int main(int argc, char **argv)
{
    const gpu_paths paths = {NULL, getenv("NVRTC"), NULL};

    if (argc < 2) {
        fprintf(stderr, "bench_gpu TILES [PAIRS]\n");
        return 2;
    }
    return !gpu_run(&paths, cases, sizeof cases / sizeof *cases,
                    argc > 2 ? (int)strtol(argv[2], NULL, 10) : 21, argv[1]);
}
