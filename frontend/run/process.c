/* The rank of a run that this process is, on a GPU, over NCCL.  How ranks find
 * each other, and what comes of the run, goes over the world that started them.
 */
#define _POSIX_C_SOURCE 200809L
#include "frontend/run/internal.h"

#include "runtime/cuda/world/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct process_run {
    run *common;
    rank_run rank;
    czr_nccl *nccl;
    czr_process *process;
    char message[CZR_NCCL_MESSAGE];
} process_run;

/* Over the world that started the ranks. */
static czr_status broadcast(void *user, void *bytes, size_t n, int root)
{
    czr_world *world = user;

    if (czr_world_rank(world) != root)
        memset(bytes, 0, n);
    return cz_run_join(world, bytes, n);
}

/* Nobody waits for a rank that has no NCCL. */
static czr_status open_nccl(process_run *p)
{
    const czr_status status = czr_nccl_open(NULL, &p->nccl, p->message);
    int64_t n_failed = status != CZR_OK;
    const czr_status joined =
        cz_run_join(p->common->request->world, &n_failed, sizeof n_failed);

    if (status != CZR_OK || joined != CZR_OK)
        return status == CZR_OK ? joined : status;
    return n_failed ? CZR_ERR_ABORTED : CZR_OK;
}

static czr_status open_rank(process_run *p)
{
    const cz_run_request *request = p->common->request;
    czr_process_options options = {
        .context = request->gpu->context,
        .nvrtc = request->gpu->nvrtc,
        .cache = request->gpu->cache,
        .engine = {.deadline_ms = request->deadline_ms},
        .world = {.broadcast = broadcast,
                  .user = request->world,
                  .rank = czr_world_rank(request->world),
                  .size = czr_world_size(request->world)},
        .is_captured = true};
    czr_status status = open_nccl(p);

    options.world.nccl = p->nccl;
    if (status == CZR_OK)
        status = czr_process_open(&options, request->cuda, &p->process);
    if (status != CZR_OK)
        return status;
    p->rank = (rank_run){.common = p->common,
                         .request = request,
                         .engine = czr_process_engine(p->process),
                         .rank = options.world.rank};
    if (request->say)
        czr_process_describe(p->process, request->say, request->user);
    return CZR_OK;
}

static czr_status take_steps(process_run *p)
{
    czr_result result = {0};
    czr_status status = CZR_OK;

    for (int i = 0; i < p->common->request->steps && status == CZR_OK; i++) {
        status = cz_rank_give(&p->rank, i);
        if (status != CZR_OK)
            break;
        const double start = cz_run_now();
        status = czr_process_step(p->process, NULL, NULL, &result);
        if (status == CZR_OK)
            cz_rank_note_step(p->common, i, cz_run_now() - start, &result);
    }
    return status;
}

static void keep_error(const process_run *p, czr_status status)
{
    cz_run_result *result = p->common->result;
    const char *sentence = p->process ? czr_process_error(p->process) : "";

    if (!*sentence)
        sentence = p->message;
    if (!*sentence)
        sentence = p->common->request->gpu->context->error;
    snprintf(result->error, sizeof result->error, "%s",
             *sentence ? sentence : czr_status_text(status));
}

czr_status cz_run_process(run *common)
{
    process_run p = {.common = common};
    czr_status status = open_rank(&p);

    common->result->is_unopened = status != CZR_OK;
    if (status == CZR_OK)
        status = cz_rank_prepare(&p.rank);
    if (status == CZR_OK)
        status = take_steps(&p);
    if (status == CZR_OK)
        status = cz_rank_collect(&p.rank);
    if (status == CZR_OK)
        status = cz_run_join_results(&p.rank);
    if (status == CZR_OK)
        common->result->graphs = czr_process_graphs(p.process);
    else
        keep_error(&p, status);
    czr_process_close(p.process);
    czr_nccl_close(p.nccl);
    cz_rank_free(&p.rank);
    return status;
}
