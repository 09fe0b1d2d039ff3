/* Worlds of processes, over one function that moves bytes between them.
 *
 *     const czr_transport transport = {sizeof transport, me, rank, ranks,
 *                                      exchange, NULL, NULL};
 *     czr_world_open(&transport, &world);
 *     ...                                            engines, as in czr.h
 *     czr_world_close(world); */
#ifndef CZR_TRANSPORT_H
#define CZR_TRANSPORT_H

#include "czr.h"

/* What moves bytes between ranks that are processes.  MPI is one (czr_mpi.h); a
 * callback of a framework's process group is another.
 *
 * A message is what goes to a peer and what comes from it: 0 bytes are nothing,
 * and NULL then.  Both ends know both sizes. */
typedef struct czr_message {
    int peer; /* a rank, never this one */
    const void *send;
    size_t send_bytes;
    void *receive;
    size_t receive_bytes;
} czr_message;

enum { CZR_WHY_BYTES = 256, CZR_CHANNELS = 3 };

typedef struct czr_transport {
    size_t size; /* sizeof(czr_transport): that of the caller's header */
    void *user;
    int rank, ranks;
    /* Moves all of messages[n], n > 0, and returns when memory to be sent may
     * change and what is received is there.
     * - Of two ranks, what one sends on a channel meets what the other receives
     *   on it in the order of the calls, and of the messages of a call.
     * - Ranks of one call need not meet in pairs: what this rank sends first
     *   may be received last.  A call waits for no rank that it has no message
     *   of.
     * - Channels are 0 to CZR_CHANNELS - 1.  Two threads may call at once, for
     *   two of them.  On the last one ranks say whom they waited for when a
     *   rank did not come, and some may not answer.
     * It fails soon after `deadline_ms` at the latest, and touches no message
     * later; what has come lies in its place.  It writes into
     * why[CZR_WHY_BYTES] who is the reason, such as "rank 3 has ended":
     * - CZR_ERR_TIMEOUT: a rank did not come in time.
     * - CZR_ERR_ENDED: a rank has ended, and never will.
     * - CZR_ERR_ABORTED: a rank called `abort`; `why` is what it said.  On the
     *   last channel this fails nothing.
     * - CZR_ERR_MISMATCH: a message has another size than this end knows.
     * - any other status: as czr_status_text says. */
    czr_status (*exchange)(void *user, int channel, int n,
                           const czr_message *messages, int64_t deadline_ms,
                           char *why);
    /* May be NULL.  Tells all others, if it can, that this rank has failed, and
     * waits for nobody.  A thread may be in an exchange meanwhile.  Without it
     * they learn so by their deadlines, or as this rank ends. */
    void (*abort)(void *user, const char *why);
    /* May be NULL: czr_world_close calls it last. */
    void (*close)(void *user);
} czr_transport;

/* A world of processes, as one of its ranks has it; NULL: of one rank, this
 * one.  The call copies the transport, and waits for nobody.  Results are those
 * of czr_world_threads_run to the bit: ranks exchange bytes, and add them up
 * themselves.
 *
 * A failed exchange ends the world: the call returns what the transport said,
 * later calls CZR_ERR_ABORTED.  CZR_ERR_ARGUMENT: sizes or ranks make no sense,
 * or `exchange` is NULL.  CZR_ERR_NO_MEMORY.  Then *out is NULL, and the
 * transport is not closed. */
czr_status czr_world_open(const czr_transport *transport, czr_world **out);
/* Its engines are closed.  NULL is allowed; that of a thread, or of a GPU, is
 * closed by who opened it. */
void czr_world_close(czr_world *world);

#endif
