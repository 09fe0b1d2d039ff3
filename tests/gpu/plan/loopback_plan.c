/* A plan on all its ranks in loop-back, on the double of the driver with the
 * kernels that loopback_kernels.h says: results, and bits of parameters and
 * states, are those of the host's engines on threads, in every order of streams
 * that the double draws.  One step has a gradient that is not a number.  Then
 * calls of the driver fail, one in each run, and many steps leave nothing
 * behind.
 *
 * loopback_plan [PLAN.so PROGRAM] [ORDERS [FAILURES [REPLAYS]]] */
#include "tests/gpu/driver/bench.h"
#include "tests/gpu/plan/host_plan.h"
#include "tests/gpu/plan/loopback_kernels.h"

#include "runtime/cuda/collect/collect.h"
#include "runtime/cuda/world/loopback.h"
#include "runtime/cuda/exec/rank.h"
#include "runtime/base/memory.h"

enum { STEPS = 6 };

static const czr_cuda_program *cuda_program;
static int n_ranks, n_orders = 6, n_failures = 60, n_replays = 100;
static int n_ahead; /* of all runs */

/* ---- the device --------------------------------------------------------- */

/* What one run on the double is to be. */
typedef struct wish {
    bool has_bad_step, is_constant;
    bool is_late; /* nobody waits for steps but the last; constant: for none */
    bool is_legacy; /* late: the trainer works on the legacy stream */
    bool is_captured, undoes, has_ptx;
    bool is_failing;          /* rules, in three steps */
    int64_t bytes;            /* of the device and pinned, when all are open */
    int64_t kept;             /* of them, what is there to undo steps */
    bool is_early;            /* gradients are reported one by one */
    int64_t n_early, n_waits; /* launches before their steps, and waits */
    bool hangs;               /* from the second step on */
    size_t memory_bytes;      /* of the device; 0: more than enough */
    int graphs;               /* that there were at the end */
    int steps, n_refused;
    outcome *out;  /* NULL: nobody asks */
    int64_t grown; /* what the later half of the steps left */
    char message[512];
} wish;

/* Launches so far. */
static int64_t launches(void)
{
    int64_t n, sum = 0;
    const fake_entry *log = fake_log(&n);

    for (int64_t i = 0; i < n; i++)
        sum += log[i].kind == FAKE_LAUNCH || log[i].kind == FAKE_GRAPH;
    return sum;
}

/* Which are copied at once. */
static bool has_externs(czr_loopback *loopback)
{
    int n = 0;

    for (int rank = 0; rank < n_ranks; rank++)
        n += czr_extern_count(czr_loopback_engine(loopback, rank));
    return n > 0;
}

/* Gradients of all ranks; what was put meanwhile, and how often the host
 * waited. */
static czr_status give_all(run *r, czr_loopback *loopback, int step, wish *w)
{
    const int64_t before = launches();
    int64_t call = fake_calls();
    czr_status status = CZR_OK;

    for (int rank = 0; rank < n_ranks && status == CZR_OK; rank++)
        status = rank_give(r, czr_loopback_engine(loopback, rank), rank, step);
    w->n_early += launches() - before;
    for (; r->is_placed && step != RANK_SET_STEP && !has_externs(loopback) &&
           call < fake_calls();
         call++)
        w->n_waits += strcmp(fake_symbol(call), "cuStreamQuery") == 0 ||
                      strcmp(fake_symbol(call), "cuStreamSynchronize") == 0;
    return status;
}

static czr_status device_step(run *r, czr_loopback *loopback, int step,
                              bool is_waited, wish *w)
{
    outcome *out = w->out;
    double values[RANK_MAX_HYPERS];
    czr_result results[RANK_MAX] = {{0}};
    const czr_hyper hyper = rank_hyper(r, step % STEPS, values);
    czr_status status = give_all(r, loopback, step, w);

    if (status != CZR_OK)
        return status;
    /* What is said of the step before is said instead of this one. */
    for (int tries = 0;
         tries == 0 || (w->is_late && tries < 3 && rank_is_refusal(r, status));
         tries++) {
        status = czr_loopback_step(loopback, &hyper, rank_stream(r),
                                   is_waited ? results : NULL);
        w->n_refused += status == CZR_ERR_GRADIENT;
    }
    for (int rank = 0; rank < n_ranks && out && is_waited; rank++)
        rank_note_step(r, czr_loopback_engine(loopback, rank), &out->of[rank],
                       status, &results[rank]);
    return rank_is_refusal(r, status) ? CZR_OK : status;
}

static int64_t held(void)
{
    return fake_handles() + fake_count().internals;
}

/* Parameters behind their waits; then the step comes to its end. */
static czr_status read_behind(run *r, czr_loopback *loopback)
{
    czr_status status = CZR_OK;

    for (int rank = 0; rank < n_ranks && status == CZR_OK; rank++)
        status = rank_read(r, czr_loopback_engine(loopback, rank), rank);
    for (int rank = 0; rank < n_ranks && status == CZR_OK; rank++)
        status = czr_context_synchronize(
            r->context, czr_loopback_engine(loopback, rank)->cuda->main, 0);
    n_ahead += r->n_ahead;
    return status;
}

static bool is_waited(const wish *w, int step)
{
    return !w->is_late || (step == w->steps - 1 && !w->is_constant);
}

static czr_status run_steps(run *r, czr_loopback *loopback, wish *w)
{
    czr_engine *first = czr_loopback_engine(loopback, 0);
    czr_status status = CZR_OK;
    int64_t half = 0;

    if (czr_step(first, NULL, NULL, NULL) != CZR_ERR_STATE ||
        !strstr(czr_error(first), "ranks of a device step together")) {
        printf("a rank steps by itself\n");
        exit(1);
    }
    for (int step = 0; step < w->steps && status == CZR_OK; step++) {
        if (step == w->steps / 2)
            half = held();
        if (step == 1 && w->hangs)
            fake_hang();
        status = device_step(r, loopback, step, is_waited(w, step), w);
    }
    if (status == CZR_OK && w->is_late && w->is_constant)
        status = read_behind(r, loopback);
    w->grown = held() - half;
    for (int rank = 0; rank < n_ranks && status == CZR_OK && w->out; rank++)
        rank_note(r, czr_loopback_engine(loopback, rank), rank,
                  &w->out->of[rank]);
    return status;
}

static void count_memory(czr_loopback *loopback, wish *w)
{
    w->bytes = fake_count().bytes;
    w->kept = 0;
    for (int rank = 0; rank < n_ranks; rank++) {
        const czr_engine *engine = czr_loopback_engine(loopback, rank);
        w->kept += (int64_t)sizeof(czr_collect_result);
        for (int b = 0; b < rank_program->n_buckets; b++) {
            czr_undo_regions regions;
            size_t bytes = 0;
            if (!czr_program_is_resident(rank_program, b, rank))
                continue;
            czr_undo_find(engine, b, &regions);
            for (int i = 0; i < CZR_UNDO_REGIONS; i++)
                bytes += regions.of[i].bytes;
            w->kept += (int64_t)czr_round_up(bytes ? bytes : 1);
        }
    }
}

static czr_status open_streams(run *r)
{
    czr_status status =
        r->is_legacy ? CZR_OK : czr_context_open_stream(r->context, &r->stream);

    if (status == CZR_OK)
        status = czr_context_open_stream(r->context, &r->side);
    if (status != CZR_OK)
        czr_context_close_stream(r->context, r->stream);
    return status;
}

static void look_for_ptx(void *user, const char *line)
{
    *(bool *)user |= strstr(line, "PTX of compute_80") != NULL;
}

static czr_status run_ranks(czr_context *context, czr_nvrtc *nvrtc, wish *w)
{
    const czr_loopback_options options = {
        .context = context,
        .nvrtc = nvrtc,
        .is_captured = w->is_captured,
        .engine = {.undo = w->undoes, .deadline_ms = w->hangs ? 50 : 0}};
    run r = {.is_device = true,
             .has_bad_step = w->has_bad_step,
             .is_constant = w->is_constant,
             .is_placed = w->is_late || w->is_captured,
             .is_failing = w->is_failing,
             .is_early = w->is_early,
             .is_legacy = w->is_legacy,
             .has_hooks = true,
             .context = context};
    czr_loopback *loopback;

    czr_status status =
        w->is_late && !w->is_constant ? open_streams(&r) : CZR_OK;
    if (status != CZR_OK)
        return status;
    status = czr_loopback_open(&options, cuda_program, &loopback);
    for (int rank = 0; rank < n_ranks && status == CZR_OK; rank++)
        status = rank_open(&r, czr_loopback_engine(loopback, rank), rank);
    if (status == CZR_OK) {
        count_memory(loopback, w);
        czr_loopback_describe(loopback, look_for_ptx, &w->has_ptx);
        status = run_steps(&r, loopback, w);
    }
    w->graphs = loopback ? czr_loopback_graphs(loopback) : 0;
    if (r.stream || r.is_legacy) {
        czr_context_synchronize(context, r.stream, 0);
        czr_context_synchronize(context, r.side, 0);
    }
    if (loopback && status != CZR_OK)
        snprintf(w->message, sizeof w->message, "%s",
                 czr_loopback_error(loopback));
    czr_loopback_close(loopback);
    czr_context_close_stream(context, r.stream);
    czr_context_close_stream(context, r.side);
    for (int rank = 0; rank < n_ranks; rank++)
        rank_close(&r, rank);
    return status == CZR_OK ? context->status : status;
}

static czr_status run_on_double(wish *w)
{
    test_bench bench;
    czr_nvrtc *nvrtc = NULL;

    w->message[0] = 0;
    if (w->out)
        rank_drop(w->out);
    fake_set_memory(w->memory_bytes ? w->memory_bytes : (size_t)1 << 32);
    kernels_register(w->is_captured);
    if (kernels_nvrtc_path() && czr_nvrtc_open(kernels_nvrtc_path(), &nvrtc,
                                               w->message) != CZR_NVRTC_OK) {
        printf("%s\n", w->message);
        exit(1);
    }
    czr_status status = bench_open(&bench);
    if (status == CZR_OK)
        status = run_ranks(bench.context, nvrtc, w);
    if (status != CZR_OK && !w->message[0])
        snprintf(w->message, sizeof w->message, "%s",
                 bench.context && bench.context->error[0] ? bench.context->error
                                                          : bench.message);
    bench_close(&bench);
    czr_nvrtc_close(nvrtc);
    return status;
}

/* ---- what is said ------------------------------------------------------- */

/* By turns: each step waited for or not, captured or not; where it is neither
 * late nor captured, every other tensor is copied. */
static wish wish_of(int order, rank_variety kind)
{
    return (wish){.has_bad_step = kind == RANK_BAD,
                  .is_constant = kind == RANK_CONSTANT,
                  .is_failing = kind >= RANK_UNDONE,
                  .undoes = kind == RANK_UNDONE,
                  .is_late = order % 2,
                  .is_legacy = order % 6 == 3 && kind != RANK_CONSTANT,
                  .is_captured = order % 4 == 3 || order % 4 == 0,
                  .is_early = order % 3 != 0,
                  .steps = STEPS};
}

/* Whether it went as on the host. */
static bool try_order(int order, rank_variety kind, const outcome *host)
{
    static const char *const names[] = {"", ", bad step", ", constant",
                                        ", undone"};
    outcome device = {{{0}}};
    wish w = wish_of(order, kind);

    w.out = &device;
    fake_reset((uint64_t)order + rank_seed, order % 3 * 40);
    if (run_on_double(&w) != CZR_OK || bench_leftovers()) {
        printf("order %d: %s, %lld left\n", order, w.message,
               (long long)bench_leftovers());
        exit(1);
    }
    const int n_silent = w.is_late ? STEPS - !w.is_constant : 0; /* steps */
    const int rank = host_plan_difference(host, &device, n_ranks, n_silent);
    const bool is_right =
        rank < 0 && w.is_captured == (w.graphs > 0) &&
        w.is_early == (w.n_early > 0) && !w.n_waits &&
        w.n_refused == (kind == RANK_BAD && !rank_program->skip);
    if (!is_right)
        printf("order %d%s%s: rank %d differs, %d graphs%s, %lld launches "
               "before steps%s, %lld waits, %d gradients refused\n",
               order, names[kind], w.is_late ? ", late" : "", rank, w.graphs,
               w.is_captured ? ", captured" : "", (long long)w.n_early,
               w.is_early ? ", early" : "", (long long)w.n_waits, w.n_refused);
    rank_drop(&device);
    return is_right;
}

static int compare_orders(void)
{
    outcome host = {{{0}}};
    int n_wrong = 0;

    for (int kind = 0; kind < RANK_VARIETIES; kind++) {
        host_plan_run(n_ranks, STEPS, (rank_variety)kind, &host);
        for (int order = 1; order <= n_orders; order++)
            n_wrong += !try_order(order, (rank_variety)kind, &host);
    }
    rank_drop(&host);
    return n_wrong + (rank_program->n_buckets > 1 && n_ahead == 0);
}

/* Whether the run is clean whose call fails. */
static bool fail_call(wish w, int64_t call, int code, int64_t n_calls)
{
    fake_reset(3, 30);
    fake_fail(NULL, call, code);
    const czr_status status = run_on_double(&w);
    const bool is_clean = status != CZR_OK && w.message[0] &&
                          !bench_leftovers() && fake_has_failed();

    if (!is_clean)
        printf("call %lld of %lld, %s, with %d: %s, %lld left, \"%s\"\n",
               (long long)call, (long long)n_calls, fake_symbol(call - 1), code,
               czr_status_name(status), (long long)bench_leftovers(),
               w.message);
    return is_clean;
}

/* Calls of the end, too. */
static int fail_calls(bool is_captured)
{
    wish w = {.steps = 3,
              .is_captured = is_captured,
              .is_late = true,
              .undoes = true,
              .is_failing = true,
              .is_early = true};
    int n_wrong = 0;

    fake_reset(3, 30);
    if (run_on_double(&w) != CZR_OK)
        return 1;
    const int64_t n_calls = fake_calls();
    for (int i = 0; i < n_failures; i++)
        n_wrong += !fail_call(
            w, 1 + n_calls * i / n_failures,
            i % 3 ? CZR_CUDA_ILLEGAL_ADDRESS : CZR_CUDA_OUT_OF_MEMORY, n_calls);
    return n_wrong;
}

/* What cannot be is said by its name, and leaves nothing. */
static int refuse_all(void)
{
    static const struct {
        wish of;
        czr_status status;
    } cases[] = {
        {{.steps = 1, .memory_bytes = 20000}, CZR_ERR_NO_MEMORY},
        {{.steps = 2, .hangs = true}, CZR_ERR_TIMEOUT},
        {{.steps = 2, .hangs = true, .is_captured = true}, CZR_ERR_TIMEOUT},
    };
    int n_wrong = 0;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wish w = cases[i].of;
        fake_reset(7, 100);
        const czr_status status = run_on_double(&w);
        /* What hangs holds the streams that would be closed. */
        const bool is_right = status == cases[i].status && w.message[0] &&
                              (w.hangs || !bench_leftovers());
        if (!is_right)
            printf("refusal %zu: %s, not %s, %lld left, \"%s\"\n", i,
                   czr_status_name(status), czr_status_name(cases[i].status),
                   (long long)bench_leftovers(), w.message);
        n_wrong += !is_right;
    }
    return n_wrong;
}

/* What is not undone is said by all ranks in the host's words. */
static int poison(void)
{
    outcome host = {{{0}}}, device = {{{0}}};
    wish w = {.steps = STEPS, .is_failing = true, .out = &device};
    const size_t n = (RANK_WILD_STEP + 2) * RANK_STEP_BYTES;
    int64_t status;
    int n_wrong = 0;

    host_plan_run(n_ranks, STEPS, RANK_POISONED, &host);
    fake_reset(11, 50);
    run_on_double(&w);
    for (int rank = 0; rank < n_ranks; rank++) {
        const trace *x = &host.of[rank], *y = &device.of[rank];
        memcpy(&status, x->bytes + n - RANK_STEP_BYTES, sizeof status);
        n_wrong += x->n >= n && status == CZR_ERR_PARAM &&
                   (y->n < n || memcmp(x->bytes, y->bytes, n) != 0);
    }
    if (n_wrong)
        printf("host: %.*s\ndevice: %.*s\n", RANK_TEXT,
               host.of[0].bytes + n - RANK_TEXT, RANK_TEXT,
               device.of[0].bytes + n - RANK_TEXT);
    rank_drop(&host);
    rank_drop(&device);
    return n_wrong + (bench_leftovers() != 0);
}

/* What undoing takes of memory is what czr_undo_find says. */
static int count_kept(void)
{
    wish w = {.steps = 1}, undoing = {.steps = 1, .undoes = true};

    fake_reset(13, 50);
    if (run_on_double(&w) != CZR_OK)
        return 1;
    fake_reset(13, 50);
    if (run_on_double(&undoing) != CZR_OK)
        return 1;
    if (undoing.bytes - w.bytes == undoing.kept)
        return 0;
    printf("%lld bytes to undo steps, not %lld\n",
           (long long)(undoing.bytes - w.bytes), (long long)undoing.kept);
    return 1;
}

/* A newer GPU runs PTX, unless its driver is too old for it. */
static bool runs_ptx(int version, czr_status expected)
{
    wish w = {.steps = 1};

    fake_reset(17, 50);
    fake_set_capability(100);
    fake_set_version(version);
    return run_on_double(&w) == expected && w.has_ptx == (expected == CZR_OK);
}

static int64_t replay(bool is_captured)
{
    wish w = {.steps = n_replays, .is_captured = is_captured, .is_early = true};

    fake_reset(5, 60);
    if (run_on_double(&w) != CZR_OK) {
        printf("%d steps: %s\n", n_replays, w.message);
        exit(1);
    }
    return w.grown;
}

/* The next argument as a number, or what there is. */
static void take_number(char ***args, int *number)
{
    if (**args)
        *number = atoi(*(*args)++);
}

int main(int argc, char **argv)
{
    char **args;

    cuda_program = kernels_open(argc, argv, &args);
    if (!cuda_program)
        return 2;
    rank_program = cuda_program->program;
    n_ranks = czr_program_ranks(rank_program);
    if (n_ranks > RANK_MAX)
        return 2;
    take_number(&args, &n_orders);
    take_number(&args, &n_failures);
    take_number(&args, &n_replays);
    const int n_wrong = compare_orders();
    printf("%s, seed %llu: %d ranks, %d operations, %d orders of %d steps, of "
           "all varieties: %d differ from the host, %d buckets seen ahead\n",
           rank_program->name, (unsigned long long)rank_seed, n_ranks,
           rank_program->n_ops, n_orders, STEPS, n_wrong, n_ahead);
    const int n_unclean = fail_calls(false) + fail_calls(true);
    printf("%d calls of the driver failed: %d not cleanly\n", 2 * n_failures,
           n_unclean);
    const int64_t grown = n_replays ? replay(false) + replay(true) : 0;
    printf("%d steps: %lld things more than after half of them\n", n_replays,
           (long long)grown);
    const int n_unsaid =
        refuse_all() + poison() + count_kept() +
        (kernels_nvrtc_path() &&
         !(runs_ptx(12090, CZR_OK) && runs_ptx(12080, CZR_ERR_DEVICE_CODE)));
    printf("what cannot be: %d not as it should be said\n", n_unsaid);
    /* What is on its way when they are counted makes them a few more or less.
     */
    return n_wrong || n_unclean || n_unsaid ||
           (n_replays && grown >= n_replays / 2);
}
