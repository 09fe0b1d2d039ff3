/* A world over a transport: what trainers call has the results of threads, bit
 * by bit; what is wrong, and who fails, is named on all ranks. */
#define _GNU_SOURCE
#include "tests/unit/unit.h"

#include "runtime/world/world.h"
#include "tests/unit/runtime/world/processes.h"

enum { MAX_RANKS = 6, DEADLINE_MS = 700, SLACK_MS = 2000 };
/* Of the second, members have more than a slot. */
static const size_t counts[] = {37, 800001};
enum { N_COUNTS = 2, MOST = 800001 };

/* ---- results ------------------------------------------------------------ */

static float value_of(int rank, size_t i)
{
    return (float)((size_t)(rank + 1) * (i % 1009 + 3)) / 7;
}

/* Hashes of what a rank has behind sums and gathers of all types. */
typedef struct results {
    uint64_t of[N_COUNTS][4], of_units[3];
} results;

static uint64_t hash(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ at[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static czr_status add_up(czr_world *world, size_t n, czr_dtype dtype,
                         void *memory, uint64_t *out)
{
    const int rank = czr_world_rank(world);
    float *data = memory;
    czr_bf16 *narrow = memory;
    double *wide = memory;

    for (size_t i = 0; i < n; i++)
        if (dtype == CZR_F32)
            data[i] = value_of(rank, i);
        else if (dtype == CZR_F64)
            wide[i] = (double)value_of(rank, i) / 3;
        else
            narrow[i] = czr_f32_to_bf16(value_of(rank, i));
    const czr_status status =
        czr_world_all_reduce(world, NULL, memory, n, dtype);
    *out = hash(memory, n * czr_dtype_bytes(dtype));
    return status;
}

/* Units of subgroups: chunks of more than a slot, of rows too. */
static czr_status run_units(czr_world *world, float *data, results *out)
{
    enum { SIDE = 864, BLOCKS = 12, COUNT = SIDE * SIDE };
    const czr_band band = {SIDE, BLOCKS};
    const czr_collective units[] = {
        {.kind = CZR_COLLECTIVE_SUM_SCATTER,
         .of.all_reduce = {.data = data, .count = COUNT, .type = CZR_SUM_F32}},
        {.kind = CZR_COLLECTIVE_SUM_SCATTER,
         .of.all_reduce = {data, COUNT, CZR_SUM_F32, band}},
        {.kind = CZR_COLLECTIVE_BAND_GATHER,
         .of.band_gather = {(unsigned char *)data, sizeof *data, band}}};
    czr_status status = CZR_OK;

    for (int u = 0; u < 3 && status == CZR_OK; u++) {
        char why[CZR_WHY_BYTES];
        for (size_t i = 0; i < COUNT; i++)
            data[i] = value_of(czr_world_rank(world), i);
        status =
            czr_comm_run(world->everyone[CZR_CHANNEL_PLAN], &units[u], why);
        out->of_units[u] = hash(data, COUNT * sizeof *data);
    }
    return status;
}

static czr_status find_results(czr_world *world, results *out)
{
    const int rank = czr_world_rank(world);
    const size_t size = (size_t)czr_world_size(world);
    double *memory = malloc(MOST * sizeof *memory);
    float *all = malloc(MOST * size * sizeof *all);
    czr_status status = memory && all ? CZR_OK : CZR_ERR_NO_MEMORY;

    for (int c = 0; c < N_COUNTS && status == CZR_OK; c++) {
        for (int t = 0; t < CZR_F16 && status == CZR_OK; t++)
            status =
                add_up(world, counts[c], (czr_dtype)t, memory, &out->of[c][t]);
        float *mine = (float *)(void *)memory;
        for (size_t i = 0; i < counts[c]; i++)
            mine[i] = value_of(rank, i);
        if (status == CZR_OK)
            status = czr_world_all_gather(world, NULL, mine, all, counts[c],
                                          CZR_F32);
        out->of[c][3] = hash(all, counts[c] * size * sizeof *all);
        if (status == CZR_OK)
            status = czr_world_barrier(world);
    }
    if (status == CZR_OK)
        status = run_units(world, (float *)(void *)memory, out);
    free(memory);
    free(all);
    return status;
}

static czr_status thread_body(czr_world *world, void *user)
{
    return find_results(world, (results *)user + czr_world_rank(world));
}

static int process_body(process *self, void *user)
{
    const czr_transport transport = process_transport(self);
    czr_world *world;

    alarm(60);
    if (czr_world_open(&transport, &world) != CZR_OK)
        return 1;
    world->deadline_ms = 30000;
    const czr_status status = find_results(world, (results *)user + self->rank);
    czr_world_close(world);
    return status != CZR_OK || !self->is_closed;
}

static void results_are_those_of_threads(void **state)
{
    results expected[MAX_RANKS], *found = process_memory(sizeof expected);

    assert_non_null(found);
    for (int ranks = 1; ranks <= MAX_RANKS; ranks += ranks < 3 ? 1 : 3) {
        int how[PROCESSES_MOST];
        memset(found, 0, sizeof expected);
        assert_int_equal(czr_world_threads_run(ranks, thread_body, expected),
                         CZR_OK);
        assert_true(process_run(ranks, process_body, found, how));
        for (int rank = 0; rank < ranks; rank++) {
            assert_int_equal(how[rank], 0);
            assert_memory_equal(&found[rank], &expected[rank],
                                sizeof *expected);
        }
    }
}

/* ---- what is wrong ------------------------------------------------------ */

static void a_world_of_one_rank_needs_no_transport(void **state)
{
    float data[2] = {1, 2}, all[2] = {0};
    czr_world *world = NULL;

    assert_int_equal(czr_world_open(NULL, &world), CZR_OK);
    assert_int_equal(czr_world_rank(world), 0);
    assert_int_equal(czr_world_size(world), 1);
    assert_int_equal(czr_world_all_reduce(world, NULL, data, 2, CZR_F32),
                     CZR_OK);
    assert_int_equal(czr_world_all_gather(world, NULL, data, all, 2, CZR_F32),
                     CZR_OK);
    assert_int_equal(czr_world_barrier(world), CZR_OK);
    assert_memory_equal(all, data, sizeof all);
    czr_world_close(world);
    czr_world_close(NULL);
}

static void transports_that_make_no_sense_are_refused(void **state)
{
    process self = {.rank = 0, .ranks = 2};
    const czr_transport good = process_transport(&self);
    czr_transport wrong[] = {good, good, good, good, good};
    czr_world *world = (czr_world *)&self;

    wrong[0].size--;
    wrong[1].ranks = 0;
    wrong[2].rank = 2;
    wrong[3].rank = -1;
    wrong[4].exchange = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(czr_world_open(&wrong[i], &world), CZR_ERR_ARGUMENT);
        assert_null(world);
    }
    assert_int_equal(czr_world_open(&good, NULL), CZR_ERR_ARGUMENT);
    assert_false(self.is_closed);
}

/* ---- failures ----------------------------------------------------------- */

/* What rank 1 of three does instead of a barrier. */
typedef enum wrong {
    ADDS_UP,
    ADDS_UP_MORE,
    LEAVES,
    IS_KILLED,
    STANDS,
    ERRS,
    ABORTS,
    N_WRONGS
} wrong;

typedef struct trial {
    wrong kind;
    czr_status seen[3], later[3];
    int64_t ms[3];
    char said[3][CZR_WHY_BYTES];
} trial;

static czr_status strike(process *self, int channel, char *why)
{
    const trial *t = self->user;

    if (self->rank != 1)
        return CZR_OK;
    if (t->kind == IS_KILLED)
        raise(SIGKILL);
    if (t->kind == STANDS)
        raise(SIGSTOP);
    snprintf(why, CZR_WHY_BYTES, "the cable is gone");
    return t->kind == ERRS ? CZR_ERR_NCCL : CZR_OK;
}

static czr_status do_wrong(trial *t, czr_world *world)
{
    float data[5] = {0};

    if (t->kind == LEAVES)
        _exit(0);
    if (t->kind == ABORTS)
        world->ops->abort(world, "rank 1 is out of ideas");
    if (t->kind == ADDS_UP || t->kind == ADDS_UP_MORE)
        return czr_world_all_reduce(world, NULL, data,
                                    t->kind == ADDS_UP ? 4 : 5, CZR_F32);
    return czr_world_barrier(world);
}

static int wrong_body(process *self, void *user)
{
    const czr_transport transport = process_transport(self);
    const int rank = self->rank;
    trial *t = user;
    float data[4] = {0};
    czr_world *world;

    alarm(60);
    self->user = t;
    self->strike = strike;
    if (czr_world_open(&transport, &world) != CZR_OK)
        return 1;
    world->deadline_ms = DEADLINE_MS;
    const int64_t start = process_now_ms();
    t->seen[rank] = rank == 1 ? do_wrong(t, world)
                    : t->kind == ADDS_UP_MORE
                        ? czr_world_all_reduce(world, NULL, data, 4, CZR_F32)
                        : czr_world_barrier(world);
    t->ms[rank] = process_now_ms() - start;
    snprintf(t->said[rank], CZR_WHY_BYTES, "%s", czr_world_error(world));
    t->later[rank] = czr_world_barrier(world);
    czr_world_close(world);
    return 0;
}

static void who_fails_is_named(void **state)
{
    static const struct {
        czr_status others, own; /* CZR_OK: says nothing */
        const char *words;
    } expected[N_WRONGS] = {
        [ADDS_UP] = {CZR_ERR_MISMATCH, CZR_ERR_MISMATCH,
                     "is in another collective, or of another size"},
        [ADDS_UP_MORE] = {CZR_ERR_MISMATCH, CZR_ERR_MISMATCH,
                          "is in another collective, or of another size"},
        [LEAVES] = {CZR_ERR_ENDED, CZR_OK, "rank 1 has ended"},
        [IS_KILLED] = {CZR_ERR_ENDED, CZR_OK, "rank 1 has ended"},
        [STANDS] = {CZR_ERR_TIMEOUT, CZR_OK,
                    "waited 700 ms for rank 1, which did not come"},
        [ERRS] = {CZR_ERR_ABORTED, CZR_ERR_NCCL, "the cable is gone"},
        [ABORTS] = {CZR_ERR_ABORTED, CZR_ERR_ABORTED, "is out of ideas"},
    };
    trial *t = process_memory(sizeof *t);

    assert_non_null(t);
    for (int kind = 0; kind < N_WRONGS; kind++) {
        int how[PROCESSES_MOST];
        memset(t, 0, sizeof *t);
        t->kind = (wrong)kind;
        assert_true(process_run(3, wrong_body, t, how));
        for (int rank = 0; rank < 3; rank++) {
            const czr_status want =
                rank == 1 ? expected[kind].own : expected[kind].others;
            if (want == CZR_OK)
                continue;
            /* Who hears of the other's failure first has its words. */
            if (t->seen[rank] != CZR_ERR_ABORTED)
                assert_int_equal(t->seen[rank], want);
            if (!strstr(t->said[rank], expected[kind].words) ||
                t->ms[rank] >= DEADLINE_MS + SLACK_MS)
                print_message("%d, rank %d, %lld ms: \"%s\"\n", kind, rank,
                              (long long)t->ms[rank], t->said[rank]);
            assert_non_null(strstr(t->said[rank], expected[kind].words));
            assert_int_equal(t->later[rank], CZR_ERR_ABORTED);
            assert_true(t->ms[rank] < DEADLINE_MS + SLACK_MS);
            assert_int_equal(how[rank], 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_threads),
        cmocka_unit_test(a_world_of_one_rank_needs_no_transport),
        cmocka_unit_test(transports_that_make_no_sense_are_refused),
        cmocka_unit_test(who_fails_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
