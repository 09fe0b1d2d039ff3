/* Collectives between threads.  All members post a pointer to their unit;
 * when the last has come each does its own share, reading the others' memory;
 * when the last has finished all leave.  Between those two moments nobody
 * waits for anything but work, so that nobody leaves while being read. */
#include "runtime/world/threads.h"

#include <stdio.h>

#include "runtime/world/sum.h"

void czr_collective_post(czr_comm *comm, const czr_collective *collective)
{
    czr_communicator *communicator = comm->communicator;

    pthread_mutex_lock(&communicator->threads->lock);
    communicator->posted[comm->position] = collective;
    if (++communicator->arrived == communicator->size)
        for (int i = 0; i < communicator->size; i++)
            czr_threads_world_wake(communicator, i);
    pthread_mutex_unlock(&communicator->threads->lock);
}

bool czr_collective_awaits(const czr_communicator *communicator, int position,
                           int peer)
{
    return communicator->posted[position] && !communicator->posted[peer];
}

/* Sleeps until all have posted.  Lock held. */
static czr_status await_arrivals(czr_comm *comm, char *why)
{
    czr_communicator *communicator = comm->communicator;
    const struct timespec deadline = czr_deadline(comm->world);

    while (communicator->arrived < communicator->size) {
        const czr_status status = czr_threads_world_sleep(
            communicator->threads, comm->world->rank, &deadline, why);
        if (status == CZR_OK || communicator->arrived == communicator->size)
            continue;
        czr_threads_world_missing(comm, status, why);
        communicator->posted[comm->position] = NULL;
        communicator->arrived--;
        return status;
    }
    return CZR_OK;
}

static czr_status check_agreement(const czr_communicator *communicator,
                                  const czr_collective *mine, char *why)
{
    for (int i = 0; i < communicator->size; i++) {
        const czr_collective *other = communicator->posted[i];
        if (czr_collective_agrees(other, mine))
            continue;
        snprintf(why, CZR_WHY_BYTES,
                 "rank %d is in another collective, or of another size: "
                 "operation %d against %d",
                 communicator->ranks[i], other->op, mine->op);
        return CZR_ERR_MISMATCH;
    }
    return CZR_OK;
}

static void reduce_scatter(const czr_comm *comm, const czr_collective *mine)
{
    const czr_communicator *communicator = comm->communicator;

    czr_sum_grads(&mine->of.reduce_scatter, communicator->posted,
                  communicator->size, comm->world->rank_order_reduction);
}

/* Every member sums its share of the elements, on all members. */
static void all_reduce(const czr_comm *comm, const czr_collective *mine)
{
    const czr_communicator *communicator = comm->communicator;
    const czr_range own = czr_sum_range(mine->of.all_reduce.count,
                                        communicator->size, comm->position);

    czr_sum_slice(communicator->posted, communicator->size, (size_t)own.first,
                  (size_t)own.n);
}

static void all_gather(const czr_comm *comm, const czr_collective *mine)
{
    const czr_communicator *communicator = comm->communicator;

    for (int i = 0; i < communicator->size; i++) {
        const czr_all_gather *from = &communicator->posted[i]->of.all_gather;
        unsigned char *to = mine->of.all_gather.receive + from->at;
        if (from->bytes && to != from->send)
            memcpy(to, from->send, from->bytes);
    }
}

/* All other members' rows of the band. */
static void band_gather(const czr_comm *comm, const czr_collective *mine)
{
    const czr_communicator *communicator = comm->communicator;
    const czr_band_gather *to = &mine->of.band_gather;
    const size_t rows = to->band.side / (size_t)communicator->size;

    for (size_t row = 0; row < to->band.side; row++) {
        const size_t owner = row / rows;
        const czr_band_gather *from =
            &communicator->posted[owner]->of.band_gather;
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

static void do_share(const czr_comm *comm, const czr_collective *collective)
{
    switch (collective->kind) {
    case CZR_COLLECTIVE_REDUCE_SCATTER:
        reduce_scatter(comm, collective);
        break;
    case CZR_COLLECTIVE_ALL_GATHER:
        all_gather(comm, collective);
        break;
    case CZR_COLLECTIVE_ALL_REDUCE:
        all_reduce(comm, collective);
        break;
    case CZR_COLLECTIVE_SUM_SCATTER:
        czr_sum_equal_part(
            ((const czr_communicator *)comm->communicator)->posted, comm->size,
            comm->position);
        break;
    case CZR_COLLECTIVE_BAND_GATHER:
        band_gather(comm, collective);
        break;
    case CZR_COLLECTIVE_BARRIER:
    case CZR_COLLECTIVE_TRANSFER:
        break;
    }
}

czr_status czr_collective_wait(czr_comm *comm, const czr_collective *collective,
                               char *why)
{
    czr_communicator *communicator = comm->communicator;

    czr_status status = await_arrivals(comm, why);
    if (status == CZR_OK) {
        pthread_mutex_unlock(&communicator->threads->lock);
        status = check_agreement(communicator, collective, why);
        if (status == CZR_OK)
            do_share(comm, collective);
        pthread_mutex_lock(&communicator->threads->lock);
        /* Waits, without deadline, for the others' work.  Lock held. */
        const unsigned generation = communicator->generation;

        if (++communicator->finished == communicator->size) {
            communicator->arrived = communicator->finished = 0;
            communicator->generation++;
            for (int i = 0; i < communicator->size; i++) {
                communicator->posted[i] = NULL;
                czr_threads_world_wake(communicator, i);
            }
        }
        while (communicator->generation == generation)
            pthread_cond_wait(
                &communicator->threads->ranks[comm->world->rank].wake,
                &communicator->threads->lock);
    }
    return status;
}
