/* A host device that is as lazy as a plan allows.  Where a plan lacks a wait,
 * it reads what is not there yet, and the result differs from the other
 * device's. */
#include "runtime/device/device.h"

#include "runtime/base/memory.h"
#include "runtime/program/program.h"

typedef enum state { ABSENT, QUEUED, DONE } state;

typedef struct late_device {
    czr_device base;
    czr_device_ops ops;    /* the host's, but for when */
    unsigned char *states; /* [n_ops] of enum state */
    int *before;           /* [n_ops] previous op of the stream, or -1 */
    int *comm_before;      /* [n_ops] previous communication, or -1 */
    int *stack;            /* [n_ops] each needed by the one below */
    int *last;             /* [streams] last op queued, or -1 */
    int n_streams, last_comm;
} late_device;

static czr_status submit(czr_device *device, int op)
{
    late_device *late = (late_device *)device;
    const czr_op *row = &device->program->ops[op];

    late->states[op] = QUEUED;
    late->before[op] = late->last[row->stream];
    late->last[row->stream] = op;
    late->comm_before[op] = -1;
    if (czr_op_is_communication(row)) {
        late->comm_before[op] = late->last_comm;
        late->last_comm = op;
    }
    return CZR_OK;
}

static bool is_queued(const late_device *late, int op)
{
    return op >= 0 && late->states[op] == QUEUED;
}

/* Something that must run before `op` and has not; -1: nothing. */
static int find_blocker(const late_device *late, int op)
{
    const czr_op *row = &late->base.program->ops[op];

    for (int i = row->n_waits - 1; i >= 0; i--)
        if (is_queued(late, row->waits[i]))
            return row->waits[i];
    if (is_queued(late, late->before[op]))
        return late->before[op];
    return is_queued(late, late->comm_before[op]) ? late->comm_before[op] : -1;
}

/* Runs `op` and no more than it needs.  Blockers are earlier operations, so
 * the stack never outgrows the list. */
static czr_status force(late_device *late, int op)
{
    int depth = 0;

    late->stack[depth++] = op;
    while (depth > 0) {
        const int top = late->stack[depth - 1];
        const int blocker = find_blocker(late, top);
        if (blocker >= 0) {
            late->stack[depth++] = blocker;
            continue;
        }
        const czr_status status = late->base.task(late->base.user, top);
        if (status != CZR_OK)
            return status;
        late->states[top] = DONE;
        depth--;
    }
    return CZR_OK;
}

static void start_list(late_device *late)
{
    const int n_ops = late->base.program->n_ops;

    memset(late->states, ABSENT, (size_t)n_ops);
    for (int i = 0; i < late->n_streams; i++)
        late->last[i] = -1;
    late->last_comm = -1;
}

static czr_status finish(czr_device *device)
{
    late_device *late = (late_device *)device;

    for (int op = device->program->n_ops - 1; op >= 0; op--) {
        const czr_status status =
            is_queued(late, op) ? force(late, op) : CZR_OK;
        if (status != CZR_OK)
            return status;
    }
    start_list(late);
    return CZR_OK;
}

static void close_late(czr_device *device)
{
    late_device *late = (late_device *)device;

    czr_free(late->states);
    czr_free(late->before);
    czr_free(late->comm_before);
    czr_free(late->stack);
    czr_free(late->last);
    czr_free(late);
}

czr_status czr_device_late_open(const czr_program *program, czr_task task,
                                void *user, czr_device **out)
{
    const size_t n = (size_t)program->n_ops;
    late_device *late = czr_alloc(1, sizeof *late);

    *out = NULL;
    if (!late)
        return CZR_ERR_NO_MEMORY;
    late->ops = czr_host_ops;
    late->ops.name = "late host";
    late->ops.submit = submit;
    late->ops.finish = finish;
    late->ops.close = close_late;
    late->base = (czr_device){&late->ops, program, task, user};
    late->n_streams = czr_program_streams(program);
    late->states = czr_alloc(n, sizeof *late->states);
    late->before = czr_alloc(n, sizeof *late->before);
    late->comm_before = czr_alloc(n, sizeof *late->comm_before);
    late->stack = czr_alloc(n, sizeof *late->stack);
    late->last = czr_alloc((size_t)late->n_streams, sizeof *late->last);
    if (!late->states || !late->before || !late->comm_before || !late->stack ||
        !late->last) {
        close_late(&late->base);
        return CZR_ERR_NO_MEMORY;
    }
    start_list(late);
    *out = &late->base;
    return CZR_OK;
}
