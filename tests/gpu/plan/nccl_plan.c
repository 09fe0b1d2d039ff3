/* A plan with a thread and a GPU for each rank, over the double of NCCL, on the
 * double of the driver with the kernels that loopback_kernels.h says: results,
 * and bits of parameters and states, are those of the host's engines on
 * threads.  One step has a gradient that is not a number.  Then a rank leaves
 * in the middle: all others say so within the deadline.
 *
 * nccl_plan [PLAN.so PROGRAM] [ORDERS [FAILURES]], or with CANZONA_FAULTS=N or
 * N@SEED, so many drawn faults alone, of this seed and the next */
#define _POSIX_C_SOURCE 200809L
#include "tests/gpu/plan/host_plan.h"
#include "tests/gpu/plan/loopback_kernels.h"
#include "tests/gpu/world/nccl_rank.h"

enum {
    STEPS = NCCL_RANK_STEPS,
    DEADLINE_MS = 60000,
    SHORT_MS = 1000,
    LITTLE_MS = 50, /* late, and in time */
    PATIENCE = 20   /* seconds from a fault until a rank has to know, on a busy
                     * machine */
};

static int n_ranks, n_orders = 2, n_failures = 6;
static int64_t n_calls; /* of a run */
static int n_ahead;     /* of the orders */

static ranks_bench bench; /* of the last run */
static const test_rank *const ranks = bench.of;

/* All ranks; nothing is left. */
static void run_on_double(wish *w, uint64_t order)
{
    char message[CZR_NVRTC_MESSAGE];

    rank_drop(&w->out);
    w->n_graphs = w->n_refused = 0;
    w->deadline_ms =
        w->leaver < 0 && !w->fail_at && !w->odd_fails ? DEADLINE_MS : SHORT_MS;
    if (w->slow_ms == LITTLE_MS)
        w->deadline_ms = DEADLINE_MS;
    ranks_open(&bench, n_ranks, order, true);
    kernels_register(w->is_captured);
    RANK_CHECK(!kernels_nvrtc_path() ||
               czr_nvrtc_open(kernels_nvrtc_path(), &w->nvrtc, message) ==
                   CZR_NVRTC_OK);
    w->id = bench.id;
    if (w->fail_at)
        fake_fail(NULL, w->fail_at, CZR_CUDA_ILLEGAL_ADDRESS);
    ranks_run(bench.of, n_ranks, nccl_rank_run, w);
    n_calls = fake_calls();
    czr_nvrtc_close(w->nvrtc);
    w->nvrtc = NULL;
    ranks_close(&bench);
}

static int compare_orders(void)
{
    static outcome host;
    static wish w;
    int n_wrong = 0;

    for (int i = 0; i < 3 * n_orders; i++) {
        static const rank_variety kinds[] = {RANK_DRAWN, RANK_BAD, RANK_UNDONE};
        const rank_variety kind = kinds[i % 3];
        host_plan_run(n_ranks, STEPS, kind, &host);
        w.has_bad_step = kind == RANK_BAD;
        w.is_failing = w.undoes = kind == RANK_UNDONE;
        w.is_late = i / 3 % 2;
        w.is_reading = w.is_late && kind == RANK_DRAWN;
        w.is_early = i % 4 != 1;
        w.is_captured = (i + i / 6) % 2;
        w.leaver = -1;
        run_on_double(&w, rank_seed + (uint64_t)i);
        for (int rank = 0; rank < n_ranks; rank++)
            if (ranks[rank].status != CZR_OK) {
                printf("rank %d: %s\n", rank, w.said[rank]);
                exit(1);
            }
        const int rank = host_plan_difference(
            &host, &w.out, n_ranks, w.is_late ? STEPS - !w.is_reading : 0);
        const bool is_right =
            rank < 0 &&
            w.n_refused == n_ranks * (w.has_bad_step && !rank_program->skip) &&
            (w.is_captured ? w.n_graphs >= 2 * n_ranks : w.n_graphs == 0);
        if (!is_right)
            printf("order %d%s%s%s%s: rank %d differs, %d graphs, %d gradients "
                   "refused\n",
                   i, w.has_bad_step ? ", bad step" : "",
                   w.undoes ? ", undone" : "", w.is_late ? ", late" : "",
                   w.is_captured ? ", captured" : "", rank, w.n_graphs,
                   w.n_refused);
        n_wrong += !is_right;
    }
    rank_drop(&host);
    rank_drop(&w.out);
    n_ahead = w.n_ahead;
    return n_wrong + (n_orders > 1 && rank_program->n_buckets > 1 && !n_ahead);
}

/* Whether parameters of a step that is undone are read before it is. */
static int read_undone(void)
{
    static outcome host;
    static wish w;

    w.leaver = -1;
    w.is_late = w.is_reading = w.is_captured = true;
    w.is_failing = w.undoes = true;
    w.steps = RANK_WILD_STEP + 1;
    host_plan_run(n_ranks, w.steps, RANK_UNDONE, &host);
    run_on_double(&w, rank_seed);
    const int rank = host_plan_difference(&host, &w.out, n_ranks, w.steps);
    rank_drop(&host);
    rank_drop(&w.out);
    return rank >= 0;
}

/* Steps that are undone and one that is refused, of which nobody asks before
 * the last: whether the refusal is lost on some rank. */
static int refuse_among_undone(void)
{
    static wish w;
    int n_wrong = 0;

    w.leaver = -1;
    w.is_late = w.is_captured = w.has_bad_step = true;
    w.is_failing = w.undoes = true;
    run_on_double(&w, rank_seed);
    for (int rank = 0; rank < n_ranks; rank++)
        n_wrong += ranks[rank].status != CZR_OK;
    rank_drop(&w.out);
    return n_wrong + (w.n_refused != (rank_program->skip ? 0 : n_ranks));
}

/* Those that wait for it say so, and drop their graphs; how many do not. */
static int leave(bool is_captured)
{
    static wish w;
    int n_quiet = 0;

    w.leaver = n_ranks - 1;
    w.is_captured = is_captured;
    run_on_double(&w, rank_seed);
    for (int rank = 0; rank < n_ranks - 1; rank++)
        if (ranks[rank].status != CZR_ERR_TIMEOUT ||
            !strstr(w.said[rank], "waited")) {
            printf("rank %d: %s, \"%s\"\n", rank,
                   czr_status_name(ranks[rank].status), w.said[rank]);
            n_quiet++;
        }
    if (w.n_graphs)
        printf("%d graphs of steps that have failed are left\n", w.n_graphs);
    rank_drop(&w.out);
    return n_quiet + (w.n_graphs != 0);
}

/* Runs of which a rank says that all is well, and it is not. */
static int fail_calls(void)
{
    static outcome host;
    static wish w;
    int n_wrong = 0, n_said = 0, n_came = 0;

    w.leaver = -1;
    w.is_early = w.is_captured = true;
    host_plan_run(n_ranks, STEPS, false, &host);
    run_on_double(&w, rank_seed);
    const int64_t n = n_calls;
    for (int rank = 0; rank < n_ranks; rank++)
        if (ranks[rank].status != CZR_OK) {
            printf("rank %d: %s\n", rank, w.said[rank]);
            n_wrong++;
        }
    for (int i = 0; i < n_failures; i++) {
        bool is_said = false, is_wrong = false;
        w.fail_at = 1 + n * i / n_failures;
        run_on_double(&w, rank_seed + (uint64_t)i);
        for (int rank = 0; rank < n_ranks; rank++) {
            const trace *x = &host.of[rank], *y = &w.out.of[rank];
            is_said |= ranks[rank].status != CZR_OK && *w.said[rank];
            is_wrong |= ranks[rank].status == CZR_OK &&
                        (x->n != y->n || memcmp(x->bytes, y->bytes, x->n));
        }
        if (is_wrong)
            printf("call %lld of %lld: a rank takes wrong bits for right\n",
                   (long long)w.fail_at, (long long)n);
        n_wrong += is_wrong;
        n_said += is_said;
        n_came += fake_has_failed(); /* how often streams are asked varies */
    }
    printf("%d calls failed, %d are said: %d taken for right\n", n_came, n_said,
           n_wrong);
    rank_drop(&host);
    rank_drop(&w.out);
    return n_wrong + (n_said < n_came / 2) + (n_failures > 0 && n_came == 0);
}

/* The last rank's driver fails where a call enters it; how many do not say so,
 * or what came of it. */
static int fail_entering(void)
{
    int n_quiet = 0;

    for (int of = CALL_STEP; of < N_CALLS; of++) {
        static wish w;

        w = (wish){.leaver = -1, .odd_fails = (rank_call)of};
        w.is_captured = of == CALL_STEP;
        run_on_double(&w, rank_seed + (uint64_t)of);
        for (int rank = 0; rank < n_ranks; rank++) {
            const bool is_odd = rank == n_ranks - 1;
            const bool is_named =
                is_odd ? ranks[rank].status == CZR_ERR_DEVICE &&
                             strstr(w.said[rank], "entering the context")
                       : ranks[rank].status != CZR_OK && *w.said[rank];
            if (!is_named)
                printf("call %d, rank %d: %s, \"%s\"\n", of, rank,
                       czr_status_name(ranks[rank].status), w.said[rank]);
            n_quiet += !is_named;
        }
        rank_drop(&w.out);
    }
    return n_quiet;
}

/* All ranks capture or none; how many do not hold to it. */
static int agree(void)
{
    static outcome host;
    static wish w;
    int n_wrong = 0;

    w.leaver = -1;
    w.is_captured = w.is_odd_loose = true;
    host_plan_run(n_ranks, STEPS, RANK_DRAWN, &host);
    run_on_double(&w, rank_seed);
    n_wrong +=
        w.n_graphs || host_plan_difference(&host, &w.out, n_ranks, 0) >= 0;
    w.is_odd_loose = false;
    w.is_odd_eager = true;
    run_on_double(&w, rank_seed);
    for (int rank = 0; rank < n_ranks && n_ranks > 1; rank++)
        n_wrong += ranks[rank].status != CZR_ERR_MISMATCH ||
                   !strstr(w.said[rank], "capture");
    rank_drop(&host);
    rank_drop(&w.out);
    return n_wrong;
}

/* Behind "rank N: ". */
static const char *without_rank(const char *said)
{
    const char *end = strstr(said, ": ");

    return end ? end + 2 : said;
}

/* Ranks that do not say which rule failed, which is not undone, in the words of
 * the first of them. */
static int poison(bool is_late)
{
    static wish w;
    int n_wrong = 0;

    w.is_failing = true;
    w.is_late = w.is_captured = w.is_constant = is_late;
    w.leaver = -1;
    run_on_double(&w, rank_seed);
    for (int rank = 0; rank < n_ranks; rank++) {
        const bool is_named =
            ranks[rank].status == ranks[0].status &&
            !strcmp(without_rank(w.said[rank]), without_rank(w.said[0])) &&
            (ranks[rank].status == CZR_OK
                 ? is_late /* constant gradients may do no harm */
                 : strstr(w.said[rank], "in update") != NULL);
        if (!is_named)
            printf("rank %d: %s, \"%s\"\n", rank,
                   czr_status_name(ranks[rank].status), w.said[rank]);
        n_wrong += !is_named;
    }
    rank_drop(&w.out);
    return n_wrong;
}

static bool has_copy(int param, int rank)
{
    char name[RANK_TEXT], other[RANK_TEXT];
    const czr_shard mine = czr_program_shard(rank_program, param, rank);

    czr_program_name(rank_program, param, rank, name, sizeof name);
    for (int k = 0; k < n_ranks; k++) {
        const czr_shard shard = czr_program_shard(rank_program, param, k);
        czr_program_name(rank_program, param, k, other, sizeof other);
        if (k != rank && czr_program_has_param(rank_program, param, rank) &&
            czr_program_has_param(rank_program, param, k) &&
            !strcmp(name, other) &&
            !memcmp(mine.start, shard.start, sizeof shard.start))
            return true;
    }
    return false;
}

/* Whether the first parameter that any rank has a copy of is the last one's. */
static bool is_compared(void)
{
    for (int param = 0; param < rank_program->n_params; param++)
        for (int rank = 0; rank < n_ranks; rank++)
            if (has_copy(param, rank))
                return has_copy(param, n_ranks - 1);
    return false;
}

/* Ranks that do not say in what the last one differs. */
static int differ(bool is_late)
{
    int n_wrong = 0;

    for (int kind = 0; kind < 3; kind++) {
        static wish w;
        char last[32];
        const bool is_left = is_late && kind != 1;
        w = (wish){.leaver = -1,
                   .is_late = is_left,
                   .is_captured = is_late,
                   .is_constant = is_left};
        w.is_odd_rated = kind == 0 && rank_program->n_hypers > 0;
        w.is_alike = kind > 0;
        w.is_odd_drifted = kind > 1;
        w.steps = kind > 1 ? 1 : 0;
        run_on_double(&w, rank_seed);
        const bool stops =
            w.is_odd_rated || (w.is_odd_drifted && is_compared());
        snprintf(last, sizeof last, "rank %d", n_ranks - 1);
        for (int rank = 0; rank < n_ranks; rank++) {
            const char *said = w.said[rank];
            const bool is_right =
                stops ? ranks[rank].status == CZR_ERR_MISMATCH &&
                            strstr(said, kind ? "copy" : "run-time values") &&
                            strstr(without_rank(said), last)
                      : ranks[rank].status == CZR_OK ||
                            strstr(said, "in update"); /* a rule fails */
            if (!is_right)
                printf("rank %d, %d: %s, \"%s\"\n", rank, kind,
                       czr_status_name(ranks[rank].status), said);
            n_wrong += !is_right;
        }
        rank_drop(&w.out);
    }
    return n_wrong;
}

/* ---- drawn faults ---- */

typedef enum fault {
    LEAVES,
    IS_SLOW, /* beyond the deadline */
    IS_LATE, /* and in time */
    RULE_FAILS,
    CALL_FAILS, /* as one does whose queue is full */
    N_FAULTS
} fault;

static const char *const faults[] = {"a rank leaves", "a rank is too slow",
                                     "a rank is late", "a rule fails",
                                     "a call fails"};

static uint64_t draw(uint64_t *state, uint64_t n)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (*state >> 33) % n;
}

static wish wish_of(fault kind, int64_t n_all, uint64_t *state)
{
    wish w = {.leaver = -1};

    w.is_captured = draw(state, 2) == 1;
    w.is_early = draw(state, 2) == 1;
    if (kind <= IS_LATE)
        w.leaver = (int)draw(state, (uint64_t)n_ranks);
    if (kind == IS_SLOW)
        w.slow_ms = 2 * SHORT_MS;
    if (kind == IS_LATE)
        w.slow_ms = LITTLE_MS;
    w.is_failing = kind == RULE_FAILS;
    if (kind == CALL_FAILS)
        w.fail_at = 1 + (int64_t)draw(state, (uint64_t)n_all);
    return w;
}

/* The trainer opens the context, and has the sentence where that fails. */
static const char *said_by(const wish *w, const test_rank *self)
{
    return *self->message ? self->message : w->said[self->rank];
}

/* Right bits where it may be well, or a status with a sentence, in time. */
static bool ends_well(const wish *w, fault kind, const outcome *host,
                      const test_rank *self)
{
    const trace *x = &host->of[self->rank], *y = &w->out.of[self->rank];
    const bool has_right_bits = self->status == CZR_OK && x->n == y->n &&
                                !memcmp(x->bytes, y->bytes, x->n);
    const bool is_named = self->status != CZR_OK && *said_by(w, self);

    if (self->rank == w->leaver && kind == LEAVES)
        return true;
    switch (kind) {
    case LEAVES:
    case IS_SLOW:
        return is_named && (n_ranks == 1 || w->seconds[self->rank] < PATIENCE);
    case IS_LATE:
        return has_right_bits;
    case RULE_FAILS:
        return is_named && strstr(w->said[self->rank], "in update");
    case CALL_FAILS:
    case N_FAULTS:
        break;
    }
    return is_named || has_right_bits;
}

/* Of so many seeds, those after which a rank is quiet, late or wrong. */
static int draw_faults(int n, uint64_t first)
{
    static outcome host;
    static wish w;
    int n_wrong = 0;

    w.leaver = -1;
    host_plan_run(n_ranks, STEPS, RANK_DRAWN, &host);
    run_on_double(&w, rank_seed);
    const int64_t n_all = n_calls;
    for (int i = 0; i < n; i++) {
        const uint64_t seed = first + (uint64_t)i;
        uint64_t state = seed * 2654435761U;
        const fault kind = (fault)draw(&state, N_FAULTS);
        rank_drop(&w.out);
        w = wish_of(kind, n_all, &state);
        run_on_double(&w, state);
        for (int rank = 0; rank < n_ranks; rank++)
            if (!ends_well(&w, kind, &host, &ranks[rank])) {
                printf("seed %llu: %s%s; rank %d after %.1f s: %s, \"%s\"\n",
                       (unsigned long long)seed, faults[kind],
                       w.is_captured ? ", captured" : "", rank, w.seconds[rank],
                       czr_status_name(ranks[rank].status),
                       said_by(&w, &ranks[rank]));
                n_wrong++;
            }
    }
    rank_drop(&w.out);
    rank_drop(&host);
    printf("%s: %d ranks, %d faults: after %d a rank is quiet, late or wrong\n",
           rank_program->name, n_ranks, n, n_wrong);
    return n_wrong;
}

static int test_plan(void)
{
    const int n_wrong = compare_orders();
    printf("%s, seed %llu: %d ranks, %d orders of %d steps, drawn, with a bad "
           "one, undone: %d differ from the host\n",
           rank_program->name, (unsigned long long)rank_seed, n_ranks, n_orders,
           STEPS, n_wrong);
    printf("%d buckets: read ahead of others %d times\n",
           rank_program->n_buckets, n_ahead);
    const int n_rash = read_undone();
    printf("a step that is undone: %d times read before that\n", n_rash);
    const int n_lost = refuse_among_undone();
    printf("a gradient that is refused: %d ranks do not say so once\n", n_lost);
    const int n_failed = fail_calls();
    const int n_unsaid = fail_entering();
    printf("a driver that fails as a call enters it: %d ranks do not say so\n",
           n_unsaid);
    const int n_quiet = n_ranks > 1 ? leave(false) + leave(true) : 0;
    printf("a rank that leaves: %d others do not say so\n", n_quiet);
    const int n_poisoned = poison(false) + poison(true);
    printf("rules that fail for good: %d ranks do not say so\n", n_poisoned);
    const int n_differ = n_ranks > 1 ? differ(false) + differ(true) : 0;
    printf("a rank that differs: %d do not say in what\n", n_differ);
    const int n_apart = agree();
    printf("graphs of all ranks or none: %d do not hold to it\n", n_apart);
    return n_wrong || n_rash || n_lost || n_failed || n_unsaid || n_quiet ||
           n_poisoned || n_differ || n_apart;
}

int main(int argc, char **argv)
{
    const char *faults_asked = getenv("CANZONA_FAULTS");
    char **args;

    nccl_rank_program = kernels_open(argc, argv, &args);
    if (!nccl_rank_program)
        return 2;
    rank_program = nccl_rank_program->program;
    n_ranks = czr_program_ranks(rank_program);
    if (n_ranks > RANKS_MOST) {
        printf("%d ranks are too many\n", n_ranks);
        return 2;
    }
    if (faults_asked) {
        const char *at = strchr(faults_asked, '@');
        return draw_faults(atoi(faults_asked),
                           at ? strtoull(at + 1, NULL, 10) : rank_seed) != 0;
    }
    if (args[0])
        n_orders = atoi(args[0]);
    if (args[0] && args[1])
        n_failures = atoi(args[1]);
    return test_plan();
}
