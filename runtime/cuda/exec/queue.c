/* Which events there are is decided when the queue is opened; which waits are
 * needless, when they come, for an operation may be skipped. */
#include "runtime/cuda/exec/queue.h"

#include <stdio.h>

#include "runtime/base/memory.h"
#include "runtime/program/program.h"

enum { NONE = -1 };

struct czr_queue {
    czr_context *context;
    const czr_program *program;
    int n_streams;
    void **streams;  /* [n_streams] */
    void **arrivals; /* [n_streams] events of joins */
    void *start;     /* event of forks */
    void **events;   /* [n_ops], NULL where no other stream waits */
    bool *has_come;  /* [n_ops] in this list */
    /* [n_streams * n_streams] the last operation of the second that the first
     * has waited for in this list, or NONE. */
    int *waited;
    int current; /* operation that has begun, or NONE */
    bool is_joined;
};

/* ---- opening ------------------------------------------------------------ */

static void start_list(czr_queue *queue)
{
    const int n = queue->n_streams;

    if (queue->program->n_ops)
        memset(queue->has_come, 0,
               (size_t)queue->program->n_ops * sizeof *queue->has_come);
    for (int i = 0; i < n * n; i++)
        queue->waited[i] = NONE;
    queue->current = NONE;
}

static czr_status open_event(czr_queue *queue, int op)
{
    return queue->events[op]
               ? CZR_OK
               : czr_context_open_event(queue->context, &queue->events[op]);
}

/* An event for each operation that one of another stream waits for. */
static czr_status open_events(czr_queue *queue)
{
    const czr_op *ops = queue->program->ops;
    czr_status status = CZR_OK;

    for (int op = 0; op < queue->program->n_ops; op++)
        for (int i = 0; i < ops[op].n_waits && status == CZR_OK; i++)
            if (ops[ops[op].waits[i]].stream != ops[op].stream)
                status = open_event(queue, ops[op].waits[i]);
    return status;
}

static czr_status open_all(czr_queue *queue)
{
    czr_status status = czr_context_open_event(queue->context, &queue->start);

    for (int i = 0; i < queue->n_streams && status == CZR_OK; i++) {
        /* Stream 0 computes.  What other ranks wait for goes before it. */
        status =
            i == 0 ? czr_context_open_stream(queue->context, &queue->streams[i])
                   : czr_context_open_urgent_stream(queue->context,
                                                    &queue->streams[i]);
        if (status == CZR_OK)
            status =
                czr_context_open_event(queue->context, &queue->arrivals[i]);
    }
    return status == CZR_OK ? open_events(queue) : status;
}

static czr_status no_memory(czr_context *context, const czr_program *program)
{
    return czr_context_check(context, CZR_CUDA_OUT_OF_MEMORY,
                             "a queue of %d operations", program->n_ops);
}

/* Memory of the host. */
static bool take(czr_queue *queue, czr_context *context,
                 const czr_program *program)
{
    const size_t n_ops = (size_t)program->n_ops;
    const size_t n = (size_t)czr_program_streams(program);

    queue->context = context;
    queue->program = program;
    queue->streams = czr_alloc(n, sizeof *queue->streams);
    queue->arrivals = czr_alloc(n, sizeof *queue->arrivals);
    queue->events = czr_alloc(n_ops, sizeof *queue->events);
    queue->has_come = czr_alloc(n_ops, sizeof *queue->has_come);
    queue->waited = czr_alloc(n * n, sizeof *queue->waited);
    if (!queue->streams || !queue->arrivals || !queue->events ||
        !queue->has_come || !queue->waited)
        return false;
    queue->n_streams = (int)n;
    start_list(queue);
    return true;
}

czr_status czr_queue_open(czr_context *context, const czr_program *program,
                          czr_queue **out)
{
    czr_queue *queue = czr_alloc(1, sizeof *queue);

    *out = NULL;
    if (!queue)
        return no_memory(context, program);
    const czr_status status = take(queue, context, program)
                                  ? open_all(queue)
                                  : no_memory(context, program);
    if (status != CZR_OK) {
        czr_queue_close(queue);
        return status;
    }
    *out = queue;
    return CZR_OK;
}

void czr_queue_drain(czr_queue *queue)
{
    for (int i = 0; i < queue->n_streams; i++)
        if (queue->streams[i])
            czr_context_drain(queue->context, queue->streams[i]);
}

void czr_queue_close(czr_queue *queue)
{
    if (!queue)
        return;
    czr_context *context = queue->context;
    czr_queue_drain(queue);
    for (int op = 0; queue->n_streams && op < queue->program->n_ops; op++)
        czr_context_close_event(context, queue->events[op]);
    for (int i = 0; i < queue->n_streams; i++) {
        czr_context_close_event(context, queue->arrivals[i]);
        czr_context_close_stream(context, queue->streams[i]);
    }
    czr_context_close_event(context, queue->start);
    czr_free(queue->streams);
    czr_free(queue->arrivals);
    czr_free(queue->events);
    czr_free(queue->has_come);
    czr_free(queue->waited);
    czr_free(queue);
}

/* ---- one operation ------------------------------------------------------ */

/* Whether a wait of `row` for `first` says no more than another one does that
 * has been, or that is of the same operation. */
static bool is_covered(const czr_queue *queue, const czr_op *row, int first)
{
    const czr_op *ops = queue->program->ops;
    const int source = ops[first].stream;

    if (source == row->stream ||
        queue->waited[row->stream * queue->n_streams + source] >= first)
        return true;
    for (int i = 0; i < row->n_waits; i++)
        if (row->waits[i] > first && ops[row->waits[i]].stream == source &&
            queue->has_come[row->waits[i]])
            return true;
    return false;
}

static czr_status put_waits(czr_queue *queue, const czr_op *row)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < row->n_waits && status == CZR_OK; i++) {
        const int first = row->waits[i];
        if (!queue->has_come[first] || is_covered(queue, row, first))
            continue;
        status = czr_context_wait(queue->context, queue->streams[row->stream],
                                  queue->events[first]);
        queue->waited[row->stream * queue->n_streams +
                      queue->program->ops[first].stream] = first;
    }
    return status;
}

static czr_status refuse(czr_queue *queue, int op, const char *why)
{
    czr_context *context = queue->context;

    if (context->status == CZR_OK) {
        snprintf(context->error, sizeof context->error, "operation %d: %s", op,
                 why);
        context->status = CZR_ERR_STATE;
    }
    return CZR_ERR_STATE;
}

czr_status czr_queue_begin(czr_queue *queue, int op, void **stream)
{
    const czr_op *row = &queue->program->ops[op];

    *stream = NULL;
    if (queue->current != NONE)
        return refuse(queue, op, "the one before has not ended");
    if (queue->is_joined)
        return refuse(queue, op, "nothing orders it behind the last list");
    const czr_status status = put_waits(queue, row);
    if (status != CZR_OK)
        return status;
    queue->current = op;
    *stream = queue->streams[row->stream];
    return CZR_OK;
}

czr_status czr_queue_end(czr_queue *queue, int op)
{
    if (queue->current != op)
        return refuse(queue, op, "it has not begun");
    queue->current = NONE;
    queue->has_come[op] = true;
    return queue->events[op]
               ? czr_context_record(
                     queue->context, queue->events[op],
                     queue->streams[queue->program->ops[op].stream])
               : CZR_OK;
}

/* ---- lists -------------------------------------------------------------- */

czr_status czr_queue_fork(czr_queue *queue, void *stream)
{
    czr_status status =
        czr_context_record(queue->context, queue->start, stream);

    for (int i = 0; i < queue->n_streams && status == CZR_OK; i++)
        status =
            czr_context_wait(queue->context, queue->streams[i], queue->start);
    if (status == CZR_OK)
        queue->is_joined = false;
    return status;
}

czr_status czr_queue_join(czr_queue *queue, void *stream)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < queue->n_streams && status == CZR_OK; i++) {
        status = czr_context_record(queue->context, queue->arrivals[i],
                                    queue->streams[i]);
        if (status == CZR_OK)
            status =
                czr_context_wait(queue->context, stream, queue->arrivals[i]);
    }
    start_list(queue);
    queue->is_joined = true;
    return status;
}
