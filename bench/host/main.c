/* What the host's step costs, in ratios within one run: bench_host [REPEATS
 * [WORD]], of all models or those whose names contain the word.  Processor time
 * of one thread, so that other processes hardly matter. */
#define _POSIX_C_SOURCE 200809L
#include "bench/host/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gpt2_bf16.h"
#include "gpt2_f32.h"
#include "qwen3_bf16.h"
#include "qwen3_f32.h"

double bench_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

float *bench_random(size_t n, uint32_t seed)
{
    float *values = malloc(n * sizeof *values);

    for (size_t i = 0; values && i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
    }
    return values;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(const double *values, int n)
{
    double sorted[BENCH_REPEATS];

    memcpy(sorted, values, (size_t)n * sizeof *values);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    return sorted[n / 2];
}

typedef struct wish {
    int repeats;
    const char *word;
} wish;

static czr_status run_muon(czr_world *world, const wish *wanted)
{
    const bench_case cases[] = {
        {"GPT-2 124M, f32", &gpt2_f32_program, plain_muon_f32},
        {"Qwen3-0.6B, 4 layers, f32", &qwen3_f32_program, plain_muon_f32},
        {"GPT-2 124M, bf16", &gpt2_bf16_program, plain_muon_bf16},
        {"Qwen3-0.6B, 4 layers, bf16", &qwen3_bf16_program, plain_muon_bf16},
    };
    czr_status status = CZR_OK;

    printf("## Muon\n\n"
           "| matrices of | ours ms | plain ms | library GFLOP/s | faster "
           "| ceiling | achieved | scratch MB | largest MB | of a micro-group "
           "| differs |\n"
           "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (status == CZR_OK && strstr(cases[i].name, wanted->word))
            status = bench_model(world, &cases[i], wanted->repeats);
    return status;
}

static czr_status run_adamw(void)
{
    static const size_t sizes[] = {1 << 12, 1 << 16, 1 << 20, 1 << 24};
    czr_status status = CZR_OK;

    printf("\n## AdamW\n\n| elements | loop ms | copy ms | loop/copy |\n"
           "|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (status == CZR_OK)
            status = bench_vector(sizes[i]);
    return status;
}

static czr_status run(czr_world *world, void *user)
{
    const czr_status status = run_muon(world, user);

    return status == CZR_OK ? run_adamw() : status;
}

int main(int argc, char **argv)
{
    wish wanted = {argc > 1 ? (int)strtol(argv[1], NULL, 10) : 3,
                   argc > 2 ? argv[2] : ""};
    czr_status status;

    setvbuf(stdout, NULL, _IOLBF, 0); /* a row when it is done */
    if (wanted.repeats < 1 || wanted.repeats > BENCH_REPEATS) {
        fprintf(stderr, "bench_host: 1 to %d repeats\n", BENCH_REPEATS);
        return 2;
    }
    status = czr_world_threads_run(1, run, &wanted);
    if (status != CZR_OK)
        fprintf(stderr, "bench_host: %s\n", czr_status_text(status));
    return status != CZR_OK;
}
