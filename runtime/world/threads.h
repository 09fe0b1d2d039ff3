/* The threads world inside: ranks are threads of one process and read each
 * other's memory.  One lock guards all that is here; data moves outside it.
 * Waits sleep on a condition variable of their rank. */
#ifndef CZR_WORLD_THREADS_H
#define CZR_WORLD_THREADS_H

#include "runtime/world/world.h"

#include <pthread.h>
#include <time.h>

/* A member of a communicator: what it has posted, and how far that has come.
 * Cursors go through the rows of its transfer, one per peer. */
typedef struct czr_member {
    const czr_collective *transfer;
    int64_t *send_cursor, *receive_cursor;
    int64_t sends_left, receives_left;
    int being_read; /* of its sends, right now */
} czr_member;

/* What the members of one communicator share. */
typedef struct czr_communicator {
    struct czr_communicator *next;
    struct czr_threads_world *threads;
    czr_channel channel;
    int size;
    int *ranks;
    czr_member *members;
    const czr_collective *
        *posted; /* [size] collectives, NULL before they come */
    int arrived, finished;
    unsigned generation; /* collectives completed here */
} czr_communicator;

/* What all ranks share. */
typedef struct czr_threads_world {
    pthread_mutex_t lock;
    int size;
    pthread_cond_t *wake; /* [size], one per rank */
    czr_communicator *communicators;
    bool is_aborted;
    char why[CZR_WHY_BYTES];
} czr_threads_world;

void czr_threads_world_wake(czr_communicator *communicator, int position);
void czr_threads_world_wake_all(czr_threads_world *threads);
/* Marks the world as failed; the first reason stays.  Lock held. */
void czr_threads_world_abort(czr_threads_world *threads, const char *why);
/* The time after which a wait of this world that starts now has failed. */
struct timespec czr_deadline(const czr_world *world);
/* Sleeps, lock held, until woken.  CZR_ERR_ABORTED with the reason when the
 * world has failed, CZR_ERR_TIMEOUT when the deadline has passed; the caller
 * looks first whether what it waits for has come. */
czr_status czr_threads_world_sleep(czr_threads_world *threads, int rank,
                                   const struct timespec *deadline, char *why);

/* A wait failed: completes `why` with who has not come, and lets everybody
 * know.  Lock held. */
czr_status czr_threads_world_missing(czr_comm *comm, int absent,
                                     czr_status status, char *why);

/* One file each: threads_collective.c, threads_transfer.c. */
void czr_collective_post(czr_comm *comm, const czr_collective *collective);
czr_status czr_collective_wait(czr_comm *comm, const czr_collective *collective,
                               char *why);
void czr_transfer_post(czr_comm *comm, const czr_collective *collective);
czr_status czr_transfer_wait(czr_comm *comm, const czr_collective *collective,
                             char *why);

#endif
