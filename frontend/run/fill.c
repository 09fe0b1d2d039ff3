/* What a run gives its ranks: parameters, gradients and externs.  Every rank
 * has its own shard, element by element of the whole tensor. */
#include "frontend/run/internal.h"

#include "frontend/run/run.h"

#include "dsl/plan/state.h"

#include <stdlib.h>
#include <string.h>

/* Where the host writes what shall lie `at`: there, or on its way to a GPU.
 * NULL without memory, or for nothing. */
static void *begin_write(const rank_run *r, void *at, size_t bytes)
{
    return r->request->gpu ? cz_run_gpu_buffer(r->request->gpu, bytes) : at;
}

static czr_status end_write(const rank_run *r, void *at, const void *written,
                            size_t bytes)
{
    return r->request->gpu
               ? cz_run_gpu_copy(r->request->gpu, at, written, bytes)
               : CZR_OK;
}

static void store(void *data, czr_dtype dtype, int64_t at, const float *values,
                  int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (dtype == CZR_BF16)
            ((czr_bf16 *)data)[at + i] = czr_f32_to_bf16(values[i]);
        else
            ((float *)data)[at + i] = values[i];
    }
}

static czr_status fill_param(rank_run *r, int param)
{
    const czr_layout_info *layout = &r->layouts[param];
    const char *name = cz_view_name_at(r->request->view, param, r->rank);
    const int64_t length = cz_rank_row_length(layout);
    const size_t bytes =
        (size_t)layout->n * czr_dtype_bytes(layout->param_dtype);
    void *to = begin_write(r, layout->param, bytes);

    if (!to)
        return bytes ? CZR_ERR_NO_MEMORY : CZR_OK;
    for (int64_t i = 0; i < cz_rank_rows(layout); i++) {
        cz_run_initial(r->request, name, cz_rank_row_start(layout, i), length,
                       r->row);
        store(to, layout->param_dtype, i * length, r->row, length);
    }
    return end_write(r, layout->param, to, bytes);
}

/* A leaf, or, where the plan takes one leaf, the mean of all that this rank
 * would hold. */
static void fill_grad_row(rank_run *r, int param, int step, int64_t leaf,
                          int64_t row, void *to)
{
    const cz_plan_view *view = r->request->view;
    const czr_layout_info *layout = &r->layouts[param];
    const cz_fact_reduction *reduction =
        cz_view_pattern_reduction(view, view->params[param].pattern);
    const int64_t mine =
        cz_view_coordinate(view, &reduction->reduce_axes, r->rank) *
        layout->n_grads;
    const int64_t length = cz_rank_row_length(layout);

    cz_run_gradient(r->request, param, cz_view_name_at(view, param, r->rank),
                    step, mine + leaf, cz_rank_row_start(layout, row), length,
                    r->row, r->sum);
    store(to, layout->grad_dtype, row * length, r->sum, length);
}

static czr_status fill_leaf(rank_run *r, int param, int step, int64_t leaf)
{
    const czr_layout_info *layout = &r->layouts[param];
    const size_t element = czr_dtype_bytes(layout->grad_dtype);
    const size_t bytes = (size_t)layout->n * element;
    unsigned char *at = layout->grad;

    if (!bytes)
        return CZR_OK;
    at += (size_t)(leaf * layout->grad_stride) * element;
    void *to = begin_write(r, at, bytes);
    if (!to)
        return CZR_ERR_NO_MEMORY;
    for (int64_t row = 0; row < cz_rank_rows(layout); row++)
        fill_grad_row(r, param, step, leaf, row, to);
    return end_write(r, at, to, bytes);
}

static const cz_fact_rule *rule_of(const cz_plan_view *view, int param)
{
    return view->rules[view->patterns[view->params[param].pattern].rule].fact;
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
        cz_run_extern(r->request, name, rule->states.v[k], step, n, r->row);
        status = czr_extern_set(r->engine, name, rule->states.v[k], r->row,
                                (size_t)n);
    }
    return status;
}

czr_status cz_rank_give(rank_run *r, int step)
{
    const cz_plan_view *view = r->request->view;
    czr_status status = CZR_OK;

    for (int p = 0; p < r->request->view->n_params; p++)
        for (int64_t leaf = 0; leaf < r->layouts[p].n_grads && status == CZR_OK;
             leaf++)
            status = fill_leaf(r, p, step, leaf);

    for (int p = 0; p < view->n_params && status == CZR_OK; p++)
        if (cz_view_is_resident(view, view->params[p].pattern, r->rank))
            status = give_externs_of(r, p, step);
    return status;
}

/* What is resident elsewhere is not here, and has no elements. */
static czr_status find_layouts(rank_run *r, int64_t *longest)
{
    const cz_plan_view *view = r->request->view;

    for (int p = 0; p < view->n_params; p++) {
        czr_layout_info *layout = &r->layouts[p];
        const czr_status status =
            czr_layout(r->engine, cz_view_name_at(view, p, r->rank), layout);
        const bool is_home =
            cz_view_is_resident(view, view->params[p].pattern, r->rank);
        if (status != (is_home ? CZR_OK : CZR_ERR_ELSEWHERE))
            return status == CZR_OK ? CZR_ERR_MISMATCH : status;
        if (is_home && cz_rank_row_length(layout) > *longest)
            *longest = cz_rank_row_length(layout);
    }
    return CZR_OK;
}

czr_status cz_rank_prepare(rank_run *r)
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
        if (!cz_view_is_resident(view, view->params[p].pattern, r->rank))
            continue;
        status = fill_param(r, p);
        if (status == CZR_OK)
            status = czr_bind(r->engine, cz_view_name_at(view, p, r->rank),
                              NULL, NULL);
        if (status != CZR_OK)
            return status;
    }
    return czr_seal(r->engine);
}

void cz_rank_free(rank_run *r)
{
    free(r->layouts);
    free(r->row);
    free(r->sum);
}
