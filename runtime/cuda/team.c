/* The list of a step on all ranks of a team, and what came of it. */
#include "runtime/cuda/team.h"

#include "runtime/cuda/queue.h"
#include "runtime/cuda/script.h"
#include "runtime/memory.h"

enum { GUARD = -1 }; /* in place of an operation */

static czr_engine *engine_of(const czr_cuda_team *team, int i)
{
    return team->members[i].rank->engine;
}

static const czr_program *program_of(const czr_cuda_team *team)
{
    return engine_of(team, 0)->program;
}

/* ---- turns -------------------------------------------------------------- */

static czr_status take_turn(czr_cuda_member *member, int op)
{
    czr_engine *engine = member->rank->engine;
    const czr_status status = op == GUARD
                                  ? czr_cuda_guard(member->rank, &member->turn)
                                  : czr_op_take_turn(engine, op, &member->turn);

    member->is_active = !member->turn.is_last;
    if (status != CZR_OK || !member->turn.has_unit)
        return status;
    member->comm = op == GUARD ? engine->world->everyone[CZR_CHANNEL_PLAN]
                               : engine->comms[op];
    member->comm->world->ops->post(member->comm, &member->turn.unit);
    member->has_posted = true;
    return CZR_OK;
}

static czr_status await_unit(czr_cuda_member *member, int op)
{
    char why[CZR_WHY_BYTES] = "";
    const czr_world_ops *ops = member->comm->world->ops;
    const czr_engine *engine = member->rank->engine;

    member->has_posted = false;
    const czr_status status = ops->wait(member->comm, &member->turn.unit, why);
    if (status == CZR_OK)
        return CZR_OK;
    return czr_engine_poison(
        member->rank->engine, status, "operation %d, %s: %s", op,
        op == GUARD ? "the guard"
                    : czr_op_kind_name(engine->program->ops[op].kind),
        why);
}

/* Of those that are active, until none is. */
static czr_status take_all_turns(czr_cuda_team *team, int op)
{
    czr_status status = CZR_OK;
    bool any = true;

    for (int i = 0; i < team->n; i++)
        team->members[i].turn.number = 0;
    while (any && status == CZR_OK) {
        any = false;
        for (int i = 0; i < team->n && status == CZR_OK; i++)
            if (team->members[i].is_active) {
                status = take_turn(&team->members[i], op);
                any |= team->members[i].is_active;
            }
        for (int i = 0; i < team->n && status == CZR_OK; i++)
            if (team->members[i].has_posted)
                status = await_unit(&team->members[i], op);
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
    const czr_engine *engine = member->rank->engine;

    return czr_op_is_skipped(engine, op)
               ? CZR_OK
               : czr_cuda_rank_check(member->rank,
                                     czr_device_cuda_end(engine->device, op),
                                     "ending an operation");
}

static czr_status run_op(czr_cuda_team *team, int op)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < team->n && status == CZR_OK; i++)
        status = begin(&team->members[i], op);
    if (status == CZR_OK)
        status = take_all_turns(team, op);
    for (int i = 0; i < team->n && status == CZR_OK; i++)
        status = end(&team->members[i], op);
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

/* Behind all reductions, before all that follows. */
static czr_status guard(czr_cuda_team *team)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < team->n && status == CZR_OK; i++) {
        czr_cuda_member *member = &team->members[i];
        status = fork_or_join(member->rank, true);
        member->rank->engine->stream = member->rank->main;
        member->is_active = true;
    }
    if (status == CZR_OK)
        status = take_all_turns(team, GUARD);
    for (int i = 0; i < team->n && status == CZR_OK; i++)
        status = fork_or_join(team->members[i].rank, false);
    return status;
}

static czr_status run_list(czr_cuda_team *team)
{
    const czr_program *program = program_of(team);
    bool is_guarded = program->clip > 0; /* the norm does it */
    czr_status status = CZR_OK;

    for (int op = 0; op < program->n_ops && status == CZR_OK; op++) {
        if (!is_guarded && program->ops[op].section != CZR_SECTION_REDUCE) {
            status = guard(team);
            is_guarded = true;
        }
        if (status == CZR_OK)
            status = run_op(team, op);
    }
    return status;
}

/* ---- before and behind the list ----------------------------------------- */

static czr_status wait_for_stream(czr_cuda_rank *rank, void *stream)
{
    czr_context *context = rank->parts.context;
    czr_status status = czr_context_record(context, rank->event, stream);

    if (status == CZR_OK)
        status = czr_context_wait(context, rank->main, rank->event);
    return czr_cuda_rank_check(rank, status, "the trainer's stream");
}

/* The trainer's stream, and what the engine is asked for between steps. */
static czr_status let_follow(czr_cuda_rank *rank, void *stream)
{
    czr_context *context = rank->parts.context;
    czr_status status = czr_context_record(context, rank->ended, rank->main);

    if (status == CZR_OK)
        status = czr_device_cuda_follow(rank->engine->device, rank->ended);
    if (status == CZR_OK && stream)
        status = czr_context_wait(context, stream, rank->ended);
    return czr_cuda_rank_check(rank, status, "the end of a step");
}

static czr_status put_hypers(czr_cuda_rank *rank)
{
    const czr_engine *engine = rank->engine;

    return czr_cuda_rank_check(
        rank,
        czr_collect_hypers(rank->parts.collect, rank->hypers, engine->hypers,
                           (size_t)engine->program->n_hypers, rank->main),
        "the step's run-time values");
}

static czr_status begin_step(czr_cuda_rank *rank, const czr_hyper *hyper,
                             czr_stream stream)
{
    czr_engine *engine = rank->engine;
    czr_status status = stream ? wait_for_stream(rank, stream) : CZR_OK;

    if (status != CZR_OK)
        return status;
    czr_device_cuda_use(engine->device, rank->main);
    status = czr_step_begin(engine, hyper);
    const czr_status copied = czr_device_cuda_use(engine->device, NULL);
    if (status != CZR_OK)
        return status;
    status = czr_cuda_rank_check(rank, copied, "copying tensors in");
    return status == CZR_OK ? put_hypers(rank) : status;
}

/* Tensors of a step that is skipped get what they have. */
static czr_status end_step(czr_cuda_rank *rank, czr_stream stream)
{
    czr_engine *engine = rank->engine;

    czr_device_cuda_use(engine->device, rank->main);
    for (int param = 0; param < engine->program->n_params; param++)
        czr_loose_copy_out(engine, param);
    const czr_status status = czr_cuda_rank_check(
        rank, czr_device_cuda_use(engine->device, NULL), "copying tensors out");
    czr_step_restart(engine);
    engine->stream = NULL;
    return status == CZR_OK ? let_follow(rank, stream) : status;
}

/* ---- what came of steps ------------------------------------------------- */

/* Until the last decision, or the last step, is there. */
static czr_status wait_for_device(czr_cuda_rank *rank, bool is_step)
{
    czr_context *context = rank->parts.context;
    czr_status status =
        is_step ? CZR_OK
                : czr_context_wait(context, rank->harvest, rank->decided);

    if (status == CZR_OK)
        status = czr_context_synchronize(context,
                                         is_step ? rank->main : rank->harvest,
                                         rank->engine->world->deadline_ms);
    return czr_cuda_rank_check(rank, status, "waiting for the device");
}

/* The gradient of one of this rank's parameters, or of another's. */
static czr_status note_skip(czr_engine *engine, const czr_collect_result *of)
{
    engine->is_skipped = true;
    if (of->reason == CZR_COLLECT_NORM)
        czr_guard_skip(engine, "the norm of all gradients is not finite");
    else if (of->reason == CZR_COLLECT_GRADIENT)
        czr_guard_skip_for(
            engine, of->beyond < engine->program->n_params ? of->beyond : -1);
    const czr_status refusal = engine->refusal;
    engine->is_skipped = false;
    engine->refusal = CZR_OK;
    return refusal;
}

/* What the last decision was, where it has come; of the steps before it, how
 * many were applied. */
static czr_status learn(czr_cuda_rank *rank, czr_collect_result *of)
{
    czr_engine *engine = rank->engine;
    const bool is_next = rank->sequence == rank->harvested + 1;
    const int64_t expected =
        engine->steps + (of->reason == CZR_COLLECT_APPLIED);

    if (is_next && of->step != expected)
        return czr_engine_poison(engine, CZR_ERR_STATE,
                                 "the device has made %lld updates, not %lld",
                                 (long long)of->step, (long long)expected);
    engine->steps = of->step;
    engine->skips = rank->sequence - of->step;
    engine->grad_norm = of->grad_norm;
    rank->harvested = rank->sequence;
    return of->reason == CZR_COLLECT_APPLIED ? CZR_OK : note_skip(engine, of);
}

/* All ranks say what the first of them says that had a rule fail. */
static czr_status stop_all(czr_cuda_team *team)
{
    int first = 0;

    while (first < team->n - 1 &&
           team->members[first].rank->result->status == CZR_OK)
        first++;
    const czr_status status =
        (czr_status)team->members[first].rank->result->status;
    for (int i = 0; i < team->n; i++)
        czr_engine_stop(engine_of(team, i), status,
                        "a rule failed on rank %d in an earlier update: %s",
                        first, czr_status_text(status));
    return status;
}

/* Of all ranks; `waits`: else only where it has come to all. */
static czr_status harvest(czr_cuda_team *team, bool waits, bool is_step)
{
    czr_status status = CZR_OK, refusal = CZR_OK;
    czr_collect_result of = {.reason = CZR_COLLECT_APPLIED};

    if (team->members[0].rank->sequence == team->members[0].rank->harvested)
        return CZR_OK;
    for (int i = 0; i < team->n && waits && status == CZR_OK; i++)
        status = wait_for_device(team->members[i].rank, is_step);
    for (int i = 0; i < team->n && status == CZR_OK; i++) {
        const czr_cuda_rank *rank = team->members[i].rank;
        if (!czr_collect_read(rank->result, rank->sequence, &of))
            return waits ? CZR_ERR_STATE : CZR_OK;
    }
    for (int i = 0; i < team->n && status == CZR_OK; i++) {
        czr_cuda_rank *rank = team->members[i].rank;
        if (rank->harvested == rank->sequence)
            continue;
        czr_collect_read(rank->result, rank->sequence, &of);
        const czr_status said = learn(rank, &of);
        refusal = refusal == CZR_OK ? said : refusal;
        status = rank->engine->status;
    }
    if (status == CZR_OK && of.reason == CZR_COLLECT_FAULT)
        return stop_all(team);
    return status == CZR_OK ? refusal : status;
}

/* ---- a step ------------------------------------------------------------- */

static czr_status check(czr_cuda_team *team)
{
    for (int i = 0; i < team->n; i++) {
        czr_engine *engine = engine_of(team, i);
        if (engine->status != CZR_OK)
            return engine->status;
        if (!engine->is_sealed)
            return czr_engine_refuse(engine, CZR_ERR_STATE, "not sealed yet");
    }
    return CZR_OK;
}

static czr_status open_list(czr_cuda_rank *rank)
{
    const czr_status status = czr_cuda_rank_check(
        rank, czr_collect_begin(rank->parts.collect, rank->verdict, rank->main),
        "a new verdict");

    return status == CZR_OK ? fork_or_join(rank, false) : status;
}

/* What is the same in all steps of these phases. */
static czr_status put_body(czr_cuda_team *team)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < team->n && status == CZR_OK; i++)
        status = open_list(team->members[i].rank);
    if (status == CZR_OK)
        status = run_list(team);
    for (int i = 0; i < team->n && status == CZR_OK; i++)
        status = fork_or_join(team->members[i].rank, true);
    return status;
}

/* As a graph, where that is wished and can be. */
static czr_status run_body(czr_cuda_team *team)
{
    czr_cuda_script *script = czr_cuda_script_find(team);
    czr_status status = CZR_OK;

    if (!script && czr_cuda_script_is_possible(team)) {
        status = czr_cuda_script_capture(team, put_body);
        script = czr_cuda_script_find(team);
    }
    if (status != CZR_OK)
        return status;
    team->has_run = true;
    return script ? czr_cuda_script_launch(team, script) : put_body(team);
}

static czr_status put_step(czr_cuda_team *team, const czr_hyper *hyper,
                           czr_stream stream)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < team->n && status == CZR_OK; i++)
        status = begin_step(team->members[i].rank, hyper, stream);
    if (status == CZR_OK)
        status = run_body(team);
    for (int i = 0; i < team->n && status == CZR_OK; i++)
        status = end_step(team->members[i].rank, stream);
    return status;
}

static void give_results(const czr_cuda_team *team, czr_result *results)
{
    for (int i = 0; i < team->n; i++) {
        const czr_collect_result *of = team->members[i].rank->result;
        results[i] = (czr_result){.grad_norm = of->grad_norm,
                                  .skipped = of->reason != CZR_COLLECT_APPLIED,
                                  .step = of->step};
    }
}

czr_status czr_cuda_team_step(czr_cuda_team *team, const czr_hyper *hyper,
                              czr_stream stream, czr_result *results)
{
    const int64_t before = czr_allocations();
    czr_status status = check(team);

    if (status == CZR_OK)
        status = czr_context_enter(team->members[0].rank->parts.context);
    if (status == CZR_OK)
        status = harvest(team, program_of(team)->phases != NULL, false);
    if (status == CZR_OK)
        status = put_step(team, hyper, stream);
    if (status == CZR_OK && results) {
        status = harvest(team, true, true);
        give_results(team, results);
    }
    engine_of(team, 0)->step_allocations += czr_allocations() - before;
    return status;
}
