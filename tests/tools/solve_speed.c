/* How long it takes to plan Qwen3-235B-A22B, its experts one matrix each, as
 * one problem.  usage: solve_speed RANKS LIMIT_MS...  Exit status 1 when one
 * of the numbers of ranks takes longer than its limit. */
#define _POSIX_C_SOURCE 200809L
#include "passes/solve/inventory.h"
#include "passes/solve/bound/bound.h"
#include "passes/solve/solve.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N_ROUNDS = 3 };

/* The processor's time: the machine may have other work. */
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static cz_solve_problem build(cz_arena *arena, int n_ranks)
{
    const model *m = &qwen3_235b;
    inventory list = {.arena = arena, .tp = 1};
    const int table = vector_class(&list, m->vocabulary * m->hidden, 1);
    const int norm = vector_class(&list, m->hidden, 1);
    const int q = matrix_class(&list, m->q, m->hidden);
    const int kv = matrix_class(&list, m->kv, m->hidden);
    const int expert = matrix_class(&list, m->expert_ffn, m->hidden);
    add_item(&list, table);
    for (int64_t layer = 0; layer < m->layers; layer++) {
        const int layout[] = {norm, q, kv, kv, q, norm};
        for (size_t i = 0; i < sizeof layout / sizeof *layout; i++)
            add_item(&list, layout[i]);
        for (int64_t e = 0; e < 3 * m->experts; e++)
            add_item(&list, expert);
    }
    add_item(&list, table);
    return finish(&list, n_ranks, 1, 400000000);
}

/* Seconds of the fastest round. */
static double plan(int n_ranks)
{
    double best = 1e9;
    for (int i = 0; i < N_ROUNDS; i++) {
        cz_arena arena;
        cz_arena_init(&arena);
        const cz_solve_problem problem = build(&arena, n_ranks);
        const size_t before = arena.used_bytes;
        const double start = seconds();
        const cz_solved got = cz_solve(&arena, &problem);
        const double took = seconds() - start;
        const cz_solve_bound bound = cz_solve_bound_find(&problem);
        best = took < best ? took : best;
        if (i == N_ROUNDS - 1)
            printf("%6d ranks, %d parameters, %d buckets: %4.0f ms, %3zu MB, "
                   "load %.4f of the bound\n",
                   n_ranks, problem.n_items, problem.n_buckets, best * 1e3,
                   (arena.used_bytes - before) >> 20,
                   (double)got.score.max_load_ps / (double)bound.max_ps);
        cz_arena_fini(&arena);
    }
    return best;
}

int main(int argc, char **argv)
{
    int status = 0;
    if (argc < 3 || argc % 2 == 0) {
        fputs("solve_speed: RANKS LIMIT_MS...\n", stderr);
        return 2;
    }
    for (int i = 1; i < argc; i += 2) {
        const int n_ranks = (int)strtol(argv[i], NULL, 10);
        if (n_ranks < 1 || plan(n_ranks) * 1e3 > strtod(argv[i + 1], NULL))
            status = 1;
    }
    return status;
}
