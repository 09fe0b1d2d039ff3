/* Who is to blame for a wait that has failed: the graph of who waits for whom
 * ends at a rank that waits for nobody, or in a circle. */
#include "runtime/world/threads.h"

#include <stdio.h>

static bool awaits(const czr_waiting *waiting, int peer)
{
    if (!waiting->communicator || peer == waiting->position)
        return false;
    return waiting->collective->kind == CZR_COLLECTIVE_TRANSFER
               ? czr_transfer_awaits(waiting->communicator, waiting->position,
                                     peer)
               : czr_collective_awaits(waiting->communicator, waiting->position,
                                       peer);
}

/* The next rank from position *peer on that is waited for; -1: none. */
static int next_awaited(const czr_waiting *waiting, int *peer)
{
    while (waiting->communicator && *peer < waiting->communicator->size) {
        const int next = (*peer)++;
        if (awaits(waiting, next))
            return waiting->communicator->ranks[next];
    }
    return -1;
}

bool czr_threads_world_awaits_ended(const czr_threads_world *threads, int rank)
{
    for (int c = 0; threads->n_ended > 0 && c <= CZR_CHANNEL_PLAN; c++) {
        int peer = 0, other;
        while ((other =
                    next_awaited(&threads->ranks[rank].waiting[c], &peer)) >= 0)
            if (threads->ranks[other].has_ended)
                return true;
    }
    return false;
}

/* The ended before the living, then who was not seen for longest. */
static bool is_worse(const czr_threads_world *threads, int rank, int than)
{
    const czr_threads_rank *a = &threads->ranks[rank],
                           *b = &threads->ranks[than < 0 ? rank : than];

    if (a->has_ended != b->has_ended)
        return a->has_ended;
    return than < 0 || czr_recorder_last_ns(&a->world->recorder) <
                           czr_recorder_last_ns(&b->world->recorder);
}

/* The rank that holds up `start`; -1: some wait in a circle. */
static int find_root(czr_threads_world *threads, int start)
{
    int n = 1, root = -1;

    for (int rank = 0; rank < threads->size; rank++)
        threads->ranks[rank].is_reached = rank == start;
    threads->reached[0] = start;
    for (int i = 0; i < n; i++) {
        const int rank = threads->reached[i];
        bool waits = rank == start;
        for (int c = 0; c <= CZR_CHANNEL_PLAN; c++) {
            int peer = 0, other;
            while ((other = next_awaited(&threads->ranks[rank].waiting[c],
                                         &peer)) >= 0) {
                waits = true;
                if (!threads->ranks[other].is_reached)
                    threads->reached[n++] = other;
                threads->ranks[other].is_reached = true;
            }
        }
        if (!waits && is_worse(threads, rank, root))
            root = rank;
    }
    return root;
}

/* The first rank that this one waits for, and in what. */
static int first_awaited(const czr_threads_world *threads, int rank,
                         const czr_collective **in)
{
    for (int c = 0; c <= CZR_CHANNEL_PLAN; c++) {
        const czr_waiting *waiting = &threads->ranks[rank].waiting[c];
        int peer = 0;
        const int other = next_awaited(waiting, &peer);
        *in = waiting->collective;
        if (other >= 0)
            return other;
    }
    return -1;
}

static void print_circle(const czr_threads_world *threads, int rank, char *why)
{
    const czr_collective *in = NULL;
    size_t at = 0;

    for (int i = 0; i < threads->size; i++) /* into the circle */
        rank = first_awaited(threads, rank, &in);
    const int first = rank;
    do {
        char what[48];
        const int next = first_awaited(threads, rank, &in);
        if (in->op >= 0)
            snprintf(what, sizeof what, "operation %d", in->op);
        else
            snprintf(what, sizeof what, "its %s",
                     czr_collective_name(in->kind));
        if (at == 0)
            at = (size_t)snprintf(why, CZR_WHY_BYTES, "rank %d", rank);
        at += (size_t)snprintf(why + at, CZR_WHY_BYTES - at,
                               "%s waits in %s for rank %d",
                               rank == first ? "" : ", which", what, next);
        rank = next;
    } while (rank != first && at < CZR_WHY_BYTES);
}

void czr_threads_world_explain(const czr_comm *comm, czr_status status,
                               char *why)
{
    czr_communicator *communicator = comm->communicator;
    czr_threads_world *threads = communicator->threads;
    const int rank = comm->world->rank, root = find_root(threads, rank);
    char seen[CZR_WHY_BYTES / 2];

    if (root < 0) {
        print_circle(threads, rank, why);
        return;
    }
    czr_recorder_print_last(&threads->ranks[root].world->recorder, seen,
                            sizeof seen);
    if (status == CZR_ERR_ENDED)
        snprintf(why, CZR_WHY_BYTES,
                 "rank %d has ended, and rank %d waits for it: last seen %s",
                 root, rank, seen);
    else
        snprintf(why, CZR_WHY_BYTES,
                 "rank %d waited %lld ms for rank %d, which did not come: last "
                 "seen %s",
                 rank, (long long)comm->world->deadline_ms, root, seen);
}
