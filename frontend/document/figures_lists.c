/* Plan JSON to figures: stages, buckets, operations and baselines. */
#include "frontend/document/figures_internal.h"

#include <string.h>

#include "dsl/base/checked.h"

/* The number of a word among those known; reported where it is none. */
static int choice_of(const cz_json_at *in, const char *key,
                     const char *const *words, int n)
{
    const cz_json_at at = cz_json_member(in, key);
    const char *word = cz_json_word(&at);
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    cz_json_wrong(&at, "is none of those known");
    return 0;
}

cz_dtype cz_plan_read_dtype(const cz_json_at *in, const char *key)
{
    const cz_json_at at = cz_json_member(in, key);
    cz_dtype dtype = CZ_F32;
    if (!cz_dtype_find(cz_json_word(&at), &dtype))
        cz_json_wrong(&at, "is no type");
    return dtype;
}

int64_t cz_plan_read_bytes(const cz_json_at *in, const char *key)
{
    return cz_dtype_bytes(cz_plan_read_dtype(in, key));
}

/* ---- stages ---- */

static cz_figures_step read_step(const cz_json_at *at)
{
    static const char *const kinds[] = {"map", "product", "call"};
    const int kind = choice_of(at, "kind", kinds, 3);
    const bool is_product = kind == 1;
    cz_figures_step step = {.is_product = is_product, .dtype = CZ_F32};
    step.bytes = cz_json_number_of(at, "bytes", 0, CZ_MAX_BYTES);
    if (kind == 2) {
        step.effort = cz_json_number_of(at, "effort", 1, CZ_MAX_BYTES);
        step.launches = cz_json_number_of(at, "launches", 1, CZ_MAX_DIM);
    }
    if (!is_product)
        return step;
    const cz_json_at symmetric = cz_json_member(at, "symmetric");
    step.rows = cz_json_number_of(at, "rows", 1, CZ_MAX_DIM);
    step.columns = cz_json_number_of(at, "columns", 1, CZ_MAX_DIM);
    step.inner = cz_json_number_of(at, "inner", 1, CZ_MAX_DIM);
    step.symmetric = cz_json_truth(&symmetric);
    step.dtype = cz_plan_read_dtype(at, "dtype");
    return step;
}

static void read_stage(cz_plan_reader *r, const cz_json_at *at,
                       cz_figures_stage *out)
{
    const cz_json_at list = cz_json_member(at, "steps");
    out->is_whole = strcmp(cz_json_word_of(at, "where"), "whole") == 0 ||
                    strcmp(cz_json_word_of(at, "where"), "shared") == 0;
    out->time_ps = cz_json_number_of(at, "time_ps", 0, CZ_MAX_BYTES);
    out->batch = cz_json_has(at, "batch")
                     ? cz_json_number_of(at, "batch", 0, 1 << 20)
                     : 1;
    out->n_steps = cz_json_length(&list);
    cz_figures_step *steps =
        CZ_NEW(r->reading->arena, cz_figures_step, out->n_steps);
    out->steps = steps;
    for (int i = 0; i < out->n_steps && !r->reading->failed; i++) {
        const cz_json_at step = cz_json_element(&list, i);
        steps[i] = read_step(&step);
    }
}

void cz_plan_read_stages(cz_plan_reader *r, const cz_json_at *list, int n)
{
    cz_figures_stage *out = CZ_NEW(r->reading->arena, cz_figures_stage, n);
    r->out->stages = out;
    r->out->n_stages = n;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at stage = cz_json_element(list, i);
        read_stage(r, &stage, &out[i]);
    }
}

/* ---- buckets ---- */

static int reduction_of(const cz_plan_reader *r, const cz_json_at *bucket)
{
    return choice_of(bucket, "reduction", r->reductions, r->out->n_reductions);
}

/* A rank's elements are those between two bounds of `slices`, and of `fills`
 * where there are any. */
static void add_slices(cz_plan_reader *r, const cz_json_at *bucket,
                       const char *key, int64_t length, int n, int64_t *own)
{
    const cz_json_at list = cz_json_member(bucket, key);
    int n_bounds = n + 1;
    const int64_t *bounds = cz_json_numbers(&list, 0, length, &n_bounds);
    for (int i = 0; i < n && !r->reading->failed; i++) {
        if (bounds[i + 1] < bounds[i])
            cz_json_wrong(&list, "descends");
        own[i] += bounds[i + 1] - bounds[i];
    }
}

static bool is_uneven(const int64_t *own, int n, int64_t length)
{
    int64_t longest = 0;
    for (int i = 0; i < n; i++)
        longest = own[i] > longest ? own[i] : longest;
    /* Equal ones are rounded up, and the last may be short. */
    return n > 0 && longest > cz_round_up(cz_ceil_div(length, n), 64);
}

/* Its parameters' home, all of which have the same. */
static cz_figures_home home_of(cz_plan_reader *r, const cz_json_at *bucket)
{
    const cz_json_at order = cz_json_member(bucket, "order");
    int n = -1;
    const int64_t *params =
        cz_json_numbers(&order, 0, r->out->n_params - 1, &n);
    if (n == 0)
        cz_json_wrong(&order, "is empty");
    if (r->reading->failed)
        return (cz_figures_home){0};
    return r->out->params[params[0]].home;
}

/* Parts are equal, aligned to 16, but for the last. */
static int64_t find_exchanged(cz_plan_reader *r, const cz_json_at *bucket,
                              const cz_figures_bucket *of)
{
    const cz_json_at list = cz_json_member(bucket, "slices");
    int n = of->n_slices + 1;
    const int64_t *bounds = cz_json_numbers(&list, 0, of->length, &n);
    const int64_t step = cz_round_up(cz_ceil_div(of->length, of->n_slices), 16);
    int64_t most = 0;
    for (int i = 0; i < of->n_slices && !r->reading->failed; i++) {
        const int64_t start = i * step < of->length ? i * step : of->length;
        const int64_t end =
            start + step < of->length ? start + step : of->length;
        const int64_t low = start > bounds[i] ? start : bounds[i];
        const int64_t high = end < bounds[i + 1] ? end : bounds[i + 1];
        const int64_t kept = high > low ? high - low : 0;
        const int64_t part = end - start - kept;
        const int64_t slice = bounds[i + 1] - bounds[i] - kept;
        most = part > most ? part : most;
        most = slice > most ? slice : most;
    }
    return most;
}

static void read_bucket(cz_plan_reader *r, const cz_json_at *at, int number,
                        cz_figures_bucket *out)
{
    const char *geometry = cz_json_word_of(at, "geometry");
    out->reduction = reduction_of(r, at);
    if (r->reading->failed)
        return;
    out->n_slices =
        cz_plan_extent(r, r->out->reductions[out->reduction].split_set);
    int64_t *own = CZ_NEW(r->reading->arena, int64_t, out->n_slices);
    out->own = own;
    out->element_bytes = cz_plan_read_bytes(at, "dtype");
    out->length = cz_json_number_of(at, "length", 1, CZ_MAX_BYTES / 4096);
    out->home = home_of(r, at);
    out->message = cz_json_has(at, "message")
                       ? (int)cz_json_number_of(at, "message", 0, INT32_MAX)
                       : number;
    add_slices(r, at, "slices", out->length, out->n_slices, own);
    if (cz_json_has(at, "fills"))
        add_slices(r, at, "fills", out->length, out->n_slices, own);
    out->is_padded = strcmp(geometry, "padded") == 0;
    out->is_equal = strcmp(geometry, "equal") == 0;
    if (out->is_equal)
        out->exchanged = find_exchanged(r, at, out);
    out->is_uneven = !out->is_padded && !out->is_equal &&
                     is_uneven(own, out->n_slices, out->length);
}

void cz_plan_read_buckets(cz_plan_reader *r, const cz_json_at *list, int n)
{
    cz_figures_bucket *out = CZ_NEW(r->reading->arena, cz_figures_bucket, n);
    r->out->buckets = out;
    r->out->n_buckets = n;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at bucket = cz_json_element(list, i);
        read_bucket(r, &bucket, i, &out[i]);
    }
}

/* ---- operations ---- */

static void read_work(cz_plan_reader *r, const cz_json_at *at,
                      cz_figures_op *out)
{
    const cz_json_at list = cz_json_member(at, "work");
    out->n_work = cz_json_length(&list);
    cz_figures_work *work =
        CZ_NEW(r->reading->arena, cz_figures_work, out->n_work);
    int n = cz_plan_extent(r, out->over);
    out->work = work;
    for (int i = 0; i < out->n_work && !r->reading->failed; i++) {
        const cz_json_at entry = cz_json_element(&list, i);
        const cz_json_at rows = cz_json_member(&entry, "rows");
        const cz_json_at elements = cz_json_member(&entry, "elements");
        work[i].stage =
            (int)cz_json_number_of(&entry, "stage", 0, r->out->n_stages - 1);
        work[i].rows = cz_json_numbers(&rows, 0, CZ_MAX_DIM, &n);
        work[i].elements = cz_json_numbers(&elements, 0, CZ_MAX_BYTES, &n);
    }
}

static const int64_t *read_moves(cz_plan_reader *r, const cz_json_at *at,
                                 const char *key, const cz_figures_op *op)
{
    const cz_json_at list = cz_json_member(at, key);
    const bool moves =
        op->kind == CZ_STEP_TRANSFER || op->kind == CZ_STEP_GROUP_SUM;
    int n = moves ? cz_plan_extent(r, op->over) : 0;
    const int64_t *bytes = cz_json_numbers(&list, 0, CZ_MAX_BYTES, &n);
    return n > 0 ? bytes : NULL;
}

static cz_block read_block(cz_plan_reader *r, const cz_json_at *at,
                           int64_t comm)
{
    const cz_json_at group = cz_json_member(at, "group");
    const int64_t extent = cz_plan_extent(r, comm);
    const cz_block block = {cz_json_number_of(at, "group", 0, extent),
                            cz_json_number_of(at, "stride", 0, extent)};
    if (!r->reading->failed && block.size > 0 &&
        !cz_block_divides(block, extent))
        cz_json_wrong(&group, "makes no blocks of the axes");
    return block;
}

static void read_op(cz_plan_reader *r, const cz_json_at *at, int number,
                    cz_figures_op *out)
{
    static const char *const kinds[CZ_N_STEPS] = {
#define CZ_STEP(tag, name, what) name,
#include "dsl/vocab/step.def"
#undef CZ_STEP
    };
    static const char *const sections[] = {"reduce", "decide", "update"};
    const cz_json_at waits = cz_json_member(at, "waits");
    const cz_json_at bucket = cz_json_member(at, "bucket");
    out->kind = (cz_step_kind)choice_of(at, "kind", kinds, CZ_N_STEPS);
    out->section = (cz_section)choice_of(at, "section", sections, 3);
    out->stream = (int)cz_json_number_of(at, "stream", 0, 2);
    out->bucket = cz_json_is_null(&bucket)
                      ? -1
                      : (int)cz_json_number(&bucket, 0, r->n_buckets - 1);
    if (out->bucket < 0 &&
        (out->kind == CZ_STEP_REDUCE_SCATTER ||
         out->kind == CZ_STEP_ALL_GATHER || out->kind == CZ_STEP_SQUARE_SUM))
        cz_json_wrong(&bucket, "is missing");
    out->comm = cz_plan_read_set(r, at, "axes");
    out->block = read_block(r, at, out->comm);
    out->over = cz_plan_read_set(r, at, "over");
    out->n_waits = -1;
    out->waits = cz_json_numbers(&waits, 0, number - 1, &out->n_waits);
    read_work(r, at, out);
    out->sent = read_moves(r, at, "sent", out);
    out->received = read_moves(r, at, "received", out);
}

void cz_plan_read_ops(cz_plan_reader *r, const cz_json_at *list, int n)
{
    cz_figures_op *out = CZ_NEW(r->reading->arena, cz_figures_op, n);
    r->out->ops = out;
    r->out->n_ops = n;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at op = cz_json_element(list, i);
        read_op(r, &op, i, &out[i]);
    }
}
