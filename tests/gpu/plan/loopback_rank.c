/* Tensors of a rank, drawn from counters. */
#include "tests/gpu/plan/loopback_rank.h"

#include "runtime/cuda/exec/rank.h"
#include "runtime/base/memory.h"
#include "tests/gpu/double/fake.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

const uint64_t rank_seed = 2024;
const czr_program *rank_program;
bool rank_has_batches;

/* ---- what a run leaves -------------------------------------------------- */

static void put(trace *t, const void *bytes, size_t n)
{
    if (t->n + n > t->room) {
        t->room = 2 * (t->n + n);
        t->bytes = realloc(t->bytes, t->room);
    }
    if (n && (!t->bytes || !bytes)) {
        printf("no memory\n");
        exit(1);
    }
    if (n) /* a rank may have none of a plan's */
        memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
}

void rank_drop(outcome *out)
{
    for (int rank = 0; rank < RANK_MAX; rank++)
        free(out->of[rank].bytes);
    *out = (outcome){{{0}}};
}

/* ---- a rank's tensors --------------------------------------------------- */

static czr_layout_info layout_of(const czr_engine *engine, int param)
{
    char name[512];
    czr_layout_info info;

    if (czr_param_name(engine, param, name, sizeof name) != CZR_OK ||
        czr_layout(engine, name, &info) != CZR_OK) {
        printf("no layout of parameter %d\n", param);
        exit(1);
    }
    return info;
}

static bool has(int rank, int param)
{
    return czr_program_has_param(rank_program, param, rank);
}

/* By the copier, and waited for. */
static void copy(const run *r, void *to, const void *from, size_t bytes)
{
    if (czr_context_copy(r->context, czr_address_of(to), czr_address_of(from),
                         bytes, r->copier) != CZR_OK ||
        czr_context_synchronize(r->context, r->copier, 0) != CZR_OK) {
        printf("%s\n", r->context->error);
        exit(1);
    }
}

/* Bytes of the device, or of the host as they are. */
static void *reach(const run *r, void *at, size_t bytes)
{
    return r->is_device && bytes ? fake_at(czr_address_of(at), bytes) : at;
}

/* To where a tensor lies. */
static void store(const run *r, void *to, const void *values, size_t bytes)
{
    void *at = r->copier ? NULL : reach(r, to, bytes);

    if (r->copier && bytes)
        copy(r, to, values, bytes);
    else if (at && bytes)
        memcpy(at, values, bytes);
}

static float draw(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = rank_seed + a * UINT64_C(0x9e3779b97f4a7c15) +
                 b * UINT64_C(0xbf58476d1ce4e5b9) +
                 c * UINT64_C(0x94d049bb133111eb);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (float)(int32_t)(x >> 32) * 0x1p-31f;
}

/* Values of element type; step -1: parameters. */
static void fill(void *to, czr_dtype dtype, int64_t n, int rank, int param,
                 int64_t step)
{
    for (int64_t i = 0; i < n; i++) {
        const float x =
            draw((uint64_t)(rank * 4096 + param), (uint64_t)i, (uint64_t)step);
        czr_convert((unsigned char *)to + (size_t)i * czr_dtype_bytes(dtype),
                    dtype, &x, CZR_F32, 1);
    }
}

/* Whose parameters and gradients a rank draws. */
static int source_of(const run *r, int rank)
{
    return r->is_alike ? rank == r->drifted : rank;
}

static czr_status bind_param(run *r, czr_engine *engine, int rank, int param)
{
    char name[512];
    const czr_layout_info info = layout_of(engine, param);
    loose *own = &r->tensors[rank][param];
    const size_t n = (size_t)info.n;

    czr_param_name(engine, param, name, sizeof name);
    if (param % 2 == 0 || r->is_placed)
        return czr_bind(engine, name, NULL, NULL);
    int64_t shape[9] = {info.n_grads};
    const int lead = info.n_grads > 1;
    memcpy(shape + 1, info.shape, sizeof info.shape);
    own->param = calloc(n + 1, czr_dtype_bytes(info.param_dtype));
    own->grad =
        calloc(n * (size_t)info.n_grads + 1, czr_dtype_bytes(info.grad_dtype));
    const czr_tensor tensor = {.data = own->param,
                               .dtype = info.param_dtype,
                               .n_dims = info.n_dims,
                               .shape = shape + 1};
    const czr_tensor grad = {.data = own->grad,
                             .dtype = info.grad_dtype,
                             .n_dims = info.n_dims + lead,
                             .shape = shape + 1 - lead};
    return czr_bind(engine, name, &tensor, &grad);
}

/* A parameter that lies where its engine says. */
static void draw_param(const run *r, const czr_layout_info *info, int rank,
                       int param)
{
    const size_t bytes = (size_t)info->n * czr_dtype_bytes(info->param_dtype);
    unsigned char *values = malloc(bytes + 1);

    if (!values)
        exit(1);
    fill(values, info->param_dtype, info->n, source_of(r, rank), param, -1);
    store(r, info->param, values, bytes);
    free(values);
}

czr_status rank_open(run *r, czr_engine *engine, int rank)
{
    czr_status status = CZR_OK;

    r->tensors[rank] = calloc((size_t)rank_program->n_params, sizeof(loose));
    for (int p = 0; p < rank_program->n_params && status == CZR_OK; p++) {
        if (!has(rank, p))
            continue;
        status = bind_param(r, engine, rank, p);
        const czr_layout_info info = layout_of(engine, p);
        void *own = r->tensors[rank][p].param;
        if (own)
            fill(own, info.param_dtype, info.n, source_of(r, rank), p, -1);
        else
            draw_param(r, &info, rank, p);
    }
    return status == CZR_OK ? czr_seal(engine) : status;
}

void rank_close(run *r, int rank)
{
    for (int p = 0; r->tensors[rank] && p < rank_program->n_params; p++) {
        free(r->tensors[rank][p].param);
        free(r->tensors[rank][p].grad);
        czr_context_free_pinned(r->context, r->tensors[rank][p].seen);
    }
    free(r->tensors[rank]);
    r->tensors[rank] = NULL;
}

/* ---- before a step ------------------------------------------------------ */

static int last_param(int rank)
{
    int last = rank_program->n_params - 1;

    while (last > 0 && !has(rank, last))
        last--;
    return last;
}

static bool is_reported(const run *r, int param, int step)
{
    return r->is_early && (step % 2 || (step + param) % 3);
}

void *rank_stream(const run *r)
{
    return r->stream || r->is_legacy ? r->stream : CZR_NO_STREAM;
}

static void *stream_of(const run *r, int param, int step)
{
    return r->side && param % 2 && is_reported(r, param, step) ? r->side
                                                               : rank_stream(r);
}

/* One leaf of a gradient to where it lies, behind a trainer's stream where
 * there is one. */
static czr_status give_leaf(run *r, const czr_layout_info *info, void *to,
                            const void *values, void *stream)
{
    const size_t bytes = (size_t)info->n * czr_dtype_bytes(info->grad_dtype);

    if (r->is_device && stream != CZR_NO_STREAM)
        return czr_context_copy(r->context, czr_address_of(to),
                                czr_address_of(values), bytes, stream);
    store(r, to, values, bytes);
    return CZR_OK;
}

/* The same on all ranks. */
static bool has_zeros(const run *r, int param, int step)
{
    return r->is_failing && ((step == RANK_BAD_STEP && param % 7 == 4) ||
                             (step == RANK_BAD_STEP + 1 && param % 3 == 1));
}

static czr_status give_grad(run *r, const czr_engine *engine, int rank,
                            int param, int step)
{
    const czr_layout_info info = layout_of(engine, param);
    const size_t bytes = (size_t)info.n * czr_dtype_bytes(info.grad_dtype);
    unsigned char *own = r->tensors[rank][param].grad;
    unsigned char *values = malloc(bytes + 1);
    czr_status status = CZR_OK;

    for (int64_t leaf = 0; leaf < info.n_grads && status == CZR_OK; leaf++) {
        fill(values, info.grad_dtype, info.n, source_of(r, rank), param,
             step * 64 + leaf);
        if (has_zeros(r, param, step))
            memset(values, 0, bytes);
        if (r->has_bad_step && step == RANK_BAD_STEP &&
            param == last_param(rank) && rank % 2 && leaf == 0 && info.n > 0)
            czr_fill(values, info.grad_dtype, (double)NAN, 1);
        if (own)
            memcpy(own + (size_t)leaf * bytes, values, bytes);
        else
            status = give_leaf(r, &info,
                               (unsigned char *)info.grad +
                                   (size_t)(leaf * info.grad_stride) *
                                       czr_dtype_bytes(info.grad_dtype),
                               values, stream_of(r, param, step));
    }
    free(values);
    return status;
}

static czr_status give_externs(czr_engine *engine, int step)
{
    char name[512];
    czr_status status = CZR_OK;

    for (int i = 0; i < czr_extern_count(engine) && status == CZR_OK; i++) {
        czr_extern_info info;
        czr_extern_get(engine, i, &info);
        czr_param_name(engine, info.param, name, sizeof name);
        const size_t n = (size_t)(info.rows * info.columns);
        float *values = calloc(n + 1, sizeof *values);
        for (size_t k = 0; k < n; k++)
            values[k] =
                0.5f + fabsf(draw((uint64_t)info.param, k, (uint64_t)step));
        status = czr_extern_set(engine, name, info.name, values, n);
        free(values);
    }
    return status;
}

/* What a hook of a trainer's does, on a thread of its own. */
typedef struct hook {
    czr_engine *engine;
    int param;
    void *stream;
    czr_status status;
} hook;

static void *run_hook(void *argument)
{
    hook *h = argument;

    h->status = czr_grad_ready(h->engine, h->param, h->stream);
    return NULL;
}

static czr_status tell(const run *r, czr_engine *engine, int param, int step)
{
    hook h = {engine, param, stream_of(r, param, step), CZR_OK};
    pthread_t thread;

    if (!r->has_hooks || param % 3)
        run_hook(&h);
    else if (pthread_create(&thread, NULL, run_hook, &h) != 0 ||
             pthread_join(thread, NULL) != 0)
        exit(1);
    return h.status;
}

czr_status rank_give(run *r, czr_engine *engine, int rank, int step)
{
    czr_status status = give_externs(engine, step);

    /* As a trainer does that goes on from a checkpoint. */
    if (status == CZR_OK && step == RANK_SET_STEP && !r->is_failing &&
        !r->has_bad_step)
        status = czr_step_set(engine, RANK_SET_TO);
    if (status == CZR_OK && r->side)
        status = czr_param_wait(engine, 0, r->side);
    for (int p = rank_program->n_params - 1; p >= 0 && status == CZR_OK; p--) {
        if (!has(rank, p))
            continue;
        if (step == 0 || !r->is_constant)
            status = give_grad(r, engine, rank, p, step);
        if (status == CZR_OK && is_reported(r, p, step))
            status = tell(r, engine, p, step);
    }
    return status;
}

czr_hyper rank_hyper(const run *r, int step, double values[RANK_MAX_HYPERS])
{
    const double times = r->is_failing && step == RANK_WILD_STEP ? 1e38 : 1;

    for (int i = 0; i < rank_program->n_hypers; i++)
        values[i] =
            times * (rank_program->hypers[i].has_default
                         ? rank_program->hypers[i].value * (1 - step * 0.01)
                         : 0.01 / (step + 1));
    return (czr_hyper){values, (size_t)rank_program->n_hypers};
}

/* ---- behind it ---------------------------------------------------------- */

bool rank_is_refusal(const run *r, czr_status status)
{
    return status == CZR_ERR_GRADIENT ||
           (r->is_failing &&
            (status == CZR_ERR_PARAM || (status >= CZR_ERR_NOT_FINITE &&
                                         status <= CZR_ERR_NO_CONVERGENCE)));
}

void rank_note_step(const run *r, const czr_engine *engine, trace *t,
                    czr_status status, const czr_result *result)
{
    const int64_t words[] = {status, status == CZR_OK ? result->skipped : 1};
    char text[RANK_TEXT] = "";

    if (r->is_failing && status != CZR_OK)
        snprintf(text, sizeof text, "%.*s", RANK_TEXT - 1, czr_error(engine));
    put(t, words, sizeof words);
    /* Processors differ in the sign of the NaN that they make. */
    const double norm =
        isnan(result->grad_norm) ? (double)NAN : result->grad_norm;
    put(t, &norm, sizeof norm);
    put(t, &result->step, sizeof result->step);
    put(t, text, sizeof text);
}

static void note_memory(run *r, trace *t, void *at, size_t bytes)
{
    unsigned char *values = r->copier ? malloc(bytes + 1) : NULL;

    if (values && bytes)
        copy(r, values, at, bytes);
    if (bytes)
        put(t, values ? values : reach(r, at, bytes), bytes);
    free(values);
}

/* Skipped steps make the device's counters differ. */
static void note_counters(const run *r, czr_engine *engine, trace *t)
{
    czr_counters counters;
    const size_t n_params = (size_t)rank_program->n_params;
    const size_t n_ops = (size_t)rank_program->n_ops;

    if (czr_counters_get(engine, &counters) != CZR_OK)
        exit(1);
    if (!rank_has_batches)
        put(t, &counters.peak_scratch_bytes, sizeof(int64_t));
    put(t, &counters.step_allocations, sizeof(int64_t));
    if (r->has_bad_step || r->is_failing)
        return;
    put(t, counters.updates, n_params * sizeof(int64_t));
    put(t, counters.full_matrix, n_params * sizeof(int64_t));
    put(t, counters.bytes_sent, n_ops * sizeof(int64_t));
    put(t, counters.bytes_received, n_ops * sizeof(int64_t));
}

/* Buckets that are not there yet, or parts of them. */
static int count_pending(const run *r, const czr_engine *engine)
{
    const czr_cuda_param_ready *param_ready = &engine->cuda->param_ready;
    int n = 0;

    for (int op = 0; op < param_ready->n_ops; op++)
        n += param_ready->events[op] &&
             r->context->driver->event_query(param_ready->events[op]) ==
                 CZR_CUDA_NOT_READY;
    return n;
}

static czr_status read_param(run *r, czr_engine *engine, int rank, int param,
                             void *stream)
{
    const czr_layout_info info = layout_of(engine, param);
    const size_t bytes = (size_t)info.n * czr_dtype_bytes(info.param_dtype);
    void *seen;

    czr_status status = czr_param_wait(engine, param, stream);
    if (status == CZR_OK)
        status = czr_context_alloc_pinned(r->context, bytes + 1, &seen);
    if (status != CZR_OK)
        return status;
    r->tensors[rank][param].seen = seen;
    if (bytes)
        status = czr_context_copy(r->context, czr_address_of(seen),
                                  czr_address_of(info.param), bytes, stream);
    return status == CZR_OK ? czr_context_synchronize(r->context, stream, 0)
                            : status;
}

/* The last operation that its bucket waits for, or -1. */
static int last_of(const czr_engine *engine, int param)
{
    const czr_cuda_param_ready *param_ready = &engine->cuda->param_ready;
    const int n = param_ready->n_streams;
    int last = -1;

    for (int i = 0; i < n; i++) {
        const int op =
            param_ready->lasts[rank_program->places[param].bucket * n + i];
        last = op > last ? op : last;
    }
    return last;
}

/* Buckets in the order of the list. */
czr_status rank_read(run *r, czr_engine *engine, int rank)
{
    void *stream;
    czr_status status = czr_context_open_stream(r->context, &stream);

    fake_be_lazy();
    for (int op = -1; op < rank_program->n_ops; op++)
        for (int p = 0; p < rank_program->n_params && status == CZR_OK; p++) {
            if (!has(rank, p) || r->tensors[rank][p].param ||
                last_of(engine, p) != op)
                continue;
            status = read_param(r, engine, rank, p, stream);
            r->n_ahead += count_pending(r, engine);
        }
    czr_context_close_stream(r->context, stream);
    return status;
}

void rank_note(run *r, czr_engine *engine, int rank, trace *t)
{
    for (int p = 0; p < rank_program->n_params; p++) {
        if (!has(rank, p))
            continue;
        const czr_layout_info info = layout_of(engine, p);
        const size_t bytes = (size_t)info.n * czr_dtype_bytes(info.param_dtype);
        const loose *own = &r->tensors[rank][p];
        if (own->param || own->seen)
            put(t, own->param ? own->param : own->seen, bytes);
        else
            note_memory(r, t, info.param, bytes);
    }
    for (int i = 0; i < czr_state_count(engine); i++) {
        czr_state state;
        if (czr_state_get(engine, i, &state) != CZR_OK)
            exit(1);
        note_memory(r, t, state.data,
                    (size_t)state.n * czr_dtype_bytes(state.dtype));
    }
    note_counters(r, engine, t);
}
