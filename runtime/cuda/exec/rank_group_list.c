/* The list of a step on all ranks of a rank_group: an operation's turns on
 * each, and behind each turn the world's units; what is there early, and the
 * rest. */
#include "runtime/cuda/exec/rank_group_list.h"

#include "runtime/cuda/exec/queue.h"
#include "runtime/cuda/driver/profile.h"
#include "runtime/cuda/exec/captured.h"

#include <stdio.h>

static czr_engine *engine_of(const czr_cuda_rank_group *rank_group, int i)
{
    return rank_group->members[i].rank->engine;
}

static const czr_program *program_of(const czr_cuda_rank_group *rank_group)
{
    return engine_of(rank_group, 0)->program;
}

/* ---- turns -------------------------------------------------------------- */

static czr_status take_turn(czr_cuda_member *member, int op)
{
    czr_engine *engine = member->rank->engine;
    const czr_status status = czr_op_run_segment(engine, op, &member->segment);

    member->is_active = !member->segment.is_last;
    if (status != CZR_OK || !member->segment.has_collective)
        return status;
    member->comm = engine->comms[op];
    member->comm->world->ops->post(member->comm, &member->segment.collective);
    member->has_posted = true;
    return CZR_OK;
}

static czr_status await_unit(czr_cuda_member *member, int op)
{
    char why[CZR_WHY_BYTES] = "";
    const czr_world_ops *ops = member->comm->world->ops;
    const czr_engine *engine = member->rank->engine;

    member->has_posted = false;
    const czr_status status =
        ops->wait(member->comm, &member->segment.collective, why);
    if (status == CZR_OK) {
        if (member->segment.is_last)
            czr_op_end(member->rank->engine, op, &member->segment);
        return CZR_OK;
    }
    return czr_engine_poison(
        member->rank->engine, status, "operation %d, %s: %s", op,
        czr_op_kind_name(engine->program->ops[op].kind), why);
}

/* Of those that are active, until none is. */
static czr_status take_all_turns(czr_cuda_rank_group *rank_group, int op)
{
    czr_status status = CZR_OK;
    bool any = true;

    for (int i = 0; i < rank_group->n; i++)
        rank_group->members[i].segment.number = 0;
    while (any && status == CZR_OK) {
        any = false;
        for (int i = 0; i < rank_group->n && status == CZR_OK; i++)
            if (rank_group->members[i].is_active) {
                status = take_turn(&rank_group->members[i], op);
                any |= rank_group->members[i].is_active;
            }
        for (int i = 0; i < rank_group->n && status == CZR_OK; i++)
            if (rank_group->members[i].has_posted)
                status = await_unit(&rank_group->members[i], op);
    }
    return status;
}

/* ---- the list ----------------------------------------------------------- */

static czr_status begin(czr_cuda_member *member, int op)
{
    czr_engine *engine = member->rank->engine;

    member->is_active = !czr_op_is_skipped(engine, op);
    return member->is_active
               ? czr_cuda_rank_check(
                     member->rank,
                     czr_device_cuda_begin(engine->device, op, &engine->stream),
                     "beginning an operation")
               : CZR_OK;
}

static czr_status end(czr_cuda_member *member, int op)
{
    czr_cuda_rank *rank = member->rank;
    const czr_engine *engine = rank->engine;

    if (czr_op_is_skipped(engine, op))
        return CZR_OK;
    czr_status status = czr_device_cuda_end(engine->device, op);
    if (status == CZR_OK)
        status = czr_cuda_param_ready_note(
            rank->device.context, &rank->param_ready, op, engine->stream);
    return czr_cuda_rank_check(rank, status, "ending an operation");
}

/* "kernel of stage_matrices_128x128_whole, h.0.attn.q", as in the recorder; of
 * the first rank that has it. */
static bool begin_profile(const czr_cuda_rank_group *rank_group, int op)
{
    const char *kind = czr_op_kind_name(program_of(rank_group)->ops[op].kind);
    char name[2 * CZR_LABEL_BYTES];
    int i = 0;

    if (rank_group->is_capturing || !czr_profile_is_open())
        return false;
    while (i < rank_group->n && !rank_group->members[i].is_active)
        i++;
    if (i == rank_group->n)
        return false;
    const char *label = engine_of(rank_group, i)->works[op].label;
    snprintf(name, sizeof name, *label ? "%s of %s" : "%s", kind, label);
    czr_profile_begin(name, op);
    return true;
}

static czr_status run_op(czr_cuda_rank_group *rank_group, int op)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < rank_group->n && status == CZR_OK; i++)
        status = begin(&rank_group->members[i], op);
    const bool has_range = status == CZR_OK && begin_profile(rank_group, op);
    if (status == CZR_OK)
        status = take_all_turns(rank_group, op);
    if (has_range)
        czr_profile_end();
    for (int i = 0; i < rank_group->n && status == CZR_OK; i++)
        status = end(&rank_group->members[i], op);
    return status;
}

static czr_status fork_or_join(czr_cuda_rank *rank, bool is_join)
{
    czr_queue *queue = czr_device_cuda_queue(rank->engine->device);

    return czr_cuda_rank_check(rank,
                               is_join ? czr_queue_join(queue, rank->main)
                                       : czr_queue_fork(queue, rank->main),
                               "ordering streams");
}

/* What follows on streams comes behind what main streams have. */
static czr_status fork_all(czr_cuda_rank_group *rank_group)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < rank_group->n && status == CZR_OK; i++)
        status = fork_or_join(rank_group->members[i].rank, false);
    return status;
}

static czr_status run_list(czr_cuda_rank_group *rank_group)
{
    czr_status status = CZR_OK;

    for (int op = rank_group->next_op;
         op < program_of(rank_group)->n_ops && status == CZR_OK; op++)
        status = run_op(rank_group, op);
    return status;
}

/* ---- from end to end ---------------------------------------------------- */

static czr_status begin_all(czr_cuda_rank_group *rank_group)
{
    czr_cuda_rank *first = rank_group->members[0].rank;
    czr_status status =
        rank_group->begin
            ? czr_cuda_rank_check(
                  first, rank_group->begin(rank_group->user, first->main),
                  "beginning a step")
            : CZR_OK;

    for (int i = 0; i < rank_group->n && status == CZR_OK; i++) {
        czr_cuda_rank *rank = rank_group->members[i].rank;
        status = czr_cuda_rank_check(
            rank,
            czr_collect_begin(rank->device.collect, rank->decision, rank->main),
            "a new verdict");
    }
    return status;
}

static czr_status open_list(czr_cuda_rank_group *rank_group)
{
    const czr_status status =
        rank_group->is_open ? CZR_OK : begin_all(rank_group);

    rank_group->is_open = status == CZR_OK;
    return status;
}

static czr_status join_all(czr_cuda_rank_group *rank_group)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < rank_group->n && status == CZR_OK; i++)
        status = fork_or_join(rank_group->members[i].rank, true);
    return status;
}

/* One reduction, from main streams to main streams. */
static czr_status put_reduction(czr_cuda_rank_group *rank_group)
{
    czr_status status = fork_all(rank_group);

    if (status == CZR_OK)
        status = run_op(rank_group, rank_group->next_op);
    return status == CZR_OK ? join_all(rank_group) : status;
}

/* The next operation, behind what main streams have. */
static czr_status reduce_next(czr_cuda_rank_group *rank_group)
{
    czr_status status;

    if (czr_cuda_captured_are_used(rank_group)) {
        status = czr_cuda_captured_reduce(rank_group, rank_group->next_op,
                                          put_reduction);
    } else {
        status = fork_all(rank_group);
        if (status == CZR_OK)
            status = run_op(rank_group, rank_group->next_op);
    }
    rank_group->next_op++;
    return status;
}

/* What is left, from main streams to main streams. */
static czr_status put_rest(czr_cuda_rank_group *rank_group)
{
    czr_status status = fork_all(rank_group);

    if (status == CZR_OK)
        status = run_list(rank_group);
    return status == CZR_OK ? join_all(rank_group) : status;
}

/* By graphs, of which the last begins with what no gradient is waited for. */
static czr_status launch_rest(czr_cuda_rank_group *rank_group)
{
    czr_status status = CZR_OK;

    while (status == CZR_OK && rank_group->next_op < rank_group->n_reductions)
        status = reduce_next(rank_group);
    return status == CZR_OK ? czr_cuda_captured_follow(rank_group, put_rest)
                            : status;
}

czr_status czr_cuda_list_end(czr_cuda_rank_group *rank_group)
{
    czr_status status = open_list(rank_group);

    if (status == CZR_OK)
        status = czr_cuda_captured_are_used(rank_group)
                     ? launch_rest(rank_group)
                     : put_rest(rank_group);
    rank_group->is_open = false;
    rank_group->next_op = 0;
    return status;
}

/* ---- while the backward pass runs --------------------------------------- */

czr_status czr_cuda_list_follow(czr_cuda_rank *rank, void *stream)
{
    czr_context *context = rank->device.context;
    if (stream == CZR_NO_STREAM)
        return CZR_OK;
    czr_status status = czr_context_record(context, rank->event, stream);

    if (status == CZR_OK)
        status = czr_context_wait(context, rank->main, rank->event);
    return czr_cuda_rank_check(rank, status, "the trainer's stream");
}

static bool is_ready(const czr_cuda_rank_group *rank_group, int op)
{
    for (int i = 0; i < rank_group->n; i++)
        if (!czr_step_is_ready(rank_group->members[i].rank->engine, op))
            return false;
    return true;
}

/* In list order. */
static czr_status run_ready(czr_cuda_rank_group *rank_group)
{
    czr_status status = CZR_OK;

    while (status == CZR_OK && is_ready(rank_group, rank_group->next_op)) {
        status = open_list(rank_group);
        if (status == CZR_OK)
            status = reduce_next(rank_group);
    }
    return status;
}

czr_status czr_cuda_list_arrive(czr_engine *engine, int param,
                                czr_stream producer)
{
    czr_cuda_rank *rank = engine->cuda;
    czr_status status = czr_cuda_rank_enter(rank);

    if (status == CZR_OK)
        status = czr_cuda_list_follow(rank, producer);
    if (status != CZR_OK)
        return status;
    czr_device_cuda_use(engine->device, rank->main);
    czr_loose_copy_grad(engine, param);
    status = czr_cuda_rank_check(
        rank, czr_device_cuda_use(engine->device, NULL), "copying a gradient");
    czr_step_note_ready(engine, param);
    return status == CZR_OK ? run_ready(rank->rank_group) : status;
}
