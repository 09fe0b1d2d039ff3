/* bench_gpu TILES PAIRS PEER...: on this machine's first GPU products beside
 * cuBLAS, then plans beside the peer, a program as gpu_torch.py, and what is
 * wanted of them.  Exit status 1: no GPU, or no product could be measured; 3:
 * of plans a row failed.  With ROWS=TEXT in the environment: of plans alone,
 * those whose name has that text, without the many steps for memory. */
#include "bench/gpu/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Gram matrices of n rows, k long. */
#define GRAM(n, k, batch)                                                      \
    {                                                                          \
        n, n, k, batch, true, true, false                                      \
    }

/* The last product of a step of Newton-Schulz, as many as plans have at once.
 */
#define LAST(m, n, batch)                                                      \
    {                                                                          \
        m, n, m, batch, false, false, false                                    \
    }

static const gpu_case cases[] = {
    {GRAM(8192, 8192, 1), 0.93, true},   {GRAM(6144, 6144, 1), 0.90, true},
    {GRAM(5120, 5120, 1), 0.88, true},   {GRAM(5120, 5120, 4), 0.92, true},
    {GRAM(4096, 4096, 1), 0.88, true},   {GRAM(2048, 2048, 8), 1.6, false},
    {GRAM(1024, 5120, 64), 1.5, false},  {GRAM(768, 2048, 128), 1.3, false},
    {LAST(5120, 5120, 1), 0.97, false},  {LAST(5120, 8192, 1), 0.97, false},
    {LAST(5120, 25600, 1), 0.97, false}, {LAST(1024, 5120, 4), 0.97, false},
    {LAST(768, 2048, 6), 0.97, false},   {LAST(2048, 2048, 2), 0.97, false},
    {LAST(2048, 6144, 2), 0.97, false},
};

extern const czr_cuda_program qwen3_cuda, qwen3_gram_cuda, elements_cuda;
extern const czr_cuda_program ns_5120_cuda, ns_four_cuda, ns_8192_cuda,
    ns_25600_cuda, ns_1024_cuda, ns_768_cuda;
extern const czr_cuda_program ns_8192_gram_cuda, ns_25600_gram_cuda,
    ns_1024_gram_cuda, ns_768_gram_cuda;

/* Newton-Schulz of so many matrices, standard and by the Gram matrix; beside
 * nobody where nothing is wanted but floors. */
#define SCHULZ(form, m, n, of, ours, over_theirs, over_floor)                  \
    {                                                                          \
        .name = form #m " x " #n ", " #of, .program = &ours,                   \
        .request = (over_theirs) > 0 ? "schulz " #m " " #n " " #of : NULL,     \
        .wanted = over_theirs, .schulz = {m, n, of}, .floors = over_floor      \
    }
#define STANDARD "Newton-Schulz "
#define BY_GRAM "the same by its Gram matrix, "

static const gpu_row rows[] = {
    {.name = "Muon, matrices of Qwen3-1.7B; torch.optim.Muon",
     .program = &qwen3_cuda,
     .request = "muon",
     .wanted = 2.0,
     .wanted_us = 62e3,
     .steps = 1000},
    {.name = "the same; compiled and captured",
     .program = &qwen3_cuda,
     .request = "captured",
     .wanted = 1.7,
     .wanted_us = 62e3},
    {.name = "the same, operations launched one by one",
     .program = &qwen3_cuda,
     .is_eager = true},
    {.name = "the same by Gram matrices, one by one",
     .program = &qwen3_gram_cuda,
     .is_eager = true},
    {.name = "the same by Gram matrices",
     .program = &qwen3_gram_cuda,
     .request = "captured",
     .wanted = 1.7,
     .wanted_us = 62e3},
    SCHULZ(STANDARD, 5120, 5120, 1, ns_5120_cuda, 1.35, 1.25),
    SCHULZ(STANDARD, 5120, 5120, 4, ns_four_cuda, 0, 1.15),
    SCHULZ(STANDARD, 5120, 8192, 1, ns_8192_cuda, 1.30, 1.25),
    SCHULZ(BY_GRAM, 5120, 8192, 1, ns_8192_gram_cuda, 1.6, 1.25),
    SCHULZ(STANDARD, 5120, 25600, 1, ns_25600_cuda, 1.24, 1.25),
    SCHULZ(BY_GRAM, 5120, 25600, 1, ns_25600_gram_cuda, 2.2, 1.25),
    SCHULZ(STANDARD, 1024, 5120, 64, ns_1024_cuda, 1.24, 0),
    SCHULZ(BY_GRAM, 1024, 5120, 64, ns_1024_gram_cuda, 2.1, 0),
    SCHULZ(STANDARD, 768, 2048, 128, ns_768_cuda, 1.27, 0),
    SCHULZ(BY_GRAM, 768, 2048, 128, ns_768_gram_cuda, 1.8, 0),
    {.name = "AdamW of 2^27 elements; a copy",
     .program = &elements_cuda,
     .is_stage = true,
     .wanted = 0.90},
};

/* In a process of its own: rows fork, and no child has a driver that its parent
 * has started. */
static bool run_products(const gpu_paths *paths, int pairs, const char *tiles)
{
    int status = 1;

    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
        const bool is_right =
            gpu_run(paths, cases, sizeof cases / sizeof *cases, pairs, tiles);
        fflush(NULL);
        _exit(!is_right);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static int rows_with(const char *text, gpu_row *out)
{
    int n = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(rows[i].name, text)) {
            out[n] = rows[i];
            out[n++].steps = 0;
        }
    return n;
}

int main(int argc, char **argv)
{
    const gpu_paths paths = {NULL, getenv("NVRTC"), NULL, NULL};
    const char *peer[4] = {0}, *text = getenv("ROWS");
    gpu_row chosen[sizeof rows / sizeof *rows];

    if (argc < 4) {
        fprintf(stderr, "bench_gpu TILES PAIRS PEER...\n");
        return 2;
    }
    const int pairs = (int)strtol(argv[2], NULL, 10);
    for (int i = 0; i < 3 && 3 + i < argc; i++)
        peer[i] = argv[3 + i];
    if (text)
        return gpu_rows_run(&paths, peer, chosen, rows_with(text, chosen),
                            pairs)
                   ? 0
                   : 3;
    if (!run_products(&paths, pairs, argv[1]))
        return 1;
    return gpu_rows_run(&paths, peer, rows, sizeof rows / sizeof *rows, pairs)
               ? 0
               : 3;
}
