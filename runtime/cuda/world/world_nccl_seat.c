/* Seats: a communicator of NCCL's, split from that of all ranks, and the memory
 * that its units need. */
#include "runtime/cuda/world/world_nccl_internal.h"

#include <stdio.h>

#include "runtime/base/memory.h"

enum { HOST_SLOT_BYTES = 1 << 16, SLOT_ALIGN = 256 };

/* n numbers of eight bytes to the device, done when this returns. */
static czr_status upload(czr_world_nccl *world, czr_address to,
                         const int64_t *numbers, size_t n)
{
    czr_status status =
        czr_context_copy(world->context, to, czr_address_of(numbers),
                         n * sizeof *numbers, world->stream);

    if (status == CZR_OK)
        status = czr_context_synchronize(world->context, world->stream,
                                         world->base.deadline_ms);
    /* Whoever is told of a failure gives both back. */
    if (status != CZR_OK)
        czr_context_drain(world->context, world->stream);
    return status;
}

/* Memory for `n` numbers at *at in place of what is there, with these. */
static czr_status replace(czr_world_nccl *world, czr_address *at,
                          const int64_t *numbers, size_t n)
{
    czr_context_free(world->context, *at);
    *at = 0;
    const czr_status status =
        czr_context_alloc(world->context, n * sizeof *numbers, at);
    return status == CZR_OK ? upload(world, *at, numbers, n) : status;
}

czr_status czr_nccl_make_marks(czr_world_nccl *world, int n_ops)
{
    const int64_t n = czr_nccl_mark_of(n_ops, false);
    int64_t *numbers = czr_alloc((size_t)n, sizeof *numbers);

    if (!numbers)
        return CZR_ERR_NO_MEMORY;
    for (int64_t i = 0; i < n; i++)
        numbers[i] = i;
    world->n_marks = 0;
    const czr_status status = replace(world, &world->marks, numbers, (size_t)n);
    if (status == CZR_OK)
        world->n_marks = (int)n;
    czr_free(numbers);
    return status;
}

/* Where slots are. */
static czr_status make_table(czr_world_nccl *world, czr_nccl_seat *seat)
{
    const size_t n = (size_t)seat->comm.size;
    int64_t *slots = czr_alloc(n, sizeof *slots);

    if (!slots)
        return CZR_ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        slots[i] = (int64_t)(seat->staging + i * seat->slot_bytes);
    const czr_status status = replace(world, &seat->table, slots, n);
    czr_free(slots);
    return status;
}

czr_status czr_nccl_seat_grow(czr_world_nccl *world, czr_nccl_seat *seat,
                              size_t slot_bytes, size_t box_bytes)
{
    const size_t n = (size_t)seat->comm.size;
    size_t bytes;

    slot_bytes = (slot_bytes + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
    if (slot_bytes <= seat->slot_bytes && box_bytes <= seat->box_bytes)
        return CZR_OK;
    if (slot_bytes < seat->slot_bytes)
        slot_bytes = seat->slot_bytes;
    if (__builtin_mul_overflow(2 * n, slot_bytes, &bytes) ||
        __builtin_add_overflow(bytes, box_bytes, &bytes))
        return CZR_ERR_NO_MEMORY;
    czr_context_free(world->context, seat->staging);
    seat->staging = 0;
    seat->slot_bytes = seat->box_bytes = 0;
    const czr_status status =
        czr_context_alloc(world->context, bytes, &seat->staging);
    if (status != CZR_OK)
        return status;
    seat->slot_bytes = slot_bytes;
    seat->box_bytes = box_bytes;
    return make_table(world, seat);
}

/* ---- joining ------------------------------------------------------------ */

static bool open_arrays(czr_nccl_seat *seat, const int *ranks)
{
    const size_t n = (size_t)seat->comm.size;
    czr_nccl_pieces *pieces = &seat->pieces;

    seat->ranks = czr_alloc(n, sizeof *seat->ranks);
    seat->shares = czr_alloc(n, sizeof *seat->shares);
    seat->letters = czr_alloc(2 * n, sizeof *seat->letters);
    pieces->from = czr_alloc(n, sizeof *pieces->from);
    pieces->to = czr_alloc(n, sizeof *pieces->to);
    pieces->from_bytes = czr_alloc(n, sizeof *pieces->from_bytes);
    pieces->to_bytes = czr_alloc(n, sizeof *pieces->to_bytes);
    if (!seat->ranks || !seat->shares || !seat->letters || !pieces->from ||
        !pieces->to || !pieces->from_bytes || !pieces->to_bytes)
        return false;
    memcpy(seat->ranks, ranks, n * sizeof *ranks);
    seat->comm.ranks = seat->ranks;
    return true;
}

static czr_status open_memory(czr_world_nccl *world, czr_nccl_seat *seat)
{
    void *cells;
    czr_status status = czr_context_open_event(world->context, &seat->event);

    if (status == CZR_OK)
        status = czr_context_alloc_pinned(
            world->context, CZR_NCCL_CELLS * sizeof *seat->cells, &cells);
    if (status != CZR_OK)
        return status;
    seat->cells = cells;
    memset(cells, 0, CZR_NCCL_CELLS * sizeof *seat->cells);
    const size_t most = world->options.slot_bytes;
    return czr_nccl_seat_grow(
        world, seat, most < HOST_SLOT_BYTES ? most : HOST_SLOT_BYTES, 0);
}

/* All ranks come here, each for the communicator that it is in. */
static czr_status split(czr_world_nccl *world, czr_nccl_seat *seat)
{
    char message[CZR_NCCL_MESSAGE] = "";

    if (seat->comm.size == 1)
        return CZR_OK;
    const czr_status status = czr_nccl_comm_split(
        &world->parent, seat->ranks[0], seat->comm.size, seat->comm.position,
        world->base.deadline_ms, &seat->nccl, message);
    if (status == CZR_OK)
        return CZR_OK;
    pthread_mutex_lock(&world->lock);
    czr_nccl_fail(world, status, "%.*s", CZR_WHY_BYTES - 1, message);
    pthread_mutex_unlock(&world->lock);
    return status;
}

static czr_status open_seat(czr_world_nccl *world, czr_channel channel,
                            const int *ranks, int n, czr_nccl_seat *seat)
{
    seat->channel = channel;
    seat->comm = (czr_comm){.world = &world->base, .size = n};
    if (!open_arrays(seat, ranks))
        return CZR_ERR_NO_MEMORY;
    while (ranks[seat->comm.position] != world->base.rank)
        seat->comm.position++;
    const czr_status status = open_memory(world, seat);
    /* Also where there is no memory: the others are there. */
    const czr_status joined = split(world, seat);
    return status == CZR_OK ? joined : status;
}

static czr_nccl_seat *find_seat(const czr_world_nccl *world,
                                czr_channel channel, const int *ranks, int n)
{
    for (czr_nccl_seat *seat = world->seats; seat; seat = seat->next)
        if (seat->channel == channel && seat->comm.size == n &&
            !memcmp(seat->ranks, ranks, (size_t)n * sizeof *ranks))
            return seat;
    return NULL;
}

czr_status czr_nccl_join(czr_world *base, czr_channel channel, const int *ranks,
                         int n, czr_comm **out)
{
    czr_world_nccl *world = (czr_world_nccl *)base;
    czr_nccl_seat *seat = find_seat(world, channel, ranks, n);

    *out = seat ? &seat->comm : NULL;
    if (seat)
        return CZR_OK;
    czr_status status = czr_nccl_failure(world);
    seat = status == CZR_OK ? czr_alloc(1, sizeof *seat) : NULL;
    if (!seat)
        return status == CZR_OK ? CZR_ERR_NO_MEMORY : status;
    status = open_seat(world, channel, ranks, n, seat);
    if (status != CZR_OK) {
        czr_nccl_comm_abort(&seat->nccl);
        czr_nccl_seat_close(world, seat);
        return status;
    }
    pthread_mutex_lock(&world->lock); /* the watch walks along them */
    seat->next = world->seats;
    world->seats = seat;
    pthread_mutex_unlock(&world->lock);
    *out = &seat->comm;
    return CZR_OK;
}

void czr_nccl_seat_close(czr_world_nccl *world, czr_nccl_seat *seat)
{
    czr_nccl_comm_close(&seat->nccl, world->base.deadline_ms);
    czr_context_close_event(world->context, seat->event);
    czr_context_free(world->context, seat->staging);
    czr_context_free(world->context, seat->table);
    czr_context_free_pinned(world->context, seat->cells);
    czr_free(seat->ranks);
    czr_free(seat->shares);
    czr_free(seat->letters);
    czr_free(seat->pieces.from);
    czr_free(seat->pieces.to);
    czr_free(seat->pieces.from_bytes);
    czr_free(seat->pieces.to_bytes);
    czr_free(seat);
}
