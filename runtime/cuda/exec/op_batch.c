/* Kernel rows that run as a batch: each unit's with scratch of its own, what
 * they ask for noted, and put when all have been called. */
#include "runtime/cuda/exec/rank.h"

/* Of operation `op`; list NULL: its rows run one by one.  Private scratch is
 * one for all, so that only one stream may have it. */
czr_cuda_batches czr_cuda_batches_of(const czr_cuda_program *program, int op)
{
    const czr_op *of = &program->program->ops[op];

    return program->batches && of->kind == CZR_KERNEL && of->stream == 0
               ? program->batches[of->table]
               : (czr_cuda_batches){NULL, NULL};
}

/* Calls `hear` for each batch of the rank's. */
static void each_batch(const czr_cuda_program *program, int rank,
                       void (*hear)(const czr_cuda_batch *batch, void *user),
                       void *user)
{
    for (int op = 0; op < program->program->n_ops; op++) {
        const czr_cuda_batches of = czr_cuda_batches_of(program, op);
        const int table = program->program->ops[op].table;
        const czr_range range =
            of.list ? czr_program_rows(program->program, table, rank)
                    : (czr_range){0, 0};
        for (int64_t i = range.first; i < range.first + range.n; i++)
            if (of.of_row[i] && of.list[of.of_row[i] - 1].first == i)
                hear(&of.list[of.of_row[i] - 1], user);
    }
}

static void hear_bytes(const czr_cuda_batch *batch, void *user)
{
    int64_t *most = user;
    const int64_t bytes = batch->n_units * batch->bytes;

    *most = bytes > *most ? bytes : *most;
}

int64_t czr_cuda_batch_bytes(const czr_cuda_program *program, int rank)
{
    int64_t most = 0;

    each_batch(program, rank, hear_bytes, &most);
    return most;
}

typedef struct extents {
    size_t n_units, n_rows;
} extents;

static void hear_extents(const czr_cuda_batch *batch, void *user)
{
    extents *most = user;
    const size_t n_units = (size_t)batch->n_units;
    const size_t n_rows = (size_t)batch->n_rows;

    most->n_units = n_units > most->n_units ? n_units : most->n_units;
    most->n_rows = n_rows > most->n_rows ? n_rows : most->n_rows;
}

czr_status czr_cuda_batches_open(czr_cuda_rank *rank)
{
    const czr_cuda_stages *stages = rank->parts.stages;
    extents most = {0, 0};

    each_batch(stages->program, rank->engine->rank, hear_extents, &most);
    return most.n_units == 0
               ? CZR_OK
               : czr_cuda_deferred_open(rank->parts.context, most.n_units,
                                        most.n_rows * stages->most_deferred,
                                        most.n_rows * stages->most_pointers,
                                        &rank->notes);
}

/* Where a unit has what lies at a byte of scratch; -1 stays. */
static int64_t move(const czr_engine *engine, const czr_cuda_batch *batch,
                    int64_t unit, int64_t at)
{
    const bool is_own =
        at >= batch->scratch && at < batch->scratch + batch->bytes;

    return is_own ? engine->scratch_bytes + unit * batch->bytes + at -
                        batch->scratch
                  : at;
}

static czr_kernel_row moved(const czr_engine *engine,
                            const czr_cuda_batch *batch, int64_t unit,
                            const czr_kernel_row *row)
{
    czr_kernel_row to = *row;

    to.gather = move(engine, batch, unit, row->gather);
    to.scatter = move(engine, batch, unit, row->scatter);
    to.temp = move(engine, batch, unit, row->temp);
    to.work = move(engine, batch, unit, row->work);
    return to;
}

/* A unit's rows, the first of which is row `first` of the table. */
static czr_status note_unit(czr_cuda_rank *rank, int op,
                            const czr_cuda_batch *batch, int64_t unit,
                            int64_t first)
{
    const czr_program *program = rank->engine->program;
    const int table = program->ops[op].table;
    const czr_kernel_row *rows = program->tables[table].rows;
    const int64_t start =
        czr_program_rows(program, table, rank->engine->rank).first;
    czr_status status = CZR_OK;

    czr_cuda_deferred_begin(rank->notes);
    for (int64_t i = first; i < first + batch->n_rows && status == CZR_OK;
         i++) {
        const czr_kernel_row row = moved(rank->engine, batch, unit, &rows[i]);
        status = czr_cuda_run_row(rank, op, i - start, &row, rank->notes);
    }
    return status;
}

czr_status czr_cuda_run_batch(czr_cuda_rank *rank, int op,
                              const czr_cuda_batches *of, int32_t number)
{
    const czr_cuda_batch *batch = &of->list[number - 1];
    int64_t row = batch->first;
    czr_status status = CZR_OK;

    for (int64_t unit = 0; unit < batch->n_units && status == CZR_OK; unit++) {
        while (of->of_row[row] != number)
            row++;
        status = note_unit(rank, op, batch, unit, row);
        row += batch->n_rows;
    }
    return status == CZR_OK ? czr_cuda_deferred_put(rank->notes) : status;
}
