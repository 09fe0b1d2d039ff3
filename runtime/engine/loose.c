/* Tensors of the caller that do not lie in the engine's buffers: copied in
 * and out by each step, and checked once for sharing memory. */
#include "runtime/engine/engine.h"

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

/* ---- copies ------------------------------------------------------------- */

static unsigned char *place_of(const czr_engine *engine, int param)
{
    const czr_program *program = engine->program;
    const czr_place *place = &program->places[param];
    const size_t element =
        czr_dtype_bytes(program->buckets[place->bucket].dtype);

    return engine->spaces[place->bucket].param +
           (size_t)place->offset * element;
}

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

    if (loose->data)
        copy_runs(engine, loose, place_of(engine, param),
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
    czr_loose leaf = engine->bindings[param].grad;
    const int lead = bucket->n_grads > 1;

    if (!leaf.data)
        return;
    leaf.n_dims -= lead;
    for (int d = 0; d < leaf.n_dims; d++) {
        leaf.shape[d] = leaf.shape[d + lead];
        leaf.strides[d] = leaf.strides[d + lead];
        leaf.blocks[d] = leaf.blocks[d + lead];
    }
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
