/* Opening a world over NCCL, what its units need, and closing it. */
#include "runtime/cuda/world/nccl_internal.h"

#include <stdio.h>

#include "runtime/base/memory.h"

enum { SLOT_BYTES = 4 << 20 };

/* ---- failures ----------------------------------------------------------- */

static void abort_world(czr_world *base, const char *why)
{
    czr_world_nccl *world = (czr_world_nccl *)base;

    pthread_mutex_lock(&world->lock);
    czr_nccl_fail(world, CZR_ERR_ABORTED, "%.*s", CZR_WHY_BYTES - 1, why);
    pthread_mutex_unlock(&world->lock);
}

czr_status czr_world_nccl_check(czr_world *base, char *why)
{
    czr_world_nccl *world = (czr_world_nccl *)base;

    pthread_mutex_lock(&world->lock);
    czr_nccl_check(world); /* what the watchdog has not seen yet */
    const czr_status status = world->failure;
    memcpy(why, world->why, sizeof world->why);
    pthread_mutex_unlock(&world->lock);
    return status;
}

/* ---- steps -------------------------------------------------------------- */

czr_status czr_nccl_heartbeat(czr_world_nccl *world, void *stream)
{
    ++*world->heartbeat_now;
    return czr_context_copy(world->context, world->heartbeat,
                            czr_address_of(world->heartbeat_now),
                            sizeof *world->heartbeat_now, stream);
}

czr_status czr_world_nccl_begin(czr_world *base, void *stream)
{
    czr_world_nccl *world = (czr_world_nccl *)base;
    czr_status status = czr_nccl_failure(world);

    for (czr_nccl_member *member = world->members; member;
         member = member->next)
        member->last.stream = NULL;
    world->last.stream = NULL;
    world->step_stream = stream;
    if (status == CZR_OK)
        status = czr_context_enter(world->context);
    return status == CZR_OK ? czr_nccl_heartbeat(world, stream) : status;
}

/* ---- what a plan needs -------------------------------------------------- */

typedef struct need {
    size_t slot, least, boxes; /* least: of what cannot be cut */
} need;

static void raise(size_t *at, size_t bytes)
{
    if (bytes > *at)
        *at = bytes;
}

/* Each member's part of the operation's bucket. */
static czr_status find_ranges(czr_world_nccl *world, int op,
                              const czr_comm *comm)
{
    czr_range *ranges = czr_alloc((size_t)comm->size, sizeof *ranges);

    if (!ranges)
        return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < comm->size; i++)
        ranges[i] = czr_program_range(world->program, op, comm->ranks[i]);
    world->ranges[op] = ranges;
    return CZR_OK;
}

static void need_of_bucket(const czr_world_nccl *world, int op, int members,
                           need *all)
{
    const czr_bucket *bucket =
        &world->program->buckets[world->program->ops[op].bucket];
    const size_t element =
        (size_t)bucket->n_grads * czr_dtype_bytes(bucket->grad_dtype);

    if (world->program->ops[op].kind != CZR_REDUCE_SCATTER)
        return;
    raise(&all->least, element);
    for (int i = 0; i < members; i++)
        raise(&all->slot, (size_t)world->ranges[op][i].n * element);
}

static void need_of_sum(const czr_sum_entry *row, int members, need *all)
{
    const size_t element = czr_dtype_bytes(row->dtype);
    const size_t share =
        ((size_t)row->count + (size_t)members - 1) / (size_t)members;

    raise(&all->slot, share * element);
    if (row->band > 0)
        raise(&all->least, (size_t)row->side * element);
}

static czr_status need_of_transfer(const czr_world_nccl *world, int op,
                                   czr_nccl_member *member, need *all)
{
    const int64_t n =
        czr_program_boxes(world->program, op, world->base.rank, NULL);
    czr_box *boxes = czr_alloc((size_t)n, sizeof *boxes);

    if (!boxes)
        return CZR_ERR_NO_MEMORY;
    czr_program_boxes(world->program, op, world->base.rank, boxes);
    raise(&all->boxes, czr_nccl_lay_out(member, boxes, n));
    czr_free(boxes);
    return CZR_OK;
}

static void need_of_sums(const czr_world_nccl *world, int op,
                         const czr_nccl_member *member, need *all)
{
    const czr_program *program = world->program;
    const int table = program->ops[op].table;
    const czr_range range = czr_program_rows(program, table, world->base.rank);

    for (int64_t i = range.first; i < range.first + range.n; i++)
        need_of_sum((const czr_sum_entry *)program->tables[table].rows + i,
                    member->comm.size, all);
}

static czr_status prepare_op(czr_world_nccl *world, int op,
                             czr_nccl_member *member, need *all)
{
    const czr_op *row = &world->program->ops[op];
    czr_status status = CZR_OK;

    if (row->kind == CZR_REDUCE_SCATTER || row->kind == CZR_ALL_GATHER) {
        status = find_ranges(world, op, &member->comm);
        if (status == CZR_OK)
            need_of_bucket(world, op, member->comm.size, all);
    } else if (row->kind == CZR_TRANSFER) {
        status = need_of_transfer(world, op, member, all);
    } else if (row->kind == CZR_GROUP_SUM) {
        need_of_sums(world, op, member, all);
    }
    return status;
}

static czr_status prepare_member(czr_world_nccl *world, czr_nccl_member *member,
                                 czr_comm *const *comms)
{
    need all = {0};
    czr_status status = CZR_OK;

    for (int op = 0; op < world->program->n_ops && status == CZR_OK; op++)
        if (comms[op] == &member->comm)
            status = prepare_op(world, op, member, &all);
    if (status != CZR_OK)
        return status;
    if (all.slot > world->options.slot_bytes)
        all.slot = world->options.slot_bytes;
    raise(&all.slot, all.least);
    return czr_nccl_member_grow(world, member, all.slot, all.boxes);
}

static void drop_ranges(czr_world_nccl *world)
{
    for (int op = 0; world->ranges && op < world->program->n_ops; op++)
        czr_free(world->ranges[op]);
    czr_free(world->ranges);
    world->ranges = NULL;
}

czr_status czr_world_nccl_prepare(czr_world *base, const czr_program *program,
                                  czr_comm *const *comms)
{
    czr_world_nccl *world = (czr_world_nccl *)base;

    drop_ranges(world);
    world->program = program;
    world->ranges = czr_alloc((size_t)program->n_ops, sizeof *world->ranges);
    if (!world->ranges)
        return CZR_ERR_NO_MEMORY;
    czr_status status = czr_context_enter(world->context);
    if (status == CZR_OK)
        status = czr_nccl_make_marks(world, program->n_ops);
    for (czr_nccl_member *member = world->members; member && status == CZR_OK;
         member = member->next)
        status = prepare_member(world, member, comms);
    return status;
}

/* ---- opening ------------------------------------------------------------ */

static const czr_world_ops nccl_ops = {
    .name = "nccl",
    .join = czr_nccl_join,
    .post = czr_nccl_post,
    .wait = czr_nccl_wait,
    .abort = abort_world,
    .prepare = czr_world_nccl_prepare,
};

/* The first rank's, to all; where it has none, all have its status. */
static czr_status receive_id(const czr_world_nccl_options *options,
                             czr_nccl_id *out, char *message)
{
    struct {
        int64_t status;
        czr_nccl_id id;
    } sent = {0};

    if (!options->broadcast) {
        snprintf(message, CZR_NCCL_MESSAGE,
                 "the world has neither an id of NCCL's nor a broadcast");
        return CZR_ERR_ARGUMENT;
    }
    if (options->rank == 0)
        sent.status = czr_nccl_make_id(options->nccl, &sent.id, message);
    const czr_status status =
        options->broadcast(options->user, &sent, sizeof sent, 0);
    *out = sent.id;
    if (status != CZR_OK || sent.status == CZR_OK)
        return status;
    if (options->rank != 0)
        snprintf(message, CZR_NCCL_MESSAGE, "rank 0 could not make an id: %s",
                 czr_status_text((czr_status)sent.status));
    return (czr_status)sent.status;
}

static czr_status open_parent(czr_world_nccl *world, char *message)
{
    const czr_world_nccl_options *options = &world->options;
    czr_nccl_id id;

    if (options->borrowed)
        return czr_nccl_comm_borrow(options->nccl, options->borrowed,
                                    options->size, options->rank,
                                    &world->parent, message);
    const czr_status status =
        options->id ? CZR_OK : receive_id(options, &id, message);
    return status == CZR_OK
               ? czr_nccl_comm_open(
                     options->nccl, options->id ? options->id : &id,
                     options->size, options->rank, world->base.deadline_ms,
                     &world->parent, message)
               : status;
}

static czr_status open_memory(czr_world_nccl *world)
{
    void *pinned = NULL;
    czr_status status = czr_context_enter(world->context);

    if (status == CZR_OK)
        status = czr_context_open_stream(world->context, &world->stream);
    if (status == CZR_OK)
        status = czr_context_open_event(world->context, &world->last.event);
    if (status == CZR_OK)
        status = czr_context_open_event(world->context, &world->step_event);
    if (status == CZR_OK)
        status = czr_context_alloc_pinned(
            world->context, sizeof *world->heartbeat_now, &pinned);
    world->heartbeat_now = pinned;
    if (status != CZR_OK)
        return status;
    *world->heartbeat_now = 0;
    status = czr_context_alloc(world->context, sizeof *world->heartbeat_now,
                               &world->heartbeat);
    return status == CZR_OK ? czr_nccl_make_marks(world, 0) : status;
}

/* What all ranks have to have alike. */
typedef struct descriptor {
    int64_t slot_bytes, version, is_strict, is_borrowed;
} descriptor;

static czr_status compare_options(const descriptor *descriptors, size_t mine,
                                  size_t other, char *message)
{
    if (!memcmp(&descriptors[mine], &descriptors[other], sizeof *descriptors))
        return CZR_OK;
    snprintf(message, CZR_NCCL_MESSAGE,
             "ranks %zu and %zu open the world with other options, or another "
             "NCCL (%lld, %lld)",
             mine, other, (long long)descriptors[mine].version,
             (long long)descriptors[other].version);
    return CZR_ERR_MISMATCH;
}

static czr_status compare(czr_world_nccl *world, char *message)
{
    const czr_world_nccl_options *options = &world->options;
    const size_t n = (size_t)world->base.size;
    const size_t rank = (size_t)world->base.rank;
    const descriptor mine = {(int64_t)options->slot_bytes,
                             options->nccl->version, options->is_strict,
                             options->borrowed != NULL};
    descriptor *descriptors = czr_alloc(n, sizeof *descriptors);
    const czr_collective collective = {
        .kind = CZR_COLLECTIVE_ALL_GATHER,
        .op = -1,
        .of.all_gather = {&mine, sizeof mine, rank * sizeof mine,
                          (unsigned char *)descriptors}};

    if (!descriptors)
        return CZR_ERR_NO_MEMORY;
    czr_status status = czr_comm_run(world->base.everyone[CZR_CHANNEL_PLAN],
                                     &collective, message);
    for (size_t i = 0; i < n && status == CZR_OK; i++)
        status = compare_options(descriptors, rank, i, message);
    czr_free(descriptors);
    return status;
}

/* Why it failed, where nobody has said so yet. */
static void explain(czr_world_nccl *world, czr_status status, char *message)
{
    char why[CZR_WHY_BYTES] = "";

    if (message[0])
        return;
    if (world->has_lock && czr_world_nccl_check(&world->base, why) != CZR_OK)
        snprintf(message, CZR_NCCL_MESSAGE, "%s", why);
    else
        snprintf(message, CZR_NCCL_MESSAGE, "%.*s", CZR_NCCL_MESSAGE - 1,
                 world->context->error[0] ? world->context->error
                                          : czr_status_text(status));
}

czr_status czr_world_nccl_open(czr_context *context,
                               const czr_world_nccl_options *options,
                               czr_world **out, char message[CZR_NCCL_MESSAGE])
{
    czr_world_nccl *world = czr_alloc(1, sizeof *world);

    *out = NULL;
    message[0] = '\0';
    if (!world) {
        snprintf(message, CZR_NCCL_MESSAGE, "no memory");
        return CZR_ERR_NO_MEMORY;
    }
    world->context = context;
    world->options = *options;
    if (options->slot_bytes == 0)
        world->options.slot_bytes = SLOT_BYTES;
    world->base = (czr_world){.ops = &nccl_ops,
                              .rank = options->rank,
                              .size = options->size,
                              .deadline_ms = options->deadline_ms > 0
                                                 ? options->deadline_ms
                                                 : CZR_DEFAULT_DEADLINE_MS};
    czr_status status = open_memory(world);
    if (status == CZR_OK)
        status = open_parent(world, message);
    if (status == CZR_OK)
        status = czr_nccl_watchdog_open(world);
    if (status == CZR_OK)
        status = czr_world_join_everyone(&world->base);
    if (status == CZR_OK)
        status = compare(world, message);
    if (status != CZR_OK) {
        explain(world, status, message);
        world->parent.has_failed = true;
        czr_world_nccl_close(&world->base);
        return status;
    }
    *out = &world->base;
    return CZR_OK;
}

/* Then no stream waits for other ranks any more. */
static void close_comms(czr_world_nccl *world)
{
    for (czr_nccl_member *member = world->members; member;
         member = member->next) {
        member->nccl.has_failed |= world->parent.has_failed;
        czr_nccl_comm_close(&member->nccl, world->base.deadline_ms);
    }
    czr_nccl_comm_close(&world->parent, world->base.deadline_ms);
}

void czr_world_nccl_close(czr_world *base)
{
    czr_world_nccl *world = (czr_world_nccl *)base;

    /* One whose watchdog hangs in NCCL stays, for that may come back to it. */
    if (!world || !czr_nccl_watchdog_close(world)) {
        if (world)
            pthread_detach(world->watchdog);
        return;
    }
    czr_world_clear_mesh(base);
    czr_context_enter(world->context);
    if (world->failure != CZR_OK)
        world->parent.has_failed = true;
    close_comms(world);
    if (world->stream)
        czr_context_drain(world->context, world->stream);
    while (world->members) {
        czr_nccl_member *member = world->members;
        world->members = member->next;
        czr_nccl_member_close(world, member);
    }
    drop_ranges(world);
    czr_context_free(world->context, world->marks);
    czr_context_free(world->context, world->heartbeat);
    czr_context_free_pinned(world->context, world->heartbeat_now);
    czr_context_close_event(world->context, world->last.event);
    czr_context_close_event(world->context, world->step_event);
    czr_context_close_stream(world->context, world->stream);
    if (world->has_lock) {
        pthread_cond_destroy(&world->wake);
        pthread_mutex_destroy(&world->lock);
        pthread_mutex_destroy(&world->call);
    }
    czr_free(world);
}

void czr_world_nccl_stop(czr_world *base, const char *why)
{
    abort_world(base, why);
    czr_nccl_watchdog_close((czr_world_nccl *)base);
}
