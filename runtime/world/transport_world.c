/* A world over a transport: opening, members, failures, closing. */
#include "runtime/world/transport.h"

#include <stdio.h>

#include "runtime/base/memory.h"

/* ---- failures ----------------------------------------------------------- */

/* The first failure stays; whether this is it. */
static bool fail(czr_transport_world *world, czr_status status, const char *why)
{
    pthread_mutex_lock(&world->lock);
    const bool is_first = world->failure == CZR_OK;
    if (is_first) {
        world->failure = status;
        world->is_reported |= status == CZR_ERR_ABORTED;
        snprintf(world->why, sizeof world->why, "%s",
                 *why ? why : czr_status_text(status));
    }
    pthread_mutex_unlock(&world->lock);
    return is_first;
}

/* CZR_ERR_ABORTED with the reason where the world has failed. */
static czr_status check(czr_transport_world *world, char *why)
{
    pthread_mutex_lock(&world->lock);
    const czr_status status =
        world->failure == CZR_OK ? CZR_OK : CZR_ERR_ABORTED;
    if (status != CZR_OK)
        memcpy(why, world->why, sizeof world->why);
    pthread_mutex_unlock(&world->lock);
    return status;
}

/* This rank's failure, to all others, once; not what one of them told. */
static void tell(czr_transport_world *world, const char *why)
{
    pthread_mutex_lock(&world->lock);
    const bool is_reported = world->is_reported;
    world->is_reported = true;
    pthread_mutex_unlock(&world->lock);
    if (!is_reported && world->transport.abort && world->base.size > 1)
        world->transport.abort(world->transport.user, why);
}

/* The engine knows more of a failed exchange than the transport. */
static void abort_world(czr_world *base, const char *why)
{
    czr_transport_world *world = (czr_transport_world *)base;

    tell(world, why);
    fail(world, CZR_ERR_ABORTED, why);
}

/* ---- messages ----------------------------------------------------------- */

czr_status czr_transport_reserve(czr_transport_member *member, size_t bytes,
                                 int n_messages)
{
    if (bytes > member->buffer_bytes) {
        czr_free(member->buffer);
        member->buffer_bytes = 0;
        member->buffer = czr_alloc(bytes, 1);
        if (!member->buffer)
            return CZR_ERR_NO_MEMORY;
        member->buffer_bytes = bytes;
    }
    if (n_messages > member->most_messages) {
        czr_free(member->messages);
        member->most_messages = 0;
        member->messages =
            czr_alloc((size_t)n_messages, sizeof *member->messages);
        if (!member->messages)
            return CZR_ERR_NO_MEMORY;
        member->most_messages = n_messages;
    }
    return CZR_OK;
}

void czr_transport_put(czr_transport_work *work, int position, const void *send,
                       size_t send_bytes, void *receive, size_t receive_bytes)
{
    czr_transport_member *member = work->member;

    if (work->status != CZR_OK || position == work->self ||
        (send_bytes == 0 && receive_bytes == 0))
        return;
    if (member->n_messages == member->most_messages) {
        work->status = CZR_ERR_STATE; /* nobody made room for it */
        return;
    }
    member->messages[member->n_messages++] =
        (czr_message){.peer = member->ranks[position],
                      .send = send_bytes ? send : NULL,
                      .send_bytes = send_bytes,
                      .receive = receive_bytes ? receive : NULL,
                      .receive_bytes = receive_bytes};
}

/* For whom this rank waits, of its channel. */
static void note_waits(const czr_transport_work *work, int n, bool waits)
{
    czr_transport_world *world = work->world;
    const unsigned char bit = (unsigned char)(1 << work->member->channel);
    unsigned char *row =
        world->waits + (size_t)world->base.rank * (size_t)world->base.size;

    pthread_mutex_lock(&world->lock);
    for (int i = 0; i < n; i++) {
        unsigned char *at = &row[work->member->messages[i].peer];
        *at = (unsigned char)(waits ? *at | bit : *at & ~bit);
    }
    pthread_mutex_unlock(&world->lock);
}

/* A failed exchange.  Where a rank has not come, the first that finds out tells
 * so, all stop waiting and find out who holds up whom.  Of two threads the
 * first does. */
static void note_failure(czr_transport_world *world, czr_status status,
                         char *why)
{
    static const char missing[] = "a rank did not come";
    const bool is_missing =
        status == CZR_ERR_TIMEOUT ||
        (status == CZR_ERR_ABORTED && strcmp(why, missing) == 0);

    if (!fail(world, status, is_missing ? missing : why)) {
        check(world, why); /* the other thread knows */
        return;
    }
    if (!is_missing)
        return;
    if (status == CZR_ERR_TIMEOUT)
        tell(world, missing);
    czr_transport_explain(world, status == CZR_ERR_TIMEOUT, why);
    pthread_mutex_lock(&world->lock);
    memcpy(world->why, why, sizeof world->why);
    pthread_mutex_unlock(&world->lock);
}

void czr_transport_exchange(czr_transport_work *work)
{
    czr_transport_world *world = work->world;
    czr_transport_member *member = work->member;
    const int n = member->n_messages;

    member->n_messages = 0;
    if (work->status != CZR_OK || n == 0)
        return;
    work->status = check(world, work->why);
    if (work->status != CZR_OK)
        return;
    *work->why = '\0';
    note_waits(work, n, true);
    work->status = world->transport.exchange(
        world->transport.user, (int)member->channel, n, member->messages,
        world->base.deadline_ms, work->why);
    if ((unsigned)work->status >= CZR_N_STATUSES)
        work->status = CZR_ERR_ARGUMENT;
    if (work->status == CZR_OK)
        note_waits(work, n, false);
    else
        note_failure(world, work->status, work->why);
}

/* ---- members ------------------------------------------------------------ */

static void close_member(czr_transport_member *member)
{
    czr_free(member->ranks);
    czr_free(member->messages);
    czr_free(member->ranges);
    czr_free(member->units);
    czr_free(member->of_units);
    czr_free(member->agreed);
    czr_free(member->box_bytes);
    czr_free(member->box_at);
    czr_free(member->buffer);
    czr_free(member);
}

static czr_transport_member *open_member(czr_transport_world *world,
                                         czr_channel channel, const int *ranks,
                                         int n)
{
    const size_t size = (size_t)n;
    czr_transport_member *member = czr_alloc(1, sizeof *member);

    if (!member)
        return NULL;
    member->channel = channel;
    member->ranks = czr_alloc(size, sizeof *member->ranks);
    member->ranges = czr_alloc(size, sizeof *member->ranges);
    member->units = czr_alloc(size, sizeof *member->units);
    member->of_units = czr_alloc(size, sizeof *member->of_units);
    member->agreed = czr_alloc(size, sizeof *member->agreed);
    member->box_bytes = czr_alloc(2 * size, sizeof *member->box_bytes);
    member->box_at = czr_alloc(2 * size, sizeof *member->box_at);
    /* For what ranks agree on by words, one of each rank and a few more. */
    const size_t words = (size_t)world->base.size + CZR_ALIGN;
    const czr_status status = czr_transport_reserve(
        member, size * czr_round_up(words * sizeof(int64_t)), n);
    if (status != CZR_OK || !member->ranks || !member->ranges ||
        !member->units || !member->of_units || !member->agreed ||
        !member->box_bytes || !member->box_at) {
        close_member(member);
        return NULL;
    }
    for (size_t i = 0; i < size; i++) {
        member->ranks[i] = ranks[i];
        member->of_units[i] = &member->units[i];
    }
    member->comm =
        (czr_comm){.world = &world->base, .size = n, .ranks = member->ranks};
    while (member->ranks[member->comm.position] != world->base.rank)
        member->comm.position++;
    return member;
}

static czr_status join(czr_world *base, czr_channel channel, const int *ranks,
                       int n, czr_comm **out)
{
    czr_transport_world *world = (czr_transport_world *)base;
    czr_transport_member *member = world->members;

    while (member && (member->channel != channel || member->comm.size != n ||
                      memcmp(member->ranks, ranks, (size_t)n * sizeof *ranks)))
        member = member->next;
    if (!member) {
        member = open_member(world, channel, ranks, n);
        if (member) {
            member->next = world->members;
            world->members = member;
        }
    }
    *out = member ? &member->comm : NULL;
    return member ? CZR_OK : CZR_ERR_NO_MEMORY;
}

static czr_status prepare(czr_world *base, const czr_program *program,
                          czr_comm *const *comms)
{
    czr_status status = CZR_OK;

    (void)base;
    for (int op = 0; op < program->n_ops && status == CZR_OK; op++)
        if (comms[op])
            status = czr_transport_prepare((czr_transport_member *)comms[op],
                                           program, op);
    return status;
}

/* ---- units -------------------------------------------------------------- */

/* One thread walks the list: all is done by the wait. */
static void post(czr_comm *comm, const czr_collective *collective)
{
    (void)comm;
    (void)collective;
}

static czr_status wait(czr_comm *comm, const czr_collective *collective,
                       char *why)
{
    czr_transport_member *member = (czr_transport_member *)comm;
    czr_transport_work work = {.world = (czr_transport_world *)comm->world,
                               .member = member,
                               .unit = collective,
                               .self = comm->position,
                               .size = comm->size,
                               .why = why};

    *why = '\0';
    czr_transport_run(&work);
    member->n_messages = 0;
    if (work.status != CZR_OK && !*why)
        snprintf(why, CZR_WHY_BYTES, "%s", czr_status_text(work.status));
    /* The engine tells of its operations, with more words. */
    if (work.status != CZR_OK && collective->op < 0) {
        char words[CZR_WHY_BYTES];
        snprintf(words, sizeof words, "rank %d: %.*s", comm->world->rank,
                 CZR_WHY_BYTES - 24, why);
        fail(work.world, work.status, why);
        tell(work.world, words);
    }
    return work.status;
}

static void close_world(czr_world *base)
{
    czr_transport_world *world = (czr_transport_world *)base;
    const czr_transport transport = world->transport;

    czr_world_clear_mesh(base);
    while (world->members) {
        czr_transport_member *member = world->members;
        world->members = member->next;
        close_member(member);
    }
    pthread_mutex_destroy(&world->lock);
    czr_free(world->calls);
    czr_free(world->waits);
    czr_free(world);
    if (transport.close)
        transport.close(transport.user);
}

static const czr_world_ops transport_ops = {
    .name = "transport",
    .join = join,
    .prepare = prepare,
    .post = post,
    .wait = wait,
    .abort = abort_world,
    .close = close_world,
};

/* ---- opening ------------------------------------------------------------ */

czr_status czr_world_open(const czr_transport *transport, czr_world **out)
{
    static const czr_transport alone = {.size = sizeof alone, .ranks = 1};
    const czr_transport *of = transport ? transport : &alone;

    if (!out)
        return CZR_ERR_ARGUMENT;
    *out = NULL;
    if (of->size != sizeof *of || of->ranks < 1 || of->rank < 0 ||
        of->rank >= of->ranks || (of->ranks > 1 && !of->exchange))
        return CZR_ERR_ARGUMENT;
    czr_transport_world *world = czr_alloc(1, sizeof *world);
    if (!world)
        return CZR_ERR_NO_MEMORY;
    if (pthread_mutex_init(&world->lock, NULL) != 0) {
        czr_free(world);
        return CZR_ERR_NO_MEMORY;
    }
    world->transport = *of;
    world->base = (czr_world){.ops = &transport_ops,
                              .common = world,
                              .rank = of->rank,
                              .size = of->ranks,
                              .deadline_ms = CZR_DEFAULT_DEADLINE_MS};
    const size_t ranks = (size_t)of->ranks;
    world->calls = czr_alloc(ranks, sizeof *world->calls);
    world->waits = czr_alloc(ranks, ranks);
    const czr_status status = world->calls && world->waits
                                  ? czr_world_join_everyone(&world->base)
                                  : CZR_ERR_NO_MEMORY;
    if (status != CZR_OK) {
        world->transport.close = NULL;
        close_world(&world->base);
        return status;
    }
    *out = &world->base;
    return CZR_OK;
}

void czr_world_close(czr_world *world)
{
    if (world && world->ops->close)
        world->ops->close(world);
}
