/* Opening the ranks of one thread, and their steps. */
#include "runtime/cuda/world/loopback.h"

#include <stdio.h>

#include "runtime/cuda/world/loopback_world.h"
#include "runtime/cuda/products/multiply.h"
#include "runtime/cuda/exec/captured.h"
#include "runtime/cuda/exec/rank_group.h"
#include "runtime/base/memory.h"

struct czr_loopback {
    czr_context *context;
    czr_collect *collect;
    czr_cuda_stages stages;
    bool has_stages;
    czr_loopback_world *common;
    czr_cuda_rank_group rank_group;
    char error[CZR_ERROR_BYTES];
};

/* ---- failures ----------------------------------------------------------- */

/* What is known best: an engine's sentence, or the device's. */
static czr_status refuse(czr_loopback *loopback, czr_status status,
                         const char *what)
{
    const char *why = loopback->context->error;

    if (!*loopback->error)
        snprintf(loopback->error, sizeof loopback->error, "%s: %s", what,
                 *why ? why : czr_status_text(status));
    return status;
}

/* Rank `from` has failed: nobody goes on. */
static void stop(void *user, int from, const char *why)
{
    czr_loopback *loopback = user;

    if (!*loopback->error)
        snprintf(loopback->error, sizeof loopback->error, "%s", why);
    for (int i = 0; i < loopback->rank_group.n; i++) {
        const czr_cuda_rank *rank = loopback->rank_group.members[i].rank;
        if (i != from && rank && rank->engine)
            czr_engine_stop(rank->engine, CZR_ERR_ABORTED, "after %s", why);
    }
}

const char *czr_loopback_error(const czr_loopback *loopback)
{
    return loopback->error;
}

/* ---- opening ------------------------------------------------------------ */

static czr_status open_code(czr_loopback *loopback,
                            const czr_loopback_options *options,
                            const czr_cuda_program *program)
{
    char message[CZR_DRIVER_MESSAGE] = "";
    czr_status status =
        czr_collect_open(options->context, options->nvrtc, options->cache,
                         &loopback->collect, message);

    if (status != CZR_OK) {
        snprintf(loopback->error, sizeof loopback->error, "%s", message);
        return status;
    }
    status = czr_cuda_stages_open(options->context, options->cache,
                                  options->nvrtc, program, &loopback->stages);
    loopback->has_stages = status == CZR_OK;
    return status == CZR_OK ? CZR_OK
                            : refuse(loopback, status, "the plan's kernels");
}

static czr_status open_rank(czr_loopback *loopback, int number,
                            const czr_options *options)
{
    const czr_cuda_device_common parts = {.context = loopback->context,
                                          .collect = loopback->collect,
                                          .stages = &loopback->stages};
    czr_cuda_member *member = &loopback->rank_group.members[number];
    czr_status status = czr_cuda_rank_open(
        &parts, &loopback->common->worlds[number], options, &member->rank);

    if (status == CZR_OK)
        status = czr_engine_join(member->rank->engine);
    if (status == CZR_OK)
        return CZR_OK;
    const char *why = member->rank && member->rank->engine
                          ? czr_error(member->rank->engine)
                          : "";
    return refuse(loopback, status, *why ? why : "opening a rank");
}

/* Units of an operation that will have a table. */
static int64_t count_tables(const czr_engine *engine, int op)
{
    const czr_op *row = &engine->program->ops[op];

    switch ((czr_op_kind)row->kind) {
    case CZR_REDUCE_SCATTER:
    case CZR_ALL_REDUCE:
    case CZR_UNDO:
        return 1;
    case CZR_GUARD:
        return 2;
    case CZR_GROUP_SUM:
        return czr_program_rows(engine->program, row->table, engine->rank).n;
    case CZR_ALL_GATHER:
    case CZR_TRANSFER:
    case CZR_KERNEL:
    case CZR_SQUARE_SUM:
    case CZR_DECIDE:
    case CZR_PROLOGUE:
    case CZR_KEEP:
    case CZR_N_OP_KINDS:
        break;
    }
    return 0;
}

/* The first member of each communicator counts for all. */
static void reserve_tables(const czr_engine *engine)
{
    for (int op = 0; op < engine->program->n_ops; op++)
        if (engine->comms[op] && engine->comms[op]->position == 0)
            czr_loopback_world_reserve(engine->comms[op],
                                       count_tables(engine, op));
}

static czr_status open_ranks(czr_loopback *loopback, int n,
                             const czr_options *options)
{
    czr_status status = CZR_OK;

    loopback->rank_group.members =
        czr_alloc((size_t)n, sizeof *loopback->rank_group.members);
    if (!loopback->rank_group.members)
        return refuse(loopback, CZR_ERR_NO_MEMORY, "ranks");
    loopback->rank_group.n = n;
    for (int i = 0; i < n && status == CZR_OK; i++)
        status = open_rank(loopback, i, options);
    for (int i = 0; i < n && status == CZR_OK; i++)
        reserve_tables(loopback->rank_group.members[i].rank->engine);
    if (status != CZR_OK)
        return status;
    status = czr_loopback_world_take_memory(loopback->common);
    if (status != CZR_OK)
        return refuse(loopback, status, "tables");
    czr_cuda_rank_group_join(&loopback->rank_group);
    return CZR_OK;
}

czr_status czr_loopback_open(const czr_loopback_options *options,
                             const czr_cuda_program *program,
                             czr_loopback **out)
{
    if (!options || !options->context || !program || !out)
        return CZR_ERR_ARGUMENT;
    const int n = czr_program_ranks(program->program);
    czr_loopback *loopback = *out = czr_alloc(1, sizeof *loopback);
    if (!loopback)
        return CZR_ERR_NO_MEMORY;
    loopback->context = options->context;
    czr_status status = czr_context_enter(loopback->context);
    if (status != CZR_OK)
        return refuse(loopback, status, "the device");
    status = open_code(loopback, options, program);
    if (status != CZR_OK)
        return status;
    status = czr_loopback_world_open(loopback->context, loopback->collect, n,
                                     &loopback->common);
    if (status != CZR_OK)
        return refuse(loopback, status, "ranks");
    loopback->common->stop = stop;
    loopback->common->user = loopback;
    status = open_ranks(loopback, n, &options->engine);
    if (status != CZR_OK || !options->is_captured)
        return status;
    status = czr_cuda_captured_open(&loopback->rank_group);
    return status == CZR_OK ? CZR_OK : refuse(loopback, status, "graphs");
}

void czr_loopback_close(czr_loopback *loopback)
{
    if (!loopback)
        return;
    czr_context_enter(loopback->context);
    for (int i = 0; i < loopback->rank_group.n; i++)
        czr_cuda_rank_drain(loopback->rank_group.members[i].rank);
    czr_cuda_captured_close(&loopback->rank_group);
    for (int i = 0; i < loopback->rank_group.n; i++)
        czr_cuda_rank_close(loopback->rank_group.members[i].rank);
    czr_loopback_world_close(loopback->common);
    if (loopback->has_stages)
        czr_cuda_stages_close(&loopback->stages);
    czr_collect_close(loopback->collect);
    czr_free(loopback->rank_group.members);
    czr_free(loopback);
}

int czr_loopback_size(const czr_loopback *loopback)
{
    return loopback->rank_group.n;
}

czr_engine *czr_loopback_engine(czr_loopback *loopback, int rank)
{
    return rank < 0 || rank >= loopback->rank_group.n
               ? NULL
               : loopback->rank_group.members[rank].rank->engine;
}

void czr_loopback_describe(const czr_loopback *loopback,
                           void (*say)(void *user, const char *line),
                           void *user)
{
    czr_cuda_products_describe(&loopback->stages, say, user);
}

int czr_loopback_graphs(const czr_loopback *loopback)
{
    return czr_cuda_captured_count(&loopback->rank_group);
}

/* ---- steps -------------------------------------------------------------- */

czr_status czr_loopback_step(czr_loopback *loopback, const czr_hyper *hyper,
                             czr_stream stream, czr_result *results)
{
    const czr_status status =
        czr_cuda_rank_group_step(&loopback->rank_group, hyper, stream, results);

    for (int i = 0; i < loopback->rank_group.n && status != CZR_OK; i++)
        if (*czr_error(loopback->rank_group.members[i].rank->engine) &&
            !*loopback->error)
            snprintf(loopback->error, sizeof loopback->error, "%s",
                     czr_error(loopback->rank_group.members[i].rank->engine));
    return status;
}
