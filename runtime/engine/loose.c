/* Tensors of the caller that do not lie in the engine's buffers: used where
 * they are, or copied in and out by each step; and checked once for sharing
 * memory. */
#include "runtime/engine/engine.h"
#include "runtime/world/sum.h"

#include <stdlib.h>

#include "runtime/base/memory.h"

/* A tensor as equal runs of contiguous elements: `run` elements each, reached
 * by counting through the outer dimensions.  Neighbouring runs of the innermost
 * of these may be contiguous too, as far as a block goes. */
typedef struct runs {
    int n_outer;
    int64_t run, n; /* elements of a run, how many runs */
} runs;

static runs runs_of(const czr_loose *loose)
{
    runs result = {.n_outer = loose->n_dims, .run = 1, .n = 1};

    while (result.n_outer > 0) {
        const int d = result.n_outer - 1;
        if (loose->blocks[d].block ||
            (loose->shape[d] != 1 && loose->strides[d] != result.run))
            break;
        result.run *= loose->shape[d];
        result.n_outer--;
    }
    for (int d = 0; d < result.n_outer; d++)
        result.n *= loose->shape[d];
    if (result.run == 0)
        result.n = 0;
    return result;
}

static int64_t place_in(const czr_loose *loose, int d, int64_t i)
{
    const czr_blocks *blocks = &loose->blocks[d];
    const int64_t at = blocks->phase + i;

    return blocks->block ? at / blocks->block * blocks->jump +
                               at % blocks->block * loose->strides[d]
                         : i * loose->strides[d];
}

/* The element where run number `i` starts. */
static int64_t start_of(const czr_loose *loose, const runs *cut, int64_t i)
{
    int64_t start = loose->origin;

    for (int d = cut->n_outer - 1; d >= 0; d--) {
        start += place_in(loose, d, i % loose->shape[d]);
        i /= loose->shape[d];
    }
    return start;
}

/* How many runs from number `i` on are contiguous. */
static int64_t n_contiguous(const czr_loose *loose, const runs *cut, int64_t i)
{
    const int d = cut->n_outer - 1;

    if (d < 0 || !loose->blocks[d].block || loose->strides[d] != cut->run)
        return 1;
    const int64_t at = i % loose->shape[d];
    const int64_t block = loose->blocks[d].block;
    const int64_t in_block = block - (loose->blocks[d].phase + at) % block;
    const int64_t left = loose->shape[d] - at;
    return in_block < left ? in_block : left;
}

/* The tensor without the dimension of its leaves. */
static czr_loose leaf_of(const czr_loose *loose, int lead)
{
    czr_loose leaf = *loose;

    leaf.n_dims -= lead;
    for (int d = 0; d < leaf.n_dims; d++) {
        leaf.shape[d] = loose->shape[d + lead];
        leaf.strides[d] = loose->strides[d + lead];
        leaf.blocks[d] = loose->blocks[d + lead];
    }
    return leaf;
}

/* ---- used where they are ------------------------------------------------ */

void czr_loose_prepare(czr_engine *engine)
{
    const czr_program *program = engine->program;

    for (int b = 0; b < program->n_buckets; b++) {
        const bool stays =
            !engine->cuda && !program->buckets[b].is_equal; /* no exchange */
        engine->spaces[b].holds_grad = !stays;
        /* What is undone is kept by buckets. */
        engine->spaces[b].holds_param = !stays || engine->undoes;
    }
    for (int op = 0; op < program->n_ops; op++) {
        const czr_op *row = &program->ops[op];
        const bool reduces = row->kind == CZR_REDUCE_SCATTER;
        if ((!reduces && row->kind != CZR_ALL_GATHER) ||
            engine->comms[op]->size == 1)
            continue;
        if (reduces)
            engine->spaces[row->bucket].holds_grad = true;
        else
            engine->spaces[row->bucket].holds_param = true;
    }
}

/* Where a tensor of one run begins that kernels can read; else NULL. */
static unsigned char *find_run(const czr_loose *loose, size_t element)
{
    const runs cut = runs_of(loose);

    if (!loose->data || cut.n == 0 || n_contiguous(loose, &cut, 0) != cut.n ||
        (uintptr_t)loose->data % element)
        return NULL;
    return loose->data +
           (ptrdiff_t)element * (ptrdiff_t)start_of(loose, &cut, 0);
}

void czr_loose_use(czr_engine *engine, int param)
{
    const int b = engine->program->places[param].bucket;
    const czr_bucket *bucket = &engine->program->buckets[b];
    czr_binding *binding = &engine->bindings[param];
    const czr_loose leaf = leaf_of(&binding->grad, bucket->n_grads > 1);

    binding->param.used =
        engine->spaces[b].holds_param
            ? NULL
            : find_run(&binding->param, czr_dtype_bytes(bucket->dtype));
    binding->grad.used =
        engine->spaces[b].holds_grad
            ? NULL
            : find_run(&leaf, czr_dtype_bytes(bucket->grad_dtype));
}

unsigned char *czr_param_at(const czr_engine *engine, int param, int64_t offset)
{
    const czr_program *program = engine->program;
    const czr_place *place = &program->places[param];
    const size_t element =
        czr_dtype_bytes(program->buckets[place->bucket].dtype);
    unsigned char *used = engine->bindings[param].param.used;

    return used
               ? used + (size_t)(offset - place->offset) * element
               : engine->spaces[place->bucket].param + (size_t)offset * element;
}

/* Leaf 0 of a gradient, from an element of the bucket on. */
static unsigned char *grad_at(const czr_engine *engine, int param,
                              int64_t offset)
{
    const czr_place *place = &engine->program->places[param];
    const size_t element =
        czr_dtype_bytes(engine->program->buckets[place->bucket].grad_dtype);
    unsigned char *used = engine->bindings[param].grad.used;

    return used ? used + (size_t)(offset - place->offset) * element
                : engine->spaces[place->bucket].grad + (size_t)offset * element;
}

/* Whether the gradient is its own sum. */
static bool is_reduced(const czr_engine *engine, int b)
{
    const czr_bucket *bucket = &engine->program->buckets[b];

    return !engine->spaces[b].holds_grad && bucket->n_grads == 1 &&
           bucket->divisor == 1 && bucket->grad_dtype == CZR_F32;
}

float *czr_reduced_at(const czr_engine *engine, int param, int64_t offset)
{
    const int b = engine->program->places[param].bucket;
    const czr_spaces *spaces = &engine->spaces[b];

    return is_reduced(engine, b)
               ? (float *)(void *)grad_at(engine, param, offset)
               : spaces->reduced + (offset - spaces->slice.first);
}

/* Elements of gradients shared by threads: of a bucket's parameters from
 * `first` to before `end` that were not reduced before. */
typedef struct reduction {
    const czr_engine *engine;
    int bucket, first, end, n_threads;
    int64_t n; /* elements of all of them on this rank */
    int32_t largest[CZR_MAX_THREADS];
} reduction;

static bool is_among(const reduction *own, int param)
{
    const czr_engine *engine = own->engine;

    return engine->program->places[param].bucket == own->bucket &&
           !engine->bindings[param].is_reduced;
}

static void reduce_run(const reduction *own, int param, czr_range run,
                       int32_t *largest)
{
    const czr_engine *engine = own->engine;
    const czr_bucket *bucket = &engine->program->buckets[own->bucket];
    const czr_loose *grad = &engine->bindings[param].grad;
    const czr_collective sum = {
        .kind = CZR_COLLECTIVE_REDUCE_SCATTER,
        .of.reduce_scatter = {
            .grad = grad_at(engine, param, run.first),
            .dtype = bucket->grad_dtype,
            .n_grads = bucket->n_grads,
            .grad_stride = grad->used ? grad->strides[0] : bucket->length,
            .n = run.n,
            .out = is_reduced(engine, own->bucket)
                       ? NULL
                       : czr_reduced_at(engine, param, run.first),
            .scale = (float)(1.0 / (double)bucket->divisor),
            .largest = largest}};
    const czr_collective *const members[] = {&sum};

    czr_sum_grads(&sum.of.reduce_scatter, members, 1, false);
}

static void reduce_share(void *user, int thread)
{
    reduction *own = user;
    const czr_engine *engine = own->engine;
    const czr_range share = czr_thread_range(own->n, own->n_threads, thread);
    int64_t at = 0; /* of the parameter, among all */

    for (int param = own->first; param < own->end; param++) {
        const czr_range held = engine->held[param].range;
        if (!is_among(own, param))
            continue;
        const czr_range run = czr_range_overlap(
            held, (czr_range){held.first + share.first - at, share.n});
        if (run.n > 0)
            reduce_run(own, param, run, &own->largest[thread]);
        at += held.n;
    }
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The largest magnitude of what it reduces. */
static int32_t reduce(const czr_engine *engine, int bucket, int first, int end)
{
    reduction own = {
        .engine = engine, .bucket = bucket, .first = first, .end = end};
    int32_t largest = 0;

    if (engine->assumes_finite && is_reduced(engine, bucket))
        return 0; /* where it lies: there is nothing else to do */
    for (int param = first; param < end; param++)
        if (is_among(&own, param))
            own.n += engine->held[param].range.n;
    own.n_threads = czr_threads_worth(engine, own.n);
    czr_threads_run(own.n_threads, reduce_share, &own);
    for (int thread = 0; thread < own.n_threads; thread++)
        largest = larger(own.largest[thread], largest);
    return largest;
}

void czr_loose_reduce(czr_engine *engine, int b)
{
    const int n_params = engine->program->n_params;
    int32_t largest = reduce(engine, b, 0, n_params);

    for (int param = 0; param < n_params; param++)
        if (engine->program->places[param].bucket == b &&
            engine->bindings[param].is_reduced)
            largest = larger(engine->bindings[param].largest, largest);
    *engine->largest_at = larger(largest, *engine->largest_at);
}

void czr_loose_reduce_early(czr_engine *engine, int param)
{
    czr_binding *binding = &engine->bindings[param];
    const int b = engine->program->places[param].bucket;

    if (engine->spaces[b].holds_grad)
        return;
    binding->is_reduced = false;
    binding->largest = reduce(engine, b, param, param + 1);
    binding->is_reduced = true;
}

/* ---- copies ------------------------------------------------------------- */

/* Runs of the tensor to consecutive memory at `place`, or back. */
static void copy_runs(czr_engine *engine, const czr_loose *loose,
                      unsigned char *place, size_t element, bool is_out)
{
    const runs cut = runs_of(loose);
    const size_t bytes = (size_t)cut.run * element;

    for (int64_t i = 0, n; i < cut.n; i += n) {
        n = n_contiguous(loose, &cut, i);
        unsigned char *there =
            loose->data +
            (ptrdiff_t)element * (ptrdiff_t)start_of(loose, &cut, i);
        unsigned char *here = place + (size_t)i * bytes;
        engine->device->ops->copy(engine->device, is_out ? there : here,
                                  is_out ? here : there, (size_t)n * bytes);
    }
}

static void copy_param(czr_engine *engine, int param, bool is_out)
{
    const czr_loose *loose = &engine->bindings[param].param;
    const int bucket = engine->program->places[param].bucket;

    const int64_t offset = engine->program->places[param].offset;

    if (loose->data && !loose->used)
        copy_runs(engine, loose, czr_param_at(engine, param, offset),
                  czr_dtype_bytes(engine->program->buckets[bucket].dtype),
                  is_out);
}

void czr_loose_copy_in(czr_engine *engine, int param)
{
    copy_param(engine, param, false);
}

void czr_loose_copy_out(czr_engine *engine, int param)
{
    copy_param(engine, param, true);
}

void czr_loose_copy_grad(czr_engine *engine, int param)
{
    const czr_program *program = engine->program;
    const czr_place *place = &program->places[param];
    const czr_bucket *bucket = &program->buckets[place->bucket];
    const size_t element = czr_dtype_bytes(bucket->grad_dtype);
    const int lead = bucket->n_grads > 1;
    czr_loose leaf = leaf_of(&engine->bindings[param].grad, lead);

    if (!leaf.data || leaf.used)
        return;
    const ptrdiff_t stride =
        lead ? (ptrdiff_t)engine->bindings[param].grad.strides[0] : 0;
    for (int k = 0; k < bucket->n_grads; k++) {
        const size_t at = (size_t)(k * bucket->length + place->offset);
        copy_runs(engine, &leaf,
                  engine->spaces[place->bucket].grad + at * element, element,
                  false);
        leaf.data += stride * (ptrdiff_t)element;
    }
}

/* ---- overlap ------------------------------------------------------------ */

/* Bytes [low, high) of parameter `param`, or of the engine (-1). */
typedef struct interval {
    uintptr_t low, high;
    int param;
} interval;

typedef struct intervals {
    interval *at; /* NULL: only count */
    size_t n;
} intervals;

static void note(intervals *list, const void *data, size_t bytes, int param)
{
    if (!bytes)
        return;
    if (list->at)
        list->at[list->n] =
            (interval){(uintptr_t)data, (uintptr_t)data + bytes, param};
    list->n++;
}

static void note_loose(intervals *list, const czr_loose *loose, size_t element,
                       int param)
{
    const runs cut = runs_of(loose);

    for (int64_t i = 0, n; loose->data && i < cut.n; i += n) {
        n = n_contiguous(loose, &cut, i);
        note(list,
             loose->data +
                 (ptrdiff_t)element * (ptrdiff_t)start_of(loose, &cut, i),
             (size_t)(n * cut.run) * element, param);
    }
}

static void note_all(const czr_engine *engine, intervals *list)
{
    const czr_program *program = engine->program;

    list->n = 0;
    for (int b = 0; b < program->n_buckets; b++) {
        const czr_bucket *bucket = &program->buckets[b];
        const size_t length = (size_t)bucket->length;
        if (!engine->spaces[b].param)
            continue;
        note(list, engine->spaces[b].param,
             length * czr_dtype_bytes(bucket->dtype), -1);
        note(list, engine->spaces[b].grad,
             length * (size_t)bucket->n_grads *
                 czr_dtype_bytes(bucket->grad_dtype),
             -1);
    }
    for (int param = 0; param < program->n_params; param++) {
        const czr_bucket *bucket =
            &program->buckets[program->places[param].bucket];
        note_loose(list, &engine->bindings[param].param,
                   czr_dtype_bytes(bucket->dtype), param);
        note_loose(list, &engine->bindings[param].grad,
                   czr_dtype_bytes(bucket->grad_dtype), param);
    }
}

static int compare(const void *a, const void *b)
{
    const interval *left = a, *right = b;

    return (left->low > right->low) - (left->low < right->low);
}

bool czr_loose_find_overlap(const czr_engine *engine, int *param, int *other,
                            czr_status *status)
{
    intervals list = {.at = NULL};
    bool is_found = false;

    note_all(engine, &list);
    list.at = czr_alloc(list.n, sizeof *list.at);
    if (!list.at) {
        *status = CZR_ERR_NO_MEMORY;
        return false;
    }
    note_all(engine, &list);
    qsort(list.at, list.n, sizeof *list.at, compare);
    for (size_t i = 1; i < list.n && !is_found; i++) {
        const interval *low = &list.at[i - 1], *high = &list.at[i];
        is_found = high->low < low->high;
        *param = low->param > high->param ? low->param : high->param;
        *other = low->param > high->param ? high->param : low->param;
    }
    czr_free(list.at);
    return is_found;
}
