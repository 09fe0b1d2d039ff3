/* Steps of a rank_group: what precedes and follows the list of each. */
#include "runtime/cuda/exec/rank_group.h"

#include "runtime/cuda/exec/captured.h"
#include "runtime/cuda/exec/rank_group_list.h"
#include "runtime/cuda/exec/outcome.h"
#include "runtime/base/memory.h"

static czr_engine *engine_of(const czr_cuda_rank_group *rank_group, int i)
{
    return rank_group->members[i].rank->engine;
}

static const czr_program *program_of(const czr_cuda_rank_group *rank_group)
{
    return engine_of(rank_group, 0)->program;
}

/* ---- before and behind the list ----------------------------------------- */

/* The trainer's stream, and what the engine is asked for between steps. */
static czr_status let_follow(czr_cuda_rank *rank, void *stream)
{
    czr_context *context = rank->device.context;
    czr_status status = czr_context_record(context, rank->ended, rank->main);

    if (status == CZR_OK)
        status = czr_device_cuda_follow(rank->engine->device, rank->ended);
    if (status == CZR_OK && stream != CZR_NO_STREAM)
        status = czr_context_wait(context, stream, rank->ended);
    return czr_cuda_rank_check(rank, status, "the end of a step");
}

static czr_status put_hypers(czr_cuda_rank *rank)
{
    const czr_engine *engine = rank->engine;

    return czr_cuda_rank_check(
        rank,
        czr_collect_hypers(rank->device.collect, rank->hypers, engine->hypers,
                           (size_t)engine->program->n_hypers, rank->main),
        "the step's run-time values");
}

static czr_status begin_step(czr_cuda_rank *rank, const czr_hyper *hyper,
                             czr_stream stream)
{
    czr_engine *engine = rank->engine;
    czr_status status = czr_cuda_list_follow(rank, stream);

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

/* ---- a step ------------------------------------------------------------- */

static czr_status check(czr_cuda_rank_group *rank_group)
{
    for (int i = 0; i < rank_group->n; i++) {
        czr_engine *engine = engine_of(rank_group, i);
        if (engine->status != CZR_OK)
            return engine->status;
        if (!engine->is_sealed)
            return czr_engine_refuse(engine, CZR_ERR_STATE, "not sealed yet");
    }
    return CZR_OK;
}

static czr_status put_step(czr_cuda_rank_group *rank_group,
                           const czr_hyper *hyper, czr_stream stream)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < rank_group->n && status == CZR_OK; i++)
        status = begin_step(rank_group->members[i].rank, hyper, stream);
    if (status == CZR_OK)
        status = czr_cuda_list_end(rank_group);
    for (int i = 0; i < rank_group->n && status == CZR_OK; i++)
        status = end_step(rank_group->members[i].rank, stream);
    return status == CZR_OK ? czr_cuda_captured_agree(rank_group) : status;
}

/* Copies of a parameter, where members have hashed them. */
static czr_status compare_copies(czr_cuda_rank_group *rank_group)
{
    czr_engine *first = engine_of(rank_group, 0);
    const size_t n = (size_t)first->world->size;
    int64_t *words = first->rank_words;
    czr_status status = CZR_OK;

    memset(words, 0, n * sizeof *words);
    for (int i = 0; i < rank_group->n && status == CZR_OK; i++) {
        czr_cuda_rank *rank = rank_group->members[i].rank;
        czr_replica_put(rank->engine, words);
        status = czr_cuda_rank_check(
            rank, czr_device_cuda_use(rank->engine->device, NULL),
            "copies of a parameter");
    }
    if (status == CZR_OK && (size_t)rank_group->n < n)
        status = czr_handshake_sum(first, words, n);
    for (int i = 0; i < rank_group->n && status == CZR_OK; i++)
        status = czr_replica_compare(engine_of(rank_group, i), words);
    return status;
}

/* Phases depend on the step before; and what went wrong there is not taken for
 * what this one says. */
static bool is_ordered(const czr_cuda_rank_group *rank_group,
                       const czr_result *results)
{
    return program_of(rank_group)->phases || results;
}

static czr_status step(czr_cuda_rank_group *rank_group, const czr_hyper *hyper,
                       czr_stream stream, czr_result *results)
{
    czr_status status = check(rank_group);

    if (status == CZR_OK)
        status = czr_cuda_rank_enter(rank_group->members[0].rank);
    if (status == CZR_OK)
        status = czr_cuda_outcome_learn(rank_group,
                                        is_ordered(rank_group, results), false);
    if (status == CZR_OK)
        status = put_step(rank_group, hyper, stream);
    const bool compares = engine_of(rank_group, 0)->replica >= 0;
    if (status != CZR_OK || (!results && !compares))
        return status;
    const czr_status said =
        czr_cuda_outcome_learn(rank_group, true, results != NULL);
    if (engine_of(rank_group, 0)->status != CZR_OK)
        return said;
    if (results)
        czr_cuda_outcome_give(rank_group, results);
    status = compares ? compare_copies(rank_group) : CZR_OK;
    return status == CZR_OK ? said : status;
}

czr_status czr_cuda_rank_group_step(czr_cuda_rank_group *rank_group,
                                    const czr_hyper *hyper, czr_stream stream,
                                    czr_result *results)
{
    czr_engine *first = engine_of(rank_group, 0);

    czr_engine_lock(first);
    const int64_t before = czr_allocations();
    const czr_status status = step(rank_group, hyper, stream, results);
    first->step_allocations += czr_allocations() - before;
    czr_engine_unlock(first);
    return status;
}

void czr_cuda_rank_group_join(czr_cuda_rank_group *rank_group)
{
    for (int i = 0; i < rank_group->n; i++) {
        czr_engine *engine = engine_of(rank_group, i);
        engine->cuda->rank_group = rank_group;
        engine->arrive = czr_cuda_list_arrive;
        engine->await = czr_cuda_param_ready_await;
        engine->set_steps = czr_cuda_outcome_set_steps;
        engine->lock_at = &engine_of(rank_group, 0)->lock;
    }
}
