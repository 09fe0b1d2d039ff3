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
    nccl_bench bench;
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

/* Sums of N numbers, each rank's those of its number. */
static czr_status work(session *s, test_rank *self, czr_world *world,
                       void *stream)
{
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

static void run_rank(test_rank *self, void *user)
{
    session *s = user;
    sums_bench sums = {0};
    czr_world *world = NULL;
    void *stream;

    self->status = czr_context_open_stream(self->context, &stream);
    if (self->status == CZR_OK)
        self->status = nccl_bench_world(
            &s->bench, self, &sums,
            (czr_world_nccl_options){.is_strict = true,
                                     .deadline_ms = deadlines_ms[s->fault]},
            &world);
    if (self->status == CZR_OK)
        self->status = work(s, self, world, stream);
    czr_world_nccl_close(world);
    czr_module_close(&sums.module);
    czr_context_close_stream(self->context, stream);
}

static void run_session(session *s, fault which, uint64_t order)
{
    *s = (session){.fault = which};
    nccl_bench_open(&s->bench, 3, order);
}

static void expect(const session *s, int rank, czr_status status,
                   const char *sentence)
{
    if (s->bench.ranks[rank].status != status ||
        !strstr(s->why[rank], sentence))
        fail_msg("rank %d: %s, \"%s\", and not %s, \"%s\"", rank,
                 czr_status_name(s->bench.ranks[rank].status), s->why[rank],
                 czr_status_name(status), sentence);
}

static void goes_well_without_faults(void **state)
{
    static session s;

    (void)state;
    run_session(&s, NONE, seed);
    ranks_run(s.bench.ranks, 3, run_rank, &s);
    for (int i = 0; i < 3; i++) {
        expect(&s, i, CZR_OK, "");
        assert_true(s.is_right[i]);
    }
    assert_int_equal(fake_nccl_aborted(), 0);
    nccl_bench_close(&s.bench);
}

static void names_the_operation_that_nobody_comes_to(void **state)
{
    (void)state;
    for (uint64_t order = 0; order < 4; order++) {
        static session s;
        run_session(&s, ABSENT, seed + order);
        ranks_run(s.bench.ranks, 3, run_rank, &s);
        expect(&s, 0, CZR_ERR_TIMEOUT,
               "operation 1, all_reduce: rank 0 waited 1000 ms for the 2 "
               "others");
        expect(&s, 2, CZR_ERR_TIMEOUT, "operation 1, all_reduce: rank 2");
        assert_true(fake_nccl_aborted() > 0);
        nccl_bench_close(&s.bench);
    }
}

/* Of what the two others wait for, operation 0 or 1, is not said: the first may
 * have come to its end or not. */
static void says_that_a_connection_broke(void **state)
{
    static session s;

    (void)state;
    run_session(&s, BROKEN, seed);
    ranks_run(s.bench.ranks, 3, run_rank, &s);
    expect(&s, 1, CZR_ERR_ABORTED, "sentence of NCCL for 6");
    expect(&s, 0, CZR_ERR_TIMEOUT, "all_reduce: rank 0 waited");
    expect(&s, 2, CZR_ERR_TIMEOUT, "all_reduce: rank 2 waited");
    nccl_bench_close(&s.bench);
}

static void says_that_it_broke_while_it_waited(void **state)
{
    static session s;

    (void)state;
    run_session(&s, BREAKS, seed);
    ranks_run(s.bench.ranks, 3, run_rank, &s);
    expect(&s, 0, CZR_ERR_ABORTED, "sentence of NCCL for 6");
    expect(&s, 2, CZR_ERR_TIMEOUT, "operation 1, all_reduce: rank 2");
    nccl_bench_close(&s.bench);
}

/* NCCL up to 2.22: the call waits for room, and only the abort makes some. */
static void ends_a_call_that_waits_for_a_full_queue(void **state)
{
    (void)state;
    for (uint64_t order = 0; order < 4; order++) {
        static session s;
        const int64_t start = czr_now_ms();
        run_session(&s, FULL, seed + order);
        fake_nccl_set_room(1);
        ranks_run(s.bench.ranks, 3, run_rank, &s);
        const int64_t ms = czr_now_ms() - start;
        expect(&s, 0, CZR_ERR_TIMEOUT, "operation 1, all_reduce: rank 0");
        expect(&s, 2, CZR_ERR_TIMEOUT, "operation 1, all_reduce: rank 2");
        if (ms > MOST_MS)
            fail_msg("the deadline is %d ms, and it took %lld ms", DEADLINE_MS,
                     (long long)ms);
        nccl_bench_close(&s.bench);
    }
}

static void aborts_nothing_under_a_call_that_returns(void **state)
{
    (void)state;
    for (uint64_t order = 0; order < 4; order++) {
        static session s;
        run_session(&s, SLOW, seed + order);
        fake_nccl_set_room(N);
        ranks_run(s.bench.ranks, 3, run_rank, &s);
        expect(&s, 0, CZR_ERR_TIMEOUT, ", all_reduce: rank 0 waited 1000 ms");
        nccl_bench_close(&s.bench);
    }
}

static void ends_what_is_aborted(void **state)
{
    static session s;

    (void)state;
    run_session(&s, ABORTS, seed);
    ranks_run(s.bench.ranks, 3, run_rank, &s);
    expect(&s, 1, CZR_ERR_ABORTED, "rank 1 has had enough");
    expect(&s, 0, CZR_ERR_TIMEOUT, "all_reduce: rank 0 waited");
    nccl_bench_close(&s.bench);
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
        ranks_run(s.bench.ranks, 3, run_rank, &s);
        const int64_t n = fake_calls() - before;
        least = n < least ? n : least;
        nccl_bench_close(&s.bench);
    }
    return least;
}

/* Whether a rank that says OK has what it should have. */
static void check_ranks(const session *s, int64_t nth)
{
    for (int i = 0; i < 3; i++)
        if (s->bench.ranks[i].status == CZR_OK && !s->is_right[i])
            fail_msg("call %lld fails, and rank %d takes wrong sums for right",
                     (long long)nth, i);
}

static void leaves_nothing_where_a_call_fails(void **state)
{
    const int64_t n = count_calls();
    int n_said = 0, n_came = 0;

    (void)state;
    assert_true(n > LEAST_CALLS);
    for (int k = 0; k < n_failures; k++) {
        static session s;
        int failures = 0;
        const int64_t nth = 1 + (n - 1) * k / n_failures;
        run_session(&s, FAILING, seed + (uint64_t)k);
        fake_fail(NULL, nth, 999);
        ranks_run(s.bench.ranks, 3, run_rank, &s);
        n_came += fake_has_failed(); /* not all sessions have as many */
        check_ranks(&s, nth);
        for (int i = 0; i < 3; i++)
            failures += s.bench.ranks[i].status != CZR_OK;
        n_said += failures > 0;
        nccl_bench_close(&s.bench);
    }
    printf("%lld calls, %d of them fail in turn, %d of those are said\n",
           (long long)n, n_came, n_said);
    assert_true(n_came > n_failures / 2);
    assert_true(n_said > n_failures / 2);
}

/* Copies that a failed wait left on a stream came to memory that was gone. */
static void waits_for_copies_where_a_wait_fails(void **state)
{
    enum { WAITS = 40 };
    int n_came = 0;

    (void)state;
    for (int nth = 1; nth <= WAITS; nth++) {
        static session s;
        run_session(&s, FAILING, seed + (uint64_t)nth);
        fake_fail("cuStreamQuery", nth, 999);
        ranks_run(s.bench.ranks, 3, run_rank, &s);
        n_came += fake_has_failed();
        check_ranks(&s, nth);
        nccl_bench_close(&s.bench);
    }
    printf("%d waits of %d failed\n", n_came, WAITS);
    assert_true(n_came > WAITS / 2);
}

/* ---- two communicators -------------------------------------------------- */

/* One unit each on two streams, to which rank 1 does not come. */
static czr_status put_two(session *s, test_rank *self, czr_world *world,
                          void *const *streams)
{
    czr_comm *comms[OPS] = {NULL};
    czr_address data = 0;
    czr_context *context = self->context;
    char *why = s->why[self->rank];
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
    session *s = user;
    sums_bench sums = {0};
    czr_world *world = NULL;
    void *streams[2] = {NULL};

    for (int i = 0; i < 2; i++)
        RANK_CHECK(czr_context_open_stream(self->context, &streams[i]) ==
                   CZR_OK);
    self->status = nccl_bench_world(
        &s->bench, self, &sums,
        (czr_world_nccl_options){.is_strict = true, .deadline_ms = DEADLINE_MS},
        &world);
    if (self->status == CZR_OK)
        self->status = put_two(s, self, world, streams);
    czr_world_nccl_close(world);
    czr_module_close(&sums.module);
    for (int i = 0; i < 2; i++)
        czr_context_close_stream(self->context, streams[i]);
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
        ranks_run(s.bench.ranks, 3, run_two, &s);
        const int64_t ms = czr_now_ms() - start;
        if (ms > MOST_MS)
            fail_msg("order %llu: the deadline is %d ms, and it took %lld ms",
                     (unsigned long long)order, DEADLINE_MS, (long long)ms);
        for (int rank = 0; rank < 3; rank += 2)
            expect(&s, rank, CZR_ERR_TIMEOUT, ", all_reduce: rank");
        n_crowded += fake_nccl_crowded();
        nccl_bench_close(&s.bench);
    }
    printf("%lld aborts beside another communicator's kernel\n",
           (long long)n_crowded);
    assert_true(n_crowded >= WANTED);
}

/* ---- out of turn -------------------------------------------------------- */

static void put_out_of_turn(test_rank *self, void *user)
{
    const session *s = user;
    char why[CZR_WHY_BYTES];
    sums_bench sums;
    czr_world *world;
    czr_collective unit = unit_of(1, 256, NULL);

    RANK_CHECK(
        nccl_bench_world(&s->bench, self, &sums,
                         (czr_world_nccl_options){.deadline_ms = PATIENCE_MS},
                         &world) == CZR_OK);
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
    RANK_CHECK(czr_world_barrier(world) == CZR_OK);
    czr_world_nccl_close(world);
    czr_module_close(&sums.module);
}

static void refuses_units_out_of_turn(void **state)
{
    static session s;

    (void)state;
    run_session(&s, NONE, seed);
    ranks_run(s.bench.ranks, 3, put_out_of_turn, &s);
    nccl_bench_close(&s.bench);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_well_without_faults),
        cmocka_unit_test(names_the_operation_that_nobody_comes_to),
        cmocka_unit_test(says_that_a_connection_broke),
        cmocka_unit_test(says_that_it_broke_while_it_waited),
        cmocka_unit_test(ends_a_call_that_waits_for_a_full_queue),
        cmocka_unit_test(aborts_nothing_under_a_call_that_returns),
        cmocka_unit_test(ends_what_is_aborted),
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
