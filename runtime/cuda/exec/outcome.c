/* What the device has reported: decisions, and failures of rules. */
#include "runtime/cuda/exec/outcome.h"

/* No other rank goes on behind it: later decisions may never come. */
static bool knows_fault(const czr_cuda_rank *rank)
{
    return czr_collect_has_fault(rank->result);
}

static bool result_has_fault(const void *result)
{
    return czr_collect_has_fault(result);
}

/* Until the last decision, or the last step, is there.  A world that watches is
 * left the time to name what does not end. */
static czr_status wait_for_device(czr_cuda_rank *rank, bool is_step)
{
    czr_context *context = rank->device.context;
    const int64_t deadline_ms =
        rank->engine->world->deadline_ms * (rank->rank_group->begin ? 2 : 1);
    czr_status status =
        is_step ? CZR_OK : czr_context_wait(context, rank->poll, rank->decided);

    if (status == CZR_OK)
        status = czr_context_synchronize_or(
            context, is_step ? rank->main : rank->poll, deadline_ms,
            result_has_fault, rank->result);
    return status != CZR_OK && knows_fault(rank)
               ? CZR_OK
               : czr_cuda_rank_check(rank, status, "waiting for the device");
}

/* Of a step that was skipped for the gradient of one of this rank's parameters,
 * or of another's, once; decisions behind it may have come since. */
static czr_status tell_refused(czr_cuda_rank *rank,
                               const czr_collect_result *of)
{
    czr_engine *engine = rank->engine;
    const int param = of->refused_beyond;

    if (of->refused == rank->refused)
        return CZR_OK;
    rank->refused = of->refused;
    if (of->refusal == CZR_COLLECT_NORM)
        czr_guard_skip(engine, "the norm of all gradients is not finite");
    else
        czr_guard_skip_for(engine,
                           param < engine->program->n_params ? param : -1);
    const czr_status refusal = engine->refusal;
    engine->is_skipped = false;
    engine->refusal = CZR_OK;
    return refusal;
}

/* The name of the parameter whose rule failed. */
static void name_fault(const czr_cuda_rank *rank, int number, char *name,
                       size_t n)
{
    const czr_program *program = rank->engine->program;

    czr_program_name(program,
                     czr_cuda_fault_param(program, number, rank->result->mark),
                     number, name, n);
}

/* Of an update that is undone, once. */
static czr_status tell_undone(czr_cuda_rank *rank, const czr_collect_result *of)
{
    char name[128];
    const czr_status why = (czr_status)of->status;

    if (of->undone == rank->undone)
        return CZR_OK;
    rank->undone = of->undone;
    name_fault(rank, of->rank, name, sizeof name);
    return czr_engine_refuse(rank->engine, why,
                             "%s, on rank %d: %s; the step is undone", name,
                             (int)of->rank, czr_status_text(why));
}

/* What the last decision was, where it has come; of the steps before it, how
 * many were applied. */
static czr_status learn(czr_cuda_rank *rank, czr_collect_result *of)
{
    czr_engine *engine = rank->engine;
    const bool is_next = rank->sequence == rank->polled + 1;
    const int64_t expected =
        engine->steps + (of->reason == CZR_COLLECT_APPLIED);

    if (is_next && of->step != expected)
        return czr_engine_poison(engine, CZR_ERR_STATE,
                                 "the device has made %lld updates, not %lld",
                                 (long long)of->step, (long long)expected);
    engine->steps = of->step;
    engine->skips = rank->sequence - (of->step - rank->set_steps);
    engine->grad_norm = of->grad_norm;
    rank->polled = rank->sequence;
    const czr_status undone = tell_undone(rank, of);
    const czr_status said = undone == CZR_OK ? tell_refused(rank, of) : undone;
    rank->has_more = of->refused != rank->refused;
    return said;
}

static bool has_news(const czr_cuda_rank *rank)
{
    return rank->sequence != rank->polled || rank->has_more;
}

/* All ranks say the same: the device has reported each of the first that
 * failed. */
static czr_status stop_all(const czr_cuda_rank_group *rank_group)
{
    char name[128];
    const czr_cuda_rank *rank = rank_group->members[0].rank;
    const czr_collect_result *of = rank->result;
    const czr_status status = (czr_status)of->status;
    const int ranks[] = {of->rank, of->other};

    for (int i = 0; i < rank_group->n && status == CZR_ERR_MISMATCH; i++)
        czr_identity_stop(rank_group->members[i].rank->engine, ranks,
                          of->words);
    if (status == CZR_ERR_MISMATCH)
        return status;
    name_fault(rank, of->rank, name, sizeof name);
    for (int i = 0; i < rank_group->n; i++)
        czr_engine_stop(rank_group->members[i].rank->engine, status,
                        "%s, on rank %d, in update %lld: %s", name,
                        (int)of->rank, (long long)of->update,
                        czr_status_text(status));
    return status;
}

czr_status czr_cuda_outcome_fault(const czr_cuda_rank_group *rank_group)
{
    for (int i = 0; i < rank_group->n; i++)
        if (!knows_fault(rank_group->members[i].rank))
            return CZR_OK;
    return rank_group->n ? stop_all(rank_group) : CZR_OK;
}

czr_status czr_cuda_outcome_learn(czr_cuda_rank_group *rank_group, bool waits,
                                  bool is_step)
{
    czr_status status = CZR_OK, refusal = CZR_OK;
    czr_collect_result of = {.reason = CZR_COLLECT_APPLIED};

    if (!has_news(rank_group->members[0].rank))
        return CZR_OK;
    for (int i = 0; i < rank_group->n && waits && status == CZR_OK; i++)
        status = wait_for_device(rank_group->members[i].rank, is_step);
    for (int i = 0; i < rank_group->n && status == CZR_OK; i++) {
        const czr_cuda_rank *rank = rank_group->members[i].rank;
        if (czr_collect_read(rank->result, rank->sequence, &of))
            continue;
        if (knows_fault(rank))
            return czr_cuda_outcome_fault(rank_group);
        return waits ? czr_engine_poison(rank->engine, CZR_ERR_STATE,
                                         "the device is done, and has not said "
                                         "what came of step %lld",
                                         (long long)rank->sequence)
                     : CZR_OK;
    }
    for (int i = 0; i < rank_group->n && status == CZR_OK; i++) {
        czr_cuda_rank *rank = rank_group->members[i].rank;
        if (!has_news(rank))
            continue;
        czr_collect_read(rank->result, rank->sequence, &of);
        const czr_status said = learn(rank, &of);
        refusal = refusal == CZR_OK ? said : refusal;
        status = rank->engine->status;
    }
    if (status == CZR_OK && of.reason == CZR_COLLECT_FAULT)
        return stop_all(rank_group);
    return status == CZR_OK ? refusal : status;
}

czr_status czr_cuda_outcome_set_steps(czr_engine *engine, int64_t steps)
{
    czr_cuda_rank *rank = engine->cuda;
    czr_status status = czr_cuda_rank_enter(rank);

    if (status == CZR_OK)
        status = czr_cuda_outcome_learn(rank->rank_group, true, false);
    if (status != CZR_OK)
        return status;
    engine->device->ops->copy(engine->device, &rank->decision->steps, &steps,
                              sizeof steps);
    status =
        czr_cuda_rank_check(rank, czr_device_cuda_use(engine->device, NULL),
                            "setting the number of updates");
    rank->set_steps += status == CZR_OK ? steps - engine->steps : 0;
    return status;
}

void czr_cuda_outcome_give(const czr_cuda_rank_group *rank_group,
                           czr_result *results)
{
    for (int i = 0; i < rank_group->n; i++) {
        const czr_collect_result *of = rank_group->members[i].rank->result;
        results[i] = (czr_result){.grad_norm = of->grad_norm,
                                  .skipped = of->reason != CZR_COLLECT_APPLIED,
                                  .step = of->step};
    }
}
