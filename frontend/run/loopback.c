/* All ranks of a run on one GPU, by one thread, as trainers would: captured
 * where that can be. */
#include "frontend/run/internal.h"

#include "runtime/cuda/world/loopback.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct loopback_run {
    run *common;
    czr_loopback *loopback;
    rank_run *ranks; /* [n] */
    int n;
    czr_result *results; /* [n] */
} loopback_run;

static czr_status open_ranks(loopback_run *l)
{
    const cz_run_request *request = l->common->request;
    const czr_loopback_options options = {
        .context = request->gpu->context,
        .nvrtc = request->gpu->nvrtc,
        .cache = request->gpu->cache,
        .engine = {.deadline_ms = request->deadline_ms},
        .is_captured = true};
    czr_status status =
        czr_loopback_open(&options, request->cuda, &l->loopback);

    if (status != CZR_OK)
        return status;
    l->n = czr_loopback_size(l->loopback);
    l->ranks = calloc((size_t)l->n, sizeof *l->ranks);
    l->results = calloc((size_t)l->n, sizeof *l->results);
    if (!l->ranks || !l->results)
        return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < l->n; i++)
        l->ranks[i] = (rank_run){.common = l->common,
                                 .request = request,
                                 .engine = czr_loopback_engine(l->loopback, i),
                                 .rank = i};
    if (request->say)
        czr_loopback_describe(l->loopback, request->say, request->user);
    return CZR_OK;
}

static czr_status each_rank(loopback_run *l, czr_status (*call)(rank_run *r))
{
    czr_status status = CZR_OK;

    for (int i = 0; i < l->n && status == CZR_OK; i++)
        status = call(&l->ranks[i]);
    return status;
}

/* The host waits for each, so that it can be timed. */
static czr_status take_step(loopback_run *l, int step)
{
    czr_status status = CZR_OK;
    double start;

    for (int i = 0; i < l->n && status == CZR_OK; i++)
        status = cz_rank_give(&l->ranks[i], step);
    if (status != CZR_OK)
        return status;
    start = cz_run_now();
    status = czr_loopback_step(l->loopback, NULL, NULL, l->results);
    if (status == CZR_OK)
        cz_rank_note_step(l->common, step, cz_run_now() - start, l->results);
    return status;
}

static czr_status run_ranks(loopback_run *l)
{
    czr_status status = each_rank(l, cz_rank_prepare);

    for (int i = 0; i < l->common->request->steps && status == CZR_OK; i++)
        status = take_step(l, i);
    if (status == CZR_OK)
        status = each_rank(l, cz_rank_collect);
    return status == CZR_OK ? each_rank(l, cz_rank_compare) : status;
}

/* What is known best: the world's sentence, an engine's, or the device's. */
static void keep_error(const loopback_run *l, czr_status status)
{
    const czr_context *context = l->common->request->gpu->context;
    cz_run_result *result = l->common->result;
    const char *sentence = l->loopback ? czr_loopback_error(l->loopback) : "";

    for (int i = 0; i < l->n && l->ranks && !*sentence; i++)
        if (l->ranks[i].engine)
            sentence = czr_error(l->ranks[i].engine);
    if (!*sentence)
        sentence = context->error;
    snprintf(result->error, sizeof result->error, "%s",
             *sentence ? sentence : czr_status_text(status));
}

czr_status cz_run_loopback(run *common)
{
    loopback_run l = {.common = common};
    czr_status status = open_ranks(&l);

    common->result->is_unopened = status != CZR_OK;
    if (status == CZR_OK)
        status = run_ranks(&l);
    if (status == CZR_OK)
        common->result->graphs = czr_loopback_graphs(l.loopback);
    else
        keep_error(&l, status);
    czr_loopback_close(l.loopback);
    for (int i = 0; i < l.n && l.ranks; i++)
        cz_rank_free(&l.ranks[i]);
    free(l.ranks);
    free(l.results);
    return status;
}
