/* Groups of sends and receives, and copies, of one unit. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/world/nccl_exchange.h"

#include "runtime/cuda/driver/clock.h"

/* ---- memory ------------------------------------------------------------- */

static unsigned char *staged(const czr_nccl_work *work, int slot)
{
    return (unsigned char *)czr_pointer_of(work->member->staging) +
           (size_t)slot * work->member->slot_bytes;
}

unsigned char *czr_nccl_slot(const czr_nccl_work *work, int member)
{
    return staged(work, member);
}

unsigned char *czr_nccl_send_buffer(const czr_nccl_work *work, int member)
{
    return staged(work, work->size + member);
}

unsigned char *czr_nccl_boxes(const czr_nccl_work *work)
{
    return staged(work, 2 * work->size);
}

void czr_nccl_copy(czr_nccl_work *work, const void *to, const void *from,
                   size_t bytes)
{
    if (work->status == CZR_OK && to != from)
        work->status =
            czr_context_copy(work->world->context, czr_address_of(to),
                             czr_address_of(from), bytes, work->stream);
}

czr_boxes czr_nccl_boxes_of(const czr_nccl_work *work)
{
    return (czr_boxes){.collect = work->world->options.collect,
                       .stream = work->stream,
                       .status = work->status};
}

/* ---- groups ------------------------------------------------------------- */

static czr_status refuse(czr_nccl_work *work, int code)
{
    char message[CZR_NCCL_MESSAGE];
    const czr_status status =
        czr_nccl_settle(&work->member->nccl, code, 0, "communicating", message);

    return czr_nccl_fail(work->world, status, "operation %d: %s",
                         work->collective->op, message);
}

/* Lock held. */
void czr_nccl_keep(czr_nccl_work *work, int code)
{
    if (work->status == CZR_OK && code != CZR_NCCL_SUCCESS &&
        code != CZR_NCCL_IN_PROGRESS)
        work->status = refuse(work, code);
}

bool czr_nccl_begin(czr_nccl_work *work)
{
    if (work->status != CZR_OK)
        return false;
    pthread_mutex_lock(&work->world->call);
    pthread_mutex_lock(&work->world->lock);
    work->status = work->world->failure;
    if (work->status == CZR_OK)
        czr_nccl_keep(work, work->world->options.nccl->group_start());
    if (work->status == CZR_OK)
        return true;
    pthread_mutex_unlock(&work->world->lock);
    pthread_mutex_unlock(&work->world->call);
    return false;
}

/* Whether NCCL is still taking it. */
static bool is_in_progress(czr_nccl_work *work)
{
    czr_world_nccl *world = work->world;
    int state = CZR_NCCL_SUCCESS;

    pthread_mutex_lock(&world->lock);
    if (work->status == CZR_OK)
        work->status = world->failure;
    if (work->status == CZR_OK)
        czr_nccl_keep(work, world->options.nccl->async_error(
                                work->member->nccl.handle, &state));
    if (work->status == CZR_OK)
        czr_nccl_keep(work, state);
    pthread_mutex_unlock(&world->lock);
    return work->status == CZR_OK && state == CZR_NCCL_IN_PROGRESS;
}

static void settle(czr_nccl_work *work)
{
    static const struct timespec pause = {0, 5000};
    const int64_t deadline_ms = work->world->base.deadline_ms;
    const int64_t start = czr_now_ms();

    while (is_in_progress(work)) {
        if (czr_now_ms() - start < deadline_ms) {
            nanosleep(&pause, NULL);
            continue;
        }
        pthread_mutex_lock(&work->world->lock);
        work->status =
            czr_nccl_fail(work->world, CZR_ERR_TIMEOUT,
                          "operation %d: NCCL did not take it in %lld ms",
                          work->collective->op, (long long)deadline_ms);
        pthread_mutex_unlock(&work->world->lock);
    }
}

/* Without the lock, for the watchdog: up to NCCL 2.22, or where the environment
 * says that communicators block, the end of a group waits for room on the
 * stream. */
void czr_nccl_end(czr_nccl_work *work)
{
    czr_world_nccl *world = work->world;

    pthread_mutex_unlock(&world->lock);
    /* Also where something in it failed. */
    const int code = world->options.nccl->group_end();
    pthread_mutex_lock(&world->lock);
    if (work->status == CZR_OK)
        work->status = world->failure;
    czr_nccl_keep(work, code);
    pthread_mutex_unlock(&world->lock);
    pthread_mutex_unlock(&world->call);
    if (work->status == CZR_OK && code == CZR_NCCL_IN_PROGRESS)
        settle(work);
}

void czr_nccl_send(czr_nccl_work *work, const void *from, size_t bytes,
                   int peer)
{
    if (bytes && work->status == CZR_OK)
        czr_nccl_keep(work, work->world->options.nccl->send(
                                from, bytes, CZR_NCCL_INT8, peer,
                                work->member->nccl.handle, work->stream));
}

void czr_nccl_receive(czr_nccl_work *work, void *to, size_t bytes, int peer)
{
    if (bytes && work->status == CZR_OK)
        czr_nccl_keep(work, work->world->options.nccl->receive(
                                to, bytes, CZR_NCCL_INT8, peer,
                                work->member->nccl.handle, work->stream));
}

/* ---- all members -------------------------------------------------------- */

void czr_nccl_exchange(czr_nccl_work *work)
{
    const czr_nccl_buffers *pieces = &work->member->buffers;

    if (work->size == 1 || !czr_nccl_begin(work))
        return;
    for (int i = 1; i < work->size; i++) {
        /* Everybody begins with another one. */
        const int to = (work->self + i) % work->size;
        const int from = (work->self + work->size - i) % work->size;
        czr_nccl_send(work, pieces->from[to], pieces->from_bytes[to], to);
        czr_nccl_receive(work, pieces->to[from], pieces->to_bytes[from], from);
    }
    czr_nccl_end(work);
}

void czr_nccl_all_slots(czr_nccl_work *work, size_t bytes)
{
    const czr_nccl_buffers *pieces = &work->member->buffers;

    for (int i = 0; i < work->size; i++) {
        pieces->from[i] = czr_nccl_slot(work, work->self);
        pieces->to[i] = czr_nccl_slot(work, i);
        pieces->from_bytes[i] = pieces->to_bytes[i] = bytes;
    }
    czr_nccl_exchange(work);
}

void czr_nccl_sum(czr_nccl_work *work, czr_sum type, size_t n)
{
    const czr_collect_members members = {
        .data = czr_pointer_of(work->member->table),
        .n_members = work->size,
        .to = work->self,
        .to_end = work->self + 1};

    if (work->status == CZR_OK && n > 0)
        work->status = czr_collect_sum_slice(work->world->options.collect,
                                             &members, type, n, work->stream);
}
