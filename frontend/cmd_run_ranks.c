/* Ranks of a run: fill, step, collect.  Every rank fills and reads its own
 * shard, element by element of the whole tensor. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cmd_run_ranks.h"

#include "frontend/cmd_run_gradient.h"
#include "frontend/cmd_run_internal.h"

#include "dsl/state.h"
#include "runtime/testing.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INITIAL_SCALE 0.02f

static void store(void *data, czr_dtype dtype, int64_t at, const float *values,
                  int64_t n, float scale)
{
    for (int64_t i = 0; i < n; i++) {
        if (dtype == CZR_BF16)
            ((czr_bf16 *)data)[at + i] = czr_f32_to_bf16(values[i] * scale);
        else
            ((float *)data)[at + i] = values[i] * scale;
    }
}

static uint64_t tensor_of(const rank_run *r, int param)
{
    return cz_sample_tensor(cz_view_name_at(r->request->view, param, r->rank));
}

static void fill_param(rank_run *r, int param)
{
    const czr_layout_info *layout = &r->layouts[param];
    const cz_sample sample = {r->request->seed, tensor_of(r, param), -1, -1};
    const int64_t length = cz_rank_row_length(layout);

    for (int64_t i = 0; i < cz_rank_rows(layout); i++) {
        cz_sample_fill(&sample, cz_rank_row_start(layout, i), length, r->row);
        store(layout->param, layout->param_dtype, i * length, r->row, length,
              INITIAL_SCALE);
    }
}

double cz_run_leaf_scale(const cz_plan_view *view,
                         const cz_fact_reduction *reduction,
                         int64_t microbatches)
{
    const int64_t members = cz_view_extent(view, &reduction->reduce_axes);
    const int64_t merged = microbatches / (members * reduction->leaves);

    if (merged == 1)
        return 1;
    return reduction->terms == 1
               ? 1 / (double)merged
               : (double)reduction->terms / (double)microbatches;
}

/* A leaf, or, where the plan takes one leaf, the mean of all that this rank
 * would hold. */
static void fill_grad_row(rank_run *r, int param, int step, int64_t leaf,
                          int64_t row)
{
    const cz_plan_view *view = r->request->view;
    const czr_layout_info *layout = &r->layouts[param];
    const cz_fact_reduction *reduction =
        cz_view_family_reduction(view, view->params[param].family);
    const int64_t members = cz_view_extent(view, &reduction->reduce_axes);
    const int64_t mine = r->request->microbatches / members;
    const int64_t merged = mine / layout->leaves;
    const int64_t length = cz_rank_row_length(layout);
    const int64_t first =
        cz_view_coordinate(view, &reduction->reduce_axes, r->rank) * mine +
        leaf * merged;

    memset(r->sum, 0, (size_t)length * sizeof *r->sum);
    for (int64_t m = 0; m < merged; m++) {
        const cz_sample sample = {r->request->seed, tensor_of(r, param),
                                  first + m, step};
        cz_sample_fill(&sample, cz_rank_row_start(layout, row), length, r->row);
        for (int64_t i = 0; i < length; i++)
            r->sum[i] += r->row[i];
    }
    store(layout->grad, layout->grad_dtype,
          leaf * layout->leaf_stride + row * length, r->sum, length,
          (float)cz_run_leaf_scale(view, reduction, r->request->microbatches));
}

static void fill_grads(rank_run *r, int step)
{
    for (int p = 0; p < r->request->view->n_params; p++)
        for (int64_t leaf = 0; leaf < r->layouts[p].leaves; leaf++)
            for (int64_t row = 0; row < cz_rank_rows(&r->layouts[p]); row++)
                fill_grad_row(r, p, step, leaf, row);
}

static const cz_fact_rule *rule_of(const cz_plan_view *view, int param)
{
    return view->rules[view->families[view->params[param].family].rule].fact;
}

/* Elements of the largest extern. */
static int64_t longest_extern(const cz_plan_view *view)
{
    int64_t longest = 0;

    for (int i = 0; i < view->n_rules; i++) {
        const cz_fact_rule *rule = view->rules[i].fact;
        for (int k = 0; k < rule->states.n; k++)
            if (cz_state_is_extern(rule, k) &&
                cz_state_elements(rule, k) > longest)
                longest = cz_state_elements(rule, k);
    }
    return longest;
}

static czr_status give_externs_of(rank_run *r, int param, int step)
{
    const cz_fact_rule *rule = rule_of(r->request->view, param);
    const char *name = cz_view_name_at(r->request->view, param, r->rank);
    czr_status status = CZR_OK;

    for (int k = 0; k < rule->states.n && status == CZR_OK; k++) {
        if (!cz_state_is_extern(rule, k))
            continue;
        const int64_t n = cz_state_elements(rule, k);
        cz_sample_extern(r->request->seed, name, rule->states.v[k], step, n,
                         r->row);
        status = czr_extern_set(r->engine, name, rule->states.v[k], r->row,
                                (size_t)n);
    }
    return status;
}

static czr_status give_externs(rank_run *r, int step)
{
    const cz_plan_view *view = r->request->view;
    czr_status status = CZR_OK;

    for (int p = 0; p < view->n_params && status == CZR_OK; p++)
        if (cz_view_is_home(view, view->params[p].family, r->rank))
            status = give_externs_of(r, p, step);
    return status;
}

/* What is at home elsewhere is not here, and has no elements. */
static czr_status find_layouts(rank_run *r, int64_t *longest)
{
    const cz_plan_view *view = r->request->view;

    for (int p = 0; p < view->n_params; p++) {
        czr_layout_info *layout = &r->layouts[p];
        const czr_status status =
            czr_layout(r->engine, cz_view_name_at(view, p, r->rank), layout);
        const bool is_home =
            cz_view_is_home(view, view->params[p].family, r->rank);
        if (status != (is_home ? CZR_OK : CZR_ERR_ELSEWHERE))
            return status == CZR_OK ? CZR_ERR_MISMATCH : status;
        if (is_home && cz_rank_row_length(layout) > *longest)
            *longest = cz_rank_row_length(layout);
    }
    return CZR_OK;
}

static czr_status prepare(rank_run *r)
{
    const cz_plan_view *view = r->request->view;
    int64_t longest = 1 + longest_extern(view);
    czr_status status;

    r->layouts = calloc((size_t)view->n_params, sizeof *r->layouts);
    if (!r->layouts)
        return CZR_ERR_NO_MEMORY;
    status = find_layouts(r, &longest);
    if (status != CZR_OK)
        return status;
    r->row = malloc((size_t)longest * sizeof *r->row);
    r->sum = malloc((size_t)longest * sizeof *r->sum);
    if (!r->row || !r->sum)
        return CZR_ERR_NO_MEMORY;
    for (int p = 0; p < view->n_params; p++) {
        if (!cz_view_is_home(view, view->params[p].family, r->rank))
            continue;
        fill_param(r, p);
        status =
            czr_bind(r->engine, cz_view_name_at(view, p, r->rank), NULL, NULL);
        if (status != CZR_OK)
            return status;
    }
    return czr_seal(r->engine);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static czr_status take_steps(rank_run *r)
{
    czr_result result = {0};

    for (int step = 0; step < r->request->steps; step++) {
        double start;
        czr_status status;
        fill_grads(r, step);
        status = give_externs(r, step);
        if (status != CZR_OK)
            return status;
        start = now();
        status = czr_step(r->engine, NULL, NULL, &result);
        if (status != CZR_OK)
            return status;
        if (r->rank != 0)
            continue;
        r->shared->result->seconds += now() - start;
        r->shared->result->norms[step] = result.grad_norm;
        r->shared->result->last = result;
        if (r->request->progress)
            r->request->progress(step, &result, r->request->user);
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
    rank_run r = {.shared = shared, .request = shared->request, .world = world};
    const czr_options options = {.late_device = shared->request->late_device,
                                 .deadline_ms = shared->request->deadline_ms};
    czr_status status;

    r.rank = czr_world_rank(world);
    if (shared->request->planted)
        czr_testing_rank_order_reduction(world, 1);
    status = czr_open(shared->request->program, world, &options, &r.engine);
    if (status == CZR_OK)
        status = prepare(&r);
    if (status == CZR_OK)
        status = take_steps(&r);
    if (status == CZR_OK)
        status = cz_rank_collect(&r);
    if (status != CZR_OK)
        keep_error(&r, status);
    czr_close(r.engine);
    free(r.layouts);
    free(r.row);
    free(r.sum);
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

static void make_tensors(const cz_plan_view *view, cz_arena *arena,
                         cz_run_result *result)
{
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
    make_tensors(view, arena, result);
    result->norms = CZ_NEW(arena, double, request->steps + 1);
    result->updates = CZ_NEW(arena, int64_t, ranks * view->n_params);
    result->whole = CZ_NEW(arena, int64_t, ranks * view->n_params);
    result->sent = CZ_NEW(arena, int64_t, ranks * view->n_ops);
    result->received = CZ_NEW(arena, int64_t, ranks * view->n_ops);
    result->peak_scratch = CZ_NEW(arena, int64_t, ranks);
    pthread_mutex_init(&shared.lock, NULL);
    status = czr_world_threads_run((int)ranks, run_rank, &shared);
    pthread_mutex_destroy(&shared.lock);
    return status;
}
