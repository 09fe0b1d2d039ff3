/* Lobbies: who meets where, and the tables that their units need. */
#include "runtime/cuda/world/loopback_world.h"

#include <stdio.h>

#include "runtime/base/memory.h"

/* ---- units -------------------------------------------------------------- */

static void post(czr_comm *comm, const czr_unit *unit)
{
    czr_lobby *lobby = comm->room;

    lobby->posted[comm->position] = unit;
    lobby->n_posted++;
}

/* The first that waits has all of the unit put on the members' streams. */
static czr_status wait_for(czr_comm *comm, const czr_unit *unit, char *why)
{
    czr_lobby *lobby = comm->room;

    if (lobby->posted[comm->position]) {
        lobby->status = CZR_ERR_UNSUPPORTED;
        snprintf(
            lobby->why, sizeof lobby->why,
            "one thread is all ranks: it adds up the host's memory itself");
        if (unit->stream)
            lobby->status = czr_lobby_carry_out(lobby);
        memset(lobby->posted, 0,
               (size_t)lobby->size * sizeof(const czr_unit *));
        lobby->n_posted = 0;
    }
    if (lobby->status != CZR_OK)
        snprintf(why, CZR_WHY_BYTES, "%s", lobby->why);
    return lobby->status;
}

static void abort_all(czr_world *world, const char *why)
{
    const czr_lobby_hall *hall = world->shared;

    if (hall->stop)
        hall->stop(hall->user, world->rank, why);
}

/* ---- who meets where ---------------------------------------------------- */

static bool is_of(const czr_lobby *lobby, czr_channel channel, const int *ranks,
                  int n)
{
    return lobby->channel == channel && lobby->size == n &&
           memcmp(lobby->ranks, ranks, (size_t)n * sizeof *ranks) == 0;
}

static void close_lobby(czr_lobby *lobby)
{
    czr_context_free(lobby->hall->context, lobby->tables);
    czr_free(lobby->ranks);
    czr_free(lobby->comms);
    czr_free(lobby->posted);
    czr_free(lobby->lanes);
    czr_free(lobby->sent);
    czr_free(lobby->cursors);
    czr_free(lobby->pointers);
    czr_free(lobby);
}

static czr_lobby *open_lobby(czr_lobby_hall *hall, czr_channel channel,
                             const int *ranks, int n)
{
    czr_lobby *lobby = czr_alloc(1, sizeof *lobby);
    const size_t size = (size_t)n;

    if (!lobby)
        return NULL;
    lobby->hall = hall;
    lobby->channel = channel;
    lobby->size = n;
    lobby->ranks = czr_alloc(size, sizeof *lobby->ranks);
    lobby->comms = czr_alloc(size, sizeof *lobby->comms);
    lobby->posted = czr_alloc(size, sizeof *lobby->posted);
    lobby->cursors = czr_alloc(size, sizeof *lobby->cursors);
    lobby->pointers = czr_alloc(size, sizeof *lobby->pointers);
    if (!lobby->ranks || !lobby->comms || !lobby->posted || !lobby->cursors ||
        !lobby->pointers) {
        close_lobby(lobby);
        return NULL;
    }
    memcpy(lobby->ranks, ranks, size * sizeof *ranks);
    for (int i = 0; i < n; i++)
        lobby->comms[i] = (czr_comm){.world = &hall->worlds[ranks[i]],
                                     .size = n,
                                     .position = i,
                                     .ranks = lobby->ranks,
                                     .room = lobby};
    lobby->next = hall->lobbies;
    return hall->lobbies = lobby;
}

static czr_status join(czr_world *world, czr_channel channel, const int *ranks,
                       int n, czr_comm **out)
{
    czr_lobby_hall *hall = world->shared;
    czr_lobby *lobby = hall->lobbies;

    *out = NULL;
    while (lobby && !is_of(lobby, channel, ranks, n))
        lobby = lobby->next;
    if (!lobby)
        lobby = open_lobby(hall, channel, ranks, n);
    if (!lobby)
        return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < n; i++)
        if (ranks[i] == world->rank)
            *out = &lobby->comms[i];
    return CZR_OK;
}

static const czr_world_ops lobby_ops = {
    .name = "loopback",
    .join = join,
    .post = post,
    .wait = wait_for,
    .abort = abort_all,
};

/* ---- tables ------------------------------------------------------------- */

void czr_lobby_reserve(czr_comm *comm, int64_t n_units)
{
    czr_lobby *lobby = comm->room;

    lobby->max_lanes += n_units;
}

static czr_status take_memory(czr_lobby *lobby)
{
    const size_t n = (size_t)lobby->max_lanes, size = (size_t)lobby->size;

    if (n == 0)
        return CZR_OK;
    lobby->lanes = czr_alloc(n, sizeof *lobby->lanes);
    lobby->sent = czr_alloc(n * size, sizeof *lobby->sent);
    if (!lobby->lanes || !lobby->sent)
        return CZR_ERR_NO_MEMORY;
    return czr_context_alloc(lobby->hall->context, n * size * sizeof(void *),
                             &lobby->tables);
}

czr_status czr_lobby_take_memory(czr_lobby_hall *hall)
{
    czr_status status = CZR_OK;

    for (czr_lobby *lobby = hall->lobbies; lobby && status == CZR_OK;
         lobby = lobby->next)
        status = take_memory(lobby);
    return status;
}

static bool is_lane(const czr_lobby *lobby, int64_t lane,
                    const void *const *pointers)
{
    return lane < lobby->n_lanes &&
           memcmp(lobby->lanes[lane].sent, pointers,
                  (size_t)lobby->size * sizeof *pointers) == 0;
}

/* They come in the same order in every step; -1: not yet. */
static int64_t find_lane(const czr_lobby *lobby, const void *const *pointers)
{
    if (is_lane(lobby, lobby->next_lane, pointers))
        return lobby->next_lane;
    for (int64_t lane = 0; lane < lobby->n_lanes; lane++)
        if (is_lane(lobby, lane, pointers))
            return lane;
    return -1;
}

static czr_status add_lane(czr_lobby *lobby, const void *const *pointers,
                           void *stream)
{
    const size_t size = (size_t)lobby->size;
    const size_t bytes = size * sizeof *pointers;
    const size_t n = (size_t)lobby->n_lanes;
    const czr_address at = lobby->tables + n * bytes;

    if (lobby->n_lanes == lobby->max_lanes) {
        snprintf(lobby->why, sizeof lobby->why,
                 "more tables of pointers than the plan has");
        return CZR_ERR_STATE;
    }
    czr_lane *lane = &lobby->lanes[lobby->n_lanes++];
    lane->sent = lobby->sent + n * size;
    lane->table = czr_pointer_of(at);
    memcpy(lane->sent, pointers, bytes);
    return czr_context_copy(lobby->hall->context, at,
                            czr_address_of(lane->sent), bytes, stream);
}

czr_status czr_lobby_table(czr_lobby *lobby, const void *const *pointers,
                           const void *const **table, void *stream)
{
    int64_t lane = find_lane(lobby, pointers);
    czr_status status = CZR_OK;

    if (lane < 0) {
        lane = lobby->n_lanes;
        status = add_lane(lobby, pointers, stream);
    }
    if (status != CZR_OK)
        return status;
    lobby->next_lane = lane + 1;
    *table = lobby->lanes[lane].table;
    return CZR_OK;
}

/* ---- opening ------------------------------------------------------------ */

static czr_status open_events(czr_lobby_hall *hall)
{
    czr_status status = czr_context_open_event(hall->context, &hall->meeting);

    for (int rank = 0; rank < hall->size && status == CZR_OK; rank++)
        status = czr_context_open_event(hall->context, &hall->arrivals[rank]);
    return status;
}

static czr_status join_everyone(czr_lobby_hall *hall)
{
    int *ranks = czr_alloc((size_t)hall->size, sizeof *ranks);
    czr_status status = ranks ? CZR_OK : CZR_ERR_NO_MEMORY;

    for (int rank = 0; ranks && rank < hall->size; rank++)
        ranks[rank] = rank;
    for (int rank = 0; rank < hall->size && status == CZR_OK; rank++)
        status = join(&hall->worlds[rank], CZR_CHANNEL_PLAN, ranks, hall->size,
                      &hall->worlds[rank].everyone[CZR_CHANNEL_PLAN]);
    czr_free(ranks);
    return status;
}

czr_status czr_lobby_open(czr_context *context, czr_collect *collect, int size,
                          czr_lobby_hall **out)
{
    czr_lobby_hall *hall = *out = czr_alloc(1, sizeof *hall);

    if (!hall)
        return CZR_ERR_NO_MEMORY;
    hall->context = context;
    hall->collect = collect;
    hall->worlds = czr_alloc((size_t)size, sizeof *hall->worlds);
    hall->arrivals = czr_alloc((size_t)size, sizeof *hall->arrivals);
    if (!hall->worlds || !hall->arrivals)
        return CZR_ERR_NO_MEMORY;
    hall->size = size;
    for (int rank = 0; rank < size; rank++)
        hall->worlds[rank] = (czr_world){
            .ops = &lobby_ops, .shared = hall, .rank = rank, .size = size};
    const czr_status status = open_events(hall);
    return status == CZR_OK ? join_everyone(hall) : status;
}

void czr_lobby_close(czr_lobby_hall *hall)
{
    if (!hall)
        return;
    while (hall->lobbies) {
        czr_lobby *lobby = hall->lobbies;
        hall->lobbies = lobby->next;
        close_lobby(lobby);
    }
    for (int rank = 0; rank < hall->size; rank++) {
        czr_world_clear_mesh(&hall->worlds[rank]);
        czr_context_close_event(hall->context, hall->arrivals[rank]);
    }
    czr_context_close_event(hall->context, hall->meeting);
    czr_free(hall->worlds);
    czr_free(hall->arrivals);
    czr_free(hall);
}
