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

/* What a rank waits for; NULL communicator: nothing. */
typedef struct czr_waiting {
    const czr_communicator *communicator;
    const czr_collective *collective;
    int position;
} czr_waiting;

/* A rank, as all others see it. */
typedef struct czr_threads_rank {
    czr_world *world;
    pthread_cond_t wake;
    czr_waiting waiting[CZR_CHANNEL_PLAN + 1];
    bool has_ended;  /* it will make no more calls */
    bool is_reached; /* by who looks for the root of a wait */
} czr_threads_rank;

/* What all ranks share. */
typedef struct czr_threads_world {
    pthread_mutex_t lock;
    int size;
    czr_threads_rank *ranks; /* [size] */
    int n_ended;
    int *reached;                   /* [size], in order */
    const czr_recorder **recorders; /* [size] */
    czr_communicator *communicators;
    bool is_aborted;
    char why[CZR_WHY_BYTES];
} czr_threads_world;

void czr_threads_world_wake(czr_communicator *communicator, int position);
/* Marks the world as failed; the first reason stays.  Lock held. */
void czr_threads_world_abort(czr_threads_world *threads, const char *why);
/* The time after which a wait of this world that starts now has failed. */
struct timespec czr_deadline(const czr_world *world);
/* Sleeps, lock held, until woken.  CZR_ERR_ABORTED with the reason when the
 * world has failed, CZR_ERR_ENDED when a rank that is waited for has ended,
 * CZR_ERR_TIMEOUT when the deadline has passed; the caller looks first whether
 * what it waits for has come. */
czr_status czr_threads_world_sleep(czr_threads_world *threads, int rank,
                                   const struct timespec *deadline, char *why);

/* A wait failed: completes `why` with who has not come, and lets everybody
 * know.  Lock held, and what the rank waits for is still posted. */
czr_status czr_threads_world_missing(czr_comm *comm, czr_status status,
                                     char *why);

/* threads_blame.c, lock held: whether the rank waits for one that has ended;
 * which rank holds up this one, and where it was last seen. */
bool czr_threads_world_awaits_ended(const czr_threads_world *threads, int rank);
void czr_threads_world_explain(const czr_comm *comm, czr_status status,
                               char *why);

/* One file each: threads_collective.c, threads_transfer.c.  Lock held but for
 * posting.  Whether a member that waits needs a peer that has not come. */
bool czr_collective_awaits(const czr_communicator *communicator, int position,
                           int peer);
bool czr_transfer_awaits(const czr_communicator *communicator, int position,
                         int peer);
void czr_collective_post(czr_comm *comm, const czr_collective *collective);
czr_status czr_collective_wait(czr_comm *comm, const czr_collective *collective,
                               char *why);
void czr_transfer_post(czr_comm *comm, const czr_collective *collective);
czr_status czr_transfer_wait(czr_comm *comm, const czr_collective *collective,
                             char *why);

#endif
