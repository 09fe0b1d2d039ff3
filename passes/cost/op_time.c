/* Times of operations, communicators and links. */
#include "passes/cost/op_time.h"

#include <assert.h>

#define NORM_BYTES 4 /* of an element that squares are summed of */

enum { ROWS_OF_LAUNCH = 64 }; /* element-wise ones of an operation */

/* What is asked of a set of axes again and again. */
struct cz_op_axes {
    int *coordinates;      /* [n_ranks] over it; NULL: not made yet */
    cz_timeline_comm comm; /* n = 0: likewise */
    bool has_link;
    cz_link link;
};

cz_op_prices cz_op_prices_make(cz_arena *arena, const cz_document *document,
                               const cz_machine *machine, int64_t apart)
{
    int64_t *sizes = CZ_NEW(arena, int64_t, document->n_axes + 1);
    for (int a = 0; a < document->n_axes; a++)
        sizes[a] = document->axes[a].size;
    const cz_axes axes = {document->n_axes, sizes};
    cz_op_prices p = {
        .arena = arena,
        .document = document,
        .machine = machine,
        .is_plans_machine = true,
        .most_ps = CZ_MAX_PS,
        .axes = axes,
        .apart = apart,
        .n_ranks = (int)cz_axes_extent(axes, apart),
        .known = CZ_NEW(arena, struct cz_op_axes, 1 << document->n_axes)};
    p.ranks = CZ_NEW(arena, int64_t, p.n_ranks);
    for (int r = 0; r < p.n_ranks; r++)
        p.ranks[r] = cz_axes_rank_at(axes, apart, r, 0);
    return p;
}

/* ---- ranks ---- */

int cz_op_extent(const cz_op_prices *p, int64_t set)
{
    return (int)cz_axes_extent(p->axes, set);
}

/* Of all ranks. */
static const int *coordinates_over(const cz_op_prices *p, int64_t set)
{
    struct cz_op_axes *known = &p->known[set];
    if (!known->coordinates) {
        known->coordinates = CZ_NEW(p->arena, int, p->n_ranks);
        for (int r = 0; r < p->n_ranks; r++)
            known->coordinates[r] =
                (int)cz_axes_coordinate(p->axes, set, p->ranks[r]);
    }
    return known->coordinates;
}

static int coordinate_of(const cz_op_prices *p, int64_t set, int rank)
{
    return coordinates_over(p, set)[rank];
}

bool cz_op_is_resident(const cz_op_prices *p,
                       const cz_document_residents *residents, int rank)
{
    if (residents->set == 0)
        return true;
    const int at = coordinate_of(p, residents->set, rank);
    for (int i = 0; i < residents->n; i++)
        if (residents->coordinates[i] == at)
            return true;
    return false;
}

cz_timeline_comm cz_op_comm(cz_op_prices *p, int64_t set, cz_block block)
{
    cz_timeline_comm *comm = &p->known[set].comm;
    if (comm->n == 0) {
        int *of = CZ_NEW(p->arena, int, p->n_ranks);
        for (int r = 0; r < p->n_ranks; r++)
            of[r] = coordinate_of(p, p->apart & ~set, r);
        *comm = (cz_timeline_comm){cz_op_extent(p, p->apart & ~set), of};
    }
    if (block.size == 0)
        return *comm;
    const int n_blocks = cz_op_extent(p, set) / (int)block.size;
    int *of = CZ_NEW(p->arena, int, p->n_ranks);
    for (int r = 0; r < p->n_ranks; r++)
        of[r] = comm->of[r] * n_blocks +
                (int)cz_block_number(block, coordinate_of(p, set, r));
    return (cz_timeline_comm){comm->n * n_blocks, of};
}

static cz_link link_over(cz_op_prices *p, int64_t set)
{
    struct cz_op_axes *known = &p->known[set];
    if (!known->has_link)
        known->link =
            cz_machine_link_over(p->machine, p->axes, set, (cz_block){0, 0});
    known->has_link = true;
    return known->link;
}

/* ---- collectives ---- */

/* (n - 1) / n of the bytes through each rank's link; of uneven slices at e
 * times its rate. */
static int64_t ring_ps(cz_op_prices *p, cz_wide bytes, int64_t set,
                       bool is_uneven)
{
    const int n = cz_op_extent(p, set);
    if (n <= 1)
        return 0;
    const cz_link of = link_over(p, set);
    cz_link_speed link = cz_machine_link(p->machine, of);
    if (is_uneven) {
        const int64_t known = bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
        const int64_t e =
            p->uneven > 0 ? p->uneven
                          : cz_machine_uneven_speed(p->machine, of, known, n) *
                                (CZ_TIME_MILLION / 1000);
        const cz_wide left = (cz_wide)link.rate * e / CZ_TIME_MILLION;
        link.rate = left > 1 ? (int64_t)left : 1;
    }
    return cz_time_add(cz_time_of((bytes * (n - 1) + n - 1) / n, link.rate),
                       link.latency);
}

int64_t cz_op_reduce_ps(cz_op_prices *p, cz_wide bytes, cz_wide longest_bytes,
                        const cz_document_reduction *reduction, bool is_uneven)
{
    const int64_t rest = reduction->reduce_set & ~reduction->split_set;
    const int n = cz_op_extent(p, rest);
    return cz_time_add(ring_ps(p, bytes, reduction->reduce_set, is_uneven),
                       reduction->reduce_set == rest
                           ? 0
                           : ring_ps(p, longest_bytes * n, rest, is_uneven));
}

int64_t cz_op_gather_ps(cz_op_prices *p, cz_wide bytes, int64_t set,
                        bool is_uneven)
{
    return ring_ps(p, bytes, set, is_uneven);
}

int64_t cz_op_send_ps(cz_op_prices *p, cz_wide bytes, int64_t set)
{
    const cz_link_speed link = cz_machine_link(p->machine, link_over(p, set));
    return cz_time_send(&link, bytes);
}

int64_t cz_op_agree_ps(cz_op_prices *p, int64_t set)
{
    return ring_ps(p, 0, set, false);
}

static cz_wide wire_elements(const cz_document_bucket *bucket)
{
    return bucket->is_padded ? (cz_wide)bucket->n_slices * bucket->longest
                             : bucket->length;
}

/* Of equal parts and slices, over the ranks that share the split. */
static int64_t exchange_ps(cz_op_prices *p, const cz_document_bucket *bucket,
                           int64_t set, int64_t element_bytes)
{
    const cz_link_speed link = cz_machine_link(p->machine, link_over(p, set));
    return bucket->exchanged > 0
               ? cz_time_send(&link, (cz_wide)bucket->exchanged * element_bytes)
               : 0;
}

/* The first reduce_scatter of a message stands for all: its buckets share one
 * launch. */
static int64_t message_ps(cz_op_prices *p, int number)
{
    const cz_document *d = p->document;
    const int message = d->buckets[d->ops[number].bucket].message;
    int64_t sum = -1;
    for (int i = 0; i < d->n_ops; i++) {
        if (d->ops[i].kind != CZ_STEP_REDUCE_SCATTER ||
            d->buckets[d->ops[i].bucket].message != message)
            continue;
        if (i < number)
            return 0;
        const cz_document_bucket *bucket = &d->buckets[d->ops[i].bucket];
        const cz_document_reduction *how = &d->reductions[bucket->reduction];
        const int64_t latency =
            cz_machine_link(p->machine, link_over(p, how->reduce_set)).latency;
        sum = cz_time_add(
            sum < 0 ? latency : sum,
            cz_op_reduce_ps(p, wire_elements(bucket) * how->grad_bytes,
                            (cz_wide)bucket->longest * NORM_BYTES, how,
                            bucket->is_uneven) +
                exchange_ps(p, bucket, how->split_set, NORM_BYTES) - latency);
    }
    return sum;
}

/* ---- kernels ---- */

static int64_t step_ps(const cz_op_prices *p, const cz_document_step *step,
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
        return cz_time_call(p->machine, &call, batch);
    return step->is_product
               ? cz_time_product(p->machine, &size)
               : cz_time_map(p->machine, (cz_wide)step->bytes * batch);
}

static int64_t batch_ps(const cz_op_prices *p, const cz_document_stage *stage,
                        int64_t batch)
{
    int64_t sum = 0;
    if (batch > 0 && p->is_plans_machine)
        return stage->n_batches > 0 ? stage->batch_ps[batch - 1]
                                    : stage->time_ps;
    for (int i = 0; batch > 0 && i < stage->n_steps; i++)
        sum = cz_time_add(sum, step_ps(p, &stage->steps[i], batch));
    return sum;
}

/* In batches, the last one of what is left. */
static cz_wide matrices_ps(const cz_op_prices *p,
                           const cz_document_stage *stage, int64_t n)
{
    const int64_t most = stage->n_batches > 0 ? stage->n_batches : 1;
    return (cz_wide)(n / most) * batch_ps(p, stage, n >= most ? most : 0) +
           batch_ps(p, stage, n % most);
}

/* How many rows of a stage an operation has in one launch: where it has whole
 * matrices, too, rows come beside these, batch by batch. */
static int64_t rows_of_launch(const cz_op_prices *p, const cz_document_op *op,
                              int at)
{
    int64_t most = 0;
    for (int i = 0; i < op->n_work; i++) {
        const cz_document_stage *stage =
            &p->document->stages[op->work[i].stage];
        const int64_t n = stage->n_batches > 0 ? stage->n_batches : 1;
        if (stage->is_shaped && op->work[i].rows[at] > 0 && n > most)
            most = n;
    }
    return most > 0 ? most : ROWS_OF_LAUNCH;
}

static cz_wide elements_ps(const cz_op_prices *p,
                           const cz_document_stage *stage, int64_t n_launches,
                           int64_t elements)
{
    cz_wide sum = 0;
    for (int i = 0; i < stage->n_steps; i++) {
        const cz_wide bytes = (cz_wide)elements * stage->steps[i].bytes;
        sum += (cz_wide)n_launches * p->machine->launch +
               cz_time_of((bytes + CZ_DOCUMENT_ELEMENTS - 1) /
                              CZ_DOCUMENT_ELEMENTS,
                          p->machine->memory_rate);
    }
    return sum;
}

static int64_t work_ps(const cz_op_prices *p, const cz_document_op *op, int at)
{
    const int64_t together = rows_of_launch(p, op, at);
    cz_wide sum = 0;
    bool any = false;
    for (int i = 0; i < op->n_work; i++) {
        const cz_document_work *work = &op->work[i];
        const cz_document_stage *stage = &p->document->stages[work->stage];
        any |= work->rows[at] > 0;
        sum +=
            stage->is_shaped
                ? matrices_ps(p, stage, work->rows[at])
                : elements_ps(p, stage, cz_ceil_div(work->rows[at], together),
                              work->elements[at]);
    }
    return !any ? -1 : sum < p->most_ps ? (int64_t)sum : p->most_ps;
}

/* ---- operations ---- */

static void fill(const cz_op_prices *p, int64_t *ps, int64_t value)
{
    for (int r = 0; r < p->n_ranks; r++)
        ps[r] = value;
}

void cz_op_fill_own(const cz_op_prices *p, const int64_t *own,
                    int64_t split_set, int64_t bytes, int64_t *ps)
{
    for (int r = 0; r < p->n_ranks; r++)
        ps[r] = cz_time_map(
            p->machine, (cz_wide)own[coordinate_of(p, split_set, r)] * bytes);
}

static void fill_kernel(const cz_op_prices *p, const cz_document_op *op,
                        int64_t *ps)
{
    const int n = cz_op_extent(p, op->over);
    int64_t *by_coordinate = CZ_NEW(p->arena, int64_t, n);
    for (int c = 0; c < n; c++)
        by_coordinate[c] = work_ps(p, op, c);
    for (int r = 0; r < p->n_ranks; r++)
        ps[r] = by_coordinate[coordinate_of(p, op->over, r)];
}

/* As long as on the member with most bytes. */
static void fill_transfer(cz_op_prices *p, const cz_document_op *op,
                          int64_t *ps)
{
    const cz_timeline_comm comm = cz_op_comm(p, op->comm, op->block);
    const cz_link_speed link =
        cz_machine_link(p->machine, cz_machine_link_over(p->machine, p->axes,
                                                         op->comm, op->block));
    int64_t *most = CZ_NEW(p->arena, int64_t, comm.n);
    for (int r = 0; r < p->n_ranks; r++) {
        const int at = coordinate_of(p, op->over, r);
        ps[r] =
            op->sent[at] > op->received[at] ? op->sent[at] : op->received[at];
        if (ps[r] > most[comm.of[r]])
            most[comm.of[r]] = ps[r];
    }
    for (int r = 0; r < p->n_ranks; r++)
        ps[r] = ps[r] > 0 ? cz_time_send(&link, most[comm.of[r]]) : -1;
}

cz_timeline_op cz_op_time(cz_op_prices *p, int number)
{
    const cz_document_op *op = &p->document->ops[number];
    const cz_document_bucket *bucket =
        op->bucket < 0 ? NULL : &p->document->buckets[op->bucket];
    int64_t *ps = CZ_NEW(p->arena, int64_t, p->n_ranks);
    switch (op->kind) {
    case CZ_STEP_REDUCE_SCATTER: {
        assert(bucket);
        const cz_document_reduction *how =
            &p->document->reductions[bucket->reduction];
        if (cz_op_extent(p, how->reduce_set) > 1)
            fill(p, ps, message_ps(p, number));
        else
            cz_op_fill_own(p, bucket->own, how->split_set,
                           how->grad_bytes + NORM_BYTES, ps);
        break;
    }
    case CZ_STEP_ALL_GATHER:
        assert(bucket);
        fill(p, ps,
             cz_time_add(
                 ring_ps(p, wire_elements(bucket) * bucket->element_bytes,
                         op->comm, bucket->is_uneven),
                 exchange_ps(p, bucket, op->comm, bucket->element_bytes)));
        break;
    case CZ_STEP_SQUARE_SUM:
        assert(bucket);
        cz_op_fill_own(p, bucket->own,
                       p->document->reductions[bucket->reduction].split_set,
                       NORM_BYTES, ps);
        break;
    case CZ_STEP_ALL_REDUCE:
    case CZ_STEP_GUARD:
        fill(p, ps, ring_ps(p, 0, op->comm, false));
        break;
    case CZ_STEP_TRANSFER:
    case CZ_STEP_GROUP_SUM:
        fill_transfer(p, op, ps);
        break;
    case CZ_STEP_KERNEL:
        fill_kernel(p, op, ps);
        break;
    case CZ_STEP_KEEP: /* steps are not undone */
    case CZ_STEP_UNDO:
        fill(p, ps, -1);
        break;
    case CZ_STEP_DECIDE:
    case CZ_STEP_PROLOGUE:
    case CZ_N_STEPS:
        fill(p, ps, p->machine->launch);
        break;
    }
    for (int r = 0; r < p->n_ranks; r++)
        if (bucket && !cz_op_is_resident(p, &bucket->residents, r))
            ps[r] = -1;
        else if (ps[r] > p->most_ps)
            ps[r] = p->most_ps;
    return (cz_timeline_op){.stream = (cz_timeline_stream)op->stream,
                            .of = -1,
                            .comm = op->comm != 0
                                        ? cz_op_comm(p, op->comm, op->block)
                                        : (cz_timeline_comm){0, NULL},
                            .ps = ps};
}
