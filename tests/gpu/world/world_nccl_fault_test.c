/* What goes wrong in a world of NCCL ends, on all ranks, within the deadline,
 * in a status with a sentence, and leaves nothing: a rank that does not come, a
 * connection that breaks, an abort, a call that fails, units out of turn.
 *
 * world_nccl_fault_test [SEED [FAILURES]] */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/driver/clock.h"
#include "tests/gpu/world/nccl_bench.h"

#include <time.h>

enum {
    N = 500,
    OPS = 3,
    LEAST_CALLS = 50,
    PATIENCE_MS = 60000,
    DEADLINE_MS = 1000,
    MOST_MS = 8000, /* of a session that ends by it */
    PAUSE_NS = 300000000,
    SLOW_MS = 1200 /* a call that is under way at the deadline */
};

/* What is not to end by it waits longer: machines may be busy. */
static const int64_t deadlines_ms[] = {20000, 1000, 1000, 1000,
                                       1000,  1000, 1000, 100};

static uint64_t seed = 20261123;
static int n_failures = 40;

/* Three sums over all ranks, one behind the other. */
static const int32_t sizes[] = {3};
static const char *const axes[] = {"dp"};
static const czr_op ops[OPS] = {
    {.kind = CZR_ALL_REDUCE, .comm = 1, .bucket = -1, .table = -1},
    {.kind = CZR_ALL_REDUCE, .comm = 1, .bucket = -1, .table = -1},
    {.kind = CZR_ALL_REDUCE, .comm = 1, .bucket = -1, .table = -1}};
static const czr_program program = {
    .n_axes = 1, .axes = axes, .sizes = sizes, .ops = ops, .n_ops = OPS};

typedef enum fault {
    NONE,
    ABSENT, /* rank 1 does not come to operation 1 */
    BROKEN, /* its connection breaks then */
    ABORTS, /* it aborts the world then */
    BREAKS, /* it does not come, and rank 0's connection breaks */
    FULL,   /* it does not come, and streams take no more then */
    SLOW,   /* it does not come, and the next call of rank 0 takes long */
    FAILING /* some call fails */
} fault;

typedef struct session {
    ranks_bench bench;
    fault fault;
    char why[RANKS_MOST][CZR_WHY_BYTES];
    bool is_right[RANKS_MOST]; /* the sums */
} session;

static czr_collective unit_of(int op, czr_address data, void *stream)
{
    return (czr_collective){.kind = CZR_COLLECTIVE_ALL_REDUCE,
                            .op = op,
                            .stream = stream,
                            .of.all_reduce = {.data = czr_pointer_of(data),
                                              .count = N,
                                              .type = CZR_SUM_F32}};
}

/* What ranks do before operation 1; true: and then no more. */
static bool misbehave(const session *s, const test_rank *self, czr_world *world)
{
    if (self->rank != 1)
        return false;
    if (s->fault == BROKEN)
        fake_nccl_break(self->device, CZR_NCCL_REMOTE_ERROR);
    if (s->fault == ABORTS)
        world->ops->abort(world, "rank 1 has had enough");
    if (s->fault == BREAKS) {
        const struct timespec pause = {0, PAUSE_NS};
        fake_end_turn(); /* while others wait already */
        nanosleep(&pause, NULL);
        fake_begin_turn();
        fake_nccl_break(0, CZR_NCCL_REMOTE_ERROR);
    }
    return s->fault == ABSENT || (s->fault >= BREAKS && s->fault <= SLOW);
}

static czr_status put_units(session *s, const test_rank *self, czr_world *world,
                            czr_comm *comm, czr_address data, void *stream)
{
    char *why = s->why[self->rank];
    czr_status status = czr_world_nccl_begin(world, stream);

    for (int op = 0; op < OPS && status == CZR_OK; op++) {
        const czr_collective unit = unit_of(op, data, stream);
        if (op == 1 && misbehave(s, self, world))
            return CZR_OK;
        if (op == 2 && s->fault == SLOW && self->rank == 0)
            fake_nccl_slow(SLOW_MS);
        status = czr_comm_run(comm, &unit, why);
        /* What has begun and failed is over for all units. */
        RANK_CHECK(status == CZR_OK ||
                   czr_world_nccl_check(world, why) != CZR_OK);
    }
    const czr_status ended =
        czr_context_synchronize(self->context, stream, PATIENCE_MS);
    const czr_status checked = czr_world_nccl_check(world, why);
    status = checked != CZR_OK ? checked : status;
    return status == CZR_OK ? ended : status;
}

/* What a rank does, and which streams it has for that. */
typedef struct rank_work {
    session *s;
    void *streams[2];
} rank_work;

/* Sums of N numbers, each rank's those of its number. */
static czr_status work(test_rank *self, czr_world *world, void *user)
{
    const rank_work *own = user;
    session *s = own->s;
    void *stream = own->streams[0];
    float numbers[N];
    czr_comm *comm = NULL, *comms[OPS];
    czr_address data = 0;
    czr_context *context = self->context;

    for (int i = 0; i < N; i++)
        numbers[i] = (float)(self->rank + 1);
    czr_status status =
        czr_world_join_axes(world, CZR_CHANNEL_PLAN, &program, 1, 0, 0, &comm);
    for (int op = 0; op < OPS; op++)
        comms[op] = comm;
    if (status == CZR_OK)
        status = czr_world_nccl_prepare(world, &program, comms);
    if (status == CZR_OK)
        status = czr_context_alloc(context, sizeof numbers, &data);
    if (status == CZR_OK)
        status = czr_context_copy(context, data, czr_address_of(numbers),
                                  sizeof numbers, stream);
    if (status == CZR_OK)
        status = put_units(s, self, world, comm, data, stream);
    if (status == CZR_OK)
        status = czr_context_copy(context, czr_address_of(numbers), data,
                                  sizeof numbers, stream);
    if (status == CZR_OK)
        status = czr_context_synchronize(context, stream, PATIENCE_MS);
    s->is_right[self->rank] = true;
    for (int i = 0; i < N; i++)
        s->is_right[self->rank] &= numbers[i] == 54; /* 6 * 3 * 3 */
    if (status != CZR_OK) {                          /* as engines do */
        czr_world_nccl_stop(world, "a rank has failed");
        czr_context_drain(context, stream);
    }
    czr_context_free(context, data);
    return status;
}

static void run_world(test_rank *self, session *s, nccl_bench_body body)
{
    rank_work own = {.s = s};

    self->status = czr_context_open_stream(self->context, &own.streams[0]);
    if (self->status == CZR_OK)
        self->status = czr_context_open_stream(self->context, &own.streams[1]);
    if (self->status == CZR_OK)
        nccl_bench_run(
            &s->bench, self,
            (czr_world_nccl_options){.is_strict = true,
                                     .deadline_ms = deadlines_ms[s->fault]},
            body, &own);
    for (int i = 0; i < 2; i++)
        czr_context_close_stream(self->context, own.streams[i]);
}

static void run_rank(test_rank *self, void *user)
{
    run_world(self, user, work);
}

static void run_session(session *s, fault which, uint64_t order)
{
    *s = (session){.fault = which};
    ranks_open(&s->bench, 3, order, true);
}

static void expect(const session *s, int rank, czr_status status,
                   const char *sentence)
{
    if (s->bench.of[rank].status != status || !strstr(s->why[rank], sentence))
        fail_msg("rank %d: %s, \"%s\", and not %s, \"%s\"", rank,
                 czr_status_name(s->bench.of[rank].status), s->why[rank],
                 czr_status_name(status), sentence);
}

/* Whether a rank that says OK has what it should have. */
static void check_ranks(const session *s)
{
    for (int i = 0; i < 3; i++)
        if (s->bench.of[i].status == CZR_OK && !s->is_right[i])
            fail_msg("rank %d takes wrong sums for right", i);
}

/* What comes of a fault on each rank; NULL: it is not said.  Of ranks that wait
 * for operation 0 or 1 it is not said for which, where the first may have come
 * to its end or not. */
static const struct {
    fault fault;
    const char *what;
    int n_orders;
    int room; /* of a stream; 0: drawn */
    struct {
        czr_status status;
        const char *sentence;
    } ranks[3];
} cases[] = {
    {NONE, "none", 1, 0, {{CZR_OK, ""}, {CZR_OK, ""}, {CZR_OK, ""}}},
    {ABSENT,
     "an operation that a rank does not come to",
     4,
     0,
     {{CZR_ERR_TIMEOUT, "operation 1, all_reduce: rank 0 waited 1000 ms for "
                        "the 2 others"},
      {CZR_OK, NULL},
      {CZR_ERR_TIMEOUT, "operation 1, all_reduce: rank 2"}}},
    {BROKEN,
     "a connection",
     1,
     0,
     {{CZR_ERR_TIMEOUT, "all_reduce: rank 0 waited"},
      {CZR_ERR_ABORTED, "sentence of NCCL for 6"},
      {CZR_ERR_TIMEOUT, "all_reduce: rank 2 waited"}}},
    {BREAKS,
     "a connection of who waits",
     1,
     0,
     {{CZR_ERR_ABORTED, "sentence of NCCL for 6"},
      {CZR_OK, NULL},
      {CZR_ERR_TIMEOUT, "operation 1, all_reduce: rank 2"}}},
    /* NCCL up to 2.22: the call waits for room, and only the abort makes some.
     */
    {FULL,
     "a call that waits for a full queue",
     4,
     1,
     {{CZR_ERR_TIMEOUT, "operation 1, all_reduce: rank 0"},
      {CZR_OK, NULL},
      {CZR_ERR_TIMEOUT, "operation 1, all_reduce: rank 2"}}},
    /* Nothing is aborted under it. */
    {SLOW,
     "a call that returns late",
     4,
     N,
     {{CZR_ERR_TIMEOUT, ", all_reduce: rank 0 waited 1000 ms"},
      {CZR_OK, NULL},
      {CZR_OK, NULL}}},
    {ABORTS,
     "an abort",
     1,
     0,
     {{CZR_ERR_TIMEOUT, "all_reduce: rank 0 waited"},
      {CZR_ERR_ABORTED, "rank 1 has had enough"},
      {CZR_OK, NULL}}},
};

static void says_what_failed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int order = 0; order < cases[i].n_orders; order++) {
            static session s;
            const int64_t start = czr_now_ms();
            printf("%s, order %d\n", cases[i].what, order);
            run_session(&s, cases[i].fault, seed + (uint64_t)order);
            if (cases[i].room)
                fake_nccl_set_room(cases[i].room);
            ranks_run(s.bench.of, 3, run_rank, &s);
            const int64_t ms = czr_now_ms() - start;
            for (int rank = 0; rank < 3; rank++)
                if (cases[i].ranks[rank].sentence)
                    expect(&s, rank, cases[i].ranks[rank].status,
                           cases[i].ranks[rank].sentence);
            if (cases[i].fault == NONE)
                check_ranks(&s);
            assert_int_equal(fake_nccl_aborted() > 0, cases[i].fault != NONE);
            if (ms > MOST_MS)
                fail_msg("the deadline is %d ms, and it took %lld ms",
                         DEADLINE_MS, (long long)ms);
            ranks_close(&s.bench);
        }
}

/* Calls of the double in one session, at least: a rank asks as often as it has
 * time to while others begin. */
static int64_t count_calls(void)
{
    enum { SESSIONS = 10 };
    int64_t least = INT64_MAX;

    for (int i = 0; i < SESSIONS; i++) {
        static session s;
        run_session(&s, NONE, seed);
        const int64_t before = fake_calls();
        ranks_run(s.bench.of, 3, run_rank, &s);
        const int64_t n = fake_calls() - before;
        least = n < least ? n : least;
        ranks_close(&s.bench);
    }
    return least;
}

/* Of all calls, or those of one function, up to the last, n in turn; how many
 * came, and were said. */
static void fail_calls(const char *symbol, int64_t last, int n, int *n_came,
                       int *n_said)
{
    *n_came = *n_said = 0;
    for (int k = 0; k < n; k++) {
        static session s;
        int failures = 0;
        run_session(&s, FAILING, seed + (uint64_t)k);
        fake_fail(symbol, 1 + last * k / n, 999);
        ranks_run(s.bench.of, 3, run_rank, &s);
        *n_came += fake_has_failed(); /* not all sessions have as many */
        check_ranks(&s);
        for (int i = 0; i < 3; i++)
            failures += s.bench.of[i].status != CZR_OK;
        *n_said += failures > 0;
        ranks_close(&s.bench);
    }
    printf("%lld calls, %d of them fail in turn, %d of those are said\n",
           (long long)last, *n_came, *n_said);
    assert_true(*n_came > n / 2);
}

static void leaves_nothing_where_a_call_fails(void **state)
{
    const int64_t n = count_calls();
    int n_came, n_said;

    (void)state;
    assert_true(n > LEAST_CALLS);
    fail_calls(NULL, n, n_failures, &n_came, &n_said);
    assert_true(n_said > n_failures / 2);
}

/* Copies that a failed wait left on a stream came to memory that was gone. */
static void waits_for_copies_where_a_wait_fails(void **state)
{
    enum { WAITS = 40 };
    int n_came, n_said;

    (void)state;
    fail_calls("cuStreamQuery", WAITS, WAITS, &n_came, &n_said);
}

/* ---- two communicators -------------------------------------------------- */

/* One unit each on two streams, to which rank 1 does not come. */
static czr_status put_two(test_rank *self, czr_world *world, void *user)
{
    const rank_work *own = user;
    void *const *streams = own->streams;
    czr_comm *comms[OPS] = {NULL};
    czr_address data = 0;
    czr_context *context = self->context;
    char *why = own->s->why[self->rank];
    czr_status status = czr_world_join_axes(world, CZR_CHANNEL_PLAN, &program,
                                            1, 0, 0, &comms[0]);

    if (status == CZR_OK)
        status = czr_world_join_axes(world, CZR_CHANNEL_TRAINER, &program, 1, 0,
                                     0, &comms[1]);
    comms[2] = comms[1];
    if (status == CZR_OK)
        status = czr_world_nccl_prepare(world, &program, comms);
    if (status == CZR_OK)
        status = czr_context_alloc(context, 2 * N * sizeof(float), &data);
    for (int i = 0; i < 2 && status == CZR_OK && self->rank != 1; i++) {
        const czr_collective unit =
            unit_of(i, data + (uint64_t)i * N * sizeof(float), streams[i]);
        status = czr_comm_run(comms[i], &unit, why);
    }
    for (int i = 0; i < 2; i++)
        if (status == CZR_OK)
            status = czr_context_synchronize(context, streams[i], PATIENCE_MS);
    if (self->rank != 1)
        status = czr_world_nccl_check(world, why);
    czr_world_nccl_stop(world, "a rank has failed");
    for (int i = 0; i < 2; i++)
        czr_context_drain(context, streams[i]);
    czr_context_free(context, data);
    return status;
}

static void run_two(test_rank *self, void *user)
{
    run_world(self, user, put_two);
}

/* Both have a kernel that does not end, and the abort of one may wait for that
 * of the other. */
static void aborts_two_communicators_at_once(void **state)
{
    enum { WANTED = 2, MOST_ORDERS = 180 };
    int64_t n_crowded = 0;

    (void)state;
    for (uint64_t order = seed;
         n_crowded < WANTED && order < seed + MOST_ORDERS; order++) {
        static session s;
        const int64_t start = czr_now_ms();
        if (order / 3 % 3 != 2) /* else one waits for the other's end */
            continue;
        run_session(&s, ABSENT, order);
        ranks_run(s.bench.of, 3, run_two, &s);
        const int64_t ms = czr_now_ms() - start;
        if (ms > MOST_MS)
            fail_msg("order %llu: the deadline is %d ms, and it took %lld ms",
                     (unsigned long long)order, DEADLINE_MS, (long long)ms);
        for (int rank = 0; rank < 3; rank += 2)
            expect(&s, rank, CZR_ERR_TIMEOUT, ", all_reduce: rank");
        n_crowded += fake_nccl_crowded();
        ranks_close(&s.bench);
    }
    printf("%lld aborts beside another communicator's kernel\n",
           (long long)n_crowded);
    assert_true(n_crowded >= WANTED);
}

/* ---- out of turn -------------------------------------------------------- */

static czr_status put_out_of_turn(test_rank *self, czr_world *world, void *user)
{
    char why[CZR_WHY_BYTES];
    czr_collective unit = unit_of(1, 256, NULL);

    (void)self;
    (void)user;
    czr_comm *comm = world->everyone[CZR_CHANNEL_PLAN];
    /* Of a plan that nothing was prepared for. */
    RANK_CHECK(czr_comm_run(comm, &unit, why) == CZR_ERR_STATE);
    /* Not of the host. */
    unit = (czr_collective){.kind = CZR_COLLECTIVE_SUM_SCATTER, .op = -1};
    RANK_CHECK(czr_comm_run(comm, &unit, why) == CZR_ERR_UNSUPPORTED);
    /* Parts that are not where they should be. */
    unit = (czr_collective){.kind = CZR_COLLECTIVE_ALL_GATHER,
                            .op = -1,
                            .of.all_gather = {why, 8, 100, NULL}};
    RANK_CHECK(czr_comm_run(comm, &unit, why) == CZR_ERR_ARGUMENT);
    return czr_world_barrier(world);
}

static void run_out_of_turn(test_rank *self, void *user)
{
    run_world(self, user, put_out_of_turn);
}

static void refuses_units_out_of_turn(void **state)
{
    static session s;

    (void)state;
    run_session(&s, NONE, seed);
    ranks_run(s.bench.of, 3, run_out_of_turn, &s);
    for (int i = 0; i < 3; i++)
        assert_int_equal(s.bench.of[i].status, CZR_OK);
    ranks_close(&s.bench);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_failed),
        cmocka_unit_test(aborts_two_communicators_at_once),
        cmocka_unit_test(waits_for_copies_where_a_wait_fails),
        cmocka_unit_test(leaves_nothing_where_a_call_fails),
        cmocka_unit_test(refuses_units_out_of_turn),
    };

    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        n_failures = atoi(argv[2]);
    printf("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
