/* A plan run on marks: as the list has it, and as op_batch.c runs batches. */
#include "tests/adversary/verify/batch_run.h"

#include "dsl/plan/box.h"
#include "dsl/plan/within.h"
#include "runtime/cuda/products/tiles.h"

#include <string.h>

enum { MAX_CELLS = 24, GARBAGE = 1, SCRATCH, LEFT, RESULT, RECEIVED, SUMMED };

/* In which order matrices of a batch do what they have to do. */
typedef enum run_order { ONE_BY_ONE, MATRIX_BY_MATRIX, ROW_BY_ROW } run_order;

typedef struct run {
    const cz_plan_view *view;
    cz_arena *arena;
    int64_t rank;
    run_order order;
    int64_t arena_bytes, n_bytes; /* with those of batches */
    uint64_t *bytes;              /* their marks */
    uint64_t *cells;              /* marks of parameters, gradients, states */
    uint64_t *reads; /* what rows have read, in order of the list */
    int64_t n_reads;
    bool is_lost; /* a byte that there is not */
} run;

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b + 0x7f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static bool has_bytes(run *r, int64_t at, int64_t n)
{
    if (n > 0 && (at < 0 || n > r->n_bytes || at > r->n_bytes - n))
        r->is_lost = true;
    return n > 0 && !r->is_lost;
}

static uint64_t read_bytes(run *r, uint64_t mark, int64_t at, int64_t n)
{
    for (int64_t i = 0; has_bytes(r, at, n) && i < n; i++)
        mark = mix(mark, r->bytes[at + i]);
    return mark;
}

static void write_bytes(run *r, uint64_t mark, int64_t at, int64_t n)
{
    for (int64_t i = 0; has_bytes(r, at, n) && i < n; i++)
        r->bytes[at + i] = mix(mark, (uint64_t)i);
}

/* ---- kernels ------------------------------------------------------------ */

static uint64_t *cell_of(run *r, const cz_view_kernel_entry *row,
                         const cz_view_slot *slot)
{
    const int number = slot->kind == CZ_SLOT_STATE ? CZ_N_SLOTS + slot->index
                                                   : (int)slot->kind;

    return &r->cells[row->param * MAX_CELLS + number];
}

static int64_t base_of(const cz_view_kernel_entry *row, cz_slot_kind kind)
{
    return kind == CZ_SLOT_GATHER    ? row->gather
           : kind == CZ_SLOT_SCATTER ? row->scatter
                                     : row->temp;
}

/* Where a slot lies in scratch, and its bytes. */
static int64_t place_of(const cz_view_stage *stage,
                        const cz_view_kernel_entry *row,
                        const cz_view_slot *slot, int64_t *bytes)
{
    int64_t offsets[MAX_CELLS];

    cz_view_slot_bytes(stage, slot->kind, row->count, offsets);
    *bytes = row->count * cz_dtype_bytes(slot->dtype);
    return base_of(row, slot->kind) + offsets[slot->index];
}

static uint64_t read_row(run *r, uint64_t mark, const cz_view_stage *stage,
                         const cz_view_kernel_entry *row)
{
    for (int i = 0; i < stage->n_in; i++) {
        int64_t bytes;
        if (stage->in[i].kind < CZ_SLOT_GATHER) {
            mark = mix(mark, *cell_of(r, row, &stage->in[i]));
            continue;
        }
        const int64_t at = place_of(stage, row, &stage->in[i], &bytes);
        mark = read_bytes(r, mark, at, bytes);
    }
    if (stage->subgroup && stage->subgroup->segment > 0)
        mark = read_bytes(r, mark, row->work, stage->fact->work_bytes);
    return mark;
}

static void write_row(run *r, uint64_t mark, const cz_view_stage *stage,
                      const cz_view_kernel_entry *row)
{
    int64_t bytes, at;

    for (int i = 0; i < stage->n_in; i++)
        if (stage->in[i].kind >= CZ_SLOT_GATHER && cz_view_reuses(stage, i)) {
            at = place_of(stage, row, &stage->in[i], &bytes);
            write_bytes(r, mix(mark, LEFT), at, bytes);
        }
    write_bytes(r, mix(mark, SCRATCH), row->work, stage->fact->work_bytes);
    for (int i = 0; i < stage->n_out; i++) {
        const uint64_t own = mix(mix(mark, RESULT), (uint64_t)i);
        if (stage->out[i].kind < CZ_SLOT_GATHER) {
            *cell_of(r, row, &stage->out[i]) = own;
            continue;
        }
        at = place_of(stage, row, &stage->out[i], &bytes);
        write_bytes(r, own, at, bytes);
    }
}

/* `first` is the read that the first row of the rank's is. */
typedef struct kernel {
    const cz_view_table *table;
    int64_t first_row, end, first_read, position; /* in the communicator */
} kernel;

static void run_row(run *r, const kernel *k, int64_t number,
                    const cz_view_kernel_entry *row)
{
    const cz_view_stage *stage = &r->view->stages[row->stage];
    const int64_t read = k->first_read + number - k->first_row;

    r->reads[read] = read_row(r, (uint64_t)read, stage, row);
    write_row(r, r->reads[read], stage, row);
}

static int64_t moved(const run *r, const cz_view_batch *batch, int64_t matrix,
                     int64_t at)
{
    const bool is_own =
        at >= batch->scratch && at < batch->scratch + batch->bytes;

    return is_own ? r->arena_bytes + matrix * batch->bytes + at - batch->scratch
                  : at;
}

static void run_moved(run *r, const kernel *k, const cz_view_batch *batch,
                      int64_t matrix, int64_t number)
{
    cz_view_kernel_entry row = k->table->rows.kernel[number];

    row.gather = moved(r, batch, matrix, row.gather);
    row.scatter = moved(r, batch, matrix, row.scatter);
    row.temp = moved(r, batch, matrix, row.temp);
    row.work = moved(r, batch, matrix, row.work);
    run_row(r, k, number, &row);
}

static void run_batch(run *r, const kernel *k, int64_t number)
{
    const cz_view_batch *batch = &k->table->batches[number - 1];
    int64_t *firsts = CZ_NEW(r->arena, int64_t, batch->n_matrices);
    int64_t row = batch->first;

    for (int64_t m = 0; m < batch->n_matrices && !r->is_lost; m++) {
        while (row < k->end && k->table->batch_of_row[row] != number)
            row++;
        r->is_lost = batch->n_rows > k->end - row;
        firsts[m] = row;
        row += batch->n_rows;
    }
    const int64_t n = batch->n_matrices * batch->n_rows;
    for (int64_t i = 0; i < n && !r->is_lost; i++) {
        const bool is_by_row = r->order == ROW_BY_ROW;
        const int64_t m = is_by_row
                              ? batch->n_matrices - 1 - i % batch->n_matrices
                              : i / batch->n_rows;
        const int64_t step =
            is_by_row ? i / batch->n_matrices : i % batch->n_rows;
        run_moved(r, k, batch, m, firsts[m] + step);
    }
}

static void run_kernel(run *r, const kernel *k)
{
    for (int64_t i = k->first_row; i < k->end && !r->is_lost; i++) {
        const int64_t number = r->order != ONE_BY_ONE && k->table->batch_of_row
                                   ? k->table->batch_of_row[i]
                                   : 0;
        if (number > k->table->n_batches)
            r->is_lost = true;
        else if (number == 0)
            run_row(r, k, i, &k->table->rows.kernel[i]);
        else if (k->table->batches[number - 1].first == i)
            run_batch(r, k, number);
    }
}

/* ---- all else ----------------------------------------------------------- */

/* All is sent before anything comes. */
static void run_transfer(run *r, const kernel *k)
{
    for (int64_t is_recv = 0; is_recv < 2; is_recv++)
        for (int64_t i = k->first_row; i < k->end; i++) {
            const cz_view_transfer_entry *row = &k->table->rows.transfer[i];
            uint64_t *read = &r->reads[k->first_read + i - k->first_row];
            const int64_t n_runs = row->n_peers * row->n_rows;
            for (int64_t n = 0; row->is_recv == is_recv && n < n_runs &&
                                cz_view_has_member(row, k->position);
                 n++) {
                const int64_t at = cz_view_box_at(row, n / row->n_rows).offset +
                                   n % row->n_rows * row->stride_bytes;
                const uint64_t mark =
                    mix(mix(RECEIVED, (uint64_t)k->first_read),
                        (uint64_t)(i * n_runs + n));
                if (is_recv)
                    write_bytes(r, mark, at, row->row_bytes);
                else
                    *read = read_bytes(r, *read, at, row->row_bytes);
            }
        }
}

static void run_sums(run *r, const kernel *k)
{
    for (int64_t i = k->first_row; i < k->end; i++) {
        const cz_view_sum_entry *row = &k->table->rows.sum[i];
        const int64_t read = k->first_read + i - k->first_row;
        const int64_t bytes = row->count * row->width;
        r->reads[read] = read_bytes(r, SUMMED, row->offset, bytes);
        write_bytes(r, mix(r->reads[read], (uint64_t)read), row->offset, bytes);
    }
}

static void run_op(run *r, const cz_view_op *op)
{
    const cz_view_table *table = &r->view->tables[op->table];
    const int64_t at =
        cz_view_coordinate(r->view, &table->fact->selector, r->rank);
    const kernel k = {table, table->starts[at], table->starts[at + 1],
                      r->n_reads,
                      cz_view_coordinate(r->view, &op->fact->comm, r->rank)};

    r->n_reads += k.end - k.first_row;
    if (op->kind == CZ_STEP_KERNEL)
        run_kernel(r, &k);
    else if (op->kind == CZ_STEP_TRANSFER)
        run_transfer(r, &k);
    else if (op->kind == CZ_STEP_GROUP_SUM)
        run_sums(r, &k);
}

static int64_t bytes_on(const cz_plan_view *view, const cz_ints *selector,
                        const cz_ints *bytes, int64_t rank)
{
    return bytes->v[cz_view_coordinate(view, selector, rank)];
}

static run run_plan(cz_arena *arena, const cz_plan_view *view, int64_t rank,
                    run_order order)
{
    const cz_fact_batch_arena *behind = view->batch_arena;
    run r = {.view = view, .arena = arena, .rank = rank, .order = order};
    int64_t n_rows = 0;

    for (int i = 0; i < view->n_ops; i++)
        if (view->ops[i].table >= 0) {
            const cz_view_table *table = &view->tables[view->ops[i].table];
            n_rows += table->starts[table->n_coordinates];
        }
    r.arena_bytes =
        bytes_on(view, &view->arena->selector, &view->arena->bytes, rank);
    r.n_bytes = r.arena_bytes;
    if (behind)
        r.n_bytes += bytes_on(view, &behind->selector, &behind->bytes, rank);
    r.bytes = CZ_NEW(arena, uint64_t, r.n_bytes + 1);
    r.cells = CZ_NEW(arena, uint64_t, (int64_t)view->n_params * MAX_CELLS);
    r.reads = CZ_NEW(arena, uint64_t, n_rows + 1);
    for (int64_t i = 0; i < r.n_bytes; i++)
        r.bytes[i] = mix(GARBAGE, (uint64_t)i);
    for (int i = 0; i < view->n_ops && !r.is_lost; i++)
        if (view->ops[i].table >= 0)
            run_op(&r, &view->ops[i]);
    return r;
}

static bool is_same_on(const cz_plan_view *view, int64_t rank)
{
    cz_arena arena;
    bool ok = true;

    cz_arena_init(&arena);
    const run planned = run_plan(&arena, view, rank, ONE_BY_ONE);
    for (int i = MATRIX_BY_MATRIX; i <= ROW_BY_ROW; i++) {
        const run r = run_plan(&arena, view, rank, (run_order)i);
        ok = ok && !r.is_lost && !planned.is_lost &&
             memcmp(r.reads, planned.reads,
                    (size_t)r.n_reads * sizeof *r.reads) == 0;
    }
    cz_arena_fini(&arena);
    return ok;
}

bool batch_run_is_same(const cz_plan_view *view)
{
    for (int64_t rank = 0; rank < view->n_ranks; rank++)
        if (!is_same_on(view, rank))
            return false;
    return true;
}

/* ---- tiles -------------------------------------------------------------- */

bool batch_run_has_kernels(const cz_plan_view *view)
{
    const czr_cuda_product_device device = {90, (int)view->gpu->sms};

    for (int i = 0; i < view->n_tilings; i++) {
        const cz_fact_tiling *t = &view->tilings[i];
        const czr_cuda_tiling tiling = {t->m,
                                        t->n,
                                        t->k,
                                        t->batch,
                                        (uint8_t)t->symmetric,
                                        (uint8_t)t->addend,
                                        (int16_t)t->rows,
                                        (int16_t)t->columns,
                                        (uint8_t)t->stages,
                                        (uint8_t)t->splits,
                                        (uint8_t)t->library};
        const czr_cuda_program program = {
            .tiled_sms = device.sms, .n_tilings = 1, .tilings = &tiling};
        const czr_cuda_product product = {.m = t->m,
                                          .n = t->n,
                                          .k = t->k,
                                          .batch = t->batch,
                                          .is_symmetric = t->symmetric != 0,
                                          .beta = (float)t->addend};
        czr_cuda_product_tiles tiles;
        int parts;
        if (!czr_tiles_find(&program, &product, &device, &tiles, &parts) ||
            parts < 1 || tiles.rows != t->rows || tiles.cols != t->columns ||
            (t->symmetric && (t->library || t->m != t->n)))
            return false;
    }
    return true;
}
