/* What came out of a run: shards put together to whole tensors, replicas
 * compared, counters copied. */
#include "frontend/run/internal.h"

#include <string.h>

int64_t cz_rank_rows(const czr_layout_info *layout)
{
    return layout->n ? layout->n / layout->shape[layout->n_dims - 1] : 0;
}

int64_t cz_rank_row_length(const czr_layout_info *layout)
{
    return layout->n_dims ? layout->shape[layout->n_dims - 1] : 0;
}

/* The element of the whole tensor at the start of a row of the shard. */
int64_t cz_rank_row_start(const czr_layout_info *layout, int64_t row)
{
    const int last = layout->n_dims - 1;
    int64_t element = layout->start[last];
    int64_t pitch = layout->global[last];

    for (int d = last - 1; d >= 0; d--) {
        element += (layout->start[d] + row % layout->shape[d]) * pitch;
        row /= layout->shape[d];
        pitch *= layout->global[d];
    }
    return element;
}

/* Copy bytes of the shard's elements [first, first + n) to their place in the
 * whole tensor, or count how many differ there. */
static int64_t exchange(const czr_layout_info *layout, const void *data,
                        int64_t first, int64_t n, size_t element,
                        unsigned char *whole, bool compare)
{
    const int64_t length = cz_rank_row_length(layout);
    int64_t differing = 0;

    for (int64_t i = first; length > 0 && i < first + n;) {
        const int64_t column = i % length;
        const int64_t left = first + n - i;
        const int64_t run_length =
            length - column < left ? length - column : left;
        unsigned char *place =
            whole +
            (size_t)(cz_rank_row_start(layout, i / length) + column) * element;
        const unsigned char *mine =
            (const unsigned char *)data + (size_t)(i - first) * element;
        const size_t bytes = (size_t)run_length * element;
        if (!compare)
            memcpy(place, mine, bytes);
        else if (memcmp(place, mine, bytes) != 0)
            differing += (int64_t)bytes;
        i += run_length;
    }
    return differing;
}

/* Of all ranks that hold a shard alike, the first writes it down. */
static bool is_first_replica(rank_run *r, int param, const cz_ints *split)
{
    const cz_plan_view *view = r->request->view;
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints axes = cz_view_axes_of(
        view, cz_view_distinct_set(view, view->params[param].pattern), storage);
    int64_t rank =
        cz_view_resident_rank(view, view->params[param].pattern, 0, 0);

    rank = cz_view_rank_at(view, &axes,
                           cz_view_coordinate(view, &axes, r->rank), rank);
    if (split)
        rank = cz_view_rank_at(view, split,
                               cz_view_coordinate(view, split, r->rank), rank);
    return rank == r->rank;
}

/* Which of a parameter's tensors this rank has. */
static int64_t spread_of(const rank_run *r, int param)
{
    const cz_plan_view *view = r->request->view;
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints axes = cz_view_axes_of(
        view, view->patterns[view->params[param].pattern].fact->expert_axes,
        storage);
    return cz_view_coordinate(view, &axes, r->rank);
}

/* For the host to read. */
static czr_status fetch(const rank_run *r, const void *at, size_t bytes,
                        const void **out)
{
    cz_run_gpu *gpu = r->request->gpu;
    void *room;

    *out = at;
    if (!gpu || !bytes)
        return CZR_OK;
    *out = room = cz_run_gpu_buffer(gpu, bytes);
    return room ? cz_run_gpu_copy(gpu, room, at, bytes) : CZR_ERR_NO_MEMORY;
}

static czr_status collect_params(rank_run *r, bool compare, int64_t *differing)
{
    const cz_run_result *result = r->common->result;

    for (int p = 0; p < r->request->view->n_params; p++) {
        const czr_layout_info *layout = &r->layouts[p];
        const size_t element = czr_dtype_bytes(layout->param_dtype);
        const void *data;
        if (!compare && !is_first_replica(r, p, NULL))
            continue;
        const czr_status status =
            fetch(r, layout->param, (size_t)layout->n * element, &data);
        if (status != CZR_OK)
            return status;
        *differing += exchange(
            layout, data, 0, layout->n, element,
            result->tensors[result->first_tensor[p] + spread_of(r, p)].bytes,
            compare);
    }
    return CZR_OK;
}

static unsigned char *whole_state(rank_run *r, const czr_state *state)
{
    const cz_run_result *result = r->common->result;
    const char *name = cz_view_name_at(r->request->view, state->param, r->rank);

    for (int i = 0; i < result->n_tensors; i++)
        if (result->tensors[i].state && result->tensors[i].name == name &&
            strcmp(result->tensors[i].state, state->name) == 0)
            return result->tensors[i].bytes;
    return NULL;
}

static czr_status collect_state(rank_run *r, const czr_state *state,
                                bool compare, int64_t *differing)
{
    unsigned char *whole = whole_state(r, state);
    /* A state in one piece, as a tensor that nothing shards. */
    const czr_layout_info piece =
        (czr_layout_info){.n = state->n,
                          .n_dims = 2,
                          .shape = {state->rows, state->columns},
                          .global = {state->rows, state->columns}};
    const cz_plan_view *view = r->request->view;
    const cz_ints *split =
        &cz_view_pattern_reduction(view, view->params[state->param].pattern)
             ->split_axes;
    const size_t element = czr_dtype_bytes(state->dtype);
    const void *data;

    if (!whole || !state->n ||
        (!compare && !is_first_replica(r, state->param, split)))
        return CZR_OK;
    const czr_status status =
        fetch(r, state->data, (size_t)state->n * element, &data);
    if (status == CZR_OK)
        *differing +=
            exchange(state->rows > 0 ? &piece : &r->layouts[state->param], data,
                     state->first, state->n, element, whole, compare);
    return status;
}

static czr_status collect_states(rank_run *r, bool compare, int64_t *differing)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < czr_state_count(r->engine) && status == CZR_OK; i++) {
        czr_state state;
        status = czr_state_get(r->engine, i, &state);
        if (status == CZR_OK)
            status = collect_state(r, &state, compare, differing);
    }
    return status;
}

static czr_status collect_counters(rank_run *r)
{
    const cz_plan_view *view = r->request->view;
    cz_run_result *result = r->common->result;
    const size_t params = (size_t)view->n_params, ops = (size_t)view->n_ops;
    const size_t rank = (size_t)r->rank;
    czr_counters counters;
    const czr_status status = czr_counters_get(r->engine, &counters);

    if (status != CZR_OK)
        return status;
    memcpy(result->updates + rank * params, counters.updates,
           params * sizeof *counters.updates);
    memcpy(result->full_matrix + rank * params, counters.full_matrix,
           params * sizeof *counters.full_matrix);
    memcpy(result->sent + rank * ops, counters.bytes_sent,
           ops * sizeof *counters.bytes_sent);
    memcpy(result->received + rank * ops, counters.bytes_received,
           ops * sizeof *counters.bytes_received);
    result->peak_scratch[rank] = counters.peak_scratch_bytes;
    pthread_mutex_lock(&r->common->lock);
    result->allocations += counters.step_allocations;
    pthread_mutex_unlock(&r->common->lock);
    return CZR_OK;
}

static czr_status collect_tensors(rank_run *r, bool compare)
{
    int64_t differing = 0;
    czr_status status = collect_params(r, compare, &differing);

    if (status == CZR_OK)
        status = collect_states(r, compare, &differing);
    pthread_mutex_lock(&r->common->lock);
    r->common->result->replica_mismatches += differing;
    pthread_mutex_unlock(&r->common->lock);
    return status;
}

czr_status cz_rank_collect(rank_run *r)
{
    const czr_status status = collect_counters(r);

    return status == CZR_OK ? collect_tensors(r, false) : status;
}

czr_status cz_rank_compare(rank_run *r)
{
    return collect_tensors(r, true);
}
