/* Which operations are the last of a bucket does not depend on phases: none is
 * skipped for them. */
#include "runtime/cuda/exec/delivery.h"

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

static int *lasts_of(const czr_cuda_delivery *delivery, int bucket)
{
    return delivery->lasts + (size_t)bucket * (size_t)delivery->n_streams;
}

/* What gathers a bucket waits for all that writes it. */
static void note_gather(const czr_cuda_delivery *delivery, const czr_op *row,
                        int op)
{
    int *lasts = lasts_of(delivery, row->bucket);

    for (int i = 0; i < delivery->n_streams; i++)
        lasts[i] = NONE;
    lasts[row->stream] = op;
}

static void note_rows(const czr_cuda_delivery *delivery,
                      const czr_engine *engine, int op)
{
    const czr_program *program = engine->program;
    const czr_op *row = &program->ops[op];
    const czr_range range = czr_program_rows(program, row->table, engine->rank);
    const czr_kernel_row *rows = program->tables[row->table].rows;

    for (int64_t i = range.first; i < range.first + range.n; i++)
        if (stores(&program->stages[rows[i].stage]))
            lasts_of(delivery,
                     program->places[rows[i].param].bucket)[row->stream] = op;
}

static void find_lasts(const czr_cuda_delivery *delivery,
                       const czr_engine *engine)
{
    const czr_program *program = engine->program;

    for (int i = 0; i < program->n_buckets * delivery->n_streams; i++)
        delivery->lasts[i] = NONE;
    for (int op = 0; op < program->n_ops; op++)
        if (czr_op_is_skipped(engine, op))
            continue;
        else if (program->ops[op].kind == CZR_ALL_GATHER)
            note_gather(delivery, &program->ops[op], op);
        else if (program->ops[op].kind == CZR_KERNEL)
            note_rows(delivery, engine, op);
}

/* ---- opening ------------------------------------------------------------ */

czr_status czr_cuda_delivery_open(czr_context *context,
                                  const czr_engine *engine,
                                  czr_cuda_delivery *out)
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

void czr_cuda_delivery_close(czr_context *context, czr_cuda_delivery *delivery)
{
    for (int op = 0; delivery->events && op < delivery->n_ops; op++)
        czr_context_close_event(context, delivery->events[op]);
    czr_free(delivery->events);
    czr_free(delivery->lasts);
    *delivery = (czr_cuda_delivery){0};
}

/* ---- steps -------------------------------------------------------------- */

czr_status czr_cuda_delivery_note(czr_context *context,
                                  const czr_cuda_delivery *delivery, int op,
                                  void *stream)
{
    return delivery->events[op]
               ? czr_context_announce(context, delivery->events[op], stream)
               : CZR_OK;
}

static czr_status wait_for_bucket(const czr_cuda_rank *rank, const int *lasts,
                                  void *stream)
{
    czr_context *context = rank->parts.context;
    czr_status status = czr_context_enter(context);

    for (int i = 0; i < rank->delivery.n_streams && status == CZR_OK; i++)
        if (lasts[i] != NONE)
            status = czr_context_wait(context, stream,
                                      rank->delivery.events[lasts[i]]);
    return status;
}

czr_status czr_cuda_delivery_await(czr_engine *engine, int param,
                                   czr_stream consumer)
{
    const czr_cuda_rank *rank = engine->cuda;
    const int *lasts =
        lasts_of(&rank->delivery, engine->program->places[param].bucket);
    bool has_last = false;

    for (int i = 0; i < rank->delivery.n_streams; i++)
        has_last |= lasts[i] != NONE;
    return engine->undoes || engine->bindings[param].param.data || !has_last
               ? engine->device->ops->follow(engine->device, consumer)
               : wait_for_bucket(rank, lasts, consumer);
}
