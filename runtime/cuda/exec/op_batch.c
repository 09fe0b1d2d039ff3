/* Kernel rows that run as a batch: each unit's with scratch of its own, and a
 * row of all units at once. */
#include "runtime/cuda/exec/rank.h"

#include "runtime/base/memory.h"

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
    const int64_t bytes = batch->n_calls * batch->bytes;

    *most = bytes > *most ? bytes : *most;
}

int64_t czr_cuda_batch_bytes(const czr_cuda_program *program, int rank)
{
    int64_t most = 0;

    each_batch(program, rank, hear_bytes, &most);
    return most;
}

static void hear_units(const czr_cuda_batch *batch, void *user)
{
    size_t *most = user;
    const size_t n_calls = (size_t)batch->n_calls;

    *most = n_calls > *most ? n_calls : *most;
}

czr_status czr_cuda_calls_open(czr_cuda_rank *rank)
{
    const czr_program *program = rank->engine->program;
    const size_t n_scalars = (size_t)program->n_scalars + CZR_NAME_SCALARS;
    size_t n = 1;

    each_batch(rank->device.stages->program, rank->engine->rank, hear_units,
               &n);
    rank->calls = czr_alloc(n, sizeof *rank->calls);
    rank->call_in = czr_alloc(n * CZR_MAX_SLOTS, sizeof *rank->call_in);
    rank->call_out = czr_alloc(n * CZR_MAX_SLOTS, sizeof *rank->call_out);
    rank->call_scalars = czr_alloc(n * n_scalars, sizeof *rank->call_scalars);
    return rank->calls && rank->call_in && rank->call_out && rank->call_scalars
               ? CZR_OK
               : CZR_ERR_NO_MEMORY;
}

void czr_cuda_calls_close(czr_cuda_rank *rank)
{
    czr_free(rank->calls);
    czr_free(rank->call_in);
    czr_free(rank->call_out);
    czr_free(rank->call_scalars);
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

static czr_kernel_entry moved(const czr_engine *engine,
                              const czr_cuda_batch *batch, int64_t unit,
                              const czr_kernel_entry *row)
{
    czr_kernel_entry to = *row;

    to.gather = move(engine, batch, unit, row->gather);
    to.scatter = move(engine, batch, unit, row->scatter);
    to.temp = move(engine, batch, unit, row->temp);
    to.work = move(engine, batch, unit, row->work);
    return to;
}

/* Row `i` of each unit: a call each. */
static czr_status run_rows(czr_cuda_rank *rank, int op,
                           const czr_cuda_batches *of, int32_t number,
                           int32_t i)
{
    const czr_program *program = rank->engine->program;
    const czr_cuda_batch *batch = &of->list[number - 1];
    const int table = program->ops[op].table;
    const czr_kernel_entry *rows = program->tables[table].rows;
    const int64_t start =
        czr_program_rows(program, table, rank->engine->rank).first;
    int64_t first = batch->first;

    for (int64_t unit = 0; unit < batch->n_calls; unit++) {
        while (of->of_row[first] != number)
            first++;
        const czr_kernel_entry row =
            moved(rank->engine, batch, unit, &rows[first + i]);
        czr_cuda_make_call(rank, (size_t)unit, op, first + i - start, &row);
        first += batch->n_rows;
    }
    return czr_cuda_stages_put(rank->calls, (size_t)batch->n_calls);
}

czr_status czr_cuda_run_batch(czr_cuda_rank *rank, int op,
                              const czr_cuda_batches *of, int32_t number)
{
    czr_status status = CZR_OK;

    for (int32_t i = 0; i < of->list[number - 1].n_rows && status == CZR_OK;
         i++)
        status = run_rows(rank, op, of, number, i);
    return status;
}
