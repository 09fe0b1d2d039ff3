/* The threads world: who the ranks are, communicators, sleeping, aborting. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/world/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/memory.h"

void czr_threads_world_wake(czr_communicator *communicator, int position)
{
    pthread_cond_broadcast(
        &communicator->threads->ranks[communicator->ranks[position]].wake);
}

static void wake_all(czr_threads_world *threads)
{
    for (int rank = 0; rank < threads->size; rank++)
        pthread_cond_broadcast(&threads->ranks[rank].wake);
}

void czr_threads_world_abort(czr_threads_world *threads, const char *why)
{
    if (!threads->is_aborted) {
        snprintf(threads->why, sizeof threads->why, "%s", why);
        czr_recorder_write("canzona", threads->recorders, 0, threads->size,
                           why);
    }
    threads->is_aborted = true;
    wake_all(threads);
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

czr_status czr_threads_world_sleep(czr_threads_world *threads, int rank,
                                   const struct timespec *deadline, char *why)
{
    if (!threads->is_aborted && czr_threads_world_awaits_ended(threads, rank))
        return CZR_ERR_ENDED;
    if (!threads->is_aborted &&
        pthread_cond_timedwait(&threads->ranks[rank].wake, &threads->lock,
                               deadline) != ETIMEDOUT)
        return CZR_OK;
    if (!threads->is_aborted)
        return CZR_ERR_TIMEOUT;
    snprintf(why, CZR_WHY_BYTES, "%s", threads->why);
    return CZR_ERR_ABORTED;
}

czr_status czr_threads_world_missing(czr_comm *comm, czr_status status,
                                     char *why)
{
    czr_communicator *communicator = comm->communicator;

    if (status != CZR_ERR_ABORTED)
        czr_threads_world_explain(comm, status, why);
    czr_threads_world_abort(communicator->threads, why);
    return status;
}

/* ---- communicators
 * -------------------------------------------------------------- */

static void communicator_close(czr_communicator *communicator)
{
    for (int i = 0; communicator->members && i < communicator->size; i++) {
        czr_free(communicator->members[i].send_cursor);
        czr_free(communicator->members[i].receive_cursor);
    }
    czr_free(communicator->members);
    czr_free(communicator->posted);
    czr_free(communicator->ranks);
    czr_free(communicator);
}

static bool open_members(czr_communicator *communicator)
{
    const size_t n = (size_t)communicator->size;

    for (size_t i = 0; i < n; i++) {
        czr_member *member = &communicator->members[i];
        member->send_cursor = czr_alloc(n, sizeof *member->send_cursor);
        member->receive_cursor = czr_alloc(n, sizeof *member->receive_cursor);
        if (!member->send_cursor || !member->receive_cursor)
            return false;
    }
    return true;
}

static czr_communicator *communicator_open(czr_threads_world *threads,
                                           czr_channel channel,
                                           const int *ranks, int n)
{
    czr_communicator *communicator = czr_alloc(1, sizeof *communicator);

    if (!communicator)
        return NULL;
    *communicator =
        (czr_communicator){.threads = threads, .channel = channel, .size = n};
    communicator->ranks = czr_alloc((size_t)n, sizeof *communicator->ranks);
    communicator->members = czr_alloc((size_t)n, sizeof *communicator->members);
    communicator->posted = czr_alloc((size_t)n, sizeof(void *));
    if (!communicator->ranks || !communicator->members ||
        !communicator->posted || !open_members(communicator)) {
        communicator_close(communicator);
        return NULL;
    }
    memcpy(communicator->ranks, ranks, (size_t)n * sizeof *ranks);
    return communicator;
}

static bool is_communicator_of(const czr_communicator *communicator,
                               czr_channel channel, const int *ranks, int n)
{
    return communicator->channel == channel && communicator->size == n &&
           memcmp(communicator->ranks, ranks, (size_t)n * sizeof *ranks) == 0;
}

/* ---- the table of functions --------------------------------------------- */

/* One rank: its world and the members it has taken. */
typedef struct rank_world {
    czr_world world;
    struct membership {
        czr_comm comm;
        struct membership *next;
    } * members;
} rank_world;

static struct membership *take_member(rank_world *me,
                                      czr_communicator *communicator)
{
    struct membership *member = czr_alloc(1, sizeof *member);

    if (!member)
        return NULL;
    member->comm = (czr_comm){.world = &me->world,
                              .size = communicator->size,
                              .ranks = communicator->ranks,
                              .communicator = communicator};
    while (communicator->ranks[member->comm.position] != me->world.rank)
        member->comm.position++;
    member->next = me->members;
    me->members = member;
    return member;
}

static czr_status join(czr_world *world, czr_channel channel, const int *ranks,
                       int n, czr_comm **out)
{
    rank_world *me = (rank_world *)world;
    /* The members' common communicator: made by whoever comes first. */
    czr_threads_world *threads = world->common;
    pthread_mutex_lock(&threads->lock);
    czr_communicator *communicator = threads->communicators;
    while (communicator && !is_communicator_of(communicator, channel, ranks, n))
        communicator = communicator->next;
    if (!communicator) {
        communicator = communicator_open(threads, channel, ranks, n);
        if (communicator) {
            communicator->next = threads->communicators;
            threads->communicators = communicator;
        }
    }
    pthread_mutex_unlock(&threads->lock);
    struct membership *member = me->members;

    while (member && member->comm.communicator != communicator)
        member = member->next;
    if (!member && communicator)
        member = take_member(me, communicator);
    *out = member ? &member->comm : NULL;
    return member ? CZR_OK : CZR_ERR_NO_MEMORY;
}

static void post(czr_comm *comm, const czr_collective *collective)
{
    if (collective->kind == CZR_COLLECTIVE_TRANSFER)
        czr_transfer_post(comm, collective);
    else
        czr_collective_post(comm, collective);
}

static czr_status wait(czr_comm *comm, const czr_collective *collective,
                       char *why)
{
    czr_communicator *communicator = comm->communicator;
    czr_threads_world *threads = communicator->threads;
    czr_waiting *waiting =
        &threads->ranks[comm->world->rank].waiting[communicator->channel];
    int cancelling;

    /* Nobody is gone with the lock, or while others read its memory. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    pthread_mutex_lock(&threads->lock);
    *waiting = (czr_waiting){communicator, collective, comm->position};
    const czr_status status = collective->kind == CZR_COLLECTIVE_TRANSFER
                                  ? czr_transfer_wait(comm, collective, why)
                                  : czr_collective_wait(comm, collective, why);
    *waiting = (czr_waiting){.communicator = NULL};
    pthread_mutex_unlock(&threads->lock);
    pthread_setcancelstate(cancelling, NULL);
    return status;
}

static void abort_world(czr_world *world, const char *why)
{
    czr_threads_world *threads = world->common;

    pthread_mutex_lock(&threads->lock);
    czr_threads_world_abort(threads, why);
    pthread_mutex_unlock(&threads->lock);
}

static const czr_world_ops threads_ops = {
    .name = "threads",
    .join = join,
    .post = post,
    .wait = wait,
    .abort = abort_world,
    .writes_trace = true,
};

/* ---- running ------------------------------------------------------------ */

typedef struct runner {
    rank_world own;
    pthread_t thread;
    czr_status (*body)(czr_world *, void *);
    void *user;
    czr_status status;
} runner;

/* The rank makes no more calls: of its own will, or because its thread ends
 * within the body. */
static void end(void *argument)
{
    runner *self = argument;
    czr_world *world = &self->own.world;
    czr_threads_world *threads = world->common;
    char why[CZR_WHY_BYTES], seen[CZR_WHY_BYTES / 2];

    czr_recorder_print_last(&world->recorder, seen, sizeof seen);
    snprintf(why, sizeof why,
             self->status == CZR_ERR_ENDED
                 ? "rank %d has ended without %s: last seen %s"
                 : "rank %d failed: %s; last seen %s",
             world->rank,
             self->status == CZR_ERR_ENDED ? "returning"
                                           : czr_status_text(self->status),
             seen);
    pthread_mutex_lock(&threads->lock);
    threads->ranks[world->rank].has_ended = true;
    threads->n_ended++;
    if (self->status != CZR_OK)
        czr_threads_world_abort(threads, why);
    wake_all(threads);
    pthread_mutex_unlock(&threads->lock);
}

static void *run(void *argument)
{
    runner *self = argument;
    czr_world *world = &self->own.world;

    self->status = CZR_ERR_ENDED; /* until it returns */
    pthread_cleanup_push(end, self);
    czr_status status = czr_world_join_everyone(world);
    if (status == CZR_OK)
        status = self->body(world, self->user);
    self->status = status;
    pthread_cleanup_pop(1);
    return NULL;
}

static czr_status threads_open(czr_threads_world *threads, int size)
{
    pthread_condattr_t monotonic;

    threads->ranks = czr_alloc((size_t)size, sizeof *threads->ranks);
    threads->reached = czr_alloc((size_t)size, sizeof *threads->reached);
    threads->recorders = czr_alloc((size_t)size, sizeof(czr_recorder *));
    if (!threads->ranks || !threads->reached || !threads->recorders)
        return CZR_ERR_NO_MEMORY;
    if (pthread_mutex_init(&threads->lock, NULL) != 0)
        return CZR_ERR_NO_MEMORY;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    for (; threads->size < size; threads->size++)
        if (pthread_cond_init(&threads->ranks[threads->size].wake,
                              &monotonic) != 0)
            break;
    pthread_condattr_destroy(&monotonic);
    return threads->size == size ? CZR_OK : CZR_ERR_NO_MEMORY;
}

static void threads_close(czr_threads_world *threads)
{
    while (threads->communicators) {
        czr_communicator *communicator = threads->communicators;
        threads->communicators = communicator->next;
        communicator_close(communicator);
    }
    for (int rank = 0; rank < threads->size; rank++)
        pthread_cond_destroy(&threads->ranks[rank].wake);
    if (threads->size > 0)
        pthread_mutex_destroy(&threads->lock);
    czr_free(threads->ranks);
    czr_free(threads->reached);
    czr_free(threads->recorders);
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

/* A call of czr_world_threads_run. */
typedef struct all_ranks {
    czr_threads_world threads;
    runner *runners;
    int n_started;
    czr_status status;
} all_ranks;

/* Behind the body of rank 0, or because the calling thread ends in it. */
static void wind_up(void *argument)
{
    all_ranks *all = argument;

    for (int rank = 1; rank < all->n_started; rank++)
        pthread_join(all->runners[rank].thread, NULL);
    if (all->status == CZR_OK)
        all->status = first_failure(all->runners, all->threads.size);
    for (int rank = 0; all->runners && rank < all->threads.size; rank++) {
        runner *self = &all->runners[rank];
        czr_world_clear_mesh(&self->own.world);
        while (self->own.members) {
            struct membership *member = self->own.members;
            self->own.members = member->next;
            czr_free(member);
        }
    }
    threads_close(&all->threads);
    czr_free(all->runners);
}

static void start(all_ranks *all)
{
    runner *runners = all->runners;
    const int size = all->threads.size;

    for (all->n_started = 1; all->n_started < size; all->n_started++)
        if (pthread_create(&runners[all->n_started].thread, NULL, run,
                           &runners[all->n_started]) != 0)
            break;
    if (all->n_started < size) {
        abort_world(&runners[0].own.world, "no thread for a rank");
        runners[all->n_started].status = CZR_ERR_NO_MEMORY;
    }
}

czr_status czr_world_threads_run(int ranks,
                                 czr_status (*body)(czr_world *, void *),
                                 void *user)
{
    all_ranks all = {.n_started = 0};

    if (ranks < 1 || !body)
        return CZR_ERR_ARGUMENT;
    all.runners = czr_alloc((size_t)ranks, sizeof *all.runners);
    all.status =
        all.runners ? threads_open(&all.threads, ranks) : CZR_ERR_NO_MEMORY;
    for (int rank = 0; all.status == CZR_OK && rank < ranks; rank++) {
        runner *self = &all.runners[rank];
        self->body = body;
        self->user = user;
        self->own.world.ops = &threads_ops;
        self->own.world.common = &all.threads;
        self->own.world.rank = rank;
        self->own.world.size = ranks;
        self->own.world.deadline_ms = CZR_DEFAULT_DEADLINE_MS;
        all.threads.ranks[rank].world = &self->own.world;
        all.threads.recorders[rank] = &self->own.world.recorder;
    }
    pthread_cleanup_push(wind_up, &all);
    if (all.status == CZR_OK) {
        start(&all);
        run(&all.runners[0]);
    }
    pthread_cleanup_pop(1);
    return all.status;
}
