/* A plan in strict mode on the machine's GPUs, against the host's engines on
 * threads: results, and bits of parameters and states.
 *
 * world_gpu loopback NVRTC...: all ranks in loop-back on the first GPU.
 * world_gpu nccl NVRTC...: a process for each, over NCCL, on as many GPUs as
 *     there are; then one is killed, and the others say so within the deadline.
 * With "double" for NVRTC...: on the double of the driver; over NCCL a plan of
 * one rank alone, for no two processes have one double.
 * 77: skipped, and why is printed. */
#define _POSIX_C_SOURCE 200809L
#include "tests/gpu/plan/gpu_bench.h"
#include "tests/gpu/plan/host_plan.h"
#include "tests/gpu/plan/loopback_kernels.h"
#include "tests/gpu/world/processes.h"

#include "runtime/cuda/world/loopback.h"

#include <signal.h>
#include <unistd.h>

enum {
    DEADLINE_MS = 60000,
    SHORT_MS = 15000, /* and compiling takes some of it */
    SLACK_S = 10,
    SECONDS = 120,
    FIRST_SEED = 2024
};

static const rank_variety kinds[] = {RANK_DRAWN, RANK_BAD, RANK_UNDONE};
static const char *const names[] = {
    [RANK_DRAWN] = "drawn", [RANK_BAD] = "bad step", [RANK_UNDONE] = "undone"};

static processes where; /* libraries */
static int n_ranks;

/* The double as new, with the plan's kernels. */
static void prepare(const wish *w, int size)
{
    fake_reset(FIRST_SEED, 30);
    fake_set_devices(size);
    fake_set_memory((size_t)1 << 32);
    kernels_register(w->is_captured);
}

static wish wish_of(rank_variety kind, bool is_captured)
{
    return (wish){.has_bad_step = kind == RANK_BAD,
                  .is_failing = kind == RANK_UNDONE,
                  .undoes = kind == RANK_UNDONE,
                  .is_early = true,
                  .is_captured = is_captured,
                  .has_copier = true,
                  .deadline_ms = DEADLINE_MS,
                  .leaver = -1};
}

/* Whether it has the host's bits. */
static bool compare(rank_variety kind, const wish *w, const char *said)
{
    static outcome host;

    host_plan_run(n_ranks, NCCL_RANK_STEPS, kind, &host);
    const int rank = host_plan_difference(&host, &w->out, n_ranks, 0);
    const bool has_graphs = w->is_captured == (w->n_graphs > 0);
    const bool is_right = !said[0] && rank < 0 && has_graphs;
    printf("%s%s: %s\n", names[kind], w->is_captured ? ", captured" : "",
           is_right    ? "the host's bits"
           : said[0]   ? said
           : rank >= 0 ? "FAILED: a rank differs from the host"
                       : "FAILED: graphs");
    if (rank >= 0 && !said[0])
        printf("rank %d, %zu bytes, the host's %zu\n", rank, w->out.of[rank].n,
               host.of[rank].n);
    rank_drop(&host);
    return is_right;
}

/* ---- loop-back ----------------------------------------------------------- */

static czr_status run_steps(run *r, czr_loopback *loopback, wish *w)
{
    czr_status status = CZR_OK;

    for (int rank = 0; rank < n_ranks && status == CZR_OK; rank++)
        status = rank_open(r, czr_loopback_engine(loopback, rank), rank);
    for (int step = 0; step < NCCL_RANK_STEPS && status == CZR_OK; step++) {
        double values[RANK_MAX_HYPERS];
        czr_result results[RANK_MAX] = {{0}};
        const czr_hyper hyper = rank_hyper(r, step, values);
        for (int rank = 0; rank < n_ranks && status == CZR_OK; rank++)
            status =
                rank_give(r, czr_loopback_engine(loopback, rank), rank, step);
        if (status != CZR_OK)
            break;
        status = czr_loopback_step(loopback, &hyper, NULL, results);
        for (int rank = 0; rank < n_ranks; rank++)
            rank_note_step(r, czr_loopback_engine(loopback, rank),
                           &w->out.of[rank], status, &results[rank]);
        if (rank_is_refusal(r, status))
            status = CZR_OK;
    }
    for (int rank = 0; rank < n_ranks && status == CZR_OK; rank++)
        rank_note(r, czr_loopback_engine(loopback, rank), rank,
                  &w->out.of[rank]);
    return status;
}

static void run_ranks(czr_context *context, wish *w, char *said)
{
    const czr_loopback_options options = {.context = context,
                                          .nvrtc = w->nvrtc,
                                          .is_captured = w->is_captured,
                                          .engine = {.undo = w->undoes}};
    run r = {.is_device = true,
             .has_bad_step = w->has_bad_step,
             .is_failing = w->is_failing,
             .is_placed = w->is_captured,
             .is_early = w->is_early,
             .has_hooks = true,
             .context = context};
    czr_loopback *loopback;
    czr_status status =
        w->has_copier ? czr_context_open_stream(context, &r.copier) : CZR_OK;

    if (status == CZR_OK)
        status = czr_loopback_open(&options, nccl_rank_program, &loopback);
    else
        loopback = NULL;
    if (status == CZR_OK)
        status = run_steps(&r, loopback, w);
    w->n_graphs = loopback ? czr_loopback_graphs(loopback) : 0;
    if (status != CZR_OK)
        snprintf(said, CZR_DRIVER_MESSAGE, "FAILED: %s, %.200s",
                 czr_status_name(status),
                 loopback ? czr_loopback_error(loopback) : context->error);
    czr_loopback_close(loopback);
    czr_context_close_stream(context, r.copier);
    for (int rank = 0; rank < n_ranks; rank++)
        rank_close(&r, rank);
}

static bool try_loopback(rank_variety kind, bool is_captured)
{
    char said[CZR_DRIVER_MESSAGE] = "";
    wish *w = calloc(1, sizeof *w);
    test_bench bench;

    RANK_CHECK(w);
    *w = wish_of(kind, is_captured);
    if (where.driver)
        prepare(w, 1);
    RANK_CHECK(czr_nvrtc_open(where.nvrtc, &w->nvrtc, said) == CZR_NVRTC_OK);
    RANK_CHECK(bench_open(&bench) == CZR_OK);
    run_ranks(bench.context, w, said);
    const bool is_right = compare(kind, w, said);
    bench_close(&bench);
    czr_nvrtc_close(w->nvrtc);
    rank_drop(&w->out);
    free(w);
    return is_right;
}

/* ---- over NCCL ----------------------------------------------------------- */

static bool try_processes(rank_variety kind, bool is_captured)
{
    test_rank ranks[RANKS_MOST];
    char said[2 * CZR_DRIVER_MESSAGE] = "";
    wish *w = calloc(1, sizeof *w);

    RANK_CHECK(w);
    *w = wish_of(kind, is_captured);
    processes_run(&where, ranks, n_ranks, w);
    for (int i = 0; i < n_ranks && !said[0]; i++)
        if (ranks[i].status != CZR_OK)
            snprintf(said, sizeof said, "FAILED: rank %d: %s, %s", i,
                     czr_status_name(ranks[i].status), w->said[i]);
    const bool is_right = compare(kind, w, said);
    rank_drop(&w->out);
    free(w);
    return is_right;
}

static void kill_self(void)
{
    kill(getpid(), SIGKILL);
}

/* Whether all others say so in time, and that it is seen here. */
static bool kill_one(bool is_captured)
{
    test_rank ranks[RANKS_MOST];
    wish *w = calloc(1, sizeof *w);
    const double most = SHORT_MS / 1000.0 + SLACK_S;
    bool is_right;

    RANK_CHECK(w);
    *w = wish_of(RANK_DRAWN, is_captured);
    w->leaver = n_ranks - 1;
    w->leave = kill_self;
    w->deadline_ms = SHORT_MS;
    processes_run(&where, ranks, n_ranks, w);
    is_right = ranks[w->leaver].status == CZR_ERR_ABORTED && !w->n_graphs;
    for (int i = 0; i < n_ranks - 1; i++) {
        printf("rank %d, behind %.1f s: %s, %s\n", i, w->seconds[i],
               czr_status_name(ranks[i].status), w->said[i]);
        is_right = ranks[i].status != CZR_OK && w->said[i][0] &&
                   w->seconds[i] < most && is_right;
    }
    printf("a rank is killed%s: %s\n", is_captured ? ", captured" : "",
           is_right ? "all say so" : "FAILED");
    rank_drop(&w->out);
    free(w);
    return is_right;
}

/* ---- all ----------------------------------------------------------------- */

static int run_all(bool (*try)(rank_variety kind, bool is_captured))
{
    int n_wrong = 0;

    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++)
        for (int is_captured = 0; is_captured < 2; is_captured++)
            n_wrong += !try(kinds[i], is_captured);
    printf("%s, %d ranks: %d of 6 runs differ from the host\n",
           rank_program->name, n_ranks, n_wrong);
    return n_wrong;
}

/* Of the first NVRTC that serves, or the double's; false: there is none. */
static bool find_libraries(int n, char **paths)
{
    where.seconds = SECONDS;
    if (n > 0 && !strcmp(paths[0], "double")) {
        where.driver = where.nccl = FAKE_PATH;
        where.nvrtc = kernels_nvrtc_path();
        where.prepare = prepare;
        return true;
    }
    bench_path = NULL;
    where.nvrtc = gpu_bench_find_nvrtc(n, paths, NULL);
    return where.nvrtc;
}

static bool has_gpu(void)
{
    test_bench bench;
    const bool is_there = bench_open(&bench) == CZR_OK;

    printf("%s\n", is_there ? bench.context->name : bench.message);
    bench_close(&bench);
    return is_there;
}

int main(int argc, char **argv)
{
    char **args;

    nccl_rank_program = kernels_open(argc, argv, &args);
    rank_program = nccl_rank_program->program;
    n_ranks = czr_program_ranks(rank_program);
    RANK_CHECK(n_ranks <= RANKS_MOST);
    if (argc < 2 || !find_libraries(argc - 2, argv + 2))
        return argc < 2 ? 2 : GPU_BENCH_SKIPPED;
    if (!strcmp(argv[1], "loopback") && where.driver)
        return run_all(try_loopback) != 0;
    if (!strcmp(argv[1], "loopback"))
        return has_gpu() ? run_all(try_loopback) != 0 : GPU_BENCH_SKIPPED;
    where.n_gpus = where.driver ? n_ranks : processes_count(&where);
    if (where.n_gpus == 0) {
        printf("skipped: no GPU, or no NCCL\n");
        return GPU_BENCH_SKIPPED;
    }
    printf("%d ranks on %d GPUs\n", n_ranks, where.n_gpus);
    const int n_wrong = run_all(try_processes);
    return n_wrong + !kill_one(false) + !kill_one(true) != 0;
}
