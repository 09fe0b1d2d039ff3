/* How long kernels and collectives take. */
#include "passes/simulate/internal.h"

#include <assert.h>

#define NORM_BYTES 4 /* of an element that squares are summed of */

/* ---- links ---- */

static cz_link class_over(const cz_simulation *s, int64_t set)
{
    return cz_simulate_link(s->document, s->options->machine, set,
                            (cz_block){0, 0});
}

static cz_link_speed link_over(const cz_simulation *s, int64_t set)
{
    return cz_machine_link(s->options->machine, class_over(s, set));
}

/* e: of so many bytes in slices of n ranks, in millionths. */
static int64_t uneven_part(const cz_simulation *s, cz_wide bytes, int64_t set,
                           int n)
{
    if (s->options->uneven > 0)
        return s->options->uneven;
    const int64_t known = bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
    return cz_machine_uneven_speed(s->options->machine, class_over(s, set),
                                   known, n)
               .likely *
           (CZ_SIMULATE_MILLION / 1000);
}

/* What a part, in millionths, leaves of a rate. */
static int64_t slower(int64_t rate, int64_t part)
{
    const cz_wide left = (cz_wide)rate * part / CZ_SIMULATE_MILLION;
    return left > 1 ? (int64_t)left : 1;
}

/* (n - 1) / n of the bytes through each rank's link. */
static int64_t ring_ps(const cz_simulation *s, cz_wide bytes, int64_t set,
                       bool is_uneven)
{
    const cz_link_speed link = link_over(s, set);
    const int n = cz_simulate_extent(s->document, set);
    if (n <= 1)
        return 0;
    const int64_t rate = is_uneven
                             ? slower(link.rate, uneven_part(s, bytes, set, n))
                             : link.rate;
    return cz_time_add(cz_time_of((bytes * (n - 1) + n - 1) / n, rate),
                       link.latency);
}

int64_t cz_simulate_longest(const int64_t *own, int n)
{
    int64_t longest = 0;
    for (int i = 0; i < n; i++)
        longest = own[i] > longest ? own[i] : longest;
    return longest;
}

int64_t cz_simulate_reduce_ps(const cz_simulation *s, cz_wide bytes,
                              cz_wide longest_bytes,
                              const cz_document_reduction *reduction,
                              bool is_uneven)
{
    const int64_t rest = reduction->reduce_set & ~reduction->split_set;
    const int n = cz_simulate_extent(s->document, rest);
    return cz_time_add(ring_ps(s, bytes, reduction->reduce_set, is_uneven),
                       reduction->reduce_set == rest
                           ? 0
                           : ring_ps(s, longest_bytes * n, rest, is_uneven));
}

int64_t cz_simulate_gather_ps(const cz_simulation *s, cz_wide bytes,
                              int64_t set, bool is_uneven)
{
    return ring_ps(s, bytes, set, is_uneven);
}

/* ---- kernels ---- */

int64_t cz_simulate_map_ps(const cz_simulation *s, cz_wide bytes)
{
    return cz_time_add(cz_time_of(bytes, s->options->machine->memory_rate),
                       s->options->machine->launch);
}

static int64_t step_ps(const cz_simulation *s, const cz_document_step *step,
                       int64_t batch)
{
    const cz_product_size size = {.rows = step->rows,
                                  .columns = step->columns,
                                  .inner = step->inner,
                                  .batch = batch,
                                  .symmetric = step->symmetric,
                                  .dtype = step->dtype,
                                  .bytes = step->bytes};
    const cz_call_size call = {step->effort, step->launches, step->bytes};
    if (step->launches > 0)
        return cz_time_call(s->options->machine, &call, batch);
    return step->is_product
               ? cz_time_product(s->options->machine, &size)
               : cz_simulate_map_ps(s, (cz_wide)step->bytes * batch);
}

/* One of as many matrices as the plan computes together. */
static int64_t matrix_ps(const cz_simulation *s, const cz_document_stage *stage)
{
    const int64_t batch = stage->batch > 1 ? stage->batch : 1;
    int64_t sum = 0;
    if (s->options->is_plans_machine)
        return stage->time_ps;
    for (int i = 0; i < stage->n_steps; i++)
        sum = cz_time_add(sum, step_ps(s, &stage->steps[i], batch));
    return cz_ceil_div(sum, batch);
}

/* Every row starts every kernel of the stage. */
static cz_wide elements_ps(const cz_simulation *s,
                           const cz_document_stage *stage, int64_t rows,
                           int64_t elements)
{
    cz_wide sum = 0;
    for (int i = 0; i < stage->n_steps; i++) {
        const cz_wide bytes = (cz_wide)elements * stage->steps[i].bytes;
        sum += (cz_wide)rows * s->options->machine->launch +
               cz_time_of((bytes + CZ_DOCUMENT_UNIT - 1) / CZ_DOCUMENT_UNIT,
                          s->options->machine->memory_rate);
    }
    return sum;
}

static int64_t work_ps(const cz_simulation *s, const cz_document_op *op, int at)
{
    cz_wide sum = 0;
    bool any = false;
    for (int i = 0; i < op->n_work; i++) {
        const cz_document_work *work = &op->work[i];
        const cz_document_stage *stage = &s->document->stages[work->stage];
        any |= work->rows[at] > 0;
        sum += stage->is_shaped
                   ? (cz_wide)work->rows[at] * matrix_ps(s, stage)
                   : elements_ps(s, stage, work->rows[at], work->elements[at]);
    }
    return !any ? -1 : sum < s->cap_ps ? (int64_t)sum : s->cap_ps;
}

static void fill_kernel(cz_simulation *s, const cz_document_op *op, int64_t *ps)
{
    const int n = cz_simulate_extent(s->document, op->over);
    int64_t *by_coordinate = CZ_NEW(s->arena, int64_t, n);
    for (int c = 0; c < n; c++)
        by_coordinate[c] = work_ps(s, op, c);
    for (int r = 0; r < s->document->n_ranks; r++)
        ps[r] = by_coordinate[cz_simulate_coordinate(s->document, op->over, r)];
}

/* As long as on the member with most bytes. */
static void fill_transfer(cz_simulation *s, const cz_document_op *op,
                          int64_t *ps)
{
    const cz_timeline_comm comm = cz_simulate_comm(s, op->comm, op->block);
    const cz_link_speed link = cz_machine_link(
        s->options->machine, cz_simulate_link(s->document, s->options->machine,
                                              op->comm, op->block));
    int64_t *most = CZ_NEW(s->arena, int64_t, comm.n);
    for (int side = 0; side < 2; side++)
        for (int r = 0; r < s->document->n_ranks; r++) {
            const int at = cz_simulate_coordinate(s->document, op->over, r);
            const int64_t bytes = side ? op->sent[at] : op->received[at];
            if (bytes > most[comm.of[r]])
                most[comm.of[r]] = bytes;
        }
    for (int r = 0; r < s->document->n_ranks; r++) {
        const int at = cz_simulate_coordinate(s->document, op->over, r);
        ps[r] = op->sent[at] + op->received[at] > 0
                    ? cz_time_send(&link, most[comm.of[r]])
                    : -1;
    }
}

/* ---- collectives ---- */

static cz_wide wire_elements(const cz_document_bucket *bucket)
{
    return bucket->is_padded
               ? (cz_wide)bucket->n_slices *
                     cz_simulate_longest(bucket->own, bucket->n_slices)
               : bucket->length;
}

/* Of equal parts and slices, over the ranks that share the split. */
static int64_t exchange_ps(const cz_simulation *s,
                           const cz_document_bucket *bucket, int64_t set,
                           int64_t element_bytes)
{
    const cz_link_speed link = link_over(s, set);
    return bucket->exchanged > 0
               ? cz_time_add(
                     cz_time_of((cz_wide)bucket->exchanged * element_bytes,
                                link.rate),
                     link.latency)
               : 0;
}

/* Without a first launch: buckets of one message share one. */
static int64_t bucket_ps(const cz_simulation *s,
                         const cz_document_bucket *bucket)
{
    const cz_document_reduction *how =
        &s->document->reductions[bucket->reduction];
    const cz_link_speed link = link_over(s, how->reduce_set);
    const int64_t longest = cz_simulate_longest(bucket->own, bucket->n_slices);
    return cz_simulate_reduce_ps(s, wire_elements(bucket) * how->leaf_bytes,
                                 (cz_wide)longest * NORM_BYTES, how,
                                 bucket->is_uneven) +
           exchange_ps(s, bucket, how->split_set, NORM_BYTES) - link.latency;
}

/* The first operation of a message stands for all. */
static int64_t message_ps(const cz_simulation *s, int number)
{
    const cz_document *f = s->document;
    const cz_document_bucket *bucket = &f->buckets[f->ops[number].bucket];
    const int64_t set = f->reductions[bucket->reduction].reduce_set;
    int64_t sum = link_over(s, set).latency;
    for (int i = 0; i < f->n_ops; i++) {
        if (f->ops[i].kind != CZ_STEP_REDUCE_SCATTER ||
            f->buckets[f->ops[i].bucket].message != bucket->message)
            continue;
        if (i < number)
            return 0;
        sum = cz_time_add(sum, bucket_ps(s, &f->buckets[f->ops[i].bucket]));
    }
    return sum;
}

/* Per element of its own slice, on each rank that has the bucket. */
static void fill_own(cz_simulation *s, const cz_document_bucket *bucket,
                     int64_t bytes, int64_t *ps)
{
    const int64_t set = s->document->reductions[bucket->reduction].split_set;
    for (int r = 0; r < s->document->n_ranks; r++) {
        const int at = cz_simulate_coordinate(s->document, set, r);
        ps[r] = cz_simulate_map_ps(s, (cz_wide)bucket->own[at] * bytes);
    }
}

static void fill(cz_simulation *s, int64_t *ps, int64_t value)
{
    for (int r = 0; r < s->document->n_ranks; r++)
        ps[r] = value;
}

static void fill_reduce(cz_simulation *s, int number, int64_t *ps)
{
    const cz_document *f = s->document;
    const cz_document_bucket *bucket = &f->buckets[f->ops[number].bucket];
    const cz_document_reduction *how = &f->reductions[bucket->reduction];
    if (cz_simulate_extent(f, how->reduce_set) > 1)
        fill(s, ps, message_ps(s, number));
    else
        fill_own(s, bucket, how->leaf_bytes + NORM_BYTES, ps);
}

static void fill_op(cz_simulation *s, int number, int64_t *ps)
{
    const cz_document_op *op = &s->document->ops[number];
    const cz_document_bucket *bucket =
        op->bucket < 0 ? NULL : &s->document->buckets[op->bucket];
    switch (op->kind) {
    case CZ_STEP_REDUCE_SCATTER:
        fill_reduce(s, number, ps);
        break;
    case CZ_STEP_ALL_GATHER:
        assert(bucket);
        fill(s, ps,
             cz_time_add(
                 cz_simulate_gather_ps(
                     s, wire_elements(bucket) * bucket->element_bytes, op->comm,
                     bucket->is_uneven),
                 exchange_ps(s, bucket, op->comm, bucket->element_bytes)));
        break;
    case CZ_STEP_SQUARE_SUM:
        assert(bucket);
        fill_own(s, bucket, NORM_BYTES, ps);
        break;
    case CZ_STEP_ALL_REDUCE:
    case CZ_STEP_GUARD:
        fill(s, ps, ring_ps(s, 0, op->comm, false));
        break;
    case CZ_STEP_TRANSFER:
    case CZ_STEP_GROUP_SUM:
        fill_transfer(s, op, ps);
        break;
    case CZ_STEP_KERNEL:
        fill_kernel(s, op, ps);
        break;
    case CZ_STEP_KEEP: /* steps are not undone */
    case CZ_STEP_UNDO:
        fill(s, ps, -1);
        break;
    case CZ_STEP_DECIDE:
    case CZ_STEP_PROLOGUE:
    case CZ_N_STEPS:
        fill(s, ps, s->options->machine->launch);
        break;
    }
}

const int64_t *cz_simulate_op_ps(cz_simulation *s, int op)
{
    const cz_document *f = s->document;
    const int bucket = f->ops[op].bucket;
    int64_t *ps = CZ_NEW(s->arena, int64_t, f->n_ranks);
    fill_op(s, op, ps);
    for (int r = 0; r < f->n_ranks && bucket >= 0; r++)
        if (!cz_simulate_is_home(f, &f->buckets[bucket].home, r))
            ps[r] = -1;
    return ps;
}
