/* A transport for tests: ranks are processes that fork makes, with a pair of
 * sockets for each channel of each two of them, and one for what ranks say as
 * they fail.  In front of a message goes its length, so that two ends that know
 * different ones notice. */
#ifndef TESTS_RUNTIME_PROCESSES_H
#define TESTS_RUNTIME_PROCESSES_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/czr_transport.h"

enum { PROCESSES_MOST = 16, PROCESSES_WORDS = CZR_CHANNELS };

/* One rank, in its process. */
typedef struct process {
    int rank, ranks;
    /* [channel][rank] sockets to others, and those for words; -1: none. */
    int ends[CZR_CHANNELS + 1][PROCESSES_MOST];
    int64_t n_exchanges[CZR_CHANNELS]; /* so far */
    /* Called before each exchange; what is not CZR_OK it returns.  May be
     * NULL. */
    czr_status (*strike)(struct process *self, int channel, char *why);
    void *user;
    bool is_closed;
} process;

/* How far a direction of a peer has come: which message, and how many bytes of
 * its length and then of it. */
typedef struct process_end {
    int message;
    size_t done;
    uint64_t length;
} process_end;

/* ---- sockets ------------------------------------------------------------ */

/* The next message of a direction from number `at` on; n: none. */
static inline int process_next(const czr_message *messages, int n, int peer,
                               bool is_send, int at)
{
    while (at < n &&
           (messages[at].peer != peer ||
            !(is_send ? messages[at].send_bytes : messages[at].receive_bytes)))
        at++;
    return at;
}

/* Moves what goes without waiting.  CZR_ERR_ENDED: nobody is at the other end.
 */
static inline czr_status process_move(int fd, const czr_message *messages,
                                      int n, int peer, bool is_send,
                                      process_end *end, char *why)
{
    for (;;) {
        end->message = process_next(messages, n, peer, is_send, end->message);
        if (end->message == n)
            return CZR_OK;
        const czr_message *m = &messages[end->message];
        const size_t bytes = is_send ? m->send_bytes : m->receive_bytes;
        ssize_t moved;
        if (is_send && end->done == 0)
            end->length = bytes;
        if (end->done < sizeof end->length) {
            unsigned char *at = (unsigned char *)&end->length + end->done;
            const size_t left = sizeof end->length - end->done;
            moved = is_send ? send(fd, at, left, MSG_NOSIGNAL)
                            : recv(fd, at, left, 0);
        } else {
            const size_t done = end->done - sizeof end->length;
            moved = is_send ? send(fd, (const unsigned char *)m->send + done,
                                   bytes - done, MSG_NOSIGNAL)
                            : recv(fd, (unsigned char *)m->receive + done,
                                   bytes - done, 0);
        }
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return CZR_OK;
        if (moved <= 0)
            return CZR_ERR_ENDED;
        end->done += (size_t)moved;
        if (end->done >= sizeof end->length && end->length != bytes) {
            snprintf(why, CZR_WHY_BYTES,
                     "rank %d sends %llu bytes, where %llu are awaited", peer,
                     (unsigned long long)end->length,
                     (unsigned long long)bytes);
            return CZR_ERR_MISMATCH;
        }
        if (end->done == sizeof end->length + bytes) {
            end->message++;
            end->done = 0;
        }
    }
}

/* Whether another rank has said why it failed. */
static inline bool process_hears(const process *self, char *why)
{
    for (int rank = 0; rank < self->ranks; rank++)
        if (rank != self->rank &&
            recv(self->ends[PROCESSES_WORDS][rank], why, CZR_WHY_BYTES,
                 MSG_PEEK) == CZR_WHY_BYTES)
            return true;
    return false;
}

/* ---- the transport ------------------------------------------------------ */

static inline int64_t process_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* One look at all peers; *missing: one that has not come, or -1. */
static inline czr_status process_poll(const process *self, int channel, int n,
                                      const czr_message *messages,
                                      process_end (*ends)[2], int64_t ms,
                                      int *missing, char *why)
{
    struct pollfd polled[2 * PROCESSES_MOST];
    int n_polled = 0;

    *missing = -1;
    for (int peer = 0; peer < self->ranks; peer++) {
        short events = 0;
        if (peer == self->rank)
            continue;
        for (int is_send = 0; is_send < 2; is_send++) {
            const czr_status status =
                process_move(self->ends[channel][peer], messages, n, peer,
                             is_send, &ends[peer][is_send], why);
            if (status == CZR_ERR_ENDED && channel == CZR_CHANNELS - 1) {
                ends[peer][is_send].message = n; /* it will not answer */
                continue;
            }
            if (status == CZR_ERR_ENDED)
                snprintf(why, CZR_WHY_BYTES, "rank %d has ended", peer);
            if (status != CZR_OK)
                return status;
            if (ends[peer][is_send].message == n)
                continue;
            events |= is_send ? POLLOUT : POLLIN;
            *missing = is_send && *missing >= 0 ? *missing : peer;
        }
        if (events)
            polled[n_polled++] =
                (struct pollfd){self->ends[channel][peer], events, 0};
    }
    if (*missing >= 0)
        poll(polled, (nfds_t)n_polled, (int)ms);
    return CZR_OK;
}

static inline czr_status process_exchange(void *user, int channel, int n,
                                          const czr_message *messages,
                                          int64_t deadline_ms, char *why)
{
    enum { TICK_MS = 5 };
    process *self = user;
    process_end ends[PROCESSES_MOST][2] = {{{0}}};
    const int64_t end = process_now_ms() + deadline_ms;
    int missing = 0;
    czr_status status =
        self->strike ? self->strike(self, channel, why) : CZR_OK;

    self->n_exchanges[channel]++;
    while (status == CZR_OK && missing >= 0) {
        status = process_poll(self, channel, n, messages, ends, TICK_MS,
                              &missing, why);
        if (channel < CZR_CHANNELS - 1 &&
            (status == CZR_ERR_ENDED || (status == CZR_OK && missing >= 0)))
            status = process_hears(self, why) ? CZR_ERR_ABORTED : status;
        if (status == CZR_OK && missing >= 0 && process_now_ms() > end) {
            snprintf(why, CZR_WHY_BYTES, "rank %d did not come in %lld ms",
                     missing, (long long)deadline_ms);
            status = CZR_ERR_TIMEOUT;
        }
    }
    return status;
}

static inline void process_abort(void *user, const char *why)
{
    const process *self = user;
    char words[CZR_WHY_BYTES] = "";

    snprintf(words, sizeof words, "%s", why);
    for (int rank = 0; rank < self->ranks; rank++)
        if (rank != self->rank)
            send(self->ends[PROCESSES_WORDS][rank], words, sizeof words,
                 MSG_NOSIGNAL);
}

static inline void process_close(void *user)
{
    ((process *)user)->is_closed = true;
}

static inline czr_transport process_transport(process *self)
{
    return (czr_transport){.size = sizeof(czr_transport),
                           .user = self,
                           .rank = self->rank,
                           .ranks = self->ranks,
                           .exchange = process_exchange,
                           .abort = process_abort,
                           .close = process_close};
}

/* ---- processes ---------------------------------------------------------- */

/* Memory that processes share, zeroed. */
static inline void *process_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static inline bool
process_open_pairs(int ends[PROCESSES_MOST][CZR_CHANNELS + 1][PROCESSES_MOST],
                   int ranks)
{
    for (int a = 0; a < ranks; a++)
        for (int c = 0; c <= CZR_CHANNELS; c++) {
            ends[a][c][a] = -1;
            for (int b = a + 1; b < ranks; b++) {
                int pair[2];
                if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
                    return false;
                ends[a][c][b] = pair[0];
                ends[b][c][a] = pair[1];
            }
        }
    return true;
}

static inline void
process_close_ends(int ends[PROCESSES_MOST][CZR_CHANNELS + 1][PROCESSES_MOST],
                   int ranks, int but)
{
    for (int rank = 0; rank < ranks; rank++)
        for (int c = 0; c <= CZR_CHANNELS && rank != but; c++)
            for (int peer = 0; peer < ranks; peer++)
                if (peer != rank)
                    close(ends[rank][c][peer]);
}

/* Waits until all processes have ended but those that stand still, which it
 * ends; how[rank] is what waitpid says of the others. */
static inline void process_await(const pid_t *children, int ranks, int *how)
{
    bool has_ended[PROCESSES_MOST] = {false}, stands[PROCESSES_MOST] = {false};
    int left = ranks;

    while (left > 0) {
        const struct timespec tick = {0, 2000000};
        left = 0;
        for (int rank = 0; rank < ranks; rank++) {
            int status;
            if (!has_ended[rank] &&
                waitpid(children[rank], &status, WNOHANG | WUNTRACED) > 0) {
                stands[rank] = WIFSTOPPED(status);
                has_ended[rank] = !stands[rank];
                how[rank] = status;
            }
            left += !has_ended[rank] && !stands[rank];
        }
        if (left > 0)
            nanosleep(&tick, NULL);
    }
    for (int rank = 0; rank < ranks; rank++)
        if (stands[rank]) {
            kill(children[rank], SIGKILL);
            waitpid(children[rank], NULL, 0);
        }
}

/* Runs `body` in a process for each rank, which ends with what it returns;
 * false where processes or sockets cannot be made. */
static inline bool process_run(int ranks,
                               int (*body)(process *self, void *user),
                               void *user, int how[PROCESSES_MOST])
{
    static int ends[PROCESSES_MOST][CZR_CHANNELS + 1][PROCESSES_MOST];
    pid_t children[PROCESSES_MOST];
    int n = 0;

    if (ranks > PROCESSES_MOST || !process_open_pairs(ends, ranks))
        return false;
    fflush(NULL);
    for (; n < ranks; n++) {
        children[n] = fork();
        if (children[n] < 0)
            break;
        if (children[n] == 0) {
            process self = {.rank = n, .ranks = ranks};
            memcpy(self.ends, ends[n], sizeof self.ends);
            process_close_ends(ends, ranks, n);
            const int code = body(&self, user);
            fflush(NULL);
            _exit(code);
        }
    }
    process_close_ends(ends, ranks, -1);
    for (int rank = 0; n < ranks && rank < n; rank++)
        kill(children[rank], SIGKILL);
    process_await(children, n, how);
    return n == ranks;
}

#endif
