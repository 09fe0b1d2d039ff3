/* Sends and receives between threads.  Receivers pull: a row of a sender's
 * posted unit is copied straight into the receiver's box.  A unit completes
 * when all its receives are filled and all its sends have been read. */
#include "runtime/world/threads.h"

#include <stdio.h>

#include "runtime/base/box.h"

static void count_rows(czr_member *member, const czr_transfer *transfer,
                       int self)
{
    member->sends_left = member->receives_left = 0;
    for (int64_t i = 0; i < transfer->n_rows; i++) {
        if (transfer->rows[i].peer == self)
            continue;
        if (transfer->rows[i].is_recv)
            member->receives_left++;
        else
            member->sends_left++;
    }
}

void czr_transfer_post(czr_comm *comm, const czr_collective *collective)
{
    czr_communicator *communicator = comm->communicator;
    czr_member *member = &communicator->members[comm->position];

    pthread_mutex_lock(&communicator->threads->lock);
    count_rows(member, &collective->of.transfer, comm->position);
    for (int peer = 0; peer < communicator->size; peer++) {
        member->send_cursor[peer] = member->receive_cursor[peer] = 0;
        if (peer != comm->position)
            czr_threads_world_wake(communicator, peer);
    }
    member->transfer = collective;
    pthread_mutex_unlock(&communicator->threads->lock);
}

/* Moves the cursor to the next row of this direction and peer; NULL: none. */
static const czr_box *row_at(const czr_transfer *transfer, int64_t *cursor,
                             int is_recv, int peer)
{
    for (; *cursor < transfer->n_rows; ++*cursor) {
        const czr_box *row = &transfer->rows[*cursor];
        if (row->is_recv == is_recv && row->peer == peer)
            return row;
    }
    return NULL;
}

static czr_status check_sizes(const czr_comm *comm, int peer, const czr_box *to,
                              const czr_box *from, int op, char *why)
{
    if (to->n_rows == from->n_rows && to->row_bytes == from->row_bytes)
        return CZR_OK;
    snprintf(why, CZR_WHY_BYTES,
             "operation %d: rank %d sends %lld x %lld bytes, rank %d receives "
             "%lld x %lld",
             op, comm->ranks[peer], (long long)from->n_rows,
             (long long)from->row_bytes, comm->world->rank,
             (long long)to->n_rows, (long long)to->row_bytes);
    return CZR_ERR_MISMATCH;
}

/* Pulls the next row of `peer`, if it is there.  Lock held, but released
 * while bytes move; the sender stays as long as it is being read. */
static czr_status pull(czr_comm *comm, const czr_collective *collective,
                       int peer, bool *is_progress, char *why)
{
    czr_communicator *communicator = comm->communicator;
    czr_member *mine = &communicator->members[comm->position],
               *theirs = &communicator->members[peer];
    const czr_collective *other = theirs->transfer;

    if (!other || other->op != collective->op)
        return CZR_OK;
    const czr_box *to =
        row_at(&collective->of.transfer, &mine->receive_cursor[peer], 1, peer);
    const czr_box *from =
        row_at(&other->of.transfer, &theirs->send_cursor[comm->position], 0,
               comm->position);
    if (!to || !from)
        return CZR_OK;
    const czr_status status =
        check_sizes(comm, peer, to, from, collective->op, why);
    if (status != CZR_OK)
        return status;
    *is_progress = true;
    mine->receive_cursor[peer]++;
    theirs->send_cursor[comm->position]++;
    theirs->being_read++;
    pthread_mutex_unlock(&communicator->threads->lock);
    czr_box_copy(collective->of.transfer.base, to, other->of.transfer.base,
                 from);
    pthread_mutex_lock(&communicator->threads->lock);
    theirs->being_read--;
    theirs->sends_left--;
    mine->receives_left--;
    czr_threads_world_wake(communicator, peer);
    return CZR_OK;
}

static czr_status pull_from_all(czr_comm *comm,
                                const czr_collective *collective,
                                bool *is_progress, char *why)
{
    for (int peer = 0; peer < comm->size; peer++) {
        const czr_status status =
            peer == comm->position
                ? CZR_OK
                : pull(comm, collective, peer, is_progress, why);
        if (status != CZR_OK)
            return status;
    }
    return CZR_OK;
}

/* For a row that has not been matched. */
bool czr_transfer_awaits(const czr_communicator *communicator, int position,
                         int peer)
{
    const czr_member *member = &communicator->members[position];
    int64_t receive = member->receive_cursor[peer],
            send = member->send_cursor[peer];

    return member->transfer &&
           (row_at(&member->transfer->of.transfer, &receive, 1, peer) ||
            row_at(&member->transfer->of.transfer, &send, 0, peer));
}

static czr_status progress(czr_comm *comm, const czr_collective *collective,
                           char *why)
{
    czr_communicator *communicator = comm->communicator;
    czr_member *member = &communicator->members[comm->position];
    const struct timespec deadline = czr_deadline(comm->world);
    czr_status late = CZR_OK; /* judged only after one more look */

    for (;;) {
        bool is_progress = false;
        const czr_status status =
            pull_from_all(comm, collective, &is_progress, why);
        if (status != CZR_OK) {
            czr_threads_world_abort(communicator->threads, why);
            return status;
        }
        if (member->sends_left == 0 && member->receives_left == 0)
            return CZR_OK;
        if (is_progress)
            continue;
        if (late != CZR_OK)
            return czr_threads_world_missing(comm, late, why);
        late = czr_threads_world_sleep(communicator->threads, comm->world->rank,
                                       &deadline, why);
    }
}

czr_status czr_transfer_wait(czr_comm *comm, const czr_collective *collective,
                             char *why)
{
    czr_communicator *communicator = comm->communicator;
    czr_member *member = &communicator->members[comm->position];

    const czr_status status = progress(comm, collective, why);
    member->transfer = NULL;
    while (member->being_read)
        pthread_cond_wait(&communicator->threads->ranks[comm->world->rank].wake,
                          &communicator->threads->lock);
    return status;
}
