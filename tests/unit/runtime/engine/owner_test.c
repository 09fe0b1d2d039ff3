/* An owner's round by hand: shards gather to the rank that owns the matrix,
 * which updates it whole and scatters it back.  Slots, boxes, streams and
 * counters; a plan that lacks a wait is told by the late device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "runtime/czr.h"

enum {
    MAX_RANKS = 4,
    MATRICES = 3,
    ROWS = 5,
    COLUMNS = 12, /* sharded */
    SIZE = ROWS * COLUMNS,
    CELL = 256, /* bytes of a slot of a whole matrix, rounded up */
    MAX_ROWS = 64,
    STEPS = 3
};

/* Scratch: per matrix two gather and one scatter slot of the shard (two CELLs
 * and one), a temp, and the same whole at its owner. */
enum {
    SHARD_GATHER = 0,
    SHARD_SCATTER = SHARD_GATHER + 2 * CELL,
    SHARD_TEMP = SHARD_SCATTER + CELL,
    WHOLE_GATHER = SHARD_TEMP + CELL,
    WHOLE_SCATTER = WHOLE_GATHER + 2 * CELL,
    WORK = WHOLE_SCATTER + CELL,
    STRIDE = WORK + CELL,
    ARENA = STRIDE * MATRICES
};

static const char *const names[] = {"w.0", "w.1", "w.2"};

/* ---- stages ------------------------------------------------------------- */

/* gather:0 = grad + param, gather:1 = grad as bf16, temp:0 = 2 * param. */
static void before(const czr_call *call)
{
    const float *grad = call->in[0], *param = call->in[1];
    float *sum = call->out[0], *temp = call->out[2];
    czr_bf16 *narrow = call->out[1];

    for (size_t i = 0; i < call->count; i++) {
        sum[i] = grad[i] + param[i];
        narrow[i] = czr_f32_to_bf16(grad[i]);
        temp[i] = 2 * param[i];
    }
}

/* scatter:0 = each element less its row's mean, times the largest of all of
 * gather:1: only who has the whole matrix can say. */
static void whole(const czr_call *call)
{
    const float *sum = call->in[0];
    const czr_bf16 *narrow = call->in[1];
    float *out = call->out[0], *means = (float *)(void *)call->work;
    float most = 0;

    for (int r = 0; r < ROWS; r++) {
        means[r] = 0;
        for (int c = 0; c < COLUMNS; c++)
            means[r] += sum[r * COLUMNS + c] / COLUMNS;
    }
    for (int i = 0; i < SIZE; i++)
        most = fmaxf(most, czr_bf16_to_f32(narrow[i]));
    for (int i = 0; i < SIZE; i++)
        out[i] = (sum[i] - means[i / COLUMNS]) * most;
}

/* param = temp - lr * scatter. */
static void after(const czr_call *call)
{
    const float *temp = call->in[0], *update = call->in[1];
    float *param = call->out[0];

    for (size_t i = 0; i < call->count; i++)
        param[i] = temp[i] - call->scalars[0] * update[i];
}

static void prologue(double t, double clip, const double *hypers,
                     float *scalars)
{
    (void)clip;
    scalars[0] = (float)(hypers[0] * t);
}

static const czr_slot before_in[] = {{CZR_SLOT_GRAD, 0, CZR_F32},
                                     {CZR_SLOT_PARAM, 0, CZR_F32}};
static const czr_slot gather[] = {{CZR_SLOT_GATHER, 0, CZR_F32},
                                  {CZR_SLOT_GATHER, 1, CZR_BF16},
                                  {CZR_SLOT_TEMP, 0, CZR_F32}};
static const czr_slot scatter[] = {{CZR_SLOT_TEMP, 0, CZR_F32},
                                   {CZR_SLOT_SCATTER, 0, CZR_F32}};
static const czr_slot param_out[] = {{CZR_SLOT_PARAM, 0, CZR_F32}};
static const czr_states no_states = {0};
static const uint16_t first_scalar[] = {0};
static const czr_stage stages[] = {
    {"before", before, before_in, gather, NULL, 2, 3, 0, 0},
    {"whole", whole, gather, scatter + 1, NULL, 2, 1, 0, 1},
    {"after", after, scatter, param_out, first_scalar, 2, 1, 1, 0}};

/* ---- the plan ----------------------------------------------------------- */

enum { REDUCE, PROLOGUE, BEFORE, GATHER, WHOLE, SCATTER, AFTER, N_OPS };
enum { T_BEFORE, T_GATHER, T_WHOLE, T_SCATTER, T_AFTER, N_TABLES };

typedef struct plan {
    czr_program program;
    czr_options options;
    int32_t ranks;
    int64_t slices[2], arena;
    czr_family family;
    czr_place places[MATRICES];
    czr_bucket bucket;
    czr_table tables[N_TABLES];
    int32_t starts[N_TABLES][MAX_RANKS + 1];
    czr_kernel_row kernel[N_TABLES][MAX_ROWS];
    czr_transfer_row transfer[N_TABLES][MAX_ROWS];
    czr_op ops[N_OPS];
} plan;

static int owner_of(int matrix, int ranks)
{
    return (matrix * 2 + 1) % ranks;
}

static void add_kernel(plan *self, int table, int32_t *n, int matrix,
                       int64_t offset, int64_t count)
{
    const int64_t base = (int64_t)matrix * STRIDE;
    const int is_whole = table == T_WHOLE;
    const int stage = table == T_BEFORE ? 0 : is_whole ? 1 : 2;

    self->kernel[table][(*n)++] =
        (czr_kernel_row){stage,
                         matrix,
                         offset,
                         count,
                         base + (is_whole ? WHOLE_GATHER : SHARD_GATHER),
                         base + (is_whole ? WHOLE_SCATTER : SHARD_SCATTER),
                         is_whole ? -1 : base + SHARD_TEMP,
                         is_whole ? base + WORK : -1};
}

/* Boxes of one slot between a shard (contiguous) and the whole (columns). */
static void add_boxes(plan *self, int table, int32_t *n, int rank, int matrix,
                      int64_t shard, int64_t full, int bytes)
{
    const int owner = owner_of(matrix, self->ranks);
    const int local = COLUMNS / self->ranks * bytes;
    const int64_t base = (int64_t)matrix * STRIDE;
    const int to_owner = table == T_GATHER;

    self->transfer[table][(*n)++] =
        (czr_transfer_row){matrix,         (int16_t)!to_owner,
                           (int16_t)owner, base + shard,
                           ROWS,           local,
                           local,          1};
    for (int peer = 0; rank == owner && peer < self->ranks; peer++)
        self->transfer[table][(*n)++] =
            (czr_transfer_row){matrix,
                               (int16_t)to_owner,
                               (int16_t)peer,
                               base + full + peer * local,
                               ROWS,
                               local,
                               COLUMNS * bytes,
                               1};
}

static void fill_tables(plan *self)
{
    const int64_t local = SIZE / self->ranks;

    for (int t = 0; t < N_TABLES; t++) {
        int32_t n = 0;
        for (int rank = 0; rank < self->ranks; rank++) {
            self->starts[t][rank] = n;
            for (int m = 0; m < MATRICES; m++) {
                if (t == T_BEFORE || t == T_AFTER)
                    add_kernel(self, t, &n, m, m * local, local);
                if (t == T_WHOLE && rank == owner_of(m, self->ranks))
                    add_kernel(self, t, &n, m, 0, SIZE);
                if (t == T_SCATTER)
                    add_boxes(self, t, &n, rank, m, SHARD_SCATTER,
                              WHOLE_SCATTER, 4);
                if (t != T_GATHER)
                    continue;
                const int64_t second = (local * 4 + 63) / 64 * 64;
                add_boxes(self, t, &n, rank, m, SHARD_GATHER, WHOLE_GATHER, 4);
                add_boxes(self, t, &n, rank, m, SHARD_GATHER + second,
                          WHOLE_GATHER + CELL, 2);
            }
        }
        self->starts[t][self->ranks] = n;
        const int is_kernel = t != T_GATHER && t != T_SCATTER;
        self->tables[t] = (czr_table){
            is_kernel ? CZR_ROW_KERNEL : CZR_ROW_TRANSFER, 1, self->starts[t],
            is_kernel ? (const void *)self->kernel[t] : self->transfer[t]};
    }
}

static void fill_ops(plan *self)
{
    static const int32_t waits[N_OPS][2] = {
        {0}, {0}, {REDUCE}, {BEFORE}, {GATHER}, {WHOLE}, {SCATTER, PROLOGUE}};
    static const czr_op ops[N_OPS] = {
        {CZR_REDUCE_SCATTER, 1, CZR_SECTION_REDUCE, 0, 0, 0, 0, -1, 0, NULL},
        {CZR_PROLOGUE, 0, CZR_SECTION_UPDATE, 0, 0, 0, -1, -1, 0, NULL},
        {CZR_KERNEL, 0, CZR_SECTION_UPDATE, 0, 0, 0, -1, T_BEFORE, 1,
         waits[BEFORE]},
        {CZR_TRANSFER, 2, CZR_SECTION_UPDATE, 1, 0, 0, -1, T_GATHER, 1,
         waits[GATHER]},
        {CZR_KERNEL, 0, CZR_SECTION_UPDATE, 0, 0, 0, -1, T_WHOLE, 1,
         waits[WHOLE]},
        {CZR_TRANSFER, 2, CZR_SECTION_UPDATE, 1, 0, 0, -1, T_SCATTER, 1,
         waits[SCATTER]},
        {CZR_KERNEL, 0, CZR_SECTION_UPDATE, 0, 0, 0, -1, T_AFTER, 2,
         waits[AFTER]},
    };

    memcpy(self->ops, ops, sizeof ops);
}

static void init(plan *self, int ranks, int is_late)
{
    static const char *const axes[] = {"tp"};
    static const czr_hyper_desc lr = {"all", "lr", 0.125, 1};
    const int64_t local = SIZE / ranks;

    memset(self, 0, sizeof *self);
    self->options.late_device = is_late;
    self->options.deadline_ms = 20000;
    self->ranks = ranks;
    self->slices[1] = local * MATRICES;
    self->arena = ARENA;
    self->family = (czr_family){.pattern = "w.{0}",
                                .n_indices = 1,
                                .n_dims = 2,
                                .extents = {MATRICES},
                                .shape = {ROWS, COLUMNS},
                                .shard = {0, 1}};
    for (int m = 0; m < MATRICES; m++)
        self->places[m].offset = m * local;
    self->bucket = (czr_bucket){.dtype = CZR_F32,
                                .grad_dtype = CZR_F32,
                                .length = local * MATRICES,
                                .leaves = 1,
                                .terms = 1,
                                .slices = self->slices};
    fill_tables(self);
    fill_ops(self);
    self->program =
        (czr_program){.abi = CZR_ABI,
                      .plan_hash = "0123456789abcdef0123456789abcdef"
                                   "0123456789abcdef0123456789abcdef",
                      .n_axes = 1,
                      .axes = axes,
                      .sizes = &self->ranks,
                      .n_hypers = 1,
                      .hypers = &lr,
                      .n_scalars = 1,
                      .prologue = prologue,
                      .n_families = 1,
                      .families = &self->family,
                      .n_params = MATRICES,
                      .places = self->places,
                      .n_rules = 1,
                      .states = &no_states,
                      .n_buckets = 1,
                      .buckets = &self->bucket,
                      .n_stages = 3,
                      .stages = stages,
                      .n_tables = N_TABLES,
                      .tables = self->tables,
                      .n_ops = N_OPS,
                      .ops = self->ops,
                      .arena_bytes = &self->arena};
}

/* ---- against one rank without a plan ------------------------------------ */

static float first_param(int matrix, int i)
{
    return (float)((matrix * 31 + i * 7) % 23 - 11) / 8;
}

static float grad_of(int matrix, int i, int step)
{
    return (float)((matrix * 17 + i * 5 + step * 3) % 29 - 14) / 16;
}

static void plain_step(float *param, int matrix, int step)
{
    float grad[SIZE], sum[SIZE], temp[SIZE], update[SIZE], means[ROWS];
    czr_bf16 narrow[SIZE];
    float scalar;
    const double lr = 0.125;

    for (int i = 0; i < SIZE; i++)
        grad[i] = grad_of(matrix, i, step);
    const void *in[] = {grad, param};
    void *out[] = {sum, narrow, temp};
    before(&(czr_call){.in = in, .out = out, .count = SIZE});
    const void *gathered[] = {sum, narrow};
    void *scattered[] = {update};
    whole(&(czr_call){
        .in = gathered, .out = scattered, .work = (unsigned char *)means});
    prologue((double)step + 1, 1, &lr, &scalar);
    const void *last[] = {temp, update};
    void *result[] = {param};
    after(&(czr_call){
        .in = last, .out = result, .scalars = &scalar, .count = SIZE});
}

/* Reads or writes this rank's columns of a matrix. */
static int64_t column_of(const czr_layout_info *info, int64_t i)
{
    return i / info->shape[1] * COLUMNS + info->start[1] + i % info->shape[1];
}

static czr_status one_step(czr_engine *engine, int step, float expected[][SIZE])
{
    czr_layout_info info;
    czr_status status;

    for (int m = 0; m < MATRICES; m++) {
        czr_layout(engine, names[m], &info);
        for (int64_t i = 0; i < info.n; i++)
            ((float *)info.grad)[i] =
                grad_of(m, (int)column_of(&info, i), step);
        plain_step(expected[m], m, step);
    }
    status = czr_step(engine, NULL, NULL, NULL);
    for (int m = 0; m < MATRICES && status == CZR_OK; m++) {
        czr_layout(engine, names[m], &info);
        for (int64_t i = 0; i < info.n; i++)
            if (memcmp((float *)info.param + i,
                       &expected[m][column_of(&info, i)], sizeof(float)) != 0)
                return CZR_ERR_MISMATCH;
    }
    return status;
}

static czr_status check_counters(const plan *self, const czr_engine *engine,
                                 int rank)
{
    czr_counters counters;
    const int64_t local = SIZE / self->ranks;
    int64_t gathered = 0;

    czr_counters_get(engine, &counters);
    for (int m = 0; m < MATRICES; m++) {
        const int is_owner = owner_of(m, self->ranks) == rank;
        if (counters.updates[m] != local * STEPS ||
            counters.whole[m] != is_owner * STEPS)
            return CZR_ERR_STATE;
        gathered += is_owner ? 0 : local * 6;
    }
    return counters.bytes_sent[GATHER] == gathered * STEPS &&
                   counters.step_allocations == 0 &&
                   counters.peak_scratch_bytes > 0 &&
                   counters.peak_scratch_bytes <= ARENA
               ? CZR_OK
               : CZR_ERR_STATE;
}

static czr_status body(czr_world *world, void *user)
{
    const plan *self = user;
    float expected[MATRICES][SIZE];
    czr_layout_info info;
    czr_engine *engine;
    czr_status status =
        czr_open(&self->program, world, &self->options, &engine);

    for (int m = 0; m < MATRICES && status == CZR_OK; m++) {
        czr_layout(engine, names[m], &info);
        for (int i = 0; i < SIZE; i++)
            expected[m][i] = first_param(m, i);
        for (int64_t i = 0; i < info.n; i++)
            ((float *)info.param)[i] = first_param(m, (int)column_of(&info, i));
        status = czr_bind(engine, names[m], NULL, NULL);
    }
    if (status == CZR_OK)
        status = czr_seal(engine);
    for (int step = 0; step < STEPS && status == CZR_OK; step++)
        status = one_step(engine, step, expected);
    if (status == CZR_OK)
        status = check_counters(self, engine, czr_world_rank(world));
    czr_close(engine);
    return status;
}

static void owners_update_whole_matrices(void **state)
{
    plan *self = malloc(sizeof *self);

    (void)state;
    for (int ranks = 1; ranks <= MAX_RANKS; ranks++)
        for (int is_late = 0; is_late < 2; is_late++) {
            init(self, ranks, is_late);
            assert_int_equal(czr_world_threads_run(ranks, body, self), CZR_OK);
        }
    free(self);
}

/* In list order a missing wait does no harm; lazily it shows.  That on
 * gradients does not: nothing is updated before all ranks have agreed on them.
 */
static void the_late_device_tells_a_missing_wait(void **state)
{
    static const int needed[] = {GATHER, WHOLE, SCATTER, AFTER};
    plan *self = malloc(sizeof *self);

    (void)state;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        init(self, 2, 0);
        self->ops[needed[i]].n_waits = 0;
        assert_int_equal(czr_world_threads_run(2, body, self), CZR_OK);
        self->options.late_device = 1;
        assert_int_equal(czr_world_threads_run(2, body, self),
                         CZR_ERR_MISMATCH);
    }
    free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_update_whole_matrices),
        cmocka_unit_test(the_late_device_tells_a_missing_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
