/* A step: walks the list, as far as gradients are there while the backward
 * pass still runs, and to its end in czr_step. */
#include "runtime/engine/engine.h"
#include "runtime/base/memory.h"

static czr_status submit(czr_engine *engine, int op)
{
    if (czr_op_is_skipped(engine, op))
        return CZR_OK;
    const czr_status status = engine->device->ops->submit(engine->device, op);
    return status == CZR_OK
               ? CZR_OK
               : czr_engine_poison(engine, status, "operation %d failed", op);
}

/* ---- while the backward pass runs --------------------------------------- */

/* One that is not resident has nothing to wait for: its operations are skipped.
 */
static bool is_bucket_ready(const czr_engine *engine, int bucket)
{
    return engine->n_awaited[bucket] == 0 ||
           !czr_program_is_resident(engine->program, bucket, engine->rank);
}

void czr_step_await(czr_engine *engine)
{
    const czr_program *program = engine->program;

    for (int bucket = 0; bucket < program->n_buckets; bucket++)
        engine->n_awaited[bucket] = 0;
    for (int param = 0; param < program->n_params; param++) {
        const int bucket = program->places[param].bucket;
        engine->bindings[param].is_ready = false;
        if (bucket >= 0)
            engine->n_awaited[bucket]++;
    }
}

void czr_step_note_ready(czr_engine *engine, int param)
{
    const int bucket = engine->program->places[param].bucket;

    engine->bindings[param].is_ready = true;
    if (bucket >= 0)
        engine->n_awaited[bucket]--;
}

bool czr_step_is_ready(const czr_engine *engine, int op)
{
    const czr_program *program = engine->program;

    return op < program->n_ops &&
           program->ops[op].section == CZR_SECTION_REDUCE &&
           program->ops[op].bucket >= 0 &&
           is_bucket_ready(engine, program->ops[op].bucket);
}

static czr_status arrive(czr_engine *engine, int param, czr_stream producer)
{
    if (engine->bindings[param].is_ready)
        return CZR_OK;
    if (engine->arrive)
        return engine->arrive(engine, param, producer);
    czr_loose_copy_grad(engine, param);
    czr_loose_reduce_early(engine, param);
    czr_step_note_ready(engine, param);
    /* Submits the operations whose gradients are there, in list order. */
    czr_status status = CZR_OK;

    while (status == CZR_OK && czr_step_is_ready(engine, engine->next_op))
        status = submit(engine, engine->next_op++);
    return status;
}

czr_status czr_engine_check_param(czr_engine *engine, int param)
{
    if (engine->status != CZR_OK)
        return engine->status;
    if (!engine->is_sealed)
        return czr_engine_refuse(engine, CZR_ERR_STATE, "not sealed yet");
    if (param < 0 || param >= engine->program->n_params)
        return czr_engine_refuse(engine, CZR_ERR_ARGUMENT, "no parameter %d",
                                 param);
    if (!czr_program_has_param(engine->program, param, engine->rank))
        return czr_engine_refuse(engine, CZR_ERR_ELSEWHERE,
                                 "parameter %d is one of other ranks", param);
    return CZR_OK;
}

czr_status czr_grad_ready(czr_engine *engine, int param, czr_stream producer)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    czr_engine_lock(engine);
    const int64_t before = czr_allocations();
    czr_status status = czr_engine_check_param(engine, param);
    if (status == CZR_OK)
        status = arrive(engine, param, producer);
    engine->step_allocations += czr_allocations() - before;
    czr_engine_unlock(engine);
    return status;
}

static bool is_copied(const czr_loose *tensor)
{
    return tensor->data && !tensor->used;
}

czr_status czr_grad_check(czr_engine *engine, int param)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    czr_engine_lock(engine);
    const czr_status status = czr_engine_check_param(engine, param);
    if (status == CZR_OK && !engine->bindings[param].is_ready &&
        !is_copied(&engine->bindings[param].grad))
        czr_loose_reduce_early(engine, param);
    czr_engine_unlock(engine);
    return status;
}

czr_status czr_param_wait(czr_engine *engine, int param, czr_stream consumer)
{
    if (!engine || param < 0 || param >= engine->program->n_params)
        return CZR_ERR_ARGUMENT;
    czr_engine_lock(engine);
    czr_status status = engine->status;
    /* The host has finished when czr_step returns. */
    if (status == CZR_OK && engine->await)
        status = engine->await(engine, param, consumer);
    czr_engine_unlock(engine);
    return status;
}

/* ---- the step ----------------------------------------------------------- */

static czr_status take_hypers(czr_engine *engine, const czr_hyper *given)
{
    const czr_program *program = engine->program;

    for (int i = 0; i < program->n_hypers; i++) {
        const czr_hyper_desc *desc = &program->hypers[i];
        const bool is_given = given && given->values && (size_t)i < given->n &&
                              !isnan(given->values[i]);
        if (!is_given && !desc->has_default)
            return czr_engine_poison(engine, CZR_ERR_HYPER,
                                     "%s.%s has no default and was not given",
                                     desc->param_group, desc->name);
        engine->hypers[i] = is_given ? given->values[i] : desc->value;
    }
    return CZR_OK;
}

void czr_step_restart(czr_engine *engine)
{
    engine->next_op = 0;
    engine->largest = 0;
    engine->is_faulty = false;
    engine->refusal = CZR_OK;
    *engine->norm = (czr_norm){{0}};
    engine->norm->words[CZR_NORM_FAULTS] = engine->fault.status != CZR_OK;
    engine->grad_norm = 0;
    engine->clip = 1;
    engine->is_skipped = false;
    czr_externs_take(engine);
    czr_step_await(engine);
    for (int param = 0; param < engine->program->n_params; param++)
        engine->bindings[param].is_reduced = engine->bindings[param].is_absent =
            false;
}

static void commit(czr_engine *engine, czr_result *result)
{
    if (engine->is_skipped) {
        engine->skips++;
    } else {
        engine->steps++;
        czr_phase_note_absent(engine);
        for (int param = 0; param < engine->program->n_params; param++)
            czr_loose_copy_out(engine, param);
    }
    if (result)
        *result = (czr_result){.grad_norm = engine->grad_norm,
                               .skipped = engine->is_skipped,
                               .step = engine->steps};
}

/* The operations that czr_grad_ready has not submitted. */
static czr_status run_list(czr_engine *engine)
{
    czr_status status = CZR_OK;

    while (status == CZR_OK && engine->next_op < engine->program->n_ops)
        status = submit(engine, engine->next_op++);
    return status == CZR_OK ? engine->device->ops->finish(engine->device)
                            : status;
}

czr_status czr_step_begin(czr_engine *engine, const czr_hyper *hyper)
{
    czr_status status = take_hypers(engine, hyper);

    if (status != CZR_OK)
        return status;
    status = czr_externs_check(engine);
    if (status != CZR_OK)
        return status;
    status = czr_phase_choose(engine, engine->steps + 1);
    if (status != CZR_OK)
        return status;
    for (int param = 0; param < engine->program->n_params; param++) {
        czr_loose_copy_in(engine, param);
        if (!engine->bindings[param].is_ready)
            czr_loose_copy_grad(engine, param);
    }
    status = czr_written_check(engine);
    if (status != CZR_OK)
        return status;
    czr_spaces_take_masters(engine);
    czr_states_mirror(engine);
    czr_replica_hash(engine);
    return CZR_OK;
}

static czr_status run_step(czr_engine *engine, const czr_hyper *hyper,
                           czr_result *result)
{
    czr_status status = czr_step_begin(engine, hyper);

    if (status != CZR_OK)
        return status;
    status = run_list(engine);
    if (status != CZR_OK)
        return czr_engine_poison(engine, status, "the step failed");
    const czr_status refusal = engine->refusal;
    commit(engine, result);
    czr_written_note(engine, true);
    czr_step_restart(engine);
    status = czr_replica_check(engine);
    return status == CZR_OK ? refusal : status;
}

czr_status czr_step(czr_engine *engine, const czr_hyper *hyper,
                    czr_stream stream, czr_result *result)
{
    (void)stream;
    if (!engine)
        return CZR_ERR_ARGUMENT;
    czr_engine_lock(engine);
    const int64_t before = czr_allocations();
    czr_status status = engine->status;
    if (status == CZR_OK && !engine->is_sealed)
        status = czr_engine_refuse(engine, CZR_ERR_STATE, "not sealed yet");
    if (status == CZR_OK && engine->cuda)
        status = czr_engine_refuse(engine, CZR_ERR_STATE,
                                   "ranks of a device step together");
    if (status == CZR_OK)
        status = run_step(engine, hyper, result);
    engine->step_allocations += czr_allocations() - before;
    czr_engine_unlock(engine);
    return status;
}

czr_status czr_step_set(czr_engine *engine, int64_t step)
{
    const int64_t end = INT64_C(1) << 53; /* rules have t in float64 */

    if (!engine || step < 0 || step >= end)
        return CZR_ERR_ARGUMENT;
    czr_engine_lock(engine);
    czr_status status = engine->status;
    if (status == CZR_OK && engine->set_steps)
        status = engine->set_steps(engine, step);
    if (status == CZR_OK)
        engine->steps = step;
    for (int p = 0; status == CZR_OK && p < engine->program->n_params; p++)
        engine->bindings[p].n_skips = 0;
    czr_engine_unlock(engine);
    return status;
}

czr_status czr_step_get(const czr_engine *engine, int64_t *step)
{
    if (!engine || !step)
        return CZR_ERR_ARGUMENT;
    *step = engine->steps;
    return CZR_OK;
}

czr_status czr_counters_get(const czr_engine *engine, czr_counters *out)
{
    if (!engine || !out || !engine->scratch)
        return CZR_ERR_ARGUMENT;
    *out = (czr_counters){.steps = engine->steps,
                          .skips = engine->skips,
                          .updates = engine->updates,
                          .full_matrix = engine->full_matrix,
                          .bytes_sent = engine->sent,
                          .bytes_received = engine->received,
                          .peak_scratch_bytes = czr_spaces_peak_scratch(engine),
                          .step_allocations = engine->step_allocations};
    return CZR_OK;
}
