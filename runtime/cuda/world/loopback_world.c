/* Communicators in loop-back: who meets where, and the tables that their units
 * need. */
#include "runtime/cuda/world/loopback_world.h"

#include <stdio.h>

#include "runtime/base/memory.h"

/* ---- units -------------------------------------------------------------- */

static void post(czr_comm *comm, const czr_collective *collective)
{
    czr_loopback_communicator *communicator = comm->communicator;

    communicator->posted[comm->position] = collective;
    communicator->n_posted++;
}

/* The first that waits has all of the unit put on the members' streams. */
static czr_status wait_for(czr_comm *comm, const czr_collective *collective,
                           char *why)
{
    czr_loopback_communicator *communicator = comm->communicator;

    if (communicator->posted[comm->position]) {
        communicator->status = CZR_ERR_UNSUPPORTED;
        snprintf(
            communicator->why, sizeof communicator->why,
            "one thread is all ranks: it adds up the host's memory itself");
        if (collective->stream)
            communicator->status =
                czr_loopback_communicator_carry_out(communicator);
        memset(communicator->posted, 0,
               (size_t)communicator->size * sizeof(const czr_collective *));
        communicator->n_posted = 0;
    }
    if (communicator->status != CZR_OK)
        snprintf(why, CZR_WHY_BYTES, "%s", communicator->why);
    return communicator->status;
}

static void abort_all(czr_world *world, const char *why)
{
    const czr_loopback_world *common = world->common;

    if (common->stop)
        common->stop(common->user, world->rank, why);
}

/* ---- who meets where ---------------------------------------------------- */

static bool is_of(const czr_loopback_communicator *communicator,
                  czr_channel channel, const int *ranks, int n)
{
    return communicator->channel == channel && communicator->size == n &&
           memcmp(communicator->ranks, ranks, (size_t)n * sizeof *ranks) == 0;
}

static void close_communicator(czr_loopback_communicator *communicator)
{
    czr_context_free(communicator->common->context, communicator->tables);
    czr_free(communicator->ranks);
    czr_free(communicator->comms);
    czr_free(communicator->posted);
    czr_free(communicator->lanes);
    czr_free(communicator->sent);
    czr_free(communicator->cursors);
    czr_free(communicator->pointers);
    czr_free(communicator);
}

static czr_loopback_communicator *open_communicator(czr_loopback_world *common,
                                                    czr_channel channel,
                                                    const int *ranks, int n)
{
    czr_loopback_communicator *communicator =
        czr_alloc(1, sizeof *communicator);
    const size_t size = (size_t)n;

    if (!communicator)
        return NULL;
    communicator->common = common;
    communicator->channel = channel;
    communicator->size = n;
    communicator->ranks = czr_alloc(size, sizeof *communicator->ranks);
    communicator->comms = czr_alloc(size, sizeof *communicator->comms);
    communicator->posted = czr_alloc(size, sizeof *communicator->posted);
    communicator->cursors = czr_alloc(size, sizeof *communicator->cursors);
    communicator->pointers = czr_alloc(size, sizeof *communicator->pointers);
    if (!communicator->ranks || !communicator->comms || !communicator->posted ||
        !communicator->cursors || !communicator->pointers) {
        close_communicator(communicator);
        return NULL;
    }
    memcpy(communicator->ranks, ranks, size * sizeof *ranks);
    for (int i = 0; i < n; i++)
        communicator->comms[i] = (czr_comm){.world = &common->worlds[ranks[i]],
                                            .size = n,
                                            .position = i,
                                            .ranks = communicator->ranks,
                                            .communicator = communicator};
    communicator->next = common->communicators;
    return common->communicators = communicator;
}

static czr_status join(czr_world *world, czr_channel channel, const int *ranks,
                       int n, czr_comm **out)
{
    czr_loopback_world *common = world->common;
    czr_loopback_communicator *communicator = common->communicators;

    *out = NULL;
    while (communicator && !is_of(communicator, channel, ranks, n))
        communicator = communicator->next;
    if (!communicator)
        communicator = open_communicator(common, channel, ranks, n);
    if (!communicator)
        return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < n; i++)
        if (ranks[i] == world->rank)
            *out = &communicator->comms[i];
    return CZR_OK;
}

static const czr_world_ops loopback_ops = {
    .name = "loopback",
    .join = join,
    .post = post,
    .wait = wait_for,
    .abort = abort_all,
};

/* ---- tables ------------------------------------------------------------- */

void czr_loopback_world_reserve(czr_comm *comm, int64_t n_collectives)
{
    czr_loopback_communicator *communicator = comm->communicator;

    communicator->max_lanes += n_collectives;
}

static czr_status take_memory(czr_loopback_communicator *communicator)
{
    const size_t n = (size_t)communicator->max_lanes,
                 size = (size_t)communicator->size;

    if (n == 0)
        return CZR_OK;
    communicator->lanes = czr_alloc(n, sizeof *communicator->lanes);
    communicator->sent = czr_alloc(n * size, sizeof *communicator->sent);
    if (!communicator->lanes || !communicator->sent)
        return CZR_ERR_NO_MEMORY;
    return czr_context_alloc(communicator->common->context,
                             n * size * sizeof(void *), &communicator->tables);
}

czr_status czr_loopback_world_take_memory(czr_loopback_world *common)
{
    czr_status status = CZR_OK;

    for (czr_loopback_communicator *communicator = common->communicators;
         communicator && status == CZR_OK; communicator = communicator->next)
        status = take_memory(communicator);
    return status;
}

static bool is_lane(const czr_loopback_communicator *communicator, int64_t lane,
                    const void *const *pointers)
{
    return lane < communicator->n_lanes &&
           memcmp(communicator->lanes[lane].sent, pointers,
                  (size_t)communicator->size * sizeof *pointers) == 0;
}

/* They come in the same order in every step; -1: not yet. */
static int64_t find_lane(const czr_loopback_communicator *communicator,
                         const void *const *pointers)
{
    if (is_lane(communicator, communicator->next_lane, pointers))
        return communicator->next_lane;
    for (int64_t lane = 0; lane < communicator->n_lanes; lane++)
        if (is_lane(communicator, lane, pointers))
            return lane;
    return -1;
}

static czr_status add_lane(czr_loopback_communicator *communicator,
                           const void *const *pointers, void *stream)
{
    const size_t size = (size_t)communicator->size;
    const size_t bytes = size * sizeof *pointers;
    const size_t n = (size_t)communicator->n_lanes;
    const czr_address at = communicator->tables + n * bytes;

    if (communicator->n_lanes == communicator->max_lanes) {
        snprintf(communicator->why, sizeof communicator->why,
                 "more tables of pointers than the plan has");
        return CZR_ERR_STATE;
    }
    czr_lane *lane = &communicator->lanes[communicator->n_lanes++];
    lane->sent = communicator->sent + n * size;
    lane->table = czr_pointer_of(at);
    memcpy(lane->sent, pointers, bytes);
    return czr_context_copy(communicator->common->context, at,
                            czr_address_of(lane->sent), bytes, stream);
}

czr_status
czr_loopback_communicator_table(czr_loopback_communicator *communicator,
                                const void *const *pointers,
                                const void *const **table, void *stream)
{
    int64_t lane = find_lane(communicator, pointers);
    czr_status status = CZR_OK;

    if (lane < 0) {
        lane = communicator->n_lanes;
        status = add_lane(communicator, pointers, stream);
    }
    if (status != CZR_OK)
        return status;
    communicator->next_lane = lane + 1;
    *table = communicator->lanes[lane].table;
    return CZR_OK;
}

/* ---- opening ------------------------------------------------------------ */

static czr_status open_events(czr_loopback_world *common)
{
    czr_status status =
        czr_context_open_event(common->context, &common->rendezvous);

    for (int rank = 0; rank < common->size && status == CZR_OK; rank++)
        status =
            czr_context_open_event(common->context, &common->arrivals[rank]);
    return status;
}

static czr_status join_everyone(czr_loopback_world *common)
{
    int *ranks = czr_alloc((size_t)common->size, sizeof *ranks);
    czr_status status = ranks ? CZR_OK : CZR_ERR_NO_MEMORY;

    for (int rank = 0; ranks && rank < common->size; rank++)
        ranks[rank] = rank;
    for (int rank = 0; rank < common->size && status == CZR_OK; rank++)
        status =
            join(&common->worlds[rank], CZR_CHANNEL_PLAN, ranks, common->size,
                 &common->worlds[rank].everyone[CZR_CHANNEL_PLAN]);
    czr_free(ranks);
    return status;
}

czr_status czr_loopback_world_open(czr_context *context, czr_collect *collect,
                                   int size, czr_loopback_world **out)
{
    czr_loopback_world *common = *out = czr_alloc(1, sizeof *common);

    if (!common)
        return CZR_ERR_NO_MEMORY;
    common->context = context;
    common->collect = collect;
    common->worlds = czr_alloc((size_t)size, sizeof *common->worlds);
    common->arrivals = czr_alloc((size_t)size, sizeof *common->arrivals);
    if (!common->worlds || !common->arrivals)
        return CZR_ERR_NO_MEMORY;
    common->size = size;
    for (int rank = 0; rank < size; rank++)
        common->worlds[rank] = (czr_world){
            .ops = &loopback_ops, .common = common, .rank = rank, .size = size};
    const czr_status status = open_events(common);
    return status == CZR_OK ? join_everyone(common) : status;
}

void czr_loopback_world_close(czr_loopback_world *common)
{
    if (!common)
        return;
    while (common->communicators) {
        czr_loopback_communicator *communicator = common->communicators;
        common->communicators = communicator->next;
        close_communicator(communicator);
    }
    for (int rank = 0; rank < common->size; rank++) {
        czr_world_clear_mesh(&common->worlds[rank]);
        czr_context_close_event(common->context, common->arrivals[rank]);
    }
    czr_context_close_event(common->context, common->rendezvous);
    czr_free(common->worlds);
    czr_free(common->arrivals);
    czr_free(common);
}
