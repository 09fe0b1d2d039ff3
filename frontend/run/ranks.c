/* Ranks of a run, each on a thread: fill, step, collect. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/run/run.h"

#include "frontend/run/internal.h"

#include "dsl/plan/state.h"
#include "runtime/base/testing.h"
#include "runtime/world/world.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double cz_run_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void cz_rank_note_step(const run *common, int step, double seconds,
                       const czr_result *result)
{
    const cz_run_request *request = common->request;
    cz_run_result *out = common->result;

    out->seconds += seconds;
    if (step == 0)
        out->first_seconds = seconds;
    out->norms[step] = result->grad_norm;
    out->last = *result;
    if (request->progress)
        request->progress(step, result, request->user);
}

static czr_status take_steps(rank_run *r)
{
    czr_result result = {0};

    for (int step = 0; step < r->request->steps; step++) {
        double start;
        czr_status status = cz_rank_give(r, step);
        if (status != CZR_OK)
            return status;
        start = cz_run_now();
        status = czr_step(r->engine, NULL, NULL, &result);
        if (status != CZR_OK)
            return status;
        if (r->rank == 0)
            cz_rank_note_step(r->common, step, cz_run_now() - start, &result);
    }
    return CZR_OK;
}

static void keep_error(rank_run *r, czr_status status)
{
    cz_run_result *result = r->common->result;
    const char *sentence = r->engine ? czr_error(r->engine) : "";

    pthread_mutex_lock(&r->common->lock);
    if ((r->request->world || status != CZR_ERR_ABORTED) && !*result->error)
        snprintf(result->error, sizeof result->error, "%s",
                 *sentence ? sentence : czr_status_text(status));
    pthread_mutex_unlock(&r->common->lock);
}

/* ---- processes: what each has written, to all --------------------------- */

czr_status cz_run_join(czr_world *world, void *data, size_t bytes)
{
    const size_t n = bytes / sizeof(int64_t) + 1;
    int64_t *words = calloc(n, sizeof *words);
    char why[CZR_WHY_BYTES];

    if (!words)
        return CZR_ERR_NO_MEMORY;
    if (bytes)
        memcpy(words, data, bytes);
    const czr_collective collective = {
        .kind = CZR_COLLECTIVE_ALL_REDUCE,
        .op = -1,
        .of.all_reduce = {.data = words, .count = n, .type = CZR_SUM_I64}};
    const czr_status status =
        czr_comm_run(world->everyone[CZR_CHANNEL_TRAINER], &collective, why);
    if (status == CZR_OK && bytes)
        memcpy(data, words, bytes);
    free(words);
    return status;
}

czr_status cz_run_join_results(rank_run *r)
{
    const cz_plan_view *view = r->request->view;
    cz_run_result *result = r->common->result;
    czr_world *world = r->request->world;
    const size_t ranks = (size_t)view->n_ranks;
    const size_t params = ranks * (size_t)view->n_params * sizeof(int64_t);
    const size_t ops = ranks * (size_t)view->n_ops * sizeof(int64_t);
    const struct {
        void *data;
        size_t bytes;
    } counts[] = {{result->updates, params},
                  {result->full_matrix, params},
                  {result->sent, ops},
                  {result->received, ops},
                  {result->peak_scratch, ranks * sizeof(int64_t)},
                  {&result->allocations, sizeof result->allocations}};
    czr_status status = CZR_OK;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (status == CZR_OK)
            status = cz_run_join(world, counts[i].data, counts[i].bytes);
    for (int i = 0; i < result->n_tensors && status == CZR_OK; i++)
        status = cz_run_join(world, result->tensors[i].bytes,
                             (size_t)result->tensors[i].n_bytes);
    if (status == CZR_OK)
        status = cz_rank_compare(r);
    return status == CZR_OK ? cz_run_join(world, &result->replica_mismatches,
                                          sizeof result->replica_mismatches)
                            : status;
}

static czr_status run_rank(czr_world *world, void *user)
{
    run *common = user;
    rank_run r = {.common = common, .request = common->request};
    const czr_options options = {.late_device = common->request->late_device,
                                 .deadline_ms = common->request->deadline_ms};
    czr_status status;

    r.rank = czr_world_rank(world);
    if (common->request->planted)
        czr_testing_rank_order_reduction(world, 1);
    status = czr_open(common->request->program, world, &options, &r.engine);
    if (status == CZR_OK)
        status = cz_rank_prepare(&r);
    if (status == CZR_OK)
        status = take_steps(&r);
    if (status == CZR_OK)
        status = cz_rank_collect(&r);
    if (status == CZR_OK && common->request->world) {
        status = cz_run_join_results(&r);
    } else if (status == CZR_OK) {
        status = czr_world_barrier(world);
        if (status == CZR_OK)
            status = cz_rank_compare(&r);
    }
    if (status != CZR_OK)
        keep_error(&r, status);
    czr_close(r.engine);
    cz_rank_free(&r);
    return status;
}

/* One at each coordinate of the parameter's spread. */
static void add_tensors(const cz_plan_view *view, cz_arena *arena,
                        cz_run_result *result, int param, cz_run_tensor tensor)
{
    const cz_view_param *p = &view->params[param];
    const cz_view_pattern *pattern = &view->patterns[p->pattern];

    tensor.n_bytes = cz_dtype_bytes(tensor.dtype);
    for (int d = 0; d < tensor.n_dims; d++)
        tensor.n_bytes *= tensor.shape[d];
    for (int64_t c = 0; c < pattern->expert_extent; c++) {
        tensor.name = p->names[c];
        tensor.bytes = CZ_NEW(arena, unsigned char, tensor.n_bytes);
        *CZ_PUSH(arena, result->tensors, result->n_tensors) = tensor;
    }
}

czr_status cz_run_ranks(const cz_run_request *request, cz_arena *arena,
                        cz_run_result *result)
{
    const cz_plan_view *view = request->view;
    const int64_t ranks = view->n_ranks;
    run common = {.request = request, .result = result};
    czr_status status;

    *result = (cz_run_result){0};
    result->first_tensor = CZ_NEW(arena, int, view->n_params);
    for (int p = 0; p < view->n_params; p++) {
        const cz_view_pattern *pattern =
            &view->patterns[view->params[p].pattern];
        result->first_tensor[p] = result->n_tensors;
        add_tensors(view, arena, result, p,
                    (cz_run_tensor){.dtype = pattern->dtype,
                                    .n_dims = pattern->n_dims,
                                    .shape = pattern->fact->shape.v});
    }
    for (int p = 0; p < view->n_params; p++) {
        const cz_view_pattern *pattern =
            &view->patterns[view->params[p].pattern];
        const cz_fact_rule *rule = view->rules[pattern->rule].fact;
        for (int s = 0; s < rule->states.n; s++) {
            if (cz_state_is_extern(rule, s))
                continue;
            const bool is_owned = cz_state_is_owned(rule, s);
            add_tensors(
                view, arena, result, p,
                (cz_run_tensor){.state = rule->states.v[s],
                                .dtype = view->rules[pattern->rule].states[s],
                                .n_dims = is_owned ? 2 : pattern->n_dims,
                                .shape = is_owned ? cz_state_shape(rule, s)
                                                  : pattern->fact->shape.v});
        }
    }
    result->norms = CZ_NEW(arena, double, request->steps + 1);
    result->updates = CZ_NEW(arena, int64_t, ranks * view->n_params);
    result->full_matrix = CZ_NEW(arena, int64_t, ranks * view->n_params);
    result->sent = CZ_NEW(arena, int64_t, ranks * view->n_ops);
    result->received = CZ_NEW(arena, int64_t, ranks * view->n_ops);
    result->peak_scratch = CZ_NEW(arena, int64_t, ranks);
    pthread_mutex_init(&common.lock, NULL);
    if (request->gpu)
        status =
            request->world ? cz_run_process(&common) : cz_run_loopback(&common);
    else if (request->world)
        status = run_rank(request->world, &common);
    else
        status = czr_world_threads_run((int)ranks, run_rank, &common);
    pthread_mutex_destroy(&common.lock);
    return status;
}
