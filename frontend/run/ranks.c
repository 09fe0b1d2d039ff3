/* Ranks of a run, each on a thread: fill, step, collect. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/run/run.h"

#include "frontend/run/internal.h"

#include "dsl/plan/state.h"
#include "runtime/base/testing.h"

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

void cz_rank_note_step(const run *shared, int step, double seconds,
                       const czr_result *result)
{
    const cz_run_request *request = shared->request;
    cz_run_result *out = shared->result;

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
            cz_rank_note_step(r->shared, step, cz_run_now() - start, &result);
    }
    return CZR_OK;
}

static void keep_error(rank_run *r, czr_status status)
{
    cz_run_result *result = r->shared->result;
    const char *sentence = r->engine ? czr_error(r->engine) : "";

    pthread_mutex_lock(&r->shared->lock);
    if (status != CZR_ERR_ABORTED && !*result->error)
        snprintf(result->error, sizeof result->error, "%s",
                 *sentence ? sentence : czr_status_text(status));
    pthread_mutex_unlock(&r->shared->lock);
}

static czr_status run_rank(czr_world *world, void *user)
{
    run *shared = user;
    rank_run r = {.shared = shared, .request = shared->request};
    const czr_options options = {.late_device = shared->request->late_device,
                                 .deadline_ms = shared->request->deadline_ms};
    czr_status status;

    r.rank = czr_world_rank(world);
    if (shared->request->planted)
        czr_testing_rank_order_reduction(world, 1);
    status = czr_open(shared->request->program, world, &options, &r.engine);
    if (status == CZR_OK)
        status = cz_rank_prepare(&r);
    if (status == CZR_OK)
        status = take_steps(&r);
    if (status == CZR_OK)
        status = cz_rank_collect(&r);
    if (status == CZR_OK)
        status = czr_world_barrier(world);
    if (status == CZR_OK)
        status = cz_rank_compare(&r);
    if (status != CZR_OK)
        keep_error(&r, status);
    czr_close(r.engine);
    cz_rank_free(&r);
    return status;
}

/* One at each coordinate of the parameter's spread. */
static void add_tensors(const cz_plan_view *view, cz_arena *arena,
                        cz_run_result *result, int param, const char *state,
                        int64_t n_bytes)
{
    const cz_view_param *p = &view->params[param];
    const cz_view_family *family = &view->families[p->family];

    for (int64_t c = 0; c < family->n_spread; c++)
        *CZ_PUSH(arena, result->tensors, result->n_tensors) = (cz_run_tensor){
            p->names[c], state, n_bytes, CZ_NEW(arena, unsigned char, n_bytes)};
}

czr_status cz_run_ranks(const cz_run_request *request, cz_arena *arena,
                        cz_run_result *result)
{
    const cz_plan_view *view = request->view;
    const int64_t ranks = view->n_ranks;
    run shared = {.request = request, .result = result};
    czr_status status;

    *result = (cz_run_result){0};
    result->first_tensor = CZ_NEW(arena, int, view->n_params);
    for (int p = 0; p < view->n_params; p++) {
        const cz_view_family *family = &view->families[view->params[p].family];
        result->first_tensor[p] = result->n_tensors;
        add_tensors(view, arena, result, p, NULL,
                    family->elements * cz_dtype_bytes(family->dtype));
    }
    for (int p = 0; p < view->n_params; p++) {
        const cz_view_family *family = &view->families[view->params[p].family];
        const cz_fact_rule *rule = view->rules[family->rule].fact;
        for (int s = 0; s < rule->states.n; s++) {
            if (cz_state_is_extern(rule, s))
                continue;
            const int64_t n = cz_state_is_whole(rule, s)
                                  ? cz_state_elements(rule, s)
                                  : family->elements;
            add_tensors(
                view, arena, result, p, rule->states.v[s],
                n * cz_dtype_bytes(view->rules[family->rule].states[s]));
        }
    }
    result->norms = CZ_NEW(arena, double, request->steps + 1);
    result->updates = CZ_NEW(arena, int64_t, ranks * view->n_params);
    result->whole = CZ_NEW(arena, int64_t, ranks * view->n_params);
    result->sent = CZ_NEW(arena, int64_t, ranks * view->n_ops);
    result->received = CZ_NEW(arena, int64_t, ranks * view->n_ops);
    result->peak_scratch = CZ_NEW(arena, int64_t, ranks);
    pthread_mutex_init(&shared.lock, NULL);
    status = request->gpu
                 ? cz_run_loopback(&shared)
                 : czr_world_threads_run((int)ranks, run_rank, &shared);
    pthread_mutex_destroy(&shared.lock);
    return status;
}
