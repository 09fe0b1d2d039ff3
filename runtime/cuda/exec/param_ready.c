/* Which operations are the last of a bucket does not depend on phases: none is
 * skipped for them. */
#include "runtime/cuda/exec/param_ready.h"

#include "runtime/cuda/exec/rank.h"
#include "runtime/base/memory.h"

enum { NONE = -1 };

/* ---- which operations are the last -------------------------------------- */

static bool stores(const czr_stage *stage)
{
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == CZR_SLOT_PARAM ||
            stage->out[i].kind == CZR_SLOT_STORED)
            return true;
    return false;
}

static int *lasts_of(const czr_cuda_param_ready *param_ready, int bucket)
{
    return param_ready->lasts + (size_t)bucket * (size_t)param_ready->n_streams;
}

/* What gathers a bucket waits for all that writes it. */
static void note_gather(const czr_cuda_param_ready *param_ready,
                        const czr_op *row, int op)
{
    int *lasts = lasts_of(param_ready, row->bucket);

    for (int i = 0; i < param_ready->n_streams; i++)
        lasts[i] = NONE;
    lasts[row->stream] = op;
}

static void note_rows(const czr_cuda_param_ready *param_ready,
                      const czr_engine *engine, int op)
{
    const czr_program *program = engine->program;
    const czr_op *row = &program->ops[op];
    const czr_range range = czr_program_rows(program, row->table, engine->rank);
    const czr_kernel_entry *rows = program->tables[row->table].rows;

    for (int64_t i = range.first; i < range.first + range.n; i++)
        if (stores(&program->stages[rows[i].stage]))
            lasts_of(param_ready,
                     program->places[rows[i].param].bucket)[row->stream] = op;
}

static void find_lasts(const czr_cuda_param_ready *param_ready,
                       const czr_engine *engine)
{
    const czr_program *program = engine->program;

    for (int i = 0; i < program->n_buckets * param_ready->n_streams; i++)
        param_ready->lasts[i] = NONE;
    for (int op = 0; op < program->n_ops; op++)
        if (czr_op_is_skipped(engine, op))
            continue;
        else if (program->ops[op].kind == CZR_ALL_GATHER)
            note_gather(param_ready, &program->ops[op], op);
        else if (program->ops[op].kind == CZR_KERNEL)
            note_rows(param_ready, engine, op);
}

/* ---- opening ------------------------------------------------------------ */

czr_status czr_cuda_param_ready_open(czr_context *context,
                                     const czr_engine *engine,
                                     czr_cuda_param_ready *out)
{
    const czr_program *program = engine->program;
    czr_status status = CZR_OK;

    out->n_ops = program->n_ops;
    out->n_streams = czr_program_streams(program);
    const size_t n = (size_t)program->n_buckets * (size_t)out->n_streams;
    out->events = czr_alloc((size_t)program->n_ops, sizeof *out->events);
    out->lasts = czr_alloc(n, sizeof *out->lasts);
    if (!out->events || !out->lasts)
        return CZR_ERR_NO_MEMORY;
    find_lasts(out, engine);
    for (size_t i = 0; i < n && status == CZR_OK; i++)
        if (out->lasts[i] != NONE && !out->events[out->lasts[i]])
            status =
                czr_context_open_event(context, &out->events[out->lasts[i]]);
    return status;
}

void czr_cuda_param_ready_close(czr_context *context,
                                czr_cuda_param_ready *param_ready)
{
    for (int op = 0; param_ready->events && op < param_ready->n_ops; op++)
        czr_context_close_event(context, param_ready->events[op]);
    czr_free(param_ready->events);
    czr_free(param_ready->lasts);
    *param_ready = (czr_cuda_param_ready){0};
}

/* ---- steps -------------------------------------------------------------- */

czr_status czr_cuda_param_ready_note(czr_context *context,
                                     const czr_cuda_param_ready *param_ready,
                                     int op, void *stream)
{
    return param_ready->events[op]
               ? czr_context_announce(context, param_ready->events[op], stream)
               : CZR_OK;
}

static czr_status wait_for_bucket(const czr_cuda_rank *rank, const int *lasts,
                                  void *stream)
{
    czr_context *context = rank->device.context;
    czr_status status = czr_context_enter(context);

    for (int i = 0; i < rank->param_ready.n_streams && status == CZR_OK; i++)
        if (lasts[i] != NONE)
            status = czr_context_wait(context, stream,
                                      rank->param_ready.events[lasts[i]]);
    return status;
}

czr_status czr_cuda_param_ready_await(czr_engine *engine, int param,
                                      czr_stream consumer)
{
    czr_cuda_rank *rank = engine->cuda;
    const int *lasts =
        lasts_of(&rank->param_ready, engine->program->places[param].bucket);
    bool has_last = false;

    if (consumer == CZR_NO_STREAM)
        return CZR_OK;
    for (int i = 0; i < rank->param_ready.n_streams; i++)
        has_last |= lasts[i] != NONE;
    return czr_cuda_rank_check(
        rank,
        engine->undoes || engine->bindings[param].param.data || !has_last
            ? engine->device->ops->follow(engine->device, consumer)
            : wait_for_bucket(rank, lasts, consumer),
        "waiting for a parameter");
}
