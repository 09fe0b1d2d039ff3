/* Drawn programs of nothing but communication, over a mesh of up to eight
 * ranks: every kind of operation, on drawn axes and groups, of drawn sizes,
 * also none. Each has its own region of an arena that every rank has. */
#ifndef TESTS_CUDA_DRAWN_UNITS_H
#define TESTS_CUDA_DRAWN_UNITS_H

#include "runtime/base/memory.h"
#include "runtime/program/program.h"
#include "runtime/world/world.h"
#include "tests/gpu/driver/drawn.h"

enum {
    UNITS_OPS = 16,
    UNITS_RANKS = 8,
    UNITS_ROWS = 2 * UNITS_RANKS * 2, /* of one position in a transfer */
    UNITS_LONGEST = 3000
};

typedef struct units_plan {
    czr_program program;
    int32_t sizes[2];
    czr_op ops[UNITS_OPS];
    czr_bucket buckets[UNITS_OPS];
    int64_t slices[UNITS_OPS][UNITS_RANKS + 1];
    czr_table tables[UNITS_OPS];
    int32_t starts[UNITS_OPS][UNITS_RANKS + 1];
    czr_sum_entry sums[UNITS_OPS][UNITS_RANKS];
    czr_box rows[UNITS_OPS][UNITS_RANKS * UNITS_ROWS];
    czr_transfer_entry entries[UNITS_OPS][UNITS_RANKS * UNITS_ROWS];
    size_t at[UNITS_OPS]; /* the region */
    size_t bytes;         /* of the arena */
    bool is_exact;        /* any order of sums has the same bits */
} units_plan;

static inline int units_draw(uint64_t *random, int n)
{
    return (int)drawn_number(random, (uint32_t)n);
}

/* Room for so many bytes; where it begins. */
static inline size_t units_take(units_plan *plan, int64_t bytes)
{
    const size_t at = plan->bytes;

    plan->bytes += czr_round_up((size_t)bytes);
    return at;
}

/* ---- buckets ------------------------------------------------------------ */

static inline void units_draw_bucket(units_plan *plan, int op, uint64_t *random)
{
    czr_op *row = &plan->ops[op];
    czr_bucket *bucket = &plan->buckets[op];
    const bool is_gather = units_draw(random, 2);

    row->kind = is_gather ? CZR_ALL_GATHER : CZR_REDUCE_SCATTER;
    row->comm = 1 + (uint32_t)units_draw(random, 3);
    row->bucket = op;
    *bucket = (czr_bucket){
        .dtype = units_draw(random, 2) ? CZR_F32 : CZR_BF16,
        .grad_dtype = units_draw(random, 2) ? CZR_F32 : CZR_BF16,
        .length = units_draw(random, UNITS_LONGEST),
        .split_axes =
            is_gather ? row->comm : row->comm & (uint32_t)units_draw(random, 4),
        .n_grads = 1 + units_draw(random, 3),
        .divisor = 3,
        .slices = plan->slices[op],
        .is_equal = units_draw(random, 2) != 0};
    if (units_draw(random, 2)) { /* equal parts, of what NCCL may add up */
        bucket->grad_dtype = CZR_F32;
        bucket->length =
            CZR_EQUAL_PART_ALIGN * 24 * (1 + units_draw(random, 7));
        bucket->split_axes = row->comm;
        bucket->n_grads = bucket->is_equal = 1;
    }
    const int n = czr_program_extent(&plan->program, bucket->split_axes);
    for (int i = 1; i <= n; i++) {
        const int64_t left = bucket->length - plan->slices[op][i - 1];
        const int take = left && units_draw(random, 4)
                             ? units_draw(random, (int)left + 1)
                             : 0;
        plan->slices[op][i] =
            i == n ? bucket->length : plan->slices[op][i - 1] + take;
    }
    plan->at[op] = units_take(plan, bucket->length * 4 * (bucket->n_grads + 1) +
                                        2 * CZR_ALIGN);
}

/* ---- sums --------------------------------------------------------------- */

static inline void units_draw_norm(units_plan *plan, int op, uint64_t *random)
{
    plan->ops[op].kind = CZR_ALL_REDUCE;
    plan->ops[op].comm = 3;
    plan->sums[op][0].count = units_draw(random, 100);
    plan->at[op] = units_take(plan, plan->sums[op][0].count * 8);
}

/* Those of a block: a group of the communicator, or all. */
static inline int units_draw_group(units_plan *plan, int op, uint64_t *random)
{
    czr_op *row = &plan->ops[op];
    const int n = czr_program_extent(&plan->program, row->comm);

    if (units_draw(random, 2))
        return n;
    do {
        row->block_size = 1 + units_draw(random, n);
        row->stride = 1 + units_draw(random, n);
    } while (n % (row->block_size * row->stride));
    return row->block_size;
}

static inline void units_draw_sum(units_plan *plan, int op, uint64_t *random)
{
    czr_op *row = &plan->ops[op];
    czr_table *table = &plan->tables[op];
    czr_sum_entry *sum = &plan->sums[op][0];

    row->kind = CZR_GROUP_SUM;
    row->comm = 1 + (uint32_t)units_draw(random, 3);
    row->table = op;
    const int n = units_draw_group(plan, op, random);
    sum->how = units_draw(random, CZR_N_EXCHANGES);
    sum->dtype = (czr_dtype)(sum->how == CZR_EXCHANGE_GATHER
                                 ? 1 + units_draw(random, 2)
                                 : units_draw(random, CZR_F16));
    sum->count = units_draw(random, UNITS_LONGEST);
    if (sum->how != CZR_EXCHANGE_SUM)
        sum->count = sum->count / n * n;
    if (sum->how != CZR_EXCHANGE_SUM && units_draw(random, 2)) {
        sum->band = n * (1 + units_draw(random, 3));
        sum->side = sum->band * (1 + units_draw(random, 4));
        sum->count = sum->side * sum->side;
    }
    plan->at[op] = units_take(plan, sum->count * 8);
    sum->offset = (int64_t)plan->at[op];
    *table =
        (czr_table){CZR_ENTRY_SUM, 0, NULL, plan->starts[op], plan->sums[op]};
    plan->starts[op][1] = 1;
}

/* ---- transfers ---------------------------------------------------------- */

/* One end of a box in the operation's region. */
static inline czr_box units_draw_end(units_plan *plan, int64_t n_rows,
                                     int64_t bytes, uint64_t *random)
{
    czr_box row = {.n_rows = n_rows,
                   .row_bytes = bytes,
                   .stride_bytes = bytes + units_draw(random, 3) * 5,
                   .phases = 1};

    row.offset = (int64_t)units_take(plan, n_rows * row.stride_bytes);
    return row;
}

static inline void units_add_row(units_plan *plan, int op, int position,
                                 czr_box row)
{
    int32_t *starts = plan->starts[op];

    plan->rows[op][position * UNITS_ROWS + starts[position]++] = row;
}

/* Rows of all positions stand apart while they are drawn; then one behind the
 * other, with an entry for each. */
static inline void units_pack_rows(units_plan *plan, int op, int n)
{
    int32_t *starts = plan->starts[op], at = 0;

    for (int position = 0; position < n; position++) {
        const int32_t count = starts[position];
        memmove(&plan->rows[op][at], &plan->rows[op][position * UNITS_ROWS],
                (size_t)count * sizeof plan->rows[op][0]);
        starts[position] = at;
        for (int i = 0; i < count; i++, at++) {
            const czr_box *box = &plan->rows[op][at];
            plan->entries[op][at] = (czr_transfer_entry){box->param,
                                                         box->is_recv,
                                                         box->peer,
                                                         box->offset,
                                                         box->n_rows,
                                                         box->row_bytes,
                                                         box->stride_bytes,
                                                         box->phases,
                                                         position,
                                                         1,
                                                         1,
                                                         1,
                                                         1,
                                                         0};
        }
    }
    starts[n] = at;
}

static inline void units_draw_transfer(units_plan *plan, int op,
                                       uint64_t *random)
{
    czr_op *row = &plan->ops[op];

    row->kind = CZR_TRANSFER;
    row->comm = 1 + (uint32_t)units_draw(random, 3);
    row->table = op;
    plan->at[op] = plan->bytes;
    const int n = czr_program_extent(&plan->program, row->comm);
    /* Each of them is a message of its own. */
    int n_large = units_draw(random, 4) || plan->bytes > 1 << 21 ? 0 : 3;
    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++)
            for (int k = units_draw(random, 3); from != to && k > 0; k--) {
                const bool is_large = n_large-- > 0;
                const int64_t rows = 1 + units_draw(random, is_large ? 4 : 9);
                const int64_t bytes =
                    1 + (is_large ? 131072 : units_draw(random, 200));
                czr_box end = units_draw_end(plan, rows, bytes, random);
                end.peer = (int16_t)to;
                units_add_row(plan, op, from, end);
                end = units_draw_end(plan, rows, bytes, random);
                end.is_recv = 1;
                end.peer = (int16_t)from;
                units_add_row(plan, op, to, end);
            }
    units_pack_rows(plan, op, n);
    plan->tables[op] = (czr_table){CZR_ENTRY_TRANSFER, row->comm, NULL,
                                   plan->starts[op], plan->entries[op]};
}

/* ---- programs ----------------------------------------------------------- */

static inline void units_make(units_plan *plan, bool is_exact, uint64_t *random)
{
    static const char *const axes[] = {"dp", "tp"};

    memset(plan, 0, sizeof *plan);
    plan->is_exact = is_exact;
    plan->sizes[0] = 1 + units_draw(random, 4);
    plan->sizes[1] = 1 + units_draw(random, 2);
    plan->program = (czr_program){.name = "drawn",
                                  .n_axes = 2,
                                  .axes = axes,
                                  .sizes = plan->sizes,
                                  .buckets = plan->buckets,
                                  .n_buckets = UNITS_OPS,
                                  .tables = plan->tables,
                                  .n_tables = UNITS_OPS,
                                  .ops = plan->ops,
                                  .n_ops = UNITS_OPS};
    for (int op = 0; op < UNITS_OPS; op++) {
        plan->ops[op].table = plan->ops[op].bucket = -1;
        switch (units_draw(random, 4)) {
        case 0:
            units_draw_bucket(plan, op, random);
            break;
        case 1:
            units_draw_norm(plan, op, random);
            break;
        case 2:
            units_draw_sum(plan, op, random);
            break;
        default:
            units_draw_transfer(plan, op, random);
            break;
        }
    }
    plan->bytes += CZR_ALIGN;
}

static inline int units_ranks(const units_plan *plan)
{
    return plan->sizes[0] * plan->sizes[1];
}

/* ---- data --------------------------------------------------------------- */

static inline void units_fill_numbers(unsigned char *to, czr_dtype dtype,
                                      size_t n, bool is_exact, uint64_t *random)
{
    for (size_t i = 0; i < n; i++) {
        const double drawn = units_draw(random, 1 << 30) - (1 << 29);
        const double x = is_exact
                             ? units_draw(random, 65) - 32
                             : drawn * (1 + units_draw(random, 9)) * 1.37e-6;
        czr_convert(to + i * czr_dtype_bytes(dtype), dtype, &x, CZR_F64, 1);
    }
}

/* A rank's arena before the first operation. */
static inline void units_fill(const units_plan *plan, unsigned char *arena,
                              uint64_t *random)
{
    for (size_t i = 0; i < plan->bytes; i++)
        arena[i] = (unsigned char)units_draw(random, 256);
    for (int op = 0; op < UNITS_OPS; op++) {
        const czr_op *row = &plan->ops[op];
        const czr_bucket *bucket = &plan->buckets[op];
        unsigned char *at = arena + plan->at[op];
        if (row->kind == CZR_REDUCE_SCATTER) {
            const size_t n = (size_t)(bucket->length * bucket->n_grads);
            units_fill_numbers(at, bucket->grad_dtype, n, plan->is_exact,
                               random);
            memset(at + czr_round_up(n * czr_dtype_bytes(bucket->grad_dtype)),
                   0, sizeof(int32_t));
        } else if (row->kind == CZR_ALL_REDUCE) {
            for (int64_t i = 0; i < plan->sums[op][0].count; i++) {
                const int64_t x = units_draw(random, 1 << 30) - (1 << 29);
                memcpy(at + (size_t)i * sizeof x, &x, sizeof x);
            }
        } else if (row->kind == CZR_GROUP_SUM) {
            units_fill_numbers(at, plan->sums[op][0].dtype,
                               (size_t)plan->sums[op][0].count, plan->is_exact,
                               random);
        }
    }
}

/* ---- units -------------------------------------------------------------- */

static inline czr_collective units_of_bucket(const units_plan *plan, int op,
                                             const czr_comm *comm,
                                             unsigned char *at)
{
    const czr_bucket *b = &plan->buckets[op];
    const int rank = comm->world->rank;
    const bool is_equal = b->is_equal && !(b->split_axes & ~plan->ops[op].comm);
    const czr_range own = is_equal
                              ? czr_program_equal_part(&plan->program, op, rank)
                              : czr_program_slice(&plan->program, op, rank);
    const size_t element = czr_dtype_bytes(b->dtype);
    unsigned char *behind = at + czr_round_up((size_t)(b->length * b->n_grads) *
                                              czr_dtype_bytes(b->grad_dtype));

    if (plan->ops[op].kind == CZR_ALL_GATHER)
        return (czr_collective){
            .kind = CZR_COLLECTIVE_ALL_GATHER,
            .of.all_gather = {at + (size_t)own.first * element,
                              (size_t)own.n * element,
                              (size_t)own.first * element, at}};
    return (czr_collective){
        .kind = CZR_COLLECTIVE_REDUCE_SCATTER,
        .of.reduce_scatter = {.grad = at,
                              .dtype = b->grad_dtype,
                              .n_grads = b->n_grads,
                              .grad_stride = b->length,
                              .first = own.first,
                              .n = own.n,
                              .out = (float *)(void *)(behind + CZR_ALIGN),
                              .scale = plan->is_exact ? 0.5f : 1.0f / 3,
                              .largest = (int32_t *)(void *)behind}};
}

static inline czr_collective
units_of_sum(const czr_sum_entry *row, const czr_comm *comm, unsigned char *at)
{
    static const czr_sum types[CZR_N_DTYPES] = {[CZR_F64] = CZR_SUM_F64,
                                                [CZR_F32] = CZR_SUM_F32,
                                                [CZR_BF16] = CZR_SUM_BF16_EACH};
    const size_t element = czr_dtype_bytes(row->dtype);
    const size_t part = (size_t)row->count / (size_t)comm->size * element;
    const size_t own = (size_t)comm->position * part;
    const czr_band band = {(size_t)row->side, (size_t)row->band};

    if (row->how == CZR_EXCHANGE_GATHER && row->band)
        return (czr_collective){.kind = CZR_COLLECTIVE_BAND_GATHER,
                                .of.band_gather = {at, element, band}};
    if (row->how == CZR_EXCHANGE_GATHER)
        return (czr_collective){.kind = CZR_COLLECTIVE_ALL_GATHER,
                                .of.all_gather = {at + own, part, own, at}};
    return (czr_collective){
        .kind = row->how == CZR_EXCHANGE_SUM ? CZR_COLLECTIVE_ALL_REDUCE
                                             : CZR_COLLECTIVE_SUM_SCATTER,
        .of.all_reduce = {at, (size_t)row->count, types[row->dtype], band}};
}

/* The unit of an operation on one rank, whose arena (of the host, or of a
 * device) is there. */
static inline czr_collective units_of(const units_plan *plan, int op,
                                      const czr_comm *comm,
                                      unsigned char *arena)
{
    const czr_op *row = &plan->ops[op];
    czr_collective unit;

    if (row->kind == CZR_TRANSFER) {
        const czr_range range =
            czr_program_rows(&plan->program, op, comm->world->rank);
        unit = (czr_collective){
            .kind = CZR_COLLECTIVE_TRANSFER,
            .of.transfer = {&plan->rows[op][range.first], range.n, arena}};
    } else if (row->kind == CZR_GROUP_SUM) {
        unit = units_of_sum(&plan->sums[op][0], comm, arena + plan->at[op]);
    } else if (row->kind == CZR_ALL_REDUCE) {
        unit =
            (czr_collective){.kind = CZR_COLLECTIVE_ALL_REDUCE,
                             .of.all_reduce = {arena + plan->at[op],
                                               (size_t)plan->sums[op][0].count,
                                               CZR_SUM_I64,
                                               {0, 0}}};
    } else {
        unit = units_of_bucket(plan, op, comm, arena + plan->at[op]);
    }
    unit.op = op;
    return unit;
}

static inline czr_status units_join(const units_plan *plan, czr_world *world,
                                    czr_comm **comms)
{
    czr_status status = CZR_OK;

    for (int op = 0; op < UNITS_OPS && status == CZR_OK; op++)
        status = czr_world_join_axes(
            world, CZR_CHANNEL_PLAN, &plan->program, plan->ops[op].comm,
            plan->ops[op].block_size, plan->ops[op].stride, &comms[op]);
    return status;
}

/* ---- what comes of it --------------------------------------------------- */

typedef struct units_run {
    const units_plan *plan;
    unsigned char *arenas[UNITS_RANKS];
} units_run;

static inline czr_status units_body(czr_world *world, void *user)
{
    const units_run *run = user;
    czr_comm *comms[UNITS_OPS];
    char why[CZR_WHY_BYTES];

    czr_status status = units_join(run->plan, world, comms);
    for (int op = 0; op < UNITS_OPS && status == CZR_OK; op++) {
        const czr_collective unit =
            units_of(run->plan, op, comms[op], run->arenas[world->rank]);
        status = czr_comm_run(comms[op], &unit, why);
    }
    return status;
}

/* All operations by threads, on the arenas. */
static inline czr_status units_by_threads(units_run *run)
{
    return czr_world_threads_run(units_ranks(run->plan), units_body, run);
}

#endif
