/* Members: a communicator of NCCL's, split from that of all ranks, and the
 * memory that its units need. */
#include "runtime/cuda/world/nccl_internal.h"

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
    /* Whoever is reported of a failure gives both back. */
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
static czr_status make_table(czr_world_nccl *world, czr_nccl_member *member)
{
    const size_t n = (size_t)member->comm.size;
    int64_t *slots = czr_alloc(n, sizeof *slots);

    if (!slots)
        return CZR_ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        slots[i] = (int64_t)(member->staging + i * member->slot_bytes);
    const czr_status status = replace(world, &member->table, slots, n);
    czr_free(slots);
    return status;
}

czr_status czr_nccl_member_grow(czr_world_nccl *world, czr_nccl_member *member,
                                size_t slot_bytes, size_t box_bytes)
{
    const size_t n = (size_t)member->comm.size;
    size_t bytes;

    slot_bytes = (slot_bytes + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
    if (slot_bytes <= member->slot_bytes && box_bytes <= member->box_bytes)
        return CZR_OK;
    if (slot_bytes < member->slot_bytes)
        slot_bytes = member->slot_bytes;
    if (__builtin_mul_overflow(2 * n, slot_bytes, &bytes) ||
        __builtin_add_overflow(bytes, box_bytes, &bytes))
        return CZR_ERR_NO_MEMORY;
    czr_context_free(world->context, member->staging);
    member->staging = 0;
    member->slot_bytes = member->box_bytes = 0;
    const czr_status status =
        czr_context_alloc(world->context, bytes, &member->staging);
    if (status != CZR_OK)
        return status;
    member->slot_bytes = slot_bytes;
    member->box_bytes = box_bytes;
    return make_table(world, member);
}

/* ---- joining ------------------------------------------------------------ */

static bool open_arrays(czr_nccl_member *member, const int *ranks)
{
    const size_t n = (size_t)member->comm.size;
    czr_nccl_buffers *pieces = &member->buffers;

    member->ranks = czr_alloc(n, sizeof *member->ranks);
    member->ranges = czr_alloc(n, sizeof *member->ranges);
    member->messages = czr_alloc(2 * n, sizeof *member->messages);
    pieces->from = czr_alloc(n, sizeof *pieces->from);
    pieces->to = czr_alloc(n, sizeof *pieces->to);
    pieces->from_bytes = czr_alloc(n, sizeof *pieces->from_bytes);
    pieces->to_bytes = czr_alloc(n, sizeof *pieces->to_bytes);
    if (!member->ranks || !member->ranges || !member->messages ||
        !pieces->from || !pieces->to || !pieces->from_bytes ||
        !pieces->to_bytes)
        return false;
    memcpy(member->ranks, ranks, n * sizeof *ranks);
    member->comm.ranks = member->ranks;
    return true;
}

static czr_status open_memory(czr_world_nccl *world, czr_nccl_member *member)
{
    void *marks;
    czr_status status =
        czr_context_open_event(world->context, &member->last.event);

    if (status == CZR_OK)
        status = czr_context_alloc_pinned(
            world->context, CZR_NCCL_N_MARKS * sizeof *member->marks, &marks);
    if (status != CZR_OK)
        return status;
    member->marks = marks;
    memset(marks, 0, CZR_NCCL_N_MARKS * sizeof *member->marks);
    const size_t most = world->options.slot_bytes;
    return czr_nccl_member_grow(
        world, member, most < HOST_SLOT_BYTES ? most : HOST_SLOT_BYTES, 0);
}

/* All ranks come here, each for the communicator that it is in. */
static czr_status split(czr_world_nccl *world, czr_nccl_member *member)
{
    char message[CZR_NCCL_MESSAGE] = "";

    if (member->comm.size == 1)
        return CZR_OK;
    const czr_status status = czr_nccl_comm_split(
        &world->parent, member->ranks[0], member->comm.size,
        member->comm.position, world->base.deadline_ms, &member->nccl, message);
    if (status == CZR_OK)
        return CZR_OK;
    pthread_mutex_lock(&world->lock);
    czr_nccl_fail(world, status, "%.*s", CZR_WHY_BYTES - 1, message);
    pthread_mutex_unlock(&world->lock);
    return status;
}

static czr_status open_member(czr_world_nccl *world, czr_channel channel,
                              const int *ranks, int n, czr_nccl_member *member)
{
    member->channel = channel;
    member->comm = (czr_comm){.world = &world->base, .size = n};
    if (!open_arrays(member, ranks))
        return CZR_ERR_NO_MEMORY;
    while (ranks[member->comm.position] != world->base.rank)
        member->comm.position++;
    const czr_status status = open_memory(world, member);
    /* Also where there is no memory: the others are there. */
    const czr_status joined = split(world, member);
    return status == CZR_OK ? joined : status;
}

static czr_nccl_member *find_member(const czr_world_nccl *world,
                                    czr_channel channel, const int *ranks,
                                    int n)
{
    for (czr_nccl_member *member = world->members; member;
         member = member->next)
        if (member->channel == channel && member->comm.size == n &&
            !memcmp(member->ranks, ranks, (size_t)n * sizeof *ranks))
            return member;
    return NULL;
}

czr_status czr_nccl_join(czr_world *base, czr_channel channel, const int *ranks,
                         int n, czr_comm **out)
{
    czr_world_nccl *world = (czr_world_nccl *)base;
    czr_nccl_member *member = find_member(world, channel, ranks, n);

    *out = member ? &member->comm : NULL;
    if (member)
        return CZR_OK;
    czr_status status = czr_nccl_failure(world);
    member = status == CZR_OK ? czr_alloc(1, sizeof *member) : NULL;
    if (!member)
        return status == CZR_OK ? CZR_ERR_NO_MEMORY : status;
    status = open_member(world, channel, ranks, n, member);
    if (status != CZR_OK) {
        czr_nccl_comm_abort(&member->nccl);
        czr_nccl_member_close(world, member);
        return status;
    }
    pthread_mutex_lock(&world->lock); /* the watchdog walks along them */
    member->next = world->members;
    world->members = member;
    pthread_mutex_unlock(&world->lock);
    *out = &member->comm;
    return CZR_OK;
}

void czr_nccl_member_close(czr_world_nccl *world, czr_nccl_member *member)
{
    czr_nccl_comm_close(&member->nccl, world->base.deadline_ms);
    czr_context_close_event(world->context, member->last.event);
    czr_context_free(world->context, member->staging);
    czr_context_free(world->context, member->table);
    czr_context_free_pinned(world->context, member->marks);
    czr_free(member->ranks);
    czr_free(member->ranges);
    czr_free(member->messages);
    czr_free(member->buffers.from);
    czr_free(member->buffers.to);
    czr_free(member->buffers.from_bytes);
    czr_free(member->buffers.to_bytes);
    czr_free(member);
}
