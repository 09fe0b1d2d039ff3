/* One unit from its post to the end of its wait; gathers, and what the host
 * asks for. */
#include "runtime/cuda/world/nccl_exchange.h"

#include <stdio.h>

#include "runtime/base/memory.h"

/* ---- gathers ------------------------------------------------------------ */

/* Each member's part, into the member's shares; bytes of an element of those.
 */
static size_t find_parts(const czr_nccl_work *work)
{
    const czr_world_nccl *world = work->world;
    const int op = work->collective->op;
    const size_t bytes = work->collective->of.all_gather.bytes;
    czr_range *ranges = work->member->ranges;

    if (op >= 0 && world->ranges && world->ranges[op]) {
        const czr_program *program = world->program;
        memcpy(ranges, world->ranges[op], (size_t)work->size * sizeof *ranges);
        return czr_dtype_bytes(program->buckets[program->ops[op].bucket].dtype);
    }
    for (int i = 0; i < work->size; i++)
        ranges[i] = (czr_range){i * (int64_t)bytes, (int64_t)bytes};
    return 1;
}

/* Slices of one length by one call, others by one for each. */
static void put_gathers(czr_nccl_work *work, size_t element)
{
    const czr_all_gather *gather = &work->collective->of.all_gather;
    const czr_nccl *nccl = work->world->options.nccl;
    const czr_range *ranges = work->member->ranges;
    void *comm = work->member->nccl.handle;

    if (czr_nccl_are_equal(work)) {
        if (gather->bytes > 0)
            czr_nccl_keep(
                work, nccl->all_gather(
                          gather->send,
                          gather->receive + (size_t)ranges[0].first * element,
                          gather->bytes, CZR_NCCL_INT8, comm, work->stream));
        return;
    }
    for (int i = 0; i < work->size; i++)
        if (ranges[i].n > 0)
            czr_nccl_keep(
                work, nccl->broadcast(gather->send,
                                      gather->receive +
                                          (size_t)ranges[i].first * element,
                                      (size_t)ranges[i].n * element,
                                      CZR_NCCL_INT8, i, comm, work->stream));
}

static void all_gather(czr_nccl_work *work)
{
    const czr_all_gather *gather = &work->collective->of.all_gather;
    const size_t element = find_parts(work);
    const czr_range own = work->member->ranges[work->self];

    if (gather->at != (size_t)own.first * element ||
        gather->bytes != (size_t)own.n * element) {
        work->status = CZR_ERR_ARGUMENT;
        return;
    }
    if (work->size == 1) {
        czr_nccl_copy(work, gather->receive + gather->at, gather->send,
                      gather->bytes);
        return;
    }
    if (!czr_nccl_begin(work))
        return;
    put_gathers(work, element);
    czr_nccl_end(work);
}

/* ---- for the host ------------------------------------------------------- */

static void gather_for_host(czr_nccl_work *work)
{
    const czr_all_gather *gather = &work->collective->of.all_gather;
    const unsigned char *send = gather->send;
    const size_t slot = work->member->slot_bytes;

    if (gather->at != (size_t)work->self * gather->bytes)
        work->status = CZR_ERR_ARGUMENT;
    for (size_t done = 0; done < gather->bytes; done += slot) {
        const size_t left = gather->bytes - done;
        const size_t n = left < slot ? left : slot;
        czr_nccl_copy(work, czr_nccl_slot(work, work->self), send + done, n);
        czr_nccl_all_slots(work, n);
        for (int i = 0; i < work->size; i++)
            czr_nccl_copy(work,
                          gather->receive + (size_t)i * gather->bytes + done,
                          czr_nccl_slot(work, i), n);
    }
}

static void reduce_for_host(czr_nccl_work *work)
{
    const czr_all_reduce *sum = &work->collective->of.all_reduce;
    const size_t element = czr_sum_bytes(sum->type);
    const size_t chunk = work->member->slot_bytes / element;

    for (size_t done = 0; done < sum->count; done += chunk) {
        const size_t left = sum->count - done;
        const size_t n = left < chunk ? left : chunk;
        unsigned char *data = (unsigned char *)sum->data + done * element;
        czr_nccl_copy(work, czr_nccl_slot(work, work->self), data, n * element);
        czr_nccl_all_slots(work, n * element);
        czr_nccl_sum(work, sum->type, n);
        czr_nccl_copy(work, data, czr_nccl_slot(work, work->self), n * element);
    }
}

static void run_for_host(czr_nccl_work *work)
{
    switch (work->collective->kind) {
    case CZR_COLLECTIVE_BARRIER:
        czr_nccl_all_slots(work, sizeof(int64_t));
        break;
    case CZR_COLLECTIVE_ALL_GATHER:
        gather_for_host(work);
        break;
    case CZR_COLLECTIVE_ALL_REDUCE:
        reduce_for_host(work);
        break;
    case CZR_COLLECTIVE_REDUCE_SCATTER:
    case CZR_COLLECTIVE_SUM_SCATTER:
    case CZR_COLLECTIVE_BAND_GATHER:
    case CZR_COLLECTIVE_TRANSFER:
        work->status = CZR_ERR_UNSUPPORTED;
        break;
    }
}

/* ---- a unit ------------------------------------------------------------- */

static void run_on_stream(czr_nccl_work *work)
{
    switch (work->collective->kind) {
    case CZR_COLLECTIVE_BARRIER:
        czr_nccl_all_slots(work, sizeof(int64_t));
        break;
    case CZR_COLLECTIVE_REDUCE_SCATTER:
        czr_nccl_reduce_scatter(work);
        break;
    case CZR_COLLECTIVE_ALL_GATHER:
        all_gather(work);
        break;
    case CZR_COLLECTIVE_ALL_REDUCE:
        czr_nccl_all_reduce(work);
        break;
    case CZR_COLLECTIVE_SUM_SCATTER:
        czr_nccl_sum_scatter(work);
        break;
    case CZR_COLLECTIVE_BAND_GATHER:
        czr_nccl_band_gather(work);
        break;
    case CZR_COLLECTIVE_TRANSFER:
        czr_nccl_transfer(work);
        break;
    }
}

/* What the watchdog reads; also behind what failed. */
static void put_mark(const czr_nccl_work *work, bool has_ended)
{
    const czr_world_nccl *world = work->world;
    czr_context *context = world->context;
    const int64_t *marks = work->member->marks;
    const int64_t mark = czr_nccl_mark_of(work->collective->op, has_ended);

    if (work->size == 1)
        return;
    if (!has_ended)
        czr_context_copy(context, czr_address_of(&marks[CZR_NCCL_HEARTBEAT]),
                         world->heartbeat, sizeof *marks, work->stream);
    czr_context_copy(context, czr_address_of(&marks[CZR_NCCL_MARK]),
                     world->marks + (size_t)mark * sizeof mark, sizeof mark,
                     work->stream);
}

/* Units of several communicators are in the order of calls, which is that of
 * the list on all ranks: by NCCL, or one behind the other. */
static bool is_ordered(const czr_world_nccl *world)
{
    return world->options.nccl->is_ordered;
}

static czr_nccl_last_unit *last_unit_of(czr_world_nccl *world,
                                        czr_nccl_member *member)
{
    return is_ordered(world) || member->comm.size == 1 ? &member->last
                                                       : &world->last;
}

/* What was captured is no last unit: a host unit comes behind all of the step.
 */
static void follow_step(czr_nccl_work *work)
{
    const czr_world_nccl *world = work->world;

    if (work->collective->stream || !world->step_stream || is_ordered(world))
        return;
    work->status = czr_context_record(world->context, world->step_event,
                                      world->step_stream);
    if (work->status == CZR_OK)
        work->status =
            czr_context_wait(world->context, work->stream, world->step_event);
}

/* Behind the last unit, where that is on another stream. */
static void follow_last(czr_nccl_work *work)
{
    const czr_nccl_last_unit *last = last_unit_of(work->world, work->member);

    follow_step(work);
    if (work->status == CZR_OK && last->stream && last->stream != work->stream)
        work->status =
            czr_context_wait(work->world->context, work->stream, last->event);
}

static void end_unit(czr_nccl_work *work)
{
    czr_nccl_last_unit *last = last_unit_of(work->world, work->member);

    if (work->status == CZR_OK)
        work->status =
            czr_context_record(work->world->context, last->event, work->stream);
    last->stream = work->stream;
}

static czr_status start(const czr_nccl_work *work)
{
    czr_world_nccl *world = work->world;
    czr_status status = czr_nccl_failure(world);

    if (status == CZR_OK &&
        czr_nccl_mark_of(work->collective->op, true) >= world->n_marks)
        status = CZR_ERR_STATE; /* of no plan that it was prepared for */
    if (status == CZR_OK)
        status = czr_context_enter(world->context);
    if (status == CZR_OK && !work->collective->stream)
        status = czr_nccl_heartbeat(world, work->stream);
    return status;
}

static const char *reason(const czr_world_nccl *world, czr_status status)
{
    return world->context->error[0] ? world->context->error
                                    : czr_status_text(status);
}

/* What has failed is not taken up again: others wait for it. */
static void give_up(const czr_nccl_work *work)
{
    czr_world_nccl *world = work->world;
    const czr_status status = work->status;

    if (status == CZR_OK || status == CZR_ERR_STATE ||
        status == CZR_ERR_ARGUMENT || status == CZR_ERR_UNSUPPORTED)
        return; /* nothing was put */
    pthread_mutex_lock(&world->lock);
    czr_nccl_fail(world, status, "operation %d: %.*s", work->collective->op,
                  CZR_WHY_BYTES - 1, reason(world, status));
    pthread_mutex_unlock(&world->lock);
}

void czr_nccl_post(czr_comm *comm, const czr_collective *collective)
{
    czr_nccl_member *member = (czr_nccl_member *)comm;
    czr_world_nccl *world = (czr_world_nccl *)comm->world;
    czr_nccl_work work = {.world = world,
                          .member = member,
                          .collective = collective,
                          .stream = collective->stream ? collective->stream
                                                       : world->stream,
                          .self = comm->position,
                          .size = comm->size};

    work.status = member->status = start(&work);
    if (work.status != CZR_OK) {
        give_up(&work);
        return;
    }
    follow_last(&work);
    put_mark(&work, false);
    if (collective->stream)
        run_on_stream(&work);
    else
        run_for_host(&work);
    put_mark(&work, true);
    end_unit(&work);
    member->status = work.status;
    give_up(&work);
}

czr_status czr_nccl_wait(czr_comm *comm, const czr_collective *collective,
                         char *why)
{
    czr_nccl_member *member = (czr_nccl_member *)comm;
    czr_world_nccl *world = (czr_world_nccl *)comm->world;
    czr_status status = member->status;

    /* The watchdog ends what does not end by itself; what was put of a unit
     * that failed is of the caller's memory, too. */
    if (!collective->stream && status == CZR_OK)
        status = czr_context_synchronize(world->context, world->stream,
                                         2 * world->base.deadline_ms);
    if (!collective->stream && status != CZR_OK)
        czr_context_drain(world->context, world->stream);
    if (!collective->stream && status == CZR_OK)
        last_unit_of(world, member)->stream = NULL;
    const czr_status failure = czr_nccl_failure(world);
    if (failure != CZR_OK || (status == CZR_OK && !collective->stream))
        return czr_world_nccl_check(&world->base, why);
    if (status == CZR_OK)
        return CZR_OK;
    snprintf(why, CZR_WHY_BYTES, "%.*s", CZR_WHY_BYTES - 1,
             reason(world, status));
    return status;
}
