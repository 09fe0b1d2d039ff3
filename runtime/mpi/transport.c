/* A transport over MPI: a communicator for each channel, and on each but the
 * last a message of any rank that says why it has failed.  Knows nothing of
 * worlds.
 */
#define _POSIX_C_SOURCE 200809L
#include "runtime/czr_mpi.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    TAG_MESSAGE,
    TAG_WORDS,
    PIECE_BYTES = 1 << 30, /* counts of MPI are ints */
    N_HEARD = CZR_CHANNELS - 1,
    LINGER_MS = 200 /* for others to say what they know, before all is ended */
};

/* Requests of a channel; one thread at a time has them. */
typedef struct channel {
    MPI_Comm comm;
    int n, most;
    MPI_Request *requests; /* [most] */
    MPI_Status *statuses;  /* [most] */
    int *peers, *bytes;    /* [most] bytes to receive; -1: it is sent */
    MPI_Request heard;     /* of another rank's words */
    char words[CZR_WHY_BYTES];
} channel;

typedef struct transport {
    channel channels[CZR_CHANNELS];
    int rank, ranks;
    bool is_owner;             /* MPI is initialised by it */
    atomic_bool has_failed;    /* on any channel */
    char words[CZR_WHY_BYTES]; /* that it tells others */
} transport;

static int64_t now_ns(void)
{
    enum { NS = 1000000000 };
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS + now.tv_nsec;
}

static czr_status explain(int code, char *why)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = MPI_ERR_OTHER, n;

    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &n);
    snprintf(why, CZR_WHY_BYTES, "MPI: %.*s", CZR_WHY_BYTES - 8, text);
    return class == MPI_ERR_TRUNCATE ? CZR_ERR_MISMATCH : CZR_ERR_MPI;
}

/* ---- requests ----------------------------------------------------------- */

static int pieces_of(size_t bytes)
{
    return (int)((bytes + PIECE_BYTES - 1) / PIECE_BYTES);
}

static bool make_room(channel *c, int n)
{
    if (n <= c->most)
        return true;
    free(c->requests);
    free(c->statuses);
    free(c->peers);
    free(c->bytes);
    c->most = 0;
    const size_t most = 2 * (size_t)n;
    c->requests = malloc(most * sizeof *c->requests);
    c->statuses = malloc(most * sizeof *c->statuses);
    c->peers = malloc(most * sizeof *c->peers);
    c->bytes = malloc(most * sizeof *c->bytes);
    if (!c->requests || !c->statuses || !c->peers || !c->bytes)
        return false;
    c->most = 2 * n;
    return true;
}

/* A message in one direction, in pieces. */
static int start(channel *c, int peer, const void *send, void *receive,
                 size_t bytes)
{
    int code = MPI_SUCCESS;

    for (size_t at = 0; at < bytes && code == MPI_SUCCESS; at += PIECE_BYTES) {
        const size_t left = bytes - at;
        const int n = (int)(left < PIECE_BYTES ? left : PIECE_BYTES);
        MPI_Request *request = &c->requests[c->n];
        code = receive ? MPI_Irecv((char *)receive + at, n, MPI_BYTE, peer,
                                   TAG_MESSAGE, c->comm, request)
                       : MPI_Isend((const char *)send + at, n, MPI_BYTE, peer,
                                   TAG_MESSAGE, c->comm, request);
        c->peers[c->n] = peer;
        c->bytes[c->n] = receive ? n : -1;
        c->n += code == MPI_SUCCESS;
    }
    return code;
}

/* Receives first, so that nothing waits in memory of MPI's for them. */
static int start_all(channel *c, int n, const czr_message *messages)
{
    int code = MPI_SUCCESS;

    for (int i = 0; i < n && code == MPI_SUCCESS; i++)
        code = start(c, messages[i].peer, NULL, messages[i].receive,
                     messages[i].receive_bytes);
    for (int i = 0; i < n && code == MPI_SUCCESS; i++)
        code = start(c, messages[i].peer, messages[i].send, NULL,
                     messages[i].send_bytes);
    return code;
}

/* What had to come has come, as long as it had to be. */
static czr_status check_sizes(const channel *c, char *why)
{
    for (int i = 0; i < c->n; i++) {
        int n = 0;
        if (c->bytes[i] < 0)
            continue;
        MPI_Get_count(&c->statuses[i], MPI_BYTE, &n);
        if (n == c->bytes[i])
            continue;
        snprintf(why, CZR_WHY_BYTES,
                 "rank %d sends %d bytes, where %d are awaited", c->peers[i], n,
                 c->bytes[i]);
        return CZR_ERR_MISMATCH;
    }
    return CZR_OK;
}

/* A rank that has not come: of receives first, for what is sent may have to
 * wait for one that is busy. */
static int find_missing(channel *c)
{
    int missing = -1;

    for (int i = 0; i < c->n; i++) {
        int is_done = 0;
        MPI_Test(&c->requests[i], &is_done, MPI_STATUS_IGNORE);
        if (!is_done && (missing < 0 || c->bytes[i] >= 0))
            return c->peers[i];
    }
    return missing;
}

/* Nothing is received any more into memory of the caller's. */
static void cancel(channel *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->bytes[i] >= 0 && c->requests[i] != MPI_REQUEST_NULL)
            MPI_Cancel(&c->requests[i]);
    for (int i = 0; i < c->n; i++) {
        const int64_t end = now_ns() + INT64_C(1000000) * LINGER_MS;
        int is_done = c->bytes[i] < 0 || c->requests[i] == MPI_REQUEST_NULL;
        while (!is_done && now_ns() < end)
            MPI_Test(&c->requests[i], &is_done, MPI_STATUS_IGNORE);
        if (c->requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&c->requests[i]);
    }
}

/* ---- waiting ------------------------------------------------------------ */

/* Looks again at once while its bytes may be on their way, then lets others
 * run, then sleeps: longer, the longer a wait lasts. */
static void rest(int64_t waited_ns, int64_t bytes)
{
    enum {
        BUSY_NS = 20000,
        YIELD_NS = 500000,
        NS_PER_BYTE = 4,
        LEAST_NS = 20000,
        MOST_NS = 1000000
    };
    const int64_t late = waited_ns - YIELD_NS - NS_PER_BYTE * bytes;

    if (waited_ns < BUSY_NS + bytes) /* as at 1 GB/s */
        return;
    if (late < 0) {
        sched_yield();
        return;
    }
    const int64_t ns = LEAST_NS + late / 16;
    nanosleep(&(struct timespec){.tv_nsec = ns < MOST_NS ? (long)ns : MOST_NS},
              NULL);
}

static czr_status await(channel *c, int64_t bytes, int64_t deadline_ms,
                        char *why)
{
    const int64_t start_ns = now_ns();
    int is_done = 0, is_heard = 0;

    for (;;) {
        int code = MPI_Testall(c->n, c->requests, &is_done, c->statuses);
        if (code == MPI_ERR_IN_STATUS)
            for (int i = 0; i < c->n; i++)
                if (c->statuses[i].MPI_ERROR != MPI_SUCCESS &&
                    c->statuses[i].MPI_ERROR != MPI_ERR_PENDING)
                    code = c->statuses[i].MPI_ERROR;
        if (code == MPI_SUCCESS && is_done)
            return check_sizes(c, why);
        if (code == MPI_SUCCESS && c->heard != MPI_REQUEST_NULL)
            code = MPI_Test(&c->heard, &is_heard, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS)
            return explain(code, why);
        if (is_heard) {
            snprintf(why, CZR_WHY_BYTES, "%.*s", CZR_WHY_BYTES - 1, c->words);
            return CZR_ERR_ABORTED;
        }
        const int64_t waited_ns = now_ns() - start_ns;
        if (waited_ns / 1000000 >= deadline_ms) {
            snprintf(why, CZR_WHY_BYTES, "rank %d did not come in %lld ms",
                     find_missing(c), (long long)deadline_ms);
            return CZR_ERR_TIMEOUT;
        }
        rest(waited_ns, bytes);
    }
}

static czr_status exchange(void *user, int number, int n,
                           const czr_message *messages, int64_t deadline_ms,
                           char *why)
{
    transport *self = user;
    channel *c = &self->channels[number];
    int n_requests = 0;
    int64_t bytes = 0;

    for (int i = 0; i < n; i++) {
        n_requests += pieces_of(messages[i].send_bytes) +
                      pieces_of(messages[i].receive_bytes);
        bytes += (int64_t)(messages[i].send_bytes + messages[i].receive_bytes);
    }
    c->n = 0;
    if (!make_room(c, n_requests))
        return CZR_ERR_NO_MEMORY;
    const int code = start_all(c, n, messages);
    const czr_status status = code == MPI_SUCCESS
                                  ? await(c, bytes, deadline_ms, why)
                                  : explain(code, why);
    if (status != CZR_OK) {
        self->has_failed = true;
        cancel(c);
    }
    return status;
}

static void abort_others(void *user, const char *why)
{
    transport *self = user;

    self->has_failed = true;
    snprintf(self->words, sizeof self->words, "%s", why);
    for (int number = 0; number < N_HEARD; number++)
        for (int rank = 0; rank < self->ranks; rank++) {
            MPI_Request request;
            if (rank == self->rank)
                continue;
            /* Small, so that it goes without the other end. */
            if (MPI_Isend(self->words, CZR_WHY_BYTES, MPI_CHAR, rank, TAG_WORDS,
                          self->channels[number].comm, &request) == MPI_SUCCESS)
                MPI_Request_free(&request);
        }
}

/* ---- opening and closing ------------------------------------------------ */

static void close_channel(channel *c, bool has_failed)
{
    if (c->heard != MPI_REQUEST_NULL) {
        MPI_Cancel(&c->heard);
        if (has_failed)
            MPI_Request_free(&c->heard);
        else
            MPI_Wait(&c->heard, MPI_STATUS_IGNORE);
    }
    if (!has_failed && c->comm != MPI_COMM_NULL)
        MPI_Comm_free(&c->comm);
    free(c->requests);
    free(c->statuses);
    free(c->peers);
    free(c->bytes);
}

static void close_transport(void *user)
{
    static const struct timespec linger = {0, LINGER_MS * 1000000L};
    transport *self = user;
    const bool has_failed = self->has_failed, is_owner = self->is_owner;
    int is_over = 0;

    MPI_Finalized(&is_over);
    for (int number = 0; !is_over && number < CZR_CHANNELS; number++)
        close_channel(&self->channels[number], has_failed);
    if (!is_over && is_owner && has_failed) {
        fflush(NULL);
        nanosleep(&linger, NULL);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (!is_over && is_owner)
        MPI_Finalize();
    if (!has_failed) /* else words may be on their way, of this memory */
        free(self);
}

static czr_status check_mpi(void)
{
    int is_there = 0, is_over = 0, level = MPI_THREAD_SINGLE;

    MPI_Initialized(&is_there);
    MPI_Finalized(&is_over);
    if (is_over)
        return CZR_ERR_MPI;
    if (is_there)
        MPI_Query_thread(&level);
    return level < MPI_THREAD_MULTIPLE ? CZR_ERR_MPI_THREADS : CZR_OK;
}

static int open_channel(channel *c, MPI_Comm comm, bool hears)
{
    int code = MPI_Comm_dup(comm, &c->comm);

    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(c->comm, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS && hears)
        code = MPI_Irecv(c->words, CZR_WHY_BYTES, MPI_CHAR, MPI_ANY_SOURCE,
                         TAG_WORDS, c->comm, &c->heard);
    return code;
}

czr_status czr_mpi_transport(MPI_Comm comm, czr_transport *out)
{
    if (!out || comm == MPI_COMM_NULL)
        return CZR_ERR_ARGUMENT;
    const czr_status status = check_mpi();
    if (status != CZR_OK)
        return status;
    transport *self = calloc(1, sizeof *self);
    if (!self)
        return CZR_ERR_NO_MEMORY;
    int code = MPI_SUCCESS;
    MPI_Comm_rank(comm, &self->rank);
    MPI_Comm_size(comm, &self->ranks);
    for (int number = 0; number < CZR_CHANNELS; number++) {
        self->channels[number].comm = MPI_COMM_NULL;
        self->channels[number].heard = MPI_REQUEST_NULL;
    }
    for (int number = 0; number < CZR_CHANNELS && code == MPI_SUCCESS; number++)
        code = open_channel(&self->channels[number], comm, number < N_HEARD);
    if (code != MPI_SUCCESS) {
        close_transport(self);
        return CZR_ERR_MPI;
    }
    *out = (czr_transport){.size = sizeof *out,
                           .user = self,
                           .rank = self->rank,
                           .ranks = self->ranks,
                           .exchange = exchange,
                           .abort = abort_others,
                           .close = close_transport};
    return CZR_OK;
}

czr_status czr_mpi_start(czr_transport *out)
{
    int is_there = 0, level;

    MPI_Initialized(&is_there);
    if (!is_there &&
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS)
        return CZR_ERR_MPI;
    const czr_status status = czr_mpi_transport(MPI_COMM_WORLD, out);
    if (status == CZR_OK)
        ((transport *)out->user)->is_owner = !is_there;
    else if (!is_there)
        MPI_Finalize();
    return status;
}
