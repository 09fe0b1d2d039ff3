/* Opening one rank: the engine's own kernels, the world that adds up by them,
 * the plan's kernels, then the rank; and its steps. */
#include "runtime/cuda/world/process.h"

#include <stdio.h>

#include "runtime/cuda/products/multiply.h"
#include "runtime/cuda/exec/captured.h"
#include "runtime/cuda/exec/outcome.h"
#include "runtime/base/memory.h"

struct czr_process {
    czr_context *context;
    czr_collect *collect;
    czr_world *world;
    czr_cuda_stages stages;
    bool has_stages;
    czr_cuda_member member;
    czr_cuda_rank_group rank_group; /* of that one */
    char error[CZR_ERROR_BYTES];
};

/* ---- failures ----------------------------------------------------------- */

static czr_status refuse(czr_process *process, czr_status status,
                         const char *what)
{
    const char *why = process->context->error;

    if (!*process->error)
        snprintf(process->error, sizeof process->error, "%s: %s", what,
                 *why ? why : czr_status_text(status));
    return status;
}

static czr_engine *engine_of(const czr_process *process)
{
    return process->member.rank ? process->member.rank->engine : NULL;
}

/* A rule that failed comes before what came of that; then the world knows best,
 * for it names the operation; then the engine. */
static czr_status explain(czr_process *process, czr_status status)
{
    char why[CZR_WHY_BYTES] = "";
    czr_engine *engine = engine_of(process);
    const czr_status failure = czr_world_nccl_check(process->world, why);

    /* Aborting communicators waits for the graphs that captured them. */
    if (failure != CZR_OK && engine) {
        czr_engine_lock(engine);
        czr_cuda_captured_close(&process->rank_group);
        czr_engine_unlock(engine);
    }

    const czr_status fault = czr_cuda_outcome_fault(&process->rank_group);
    if (fault != CZR_OK)
        status = fault;
    if (*process->error || (status == CZR_OK && failure == CZR_OK))
        return status == CZR_OK ? failure : status;
    if (fault == CZR_OK && engine && engine->status == CZR_OK &&
        failure != CZR_OK)
        status = czr_engine_stop(engine, failure, "%s", why);
    /* An abort of our own says what the engine said. */
    if (fault == CZR_OK && failure != CZR_OK && failure != CZR_ERR_ABORTED)
        snprintf(process->error, sizeof process->error, "rank %d: %s",
                 czr_world_rank(process->world), why);
    else if (engine && *czr_error(engine))
        snprintf(process->error, sizeof process->error, "%s",
                 czr_error(engine));
    return status == CZR_OK ? failure : status;
}

const char *czr_process_error(const czr_process *process)
{
    const czr_engine *engine = engine_of(process);

    return *process->error || !engine ? process->error : czr_error(engine);
}

/* ---- opening ------------------------------------------------------------ */

static czr_status open_world(czr_process *process,
                             const czr_process_options *options,
                             const czr_program *program)
{
    char message[CZR_NCCL_MESSAGE] = "";
    czr_world_nccl_options world = options->world;

    world.is_strict = program->strict;
    world.deadline_ms = options->engine.deadline_ms;
    world.collect = process->collect;
    const czr_status status =
        czr_world_nccl_open(options->context, &world, &process->world, message);
    if (status != CZR_OK)
        snprintf(process->error, sizeof process->error, "%s", message);
    return status;
}

static czr_status open_code(czr_process *process,
                            const czr_process_options *options,
                            const czr_cuda_program *program)
{
    const czr_status status =
        czr_cuda_stages_open(options->context, options->cache, options->nvrtc,
                             program, &process->stages);

    process->has_stages = status == CZR_OK;
    return status == CZR_OK ? CZR_OK
                            : refuse(process, status, "the plan's kernels");
}

static czr_status begin_units(void *user, void *stream)
{
    const czr_process *process = user;

    return czr_world_nccl_begin(process->world, stream);
}

static void join_rank_group(czr_process *process)
{
    process->rank_group = (czr_cuda_rank_group){.members = &process->member,
                                                .n = 1,
                                                .begin = begin_units,
                                                .user = process};
    czr_cuda_rank_group_join(&process->rank_group);
}

/* The rank alone; where that fails, the others are reported. */
static czr_status open_rank(czr_process *process, const czr_options *options)
{
    const czr_cuda_device_common parts = {.context = process->context,
                                          .collect = process->collect,
                                          .stages = &process->stages};
    czr_status status = czr_cuda_rank_open(&parts, process->world, options,
                                           &process->member.rank);
    czr_engine *engine = engine_of(process);

    if (!engine)
        return refuse(process, status, "opening a rank");
    status = czr_handshake(engine, status);
    if (status == CZR_OK)
        status = czr_engine_join(engine);
    if (status == CZR_OK) {
        join_rank_group(process);
        return CZR_OK;
    }
    const char *why = czr_error(engine);
    return refuse(process, status, *why ? why : "opening a rank");
}

/* All ranks, or none. */
static czr_status open_captured(czr_process *process, bool is_captured)
{
    czr_engine *engine = engine_of(process);
    int64_t n = is_captured;
    czr_status status = czr_handshake_sum(engine, &n, 1);

    if (status == CZR_OK && n != (is_captured ? engine->world->size : 0))
        status = czr_engine_stop(engine, CZR_ERR_MISMATCH,
                                 "%lld of %d ranks capture steps", (long long)n,
                                 engine->world->size);
    if (status != CZR_OK)
        return refuse(process, status, czr_error(engine));
    status =
        is_captured ? czr_cuda_captured_open(&process->rank_group) : CZR_OK;
    return status == CZR_OK ? CZR_OK : refuse(process, status, "graphs");
}

static czr_status open_parts(czr_process *process,
                             const czr_process_options *options,
                             const czr_cuda_program *program)
{
    char message[CZR_DRIVER_MESSAGE] = "";
    czr_status status = czr_context_enter(process->context);

    if (status != CZR_OK)
        return refuse(process, status, "the device");
    status = czr_collect_open(options->context, options->nvrtc, options->cache,
                              &process->collect, message);
    if (status != CZR_OK) {
        snprintf(process->error, sizeof process->error, "%s", message);
        return status;
    }
    status = open_world(process, options, program->program);
    if (status != CZR_OK)
        return status;
    status = open_code(process, options, program);
    if (status == CZR_OK)
        status = open_rank(process, &options->engine);
    if (status == CZR_OK)
        status = open_captured(process, options->is_captured);
    if (status != CZR_OK)
        process->world->ops->abort(process->world, process->error);
    return status;
}

czr_status czr_process_open(const czr_process_options *options,
                            const czr_cuda_program *program, czr_process **out)
{
    if (!options || !options->context || !program || !out)
        return CZR_ERR_ARGUMENT;
    czr_process *process = *out = czr_alloc(1, sizeof *process);
    if (!process)
        return CZR_ERR_NO_MEMORY;
    process->context = options->context;
    return open_parts(process, options, program);
}

/* What failed may hang until communicators are aborted. */
static void drain(czr_process *process)
{
    char why[CZR_WHY_BYTES];
    const czr_cuda_rank *rank = process->member.rank;
    const czr_engine *engine = engine_of(process);
    const bool has_failed = (engine && engine->status != CZR_OK) ||
                            *process->error ||
                            czr_world_nccl_check(process->world, why) != CZR_OK;

    if (has_failed) {
        czr_cuda_captured_close(&process->rank_group);
        czr_world_nccl_stop(process->world, "closed after a failure");
    }
    if (rank && rank->main)
        czr_context_synchronize(process->context, rank->main,
                                process->world->deadline_ms);
}

void czr_process_close(czr_process *process)
{
    if (!process)
        return;
    czr_context_enter(process->context);
    if (process->world)
        drain(process);
    czr_cuda_captured_close(&process->rank_group);
    czr_cuda_rank_close(process->member.rank);
    czr_world_nccl_close(process->world);
    if (process->has_stages)
        czr_cuda_stages_close(&process->stages);
    czr_collect_close(process->collect);
    czr_free(process);
}

void czr_process_describe(const czr_process *process,
                          void (*say)(void *user, const char *line), void *user)
{
    czr_cuda_products_describe(&process->stages, say, user);
}

czr_engine *czr_process_engine(czr_process *process)
{
    return engine_of(process);
}

int czr_process_graphs(const czr_process *process)
{
    return czr_cuda_captured_count(&process->rank_group);
}

/* ---- steps -------------------------------------------------------------- */

czr_status czr_process_step(czr_process *process, const czr_hyper *hyper,
                            czr_stream stream, czr_result *result)
{
    czr_status status = explain(process, CZR_OK);

    if (status != CZR_OK)
        return status;
    status =
        czr_cuda_rank_group_step(&process->rank_group, hyper, stream, result);
    return explain(process, status);
}
