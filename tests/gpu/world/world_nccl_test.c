/* The world of NCCL beside that of threads, bit by bit: drawn programs of
 * communication, what trainers call, borrowed communicators, options that
 * differ.
 *
 * world_nccl_test [SEED [PROGRAMS]] */
#define _POSIX_C_SOURCE 200809L
#include "tests/gpu/world/nccl_bench.h"
#include "tests/gpu/driver/drawn_units.h"

enum { STEPS = 2, DEADLINE_MS = 30000, SHORT_MS = 200, LONG = 40000 };

static uint64_t seed = 20261123;
static int n_programs = 60;

/* ---- drawn programs ----------------------------------------------------- */

typedef struct session {
    ranks_bench bench;
    units_run run; /* arenas: what ranks begin with, then what they end with */
    size_t slot_bytes;
} session;

static czr_status put_units(const units_plan *plan, czr_world *world,
                            czr_comm **comms, void **streams,
                            unsigned char *arena)
{
    char why[CZR_WHY_BYTES];
    czr_status status = CZR_OK;

    for (int op = 0; op < UNITS_OPS && status == CZR_OK; op++) {
        czr_collective unit = units_of(plan, op, comms[op], arena);
        unit.stream = streams[op % 2];
        status = czr_comm_run(comms[op], &unit, why);
        if (status != CZR_OK)
            fprintf(stderr, "rank %d, operation %d: %s\n", world->rank, op,
                    why);
    }
    return status;
}

static void copy_arena(test_rank *self, const units_run *run, czr_address arena,
                       bool is_back, void *stream)
{
    const czr_address host = czr_address_of(run->arenas[self->rank]);

    RANK_CHECK(czr_context_copy(self->context, is_back ? host : arena,
                                is_back ? arena : host, run->plan->bytes,
                                stream) == CZR_OK);
    RANK_CHECK(czr_context_synchronize(self->context, stream, DEADLINE_MS) ==
               CZR_OK);
}

static czr_status run_units(test_rank *self, czr_world *world, void *user)
{
    const session *s = user;
    const units_plan *plan = s->run.plan;
    czr_context *context = self->context;
    czr_comm *comms[UNITS_OPS];
    czr_address arena;
    void *streams[2];

    RANK_CHECK(units_join(plan, world, comms) == CZR_OK);
    RANK_CHECK(czr_world_nccl_prepare(world, &plan->program, comms) == CZR_OK);
    RANK_CHECK(czr_context_alloc(context, plan->bytes, &arena) == CZR_OK);
    for (int i = 0; i < 2; i++)
        RANK_CHECK(czr_context_open_stream(context, &streams[i]) == CZR_OK);
    copy_arena(self, &s->run, arena, false, streams[0]);
    const int64_t blocks = fake_count().blocks;
    for (int step = 0; step < STEPS; step++) {
        char why[CZR_WHY_BYTES];
        RANK_CHECK(czr_world_nccl_begin(world, streams[0]) == CZR_OK);
        RANK_CHECK(put_units(plan, world, comms, streams,
                             czr_pointer_of(arena)) == CZR_OK);
        for (int i = 0; i < 2; i++)
            RANK_CHECK(czr_context_synchronize(context, streams[i],
                                               DEADLINE_MS) == CZR_OK);
        RANK_CHECK(czr_world_nccl_check(world, why) == CZR_OK);
    }
    RANK_CHECK(self->size > 1 || fake_count().blocks == blocks);
    copy_arena(self, &s->run, arena, true, streams[0]);
    for (int i = 0; i < 2; i++)
        czr_context_close_stream(context, streams[i]);
    czr_context_free(context, arena);
    return CZR_OK;
}

static void run_rank(test_rank *self, void *user)
{
    const session *s = user;

    nccl_bench_run(&s->bench, self,
                   (czr_world_nccl_options){.is_strict = !s->run.plan->is_exact,
                                            .slot_bytes = s->slot_bytes,
                                            .deadline_ms = DEADLINE_MS},
                   run_units, user);
    if (self->status != CZR_OK)
        fprintf(stderr, "rank %d: %s\n", self->rank, self->message);
}

/* Where two arenas differ first, as an operation; -1: nowhere. */
static int find_difference(const units_plan *plan, const unsigned char *a,
                           const unsigned char *b)
{
    int found = -1;

    for (size_t i = 0; i < plan->bytes; i++)
        for (int op = 0; a[i] != b[i] && found < 0 && op < UNITS_OPS; op++)
            if (plan->at[op] <= i &&
                (op + 1 == UNITS_OPS || i < plan->at[op + 1]))
                found = op;
    return found;
}

/* Of all programs so far; of those in any order, and of strict ones. */
static int64_t n_reduces[2], n_broadcasts;

static void compare_with_threads(const units_plan *plan, uint64_t order)
{
    const int n = units_ranks(plan);
    uint64_t random = order;
    units_run expected = {.plan = plan};
    session s = {.slot_bytes = order % 3 ? 0 : 1000 + order % 5000};

    ranks_open(&s.bench, n, order, true);
    s.run.plan = plan;
    for (int i = 0; i < n; i++) {
        expected.arenas[i] = aligned_alloc(CZR_ALIGN, plan->bytes);
        s.run.arenas[i] = aligned_alloc(CZR_ALIGN, plan->bytes);
        units_fill(plan, expected.arenas[i], &random);
        memcpy(s.run.arenas[i], expected.arenas[i], plan->bytes);
    }
    for (int step = 0; step < STEPS; step++)
        assert_int_equal(units_by_threads(&expected), CZR_OK);
    ranks_run(s.bench.of, n, run_rank, &s);
    for (int i = 0; i < n; i++) {
        assert_int_equal(s.bench.of[i].status, CZR_OK);
        const int op =
            find_difference(plan, expected.arenas[i], s.run.arenas[i]);
        if (op >= 0)
            fail_msg("rank %d of %d: operation %d (%s) has other bits, order "
                     "%llu",
                     i, n, op, czr_op_kind_name(plan->ops[op].kind),
                     (unsigned long long)order);
        free(expected.arenas[i]);
        free(s.run.arenas[i]);
    }
    assert_int_equal(fake_nccl_aborted(), 0);
    n_reduces[!plan->is_exact] += fake_nccl_reduces();
    n_broadcasts += fake_nccl_broadcasts();
    ranks_close(&s.bench);
}

static void has_the_bits_of_threads(void **state)
{
    static units_plan plan;
    uint64_t random = seed;

    (void)state;
    for (int i = 0; i < n_programs; i++) {
        units_make(&plan, i % 2, &random);
        compare_with_threads(&plan, random);
    }
    /* Uneven slices, by NCCL's own collectives but for sums in an order. */
    assert_true(n_programs < 20 || (n_reduces[0] > 0 && n_broadcasts > 0));
    assert_int_equal(n_reduces[1], 0);
}

/* ---- trainers ----------------------------------------------------------- */

typedef struct sharing {
    ranks_bench bench;
    float *sums[RANKS_MOST];
    uint16_t *parts[RANKS_MOST]; /* [ranks][LONG] */
} sharing;

static czr_status share_numbers(czr_world *world, void *user)
{
    const sharing *s = user;
    const int rank = czr_world_rank(world);
    static uint16_t part[RANKS_MOST][LONG];

    for (int i = 0; i < LONG; i++) {
        s->sums[rank][i] = (float)((i * 7 + rank * 13) % 101) * 0.37f;
        part[rank][i] = (uint16_t)(i * 31 + rank);
    }
    czr_status status = czr_world_barrier(world);
    if (status == CZR_OK)
        status =
            czr_world_all_reduce(world, NULL, s->sums[rank], LONG, CZR_F32);
    if (status == CZR_OK)
        status = czr_world_all_gather(world, NULL, part[rank], s->parts[rank],
                                      LONG, CZR_BF16);
    return status;
}

static czr_status share_by_body(test_rank *self, czr_world *world, void *user)
{
    (void)self;
    return share_numbers(world, user);
}

static void share_by_nccl(test_rank *self, void *user)
{
    const sharing *s = user;

    nccl_bench_run(&s->bench, self,
                   (czr_world_nccl_options){.deadline_ms = DEADLINE_MS},
                   share_by_body, user);
}

static void open_sharing(sharing *s, int n)
{
    for (int i = 0; i < n; i++) {
        s->sums[i] = malloc(LONG * sizeof *s->sums[i]);
        s->parts[i] = malloc((size_t)n * LONG * sizeof *s->parts[i]);
        assert_true(s->sums[i] && s->parts[i]);
    }
}

static void close_sharing(sharing *s, int n)
{
    for (int i = 0; i < n; i++) {
        free(s->sums[i]);
        free(s->parts[i]);
    }
}

static void serves_trainers_as_threads_do(void **state)
{
    (void)state;
    for (int n = 1; n <= 5; n += 2) {
        static sharing ours, theirs;
        ranks_open(&ours.bench, n, seed + (uint64_t)n, true);
        open_sharing(&ours, n);
        open_sharing(&theirs, n);
        assert_int_equal(czr_world_threads_run(n, share_numbers, &theirs),
                         CZR_OK);
        ranks_run(ours.bench.of, n, share_by_nccl, &ours);
        for (int i = 0; i < n; i++) {
            assert_int_equal(ours.bench.of[i].status, CZR_OK);
            assert_memory_equal(ours.sums[i], theirs.sums[i],
                                LONG * sizeof *ours.sums[i]);
            assert_memory_equal(ours.parts[i], theirs.parts[i],
                                (size_t)n * LONG * sizeof *ours.parts[i]);
        }
        close_sharing(&ours, n);
        close_sharing(&theirs, n);
        ranks_close(&ours.bench);
    }
}

/* ---- opening ------------------------------------------------------------ */

static czr_status meet(test_rank *self, czr_world *world, void *user)
{
    (void)self;
    (void)user;
    return czr_world_barrier(world);
}

/* The caller's communicator is there before and behind it. */
static void borrow(test_rank *self, void *user)
{
    const ranks_bench *bench = user;
    czr_nccl_comm callers;
    int size = 0;

    RANK_CHECK(czr_nccl_comm_open(self->nccl, &bench->id, self->size,
                                  self->rank, DEADLINE_MS, &callers,
                                  self->message) == CZR_OK);
    nccl_bench_run(bench, self,
                   (czr_world_nccl_options){.borrowed = callers.handle,
                                            .deadline_ms = DEADLINE_MS},
                   meet, NULL);
    RANK_CHECK(self->nccl->count(callers.handle, &size) == 0 &&
               size == self->size);
    czr_nccl_comm_close(&callers, DEADLINE_MS);
}

static void gives_back_what_it_borrowed(void **state)
{
    ranks_bench bench;

    (void)state;
    ranks_open(&bench, 3, seed, true);
    ranks_run(bench.of, 3, borrow, &bench);
    for (int i = 0; i < 3; i++)
        assert_int_equal(bench.of[i].status, CZR_OK);
    assert_int_equal(fake_nccl_aborted(), 0);
    ranks_close(&bench);
}

static void open_differently(test_rank *self, void *user)
{
    nccl_bench_run(user, self,
                   (czr_world_nccl_options){.is_strict = self->rank == 1,
                                            .deadline_ms = DEADLINE_MS},
                   meet, NULL);
}

static void refuses_options_that_differ(void **state)
{
    ranks_bench bench;

    (void)state;
    ranks_open(&bench, 3, seed, true);
    ranks_run(bench.of, 3, open_differently, &bench);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bench.of[i].status, CZR_ERR_MISMATCH);
        assert_non_null(strstr(bench.of[i].message, "other options"));
    }
    ranks_close(&bench);
}

/* ---- an id by broadcast ------------------------------------------------- */

typedef struct broadcasts {
    ranks_bench bench;
    pthread_barrier_t barrier;
    unsigned char bytes[256]; /* of rank 0 */
    _Atomic int n_calls;
    int64_t deadline_ms;
    int failing; /* a rank whose broadcast fails, -1: none */
} broadcasts;

/* What a rank's options have as user. */
typedef struct caller {
    broadcasts *all;
    const test_rank *self;
} caller;

static czr_status broadcast(void *user, void *bytes, size_t n, int root)
{
    const caller *c = user;
    broadcasts *all = c->all;

    all->n_calls++;
    RANK_CHECK(root == 0 && n <= sizeof all->bytes);
    if (c->self->rank == root)
        memcpy(all->bytes, bytes, n);
    fake_end_turn();
    pthread_barrier_wait(&all->barrier);
    fake_begin_turn();
    memcpy(bytes, all->bytes, n);
    return c->self->rank == all->failing ? CZR_ERR_ENDED : CZR_OK;
}

static void open_by_broadcast(test_rank *self, void *user)
{
    broadcasts *all = user;
    caller c = {all, self};

    nccl_bench_run(&all->bench, self,
                   (czr_world_nccl_options){.broadcast = broadcast,
                                            .user = &c,
                                            .deadline_ms = all->deadline_ms},
                   meet, NULL);
}

enum { ROOM = 3 }; /* ranks that open by broadcast */

/* With `failing` a rank whose broadcast fails; fail_id: the first rank gets no
 * id of NCCL's. */
static void run_broadcasts(broadcasts *all, int failing, bool fail_id)
{
    *all = (broadcasts){.failing = failing,
                        .deadline_ms = failing < 0 ? DEADLINE_MS : SHORT_MS};
    ranks_open(&all->bench, ROOM, seed, true);
    pthread_barrier_init(&all->barrier, NULL, ROOM);
    if (fail_id)
        fake_fail("ncclGetUniqueId", 1, CZR_NCCL_SYSTEM_ERROR);
    ranks_run(all->bench.of, ROOM, open_by_broadcast, all);
    pthread_barrier_destroy(&all->barrier);
    assert_int_equal(all->n_calls, ROOM);
    ranks_close(&all->bench);
}

static void finds_the_others_by_broadcast(void **state)
{
    broadcasts all;

    (void)state;
    run_broadcasts(&all, -1, false);
    for (int i = 0; i < ROOM; i++)
        assert_int_equal(all.bench.of[i].status, CZR_OK);
}

static void all_fail_where_the_first_has_no_id(void **state)
{
    broadcasts all;

    (void)state;
    run_broadcasts(&all, -1, true);
    for (int i = 0; i < ROOM; i++) {
        assert_int_equal(all.bench.of[i].status, CZR_ERR_NCCL);
        const char *said = all.bench.of[i].message;
        if (!strstr(said, i ? "rank 0 could not make an id" : "making an id"))
            fail_msg("\"%s\" has other words", said);
    }
}

/* The others wait for that rank. */
static void a_broadcast_that_fails_ends_the_opening(void **state)
{
    broadcasts all;

    (void)state;
    run_broadcasts(&all, 2, false);
    assert_int_equal(all.bench.of[2].status, CZR_ERR_ENDED);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(all.bench.of[i].status, CZR_ERR_TIMEOUT);
        assert_non_null(
            strstr(all.bench.of[i].message, "waited 200 ms for the"));
    }
}

static void open_by_nothing(test_rank *self, void *user)
{
    const ranks_bench *bench = user;
    const czr_world_nccl_options options = {.nccl = bench->nccl, .size = 1};
    czr_world *world;

    self->status =
        czr_world_nccl_open(self->context, &options, &world, self->message);
    RANK_CHECK(!world);
}

static void wants_an_id_or_a_broadcast(void **state)
{
    ranks_bench bench;

    (void)state;
    ranks_open(&bench, 1, seed, true);
    ranks_run(bench.of, 1, open_by_nothing, &bench);
    assert_int_equal(bench.of[0].status, CZR_ERR_ARGUMENT);
    assert_non_null(strstr(bench.of[0].message, "nor a broadcast"));
    ranks_close(&bench);
}

/* ---- refusals ----------------------------------------------------------- */

static void open_plainly(test_rank *self, void *user)
{
    nccl_bench_run(user, self,
                   (czr_world_nccl_options){.deadline_ms = DEADLINE_MS}, meet,
                   NULL);
}

static void says_what_nccl_says(void **state)
{
    ranks_bench bench;

    (void)state;
    ranks_open(&bench, 4, seed, true);
    bench.of[3].device = 1;
    ranks_run(bench.of, 4, open_plainly, &bench);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(bench.of[i].status, CZR_ERR_NCCL);
        if (!strstr(bench.of[i].message, FAKE_DUPLICATE_GPU))
            fail_msg("\"%s\" has other words", bench.of[i].message);
    }
    ranks_close(&bench);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_bits_of_threads),
        cmocka_unit_test(serves_trainers_as_threads_do),
        cmocka_unit_test(gives_back_what_it_borrowed),
        cmocka_unit_test(finds_the_others_by_broadcast),
        cmocka_unit_test(all_fail_where_the_first_has_no_id),
        cmocka_unit_test(a_broadcast_that_fails_ends_the_opening),
        cmocka_unit_test(wants_an_id_or_a_broadcast),
        cmocka_unit_test(refuses_options_that_differ),
        cmocka_unit_test(says_what_nccl_says),
    };

    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        n_programs = atoi(argv[2]);
    printf("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
