/* Schedules of transfers, run by the threads world: boxes arrive where they
 * should; one that only works with buffers ends with a name on every rank. */
#include "tests/unit/unit.h"
#include "runtime/engine/engine.h"

enum {
    MAX_RANKS = 6,
    ARENA = 1 << 14,
    HALF = ARENA / 2, /* sends lie below, receives above */
    MAX_ROWS = 64,
    MAX_OPS = 4
};

static const char *const axes[] = {"tp"};
static const char hash[] = "0123456789abcdef0123456789abcdef"
                           "0123456789abcdef0123456789abcdef";

/* A program of nothing but transfers, with rows per rank. */
typedef struct schedule {
    czr_program program;
    int32_t size;
    int64_t arena;
    int n_ops;
    czr_op ops[MAX_OPS];
    czr_table tables[MAX_OPS];
    int32_t starts[MAX_OPS][MAX_RANKS + 1];
    czr_box rows[MAX_OPS][MAX_RANKS * MAX_ROWS];
    czr_transfer_entry entries[MAX_OPS]
                              [MAX_RANKS * MAX_ROWS]; /* one for each */
    czr_options options;
    int fills; /* whether bytes are checked */
    czr_status seen[MAX_RANKS];
} schedule;

static void init(schedule *self, int ranks, int n_ops, int64_t deadline_ms)
{
    memset(self, 0, sizeof *self);
    self->size = ranks;
    self->arena = ARENA;
    self->n_ops = n_ops;
    self->options.deadline_ms = deadline_ms;
    for (int op = 0; op < n_ops; op++) {
        self->ops[op] = (czr_op){.kind = CZR_TRANSFER,
                                 .stream = (uint8_t)(op % 2),
                                 .section = CZR_SECTION_UPDATE,
                                 .comm = 1,
                                 .bucket = -1,
                                 .table = op};
        self->tables[op] = (czr_table){CZR_ENTRY_TRANSFER, 1, NULL,
                                       self->starts[op], self->entries[op]};
    }
    self->program = (czr_program){.abi = CZR_ABI,
                                  .name = "transfers",
                                  .plan_hash = hash,
                                  .n_axes = 1,
                                  .axes = axes,
                                  .sizes = &self->size,
                                  .n_tables = n_ops,
                                  .tables = self->tables,
                                  .n_ops = n_ops,
                                  .ops = self->ops,
                                  .arena_bytes = &self->arena};
}

/* Rows of an op must come rank by rank. */
static void add(schedule *self, int op, int rank, czr_box row)
{
    int32_t *starts = self->starts[op];

    self->rows[op][starts[rank + 1]] = row;
    self->entries[op][starts[rank + 1]] = (czr_transfer_entry){row.param,
                                                               row.is_recv,
                                                               row.peer,
                                                               row.offset,
                                                               row.n_rows,
                                                               row.row_bytes,
                                                               row.stride_bytes,
                                                               row.phases,
                                                               rank,
                                                               1,
                                                               1,
                                                               1,
                                                               1,
                                                               0};
    for (int later = rank + 1; later <= self->size; later++)
        starts[later] =
            later == rank + 1 ? starts[later] + 1 : starts[rank + 1];
}

/* What a rank's scratch holds before the step. */
static unsigned char byte_of(int rank, int i)
{
    return (unsigned char)(rank * 37 + i * 11 + i / 256);
}

/* Walks the rows as the definition has them: the k-th send of a to b meets
 * the k-th receive of b from a. */
static void expect(const schedule *self, int op,
                   unsigned char scratch[MAX_RANKS][ARENA], int to, int from)
{
    const int32_t *starts = self->starts[op];
    const czr_box *rows = self->rows[op];
    int32_t send = starts[from];

    for (int32_t i = starts[to]; i < starts[to + 1]; i++) {
        if (!rows[i].is_recv || rows[i].peer != from)
            continue;
        while (rows[send].is_recv || rows[send].peer != to)
            send++;
        for (int64_t r = 0; r < rows[i].n_rows; r++)
            memcpy(scratch[to] + rows[i].offset + r * rows[i].stride_bytes,
                   scratch[from] + rows[send].offset +
                       r * rows[send].stride_bytes,
                   (size_t)rows[i].row_bytes);
        send++;
    }
}

static czr_status check_bytes(const schedule *self, const czr_engine *engine)
{
    unsigned char(*scratch)[ARENA] = malloc(MAX_RANKS * sizeof *scratch);
    czr_status status = CZR_OK;

    for (int rank = 0; rank < self->size; rank++)
        for (int i = 0; i < ARENA; i++)
            scratch[rank][i] = byte_of(rank, i);
    for (int op = 0; op < self->n_ops; op++)
        for (int from = 0; from < self->size; from++)
            expect(self, op, scratch, engine->rank, from);
    if (memcmp(scratch[engine->rank], engine->scratch, ARENA) != 0)
        status = CZR_ERR_MISMATCH;
    free(scratch);
    return status;
}

static czr_status check_counted(const schedule *self, const czr_engine *engine)
{
    czr_counters counters;

    czr_counters_get(engine, &counters);
    for (int op = 0; op < self->n_ops; op++) {
        int64_t sent = 0, received = 0;
        for (int32_t i = self->starts[op][engine->rank];
             i < self->starts[op][engine->rank + 1]; i++) {
            const czr_box *row = &self->rows[op][i];
            if (row->peer != engine->rank)
                *(row->is_recv ? &received : &sent) +=
                    row->n_rows * row->row_bytes;
        }
        if (counters.bytes_sent[op] != sent ||
            counters.bytes_received[op] != received ||
            counters.step_allocations)
            return CZR_ERR_STATE;
    }
    return CZR_OK;
}

static czr_status body(czr_world *world, void *user)
{
    schedule *self = user;
    czr_engine *engine;
    czr_status status =
        czr_open(&self->program, world, &self->options, &engine);

    if (status == CZR_OK)
        status = czr_seal(engine);
    for (int i = 0; status == CZR_OK && i < ARENA; i++)
        engine->scratch[i] = byte_of(engine->rank, i);
    if (status == CZR_OK)
        status = czr_step(engine, NULL, NULL, NULL);
    if (status != CZR_OK && czr_error(engine)[0] == '\0')
        status = CZR_N_STATUSES; /* a failure without a sentence */
    if (status == CZR_OK && self->fills)
        status = check_bytes(self, engine);
    if (status == CZR_OK && self->fills)
        status = check_counted(self, engine);
    czr_close(engine);
    return self->seen[world->rank] = status;
}

/* ---- random boxes ------------------------------------------------------- */

static uint32_t seed;

static int below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)(seed >> 16) % n;
}

/* A random exchange: every box has a place of its own on both sides. */
static void randomize(schedule *self, int op)
{
    enum { BOXES = 40, MAX_RUNS = 4, MAX_BYTES = 9, CELL = 64 };
    int peers[BOXES][2], sent[MAX_RANKS] = {0}, received[MAX_RANKS] = {0};
    czr_box sends[BOXES], receives[BOXES];

    for (int i = 0; i < BOXES; i++) {
        const int from = below(self->size), to = below(self->size);
        const int runs = below(MAX_RUNS), bytes = below(MAX_BYTES);
        peers[i][0] = from;
        peers[i][1] = to;
        sends[i] = (czr_box){-1,   0,     (int16_t)to, sent[from]++ * CELL,
                             runs, bytes, bytes,       1};
        receives[i] =
            (czr_box){-1,   1,     (int16_t)from, HALF + received[to]++ * CELL,
                      runs, bytes, bytes + 3,     1};
    }
    for (int rank = 0; rank < self->size; rank++)
        for (int i = 0; i < BOXES; i++) {
            if (peers[i][0] == rank)
                add(self, op, rank, sends[i]);
            if (peers[i][1] == rank)
                add(self, op, rank, receives[i]);
        }
}

static void random_boxes_arrive(void **state)
{
    enum { ROUNDS = 20, DEADLINE_MS = 20000 };
    schedule *self = malloc(sizeof *self);

    for (int round = 0; round < ROUNDS * MAX_RANKS; round++) {
        init(self, round % MAX_RANKS + 1, MAX_OPS, DEADLINE_MS);
        self->fills = 1;
        self->options.late_device = round / MAX_RANKS % 2;
        seed = (uint32_t)round;
        for (int op = 0; op < MAX_OPS; op++) {
            randomize(self, op);
            self->ops[op].stream = 0;
        }
        assert_int_equal(czr_world_threads_run(self->size, body, self), CZR_OK);
    }
    free(self);
}

/* ---- good and bad orders ------------------------------------------------ */

static czr_box row(int is_recv, int peer, int64_t bytes)
{
    return (czr_box){-1,
                     (int16_t)is_recv,
                     (int16_t)peer,
                     is_recv ? HALF : 0,
                     1,
                     bytes,
                     bytes,
                     1};
}

/* Everybody sends to the next and receives from the one before, in the
 * operations named. */
static void ring(schedule *self, int send_op, int receive_op)
{
    for (int rank = 0; rank < self->size; rank++) {
        const int next = (rank + 1) % self->size;
        const int previous = (rank + self->size - 1) % self->size;
        add(self, send_op, rank, row(0, next, 32));
        add(self, receive_op, rank, row(1, previous, 32));
    }
}

static void a_ring_in_one_group_completes(void **state)
{
    schedule *self = malloc(sizeof *self);

    for (int ranks = 2; ranks <= MAX_RANKS; ranks++) {
        init(self, ranks, 1, 20000);
        self->fills = 1;
        ring(self, 0, 0);
        assert_int_equal(czr_world_threads_run(ranks, body, self), CZR_OK);
    }
    free(self);
}

static void sends_before_receives_deadlock_without_buffers(void **state)
{
    enum { DEADLINE_MS = 60 };
    schedule *self = malloc(sizeof *self);

    for (int ranks = 2; ranks <= MAX_RANKS; ranks++) {
        init(self, ranks, 2, DEADLINE_MS);
        ring(self, 0, 1);
        assert_int_equal(czr_world_threads_run(ranks, body, self),
                         CZR_ERR_TIMEOUT);
        for (int rank = 0; rank < ranks; rank++)
            assert_true(self->seen[rank] == CZR_ERR_TIMEOUT ||
                        self->seen[rank] == CZR_ERR_ABORTED);
    }
    free(self);
}

/* Members 0, 2, 4 send to 1 and 4, and these receive from the three: as two
 * entries, and, for what is expected, box by box. */
static void an_entry_has_boxes_of_many(void **state)
{
    static const int32_t starts[] = {0, 2};
    static const czr_transfer_entry entries[] = {
        {-1, 0, 1, 64, 2, 8, 16, 1, 0, 3, 2, 2, 3, 64},
        {-1, 1, 0, HALF, 2, 8, 8, 1, 1, 2, 3, 3, 2, 32},
    };
    schedule *self = malloc(sizeof *self);

    init(self, MAX_RANKS, 1, 20000);
    self->fills = 1;
    for (int rank = 0; rank < MAX_RANKS; rank++) {
        for (int k = 0; rank % 2 == 0 && k < 2; k++)
            add(self, 0, rank,
                (czr_box){-1, 0, 1 + 3 * k, 64 + 64 * k, 2, 8, 16, 1});
        for (int k = 0; rank % 3 == 1 && k < 3; k++)
            add(self, 0, rank,
                (czr_box){-1, 1, 2 * k, HALF + 32 * k, 2, 8, 8, 1});
    }
    self->tables[0] = (czr_table){CZR_ENTRY_TRANSFER, 0, NULL, starts, entries};
    assert_int_equal(czr_world_threads_run(MAX_RANKS, body, self), CZR_OK);
    free(self);
}

static void unequal_sizes_name_both_ranks(void **state)
{
    schedule *self = malloc(sizeof *self);

    init(self, 3, 1, 20000);
    add(self, 0, 0, row(0, 2, 32));
    add(self, 0, 2, row(1, 0, 48));
    assert_int_equal(czr_world_threads_run(3, body, self), CZR_ERR_MISMATCH);
    assert_int_equal(self->seen[2], CZR_ERR_MISMATCH);
    assert_int_equal(self->seen[0], CZR_ERR_ABORTED);
    free(self);
}

static void bad_rows_are_refused_at_open(void **state)
{
    schedule *self = malloc(sizeof *self);
    czr_box bad = row(0, 1, 32);

    init(self, 2, 1, 20000);
    bad.offset = ARENA - 16;
    add(self, 0, 0, bad);
    assert_int_equal(czr_world_threads_run(2, body, self), CZR_ERR_VERSION);
    assert_int_equal(self->seen[0], CZR_ERR_VERSION);
    assert_int_equal(self->seen[1], CZR_ERR_ABORTED);
    init(self, 2, 1, 20000);
    add(self, 0, 0, row(0, 2, 32));
    assert_int_equal(czr_world_threads_run(2, body, self), CZR_ERR_VERSION);
    free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_boxes_arrive),
        cmocka_unit_test(an_entry_has_boxes_of_many),
        cmocka_unit_test(a_ring_in_one_group_completes),
        cmocka_unit_test(sends_before_receives_deadlock_without_buffers),
        cmocka_unit_test(unequal_sizes_name_both_ranks),
        cmocka_unit_test(bad_rows_are_refused_at_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
