/* Collectives between threads.  All members post a pointer to their unit;
 * when the last has come each does its own share, reading the others' memory;
 * when the last has finished all leave.  Between those two moments nobody
 * waits for anything but work, so that nobody leaves while being read. */
#include "runtime/world/threads.h"

#include <stdio.h>

#include "runtime/world/sum.h"

void czr_collective_post(czr_comm *comm, const czr_unit *unit)
{
    czr_room *room = comm->room;

    pthread_mutex_lock(&room->hall->lock);
    room->posted[comm->position] = unit;
    if (++room->arrived == room->size)
        for (int i = 0; i < room->size; i++)
            czr_hall_wake(room, i);
    pthread_mutex_unlock(&room->hall->lock);
}

/* Sleeps until all have posted.  Lock held. */
static czr_status await_arrivals(czr_comm *comm, char *why)
{
    czr_room *room = comm->room;
    const struct timespec deadline = czr_deadline(comm->world);

    while (room->arrived < room->size) {
        const czr_status status =
            czr_hall_sleep(room->hall, comm->world->rank, &deadline, why);
        if (status == CZR_OK || room->arrived == room->size)
            continue;
        int absent = 0;
        while (room->posted[absent])
            absent++;
        room->posted[comm->position] = NULL;
        room->arrived--;
        return czr_hall_missing(comm, absent, status, why);
    }
    return CZR_OK;
}

static czr_status check_agreement(const czr_room *room, const czr_unit *mine,
                                  char *why)
{
    for (int i = 0; i < room->size; i++) {
        const czr_unit *other = room->posted[i];
        if (czr_unit_agrees(other, mine))
            continue;
        snprintf(why, CZR_WHY_BYTES,
                 "rank %d is in another collective, or of another size: "
                 "operation %d against %d",
                 room->ranks[i], other->op, mine->op);
        return CZR_ERR_MISMATCH;
    }
    return CZR_OK;
}

static void reduce_scatter(const czr_comm *comm, const czr_unit *mine)
{
    const czr_room *room = comm->room;

    czr_sum_leaves(&mine->of.reduce_scatter, room->posted, room->size,
                   comm->world->rank_order_reduction);
}

/* Every member sums its share of the elements, on all members. */
static void all_reduce(const czr_comm *comm, const czr_unit *mine)
{
    const czr_room *room = comm->room;
    const size_t size = (size_t)room->size, seat = (size_t)comm->position;
    const size_t count = mine->of.all_reduce.count;
    const size_t share = count / size, rest = count % size;
    const size_t first = share * seat + (seat < rest ? seat : rest);

    czr_sum_slice(room->posted, room->size, first, share + (seat < rest));
}

static void all_gather(const czr_comm *comm, const czr_unit *mine)
{
    const czr_room *room = comm->room;

    for (int i = 0; i < room->size; i++) {
        const czr_all_gather *from = &room->posted[i]->of.all_gather;
        unsigned char *to = mine->of.all_gather.receive + from->at;
        if (from->bytes && to != from->send)
            memcpy(to, from->send, from->bytes);
    }
}

/* All other members' rows of the band. */
static void band_gather(const czr_comm *comm, const czr_unit *mine)
{
    const czr_room *room = comm->room;
    const czr_band_gather *to = &mine->of.band_gather;
    const size_t rows = to->band.side / (size_t)room->size;

    for (size_t row = 0; row < to->band.side; row++) {
        const size_t owner = row / rows;
        const czr_band_gather *from = &room->posted[owner]->of.band_gather;
        czr_run runs[2];
        const int n = owner == (size_t)comm->position
                          ? 0
                          : czr_band_runs(&to->band, row, runs);
        for (int i = 0; i < n; i++)
            memcpy(to->data + runs[i].first * to->element_bytes,
                   from->data + runs[i].first * to->element_bytes,
                   runs[i].n * to->element_bytes);
    }
}

static void do_share(const czr_comm *comm, const czr_unit *unit)
{
    switch (unit->kind) {
    case CZR_UNIT_REDUCE_SCATTER:
        reduce_scatter(comm, unit);
        break;
    case CZR_UNIT_ALL_GATHER:
        all_gather(comm, unit);
        break;
    case CZR_UNIT_ALL_REDUCE:
        all_reduce(comm, unit);
        break;
    case CZR_UNIT_SUM_SCATTER:
        czr_sum_part(((const czr_room *)comm->room)->posted, comm->size,
                     comm->position);
        break;
    case CZR_UNIT_BAND_GATHER:
        band_gather(comm, unit);
        break;
    case CZR_UNIT_BARRIER:
    case CZR_UNIT_TRANSFER:
        break;
    }
}

/* Waits, without deadline, for the others' work.  Lock held. */
static void finish(czr_comm *comm)
{
    czr_room *room = comm->room;
    const unsigned generation = room->generation;

    if (++room->finished == room->size) {
        room->arrived = room->finished = 0;
        room->generation++;
        for (int i = 0; i < room->size; i++) {
            room->posted[i] = NULL;
            czr_hall_wake(room, i);
        }
    }
    while (room->generation == generation)
        pthread_cond_wait(&room->hall->wake[comm->world->rank],
                          &room->hall->lock);
}

czr_status czr_collective_wait(czr_comm *comm, const czr_unit *unit, char *why)
{
    czr_room *room = comm->room;

    pthread_mutex_lock(&room->hall->lock);
    czr_status status = await_arrivals(comm, why);
    if (status == CZR_OK) {
        pthread_mutex_unlock(&room->hall->lock);
        status = check_agreement(room, unit, why);
        if (status == CZR_OK)
            do_share(comm, unit);
        pthread_mutex_lock(&room->hall->lock);
        finish(comm);
    }
    pthread_mutex_unlock(&room->hall->lock);
    return status;
}
