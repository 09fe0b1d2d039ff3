/* The threads world: who the ranks are, rooms, sleeping, aborting. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/world/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/memory.h"

void czr_hall_wake(czr_room *room, int position)
{
    pthread_cond_broadcast(&room->hall->wake[room->ranks[position]]);
}

void czr_hall_wake_all(czr_hall *hall)
{
    for (int rank = 0; rank < hall->size; rank++)
        pthread_cond_broadcast(&hall->wake[rank]);
}

void czr_hall_abort(czr_hall *hall, const char *why)
{
    if (!hall->is_aborted)
        snprintf(hall->why, sizeof hall->why, "%s", why);
    hall->is_aborted = true;
    czr_hall_wake_all(hall);
}

struct timespec czr_deadline(const czr_world *world)
{
    enum { MS = 1000, NS_PER_MS = 1000000, NS = 1000000000 };
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += (time_t)(world->deadline_ms / MS);
    time.tv_nsec += (long)(world->deadline_ms % MS) * NS_PER_MS;
    if (time.tv_nsec >= NS) {
        time.tv_sec++;
        time.tv_nsec -= NS;
    }
    return time;
}

czr_status czr_hall_sleep(czr_hall *hall, int rank,
                          const struct timespec *deadline, char *why)
{
    if (!hall->is_aborted &&
        pthread_cond_timedwait(&hall->wake[rank], &hall->lock, deadline) !=
            ETIMEDOUT)
        return CZR_OK;
    if (!hall->is_aborted)
        return CZR_ERR_TIMEOUT;
    snprintf(why, CZR_WHY_BYTES, "%s", hall->why);
    return CZR_ERR_ABORTED;
}

czr_status czr_hall_missing(czr_comm *comm, int absent, czr_status status,
                            char *why)
{
    czr_room *room = comm->room;

    if (status == CZR_ERR_TIMEOUT)
        snprintf(why, CZR_WHY_BYTES,
                 "rank %d waited %lld ms for rank %d, which did not come",
                 comm->world->rank, (long long)comm->world->deadline_ms,
                 room->ranks[absent]);
    czr_hall_abort(room->hall, why);
    return status;
}

/* ---- rooms -------------------------------------------------------------- */

static void room_close(czr_room *room)
{
    for (int i = 0; room->seats && i < room->size; i++) {
        czr_free(room->seats[i].send_cursor);
        czr_free(room->seats[i].receive_cursor);
    }
    czr_free(room->seats);
    czr_free(room->posted);
    czr_free(room->ranks);
    czr_free(room);
}

static bool open_seats(czr_room *room)
{
    const size_t n = (size_t)room->size;

    for (size_t i = 0; i < n; i++) {
        czr_seat *seat = &room->seats[i];
        seat->send_cursor = czr_alloc(n, sizeof *seat->send_cursor);
        seat->receive_cursor = czr_alloc(n, sizeof *seat->receive_cursor);
        if (!seat->send_cursor || !seat->receive_cursor)
            return false;
    }
    return true;
}

static czr_room *room_open(czr_hall *hall, czr_channel channel,
                           const int *ranks, int n)
{
    czr_room *room = czr_alloc(1, sizeof *room);

    if (!room)
        return NULL;
    *room = (czr_room){.hall = hall, .channel = channel, .size = n};
    room->ranks = czr_alloc((size_t)n, sizeof *room->ranks);
    room->seats = czr_alloc((size_t)n, sizeof *room->seats);
    room->posted = czr_alloc((size_t)n, sizeof(void *));
    if (!room->ranks || !room->seats || !room->posted || !open_seats(room)) {
        room_close(room);
        return NULL;
    }
    memcpy(room->ranks, ranks, (size_t)n * sizeof *ranks);
    return room;
}

static bool is_room_of(const czr_room *room, czr_channel channel,
                       const int *ranks, int n)
{
    return room->channel == channel && room->size == n &&
           memcmp(room->ranks, ranks, (size_t)n * sizeof *ranks) == 0;
}

/* The members' common room: made by whoever comes first. */
static czr_room *find_room(czr_hall *hall, czr_channel channel,
                           const int *ranks, int n)
{
    pthread_mutex_lock(&hall->lock);
    czr_room *room = hall->rooms;
    while (room && !is_room_of(room, channel, ranks, n))
        room = room->next;
    if (!room) {
        room = room_open(hall, channel, ranks, n);
        if (room) {
            room->next = hall->rooms;
            hall->rooms = room;
        }
    }
    pthread_mutex_unlock(&hall->lock);
    return room;
}

/* ---- the table of functions --------------------------------------------- */

/* One rank: its world and the seats it has taken. */
typedef struct member {
    czr_world world;
    struct member_seat {
        czr_comm comm;
        struct member_seat *next;
    } * seats;
} member;

static struct member_seat *take_seat(member *me, czr_room *room)
{
    struct member_seat *seat = czr_alloc(1, sizeof *seat);

    if (!seat)
        return NULL;
    seat->comm = (czr_comm){.world = &me->world,
                            .size = room->size,
                            .ranks = room->ranks,
                            .room = room};
    while (room->ranks[seat->comm.position] != me->world.rank)
        seat->comm.position++;
    seat->next = me->seats;
    me->seats = seat;
    return seat;
}

static czr_status join(czr_world *world, czr_channel channel, const int *ranks,
                       int n, czr_comm **out)
{
    member *me = (member *)world;
    czr_room *room = find_room(world->shared, channel, ranks, n);
    struct member_seat *seat = me->seats;

    while (seat && seat->comm.room != room)
        seat = seat->next;
    if (!seat && room)
        seat = take_seat(me, room);
    *out = seat ? &seat->comm : NULL;
    return seat ? CZR_OK : CZR_ERR_NO_MEMORY;
}

static void post(czr_comm *comm, const czr_unit *unit)
{
    if (unit->kind == CZR_UNIT_TRANSFER)
        czr_transfer_post(comm, unit);
    else
        czr_collective_post(comm, unit);
}

static czr_status wait(czr_comm *comm, const czr_unit *unit, char *why)
{
    return unit->kind == CZR_UNIT_TRANSFER
               ? czr_transfer_wait(comm, unit, why)
               : czr_collective_wait(comm, unit, why);
}

static void abort_world(czr_world *world, const char *why)
{
    czr_hall *hall = world->shared;

    pthread_mutex_lock(&hall->lock);
    czr_hall_abort(hall, why);
    pthread_mutex_unlock(&hall->lock);
}

static const czr_world_ops threads_ops = {
    .name = "threads",
    .join = join,
    .post = post,
    .wait = wait,
    .abort = abort_world,
};

/* ---- running ------------------------------------------------------------ */

typedef struct runner {
    member member;
    pthread_t thread;
    czr_status (*body)(czr_world *, void *);
    void *user;
    czr_status status;
} runner;

static czr_status join_everyone(czr_world *world, czr_hall *hall)
{
    czr_status status = CZR_OK;
    int *ranks = czr_alloc((size_t)hall->size, sizeof *ranks);

    if (!ranks)
        return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < hall->size; i++)
        ranks[i] = i;
    for (int c = 0; c <= CZR_CHANNEL_PLAN && status == CZR_OK; c++)
        status =
            join(world, (czr_channel)c, ranks, hall->size, &world->everyone[c]);
    czr_free(ranks);
    return status;
}

static void *run(void *argument)
{
    runner *self = argument;
    czr_world *world = &self->member.world;
    char why[CZR_WHY_BYTES];

    self->status = join_everyone(world, world->shared);
    if (self->status == CZR_OK)
        self->status = self->body(world, self->user);
    if (self->status != CZR_OK) {
        snprintf(why, sizeof why, "rank %d failed: %s", world->rank,
                 czr_status_text(self->status));
        abort_world(world, why);
    }
    return NULL;
}

static void leave(runner *self)
{
    czr_world_clear_mesh(&self->member.world);
    while (self->member.seats) {
        struct member_seat *seat = self->member.seats;
        self->member.seats = seat->next;
        czr_free(seat);
    }
}

static czr_status hall_open(czr_hall *hall, int size)
{
    pthread_condattr_t monotonic;

    hall->wake = czr_alloc((size_t)size, sizeof(pthread_cond_t));
    if (!hall->wake)
        return CZR_ERR_NO_MEMORY;
    if (pthread_mutex_init(&hall->lock, NULL) != 0)
        return CZR_ERR_NO_MEMORY;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    for (; hall->size < size; hall->size++)
        if (pthread_cond_init(&hall->wake[hall->size], &monotonic) != 0)
            break;
    pthread_condattr_destroy(&monotonic);
    return hall->size == size ? CZR_OK : CZR_ERR_NO_MEMORY;
}

static void hall_close(czr_hall *hall)
{
    while (hall->rooms) {
        czr_room *room = hall->rooms;
        hall->rooms = room->next;
        room_close(room);
    }
    for (int rank = 0; rank < hall->size; rank++)
        pthread_cond_destroy(&hall->wake[rank]);
    if (hall->wake)
        pthread_mutex_destroy(&hall->lock);
    czr_free(hall->wake);
}

/* A failure of one's own says more than one that followed another's. */
static czr_status first_failure(const runner *runners, int ranks)
{
    czr_status followed = CZR_OK;

    for (int rank = 0; rank < ranks; rank++) {
        const czr_status status = runners[rank].status;
        if (status != CZR_OK && status != CZR_ERR_ABORTED)
            return status;
        if (followed == CZR_OK)
            followed = status;
    }
    return followed;
}

static void start_and_join(runner *runners, int ranks)
{
    int started = 1;

    for (; started < ranks; started++)
        if (pthread_create(&runners[started].thread, NULL, run,
                           &runners[started]) != 0)
            break;
    if (started < ranks) {
        abort_world(&runners[0].member.world, "no thread for a rank");
        runners[started].status = CZR_ERR_NO_MEMORY;
    }
    run(&runners[0]);
    for (int rank = 1; rank < started; rank++)
        pthread_join(runners[rank].thread, NULL);
}

czr_status czr_world_threads_run(int ranks,
                                 czr_status (*body)(czr_world *, void *),
                                 void *user)
{
    czr_hall hall = {.size = 0};

    if (ranks < 1 || !body)
        return CZR_ERR_ARGUMENT;
    runner *runners = czr_alloc((size_t)ranks, sizeof *runners);
    czr_status status = runners ? hall_open(&hall, ranks) : CZR_ERR_NO_MEMORY;
    for (int rank = 0; status == CZR_OK && rank < ranks; rank++)
        runners[rank] =
            (runner){.body = body,
                     .user = user,
                     .member.world = {.ops = &threads_ops,
                                      .shared = &hall,
                                      .rank = rank,
                                      .size = ranks,
                                      .deadline_ms = CZR_DEFAULT_DEADLINE_MS}};
    if (status == CZR_OK) {
        start_and_join(runners, ranks);
        status = first_failure(runners, ranks);
        for (int rank = 0; rank < ranks; rank++)
            leave(&runners[rank]);
    }
    hall_close(&hall);
    czr_free(runners);
    return status;
}
