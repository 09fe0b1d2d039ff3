/* Units over a transport.  What has to be added up in an order comes to slots,
 * one of each member, a chunk at a time, and is added up there.  Slices of
 * other members are those of the program: no message says them. */
#include "runtime/world/transport.h"

#include <stdio.h>

#include "runtime/base/memory.h"

/* Of words that ranks agree on, at most so many bytes go from everybody to
 * everybody; more are added up by whoever has a range of them. */
enum { WORDS_BYTES = 4096 };

/* ---- memory ------------------------------------------------------------- */

/* Elements, or rows, of so many bytes that a slot takes; at least one. */
static size_t chunk_of(size_t bytes)
{
    const size_t chunk = CZR_TRANSPORT_SLOT_BYTES / (bytes ? bytes : 1);

    return chunk ? chunk : 1;
}

/* Bytes of a slot for what is received of a member whose range is the largest
 * of `most` elements or rows. */
static size_t slot_of(int64_t most, size_t bytes)
{
    const size_t chunk = chunk_of(bytes);

    return czr_round_up(((size_t)most < chunk ? (size_t)most : chunk) * bytes);
}

static size_t largest_slot(const czr_transport_work *work, size_t bytes)
{
    int64_t most = 0;

    for (int i = 0; i < work->size; i++)
        if (work->member->ranges[i].n > most)
            most = work->member->ranges[i].n;
    return slot_of(most, bytes);
}

/* Memory is there for operations of a plan; a trainer's units take it. */
static void reserve(czr_transport_work *work, size_t bytes, int n_messages)
{
    if (work->status == CZR_OK)
        work->status = czr_transport_reserve(work->member, bytes, n_messages);
}

static czr_range chunk_at(const czr_transport_work *work, int position,
                          size_t chunk, int64_t k)
{
    return czr_sum_chunk(work->member->ranges[position], chunk, k);
}

static int64_t count_chunks(const czr_transport_work *work, size_t chunk)
{
    return czr_sum_chunks(work->member->ranges, work->size, chunk);
}

static void deal(const czr_transport_work *work, size_t count)
{
    for (int i = 0; i < work->size; i++)
        work->member->ranges[i] = czr_sum_range(count, work->size, i);
}

/* The i-th of the others, so that everybody begins with another one. */
static int other(const czr_transport_work *work, int i)
{
    return (work->self + i) % work->size;
}

/* ---- agreement ---------------------------------------------------------- */

/* A plan's units are alike, for engines have compared plans.  A trainer's may
 * be anything: members tell each other. */
static void agree(czr_transport_work *work)
{
    const czr_collective *unit = work->unit;
    int64_t(*agreed)[2] = work->member->agreed;
    int64_t *mine = agreed[work->self];

    mine[0] = unit->kind;
    mine[1] = (int64_t)czr_collective_signature(unit);
    for (int i = 1; i < work->size; i++) {
        int64_t *theirs = agreed[other(work, i)];
        czr_transport_put(work, other(work, i), mine, sizeof *agreed, theirs,
                          sizeof *agreed);
    }
    czr_transport_exchange(work);
    for (int i = 0; i < work->size && work->status == CZR_OK; i++)
        if (memcmp(agreed[i], mine, sizeof *agreed) != 0) {
            work->status = CZR_ERR_MISMATCH;
            snprintf(work->why, CZR_WHY_BYTES,
                     "rank %d is in another collective, or of another size",
                     work->member->ranks[i]);
        }
}

/* ---- gathers ------------------------------------------------------------ */

/* Each member's elements of the operation's bucket. */
static void find_ranges(const czr_transport_work *work)
{
    for (int i = 0; i < work->size; i++)
        work->member->ranges[i] = czr_program_range(
            work->unit->program, work->unit->op, work->member->ranks[i]);
}

/* Each member's part; bytes of an element of these. */
static size_t find_parts(const czr_transport_work *work)
{
    const czr_program *program = work->unit->program;
    const int op = work->unit->op;
    const int64_t bytes = (int64_t)work->unit->of.all_gather.bytes;

    if (program && program->ops[op].kind == CZR_ALL_GATHER) {
        find_ranges(work);
        return czr_dtype_bytes(program->buckets[program->ops[op].bucket].dtype);
    }
    for (int i = 0; i < work->size; i++)
        work->member->ranges[i] = (czr_range){i * bytes, bytes};
    return 1;
}

static void all_gather(czr_transport_work *work)
{
    const czr_all_gather *own = &work->unit->of.all_gather;
    const size_t element = find_parts(work);

    for (int i = 1; i < work->size; i++) {
        const czr_range theirs = work->member->ranges[other(work, i)];
        czr_transport_put(work, other(work, i), own->send, own->bytes,
                          own->receive + (size_t)theirs.first * element,
                          (size_t)theirs.n * element);
    }
    if (own->bytes && own->receive + own->at != own->send)
        memcpy(own->receive + own->at, own->send, own->bytes);
    czr_transport_exchange(work);
}

/* ---- sums of gradients -------------------------------------------------- */

/* Bytes of all gradients of an element. */
static size_t grads_bytes(const czr_reduce_scatter *sum)
{
    return (size_t)sum->n_grads * czr_dtype_bytes(sum->dtype);
}

/* Chunk k of all members' ranges to their slots, and the sum of the own. */
static void reduce_chunk(czr_transport_work *work, size_t slot, size_t chunk,
                         int64_t k)
{
    const czr_reduce_scatter *all = &work->unit->of.reduce_scatter;
    czr_transport_member *member = work->member;
    const czr_range own = chunk_at(work, work->self, chunk, k);
    const unsigned char *grad = all->grad;
    const size_t element = czr_dtype_bytes(all->dtype);
    const size_t bytes = (size_t)own.n * element;
    czr_reduce_scatter sum = *all;

    for (int i = 1; i < work->size; i++) {
        const int position = other(work, i);
        const czr_range theirs = chunk_at(work, position, chunk, k);
        unsigned char *at = member->buffer + (size_t)position * slot;
        for (int g = 0; g < all->n_grads; g++)
            czr_transport_put(
                work, position,
                grad + (size_t)(g * all->grad_stride + theirs.first) * element,
                (size_t)theirs.n * element, at + (size_t)g * bytes, bytes);
        member->units[position].of.reduce_scatter =
            (czr_reduce_scatter){.grad = at,
                                 .dtype = all->dtype,
                                 .n_grads = all->n_grads,
                                 .grad_stride = own.n};
    }
    sum.grad = grad + (size_t)own.first * element;
    sum.first = 0;
    sum.n = own.n;
    sum.out = all->out + k * (int64_t)chunk;
    member->units[work->self].of.reduce_scatter = sum;
    czr_transport_exchange(work);
    if (work->status == CZR_OK && own.n > 0)
        czr_sum_grads(&sum, member->of_units, work->size,
                      work->world->base.rank_order_reduction);
}

static void reduce_scatter(czr_transport_work *work)
{
    const czr_reduce_scatter *sum = &work->unit->of.reduce_scatter;
    const size_t chunk = chunk_of(grads_bytes(sum));

    if (!work->unit->program) {
        work->status = CZR_ERR_STATE;
        return;
    }
    find_ranges(work);
    const size_t slot = largest_slot(work, grads_bytes(sum));
    reserve(work, (size_t)work->size * slot, work->size * sum->n_grads);
    const int64_t n = count_chunks(work, chunk);
    for (int64_t k = 0; k < n; k++)
        reduce_chunk(work, slot, chunk, k);
}

/* ---- other sums --------------------------------------------------------- */

/* What members have of a sum, in their slots or at `own` of this one. */
static void find_units(const czr_transport_work *work, size_t slot, void *own,
                       size_t n)
{
    const czr_sum type = work->unit->of.all_reduce.type;

    for (int i = 0; i < work->size; i++)
        work->member->units[i].of.all_reduce = (czr_all_reduce){
            .data =
                i == work->self ? own : work->member->buffer + (size_t)i * slot,
            .count = n,
            .type = type};
}

static void add_up(czr_transport_work *work, size_t n)
{
    if (work->status == CZR_OK && n > 0)
        czr_sum_slice_at(work->member->of_units, work->size, work->self, 0, n);
}

/* Everybody's chunk of its range becomes the sum, in place. */
static void sum_chunk(czr_transport_work *work, size_t slot, size_t chunk,
                      int64_t k)
{
    const czr_all_reduce *sum = &work->unit->of.all_reduce;
    const size_t element = czr_sum_bytes(sum->type);
    const czr_range own = chunk_at(work, work->self, chunk, k);
    unsigned char *data = sum->data;

    for (int i = 1; i < work->size; i++) {
        const int position = other(work, i);
        const czr_range theirs = chunk_at(work, position, chunk, k);
        czr_transport_put(work, position, data + (size_t)theirs.first * element,
                          (size_t)theirs.n * element,
                          work->member->buffer + (size_t)position * slot,
                          (size_t)own.n * element);
    }
    find_units(work, slot, data + (size_t)own.first * element, (size_t)own.n);
    czr_transport_exchange(work);
    add_up(work, (size_t)own.n);
}

/* All ranges of the sum to all. */
static void return_sums(czr_transport_work *work)
{
    const czr_all_reduce *sum = &work->unit->of.all_reduce;
    const size_t element = czr_sum_bytes(sum->type);
    const czr_range own = work->member->ranges[work->self];
    unsigned char *data = sum->data;

    for (int i = 1; i < work->size; i++) {
        const czr_range theirs = work->member->ranges[other(work, i)];
        czr_transport_put(
            work, other(work, i), data + (size_t)own.first * element,
            (size_t)own.n * element, data + (size_t)theirs.first * element,
            (size_t)theirs.n * element);
    }
    czr_transport_exchange(work);
}

static void sum_ranges(czr_transport_work *work)
{
    const size_t element = czr_sum_bytes(work->unit->of.all_reduce.type);
    const size_t chunk = chunk_of(element), slot = largest_slot(work, element);

    reserve(work, (size_t)work->size * slot, work->size);
    const int64_t n = count_chunks(work, chunk);
    for (int64_t k = 0; k < n; k++)
        sum_chunk(work, slot, chunk, k);
}

/* All of all members to all: one exchange, of more bytes. */
static void sum_words(czr_transport_work *work)
{
    const czr_all_reduce *sum = &work->unit->of.all_reduce;
    const size_t bytes = sum->count * czr_sum_bytes(sum->type);
    const size_t slot = czr_round_up(bytes);

    reserve(work, (size_t)work->size * slot, work->size);
    for (int i = 1; i < work->size && work->status == CZR_OK; i++)
        czr_transport_put(work, other(work, i), sum->data, bytes,
                          work->member->buffer + (size_t)other(work, i) * slot,
                          bytes);
    find_units(work, slot, sum->data, sum->count);
    czr_transport_exchange(work);
    add_up(work, sum->count);
}

/* Words that ranks agree on are no bytes of a plan, and fewer exchanges matter
 * more. */
static bool are_words(const czr_collective *unit)
{
    const czr_all_reduce *sum = &unit->of.all_reduce;

    return (unit->op < 0 || sum->type == CZR_SUM_I64) &&
           sum->count <= WORDS_BYTES / czr_sum_bytes(sum->type);
}

static void all_reduce(czr_transport_work *work)
{
    if (are_words(work->unit)) {
        sum_words(work);
        return;
    }
    deal(work, work->unit->of.all_reduce.count);
    sum_ranges(work);
    return_sums(work);
}

/* ---- bands -------------------------------------------------------------- */

static size_t row_bytes(const czr_band *band, size_t element)
{
    return czr_band_width(band) * element;
}

/* Rows of a band between a matrix and where they lie one behind the other. */
static void move_band(const czr_band *band, unsigned char *matrix,
                      unsigned char *packed, size_t element, czr_range rows,
                      bool is_back)
{
    for (int64_t i = 0; i < rows.n; i++) {
        czr_run runs[2];
        const int n = czr_band_runs(band, (size_t)(rows.first + i), runs);
        for (int r = 0; r < n; r++) {
            unsigned char *place = matrix + runs[r].first * element;
            const size_t bytes = runs[r].n * element;
            memcpy(is_back ? place : packed, is_back ? packed : place, bytes);
            packed += bytes;
        }
    }
}

/* Slots, and behind them as many for what is sent. */
static size_t reserve_band(czr_transport_work *work, const czr_band *band,
                           size_t element)
{
    deal(work, band->side);
    const size_t slot = largest_slot(work, row_bytes(band, element));
    reserve(work, 2 * (size_t)work->size * slot, work->size);
    return slot;
}

static void sum_band_chunk(czr_transport_work *work, size_t slot, size_t chunk,
                           int64_t k)
{
    const czr_all_reduce *sum = &work->unit->of.all_reduce;
    const size_t element = czr_sum_bytes(sum->type);
    const size_t row = row_bytes(&sum->band, element);
    const czr_range own = chunk_at(work, work->self, chunk, k);
    unsigned char *slots = work->member->buffer;
    unsigned char *mine = slots + (size_t)work->self * slot;

    move_band(&sum->band, sum->data, mine, element, own, false);
    for (int i = 1; i < work->size; i++) {
        const size_t position = (size_t)other(work, i);
        const czr_range theirs = chunk_at(work, (int)position, chunk, k);
        unsigned char *out = slots + ((size_t)work->size + position) * slot;
        move_band(&sum->band, sum->data, out, element, theirs, false);
        czr_transport_put(work, (int)position, out, (size_t)theirs.n * row,
                          slots + position * slot, (size_t)own.n * row);
    }
    const size_t n = (size_t)own.n * czr_band_width(&sum->band);
    find_units(work, slot, mine, n);
    czr_transport_exchange(work);
    add_up(work, n);
    if (work->status == CZR_OK)
        move_band(&sum->band, sum->data, mine, element, own, true);
}

static void sum_scatter(czr_transport_work *work)
{
    const czr_all_reduce *sum = &work->unit->of.all_reduce;
    const size_t element = czr_sum_bytes(sum->type);

    if (sum->band.blocks == 0) {
        deal(work, sum->count - sum->count % (size_t)work->size);
        sum_ranges(work);
        return;
    }
    const size_t slot = reserve_band(work, &sum->band, element);
    const size_t chunk = chunk_of(row_bytes(&sum->band, element));
    const int64_t n = count_chunks(work, chunk);
    for (int64_t k = 0; k < n && work->status == CZR_OK; k++)
        sum_band_chunk(work, slot, chunk, k);
}

static void gather_band_chunk(czr_transport_work *work, size_t slot,
                              size_t chunk, int64_t k)
{
    const czr_band_gather *all = &work->unit->of.band_gather;
    const size_t row = row_bytes(&all->band, all->element_bytes);
    const czr_range own = chunk_at(work, work->self, chunk, k);
    unsigned char *slots = work->member->buffer;
    unsigned char *mine = slots + (size_t)work->self * slot;

    move_band(&all->band, all->data, mine, all->element_bytes, own, false);
    for (int i = 1; i < work->size; i++) {
        const int position = other(work, i);
        const czr_range theirs = chunk_at(work, position, chunk, k);
        czr_transport_put(work, position, mine, (size_t)own.n * row,
                          slots + (size_t)position * slot,
                          (size_t)theirs.n * row);
    }
    czr_transport_exchange(work);
    for (int i = 1; i < work->size && work->status == CZR_OK; i++) {
        const int position = other(work, i);
        move_band(&all->band, all->data, slots + (size_t)position * slot,
                  all->element_bytes, chunk_at(work, position, chunk, k), true);
    }
}

static void band_gather(czr_transport_work *work)
{
    const czr_band_gather *all = &work->unit->of.band_gather;
    const size_t slot = reserve_band(work, &all->band, all->element_bytes);
    const size_t chunk = chunk_of(row_bytes(&all->band, all->element_bytes));
    const int64_t n = count_chunks(work, chunk);

    for (int64_t k = 0; k < n && work->status == CZR_OK; k++)
        gather_band_chunk(work, slot, chunk, k);
}

/* ---- a unit ------------------------------------------------------------- */

void czr_transport_run(czr_transport_work *work)
{
    if (work->unit->op < 0 && work->size > 1)
        agree(work);
    if (work->status != CZR_OK)
        return;
    switch (work->unit->kind) {
    case CZR_COLLECTIVE_BARRIER:
        break; /* they have agreed */
    case CZR_COLLECTIVE_REDUCE_SCATTER:
        reduce_scatter(work);
        break;
    case CZR_COLLECTIVE_ALL_GATHER:
        all_gather(work);
        break;
    case CZR_COLLECTIVE_ALL_REDUCE:
        all_reduce(work);
        break;
    case CZR_COLLECTIVE_SUM_SCATTER:
        sum_scatter(work);
        break;
    case CZR_COLLECTIVE_BAND_GATHER:
        band_gather(work);
        break;
    case CZR_COLLECTIVE_TRANSFER:
        czr_transport_transfer(work);
        break;
    }
}

/* ---- what a plan needs -------------------------------------------------- */

static czr_status prepare_reduction(czr_transport_member *member,
                                    const czr_program *program, int op)
{
    const czr_bucket *bucket = &program->buckets[program->ops[op].bucket];
    const int size = member->comm.size;
    const size_t bytes =
        (size_t)bucket->n_grads * czr_dtype_bytes(bucket->grad_dtype);
    int64_t most = 0;

    for (int i = 0; i < size; i++) {
        const int64_t n = czr_program_range(program, op, member->ranks[i]).n;
        most = n > most ? n : most;
    }
    return czr_transport_reserve(member, (size_t)size * slot_of(most, bytes),
                                 size * bucket->n_grads);
}

static czr_status prepare_sums(czr_transport_member *member,
                               const czr_program *program, int op)
{
    const int table = program->ops[op].table, size = member->comm.size;
    const int rank = member->ranks[member->comm.position];
    const czr_range range = czr_program_rows(program, table, rank);
    czr_status status = CZR_OK;

    for (int64_t i = 0; i < range.n && status == CZR_OK; i++) {
        const czr_sum_entry *row =
            (const czr_sum_entry *)program->tables[table].rows + range.first +
            i;
        const size_t element = czr_dtype_bytes(row->dtype);
        const czr_band band = {(size_t)row->side, (size_t)row->band};
        size_t bytes =
            (size_t)size *
            slot_of(czr_sum_range((size_t)row->count, size, 0).n, element);
        if (row->band > 0)
            bytes = 2 * (size_t)size *
                    slot_of(czr_sum_range((size_t)row->side, size, 0).n,
                            row_bytes(&band, element));
        status = czr_transport_reserve(member, bytes, size);
    }
    return status;
}

static czr_status prepare_boxes(czr_transport_member *member,
                                const czr_program *program, int op)
{
    const int rank = member->ranks[member->comm.position];
    const int64_t n = czr_program_boxes(program, op, rank, NULL);
    czr_box *boxes = czr_alloc((size_t)n, sizeof *boxes);

    if (!boxes)
        return CZR_ERR_NO_MEMORY;
    czr_program_boxes(program, op, rank, boxes);
    const czr_status status = czr_transport_reserve_boxes(member, boxes, n);
    czr_free(boxes);
    return status;
}

/* What goes between equal parts and slices. */
static czr_status prepare_exchange(czr_transport_member *member,
                                   const czr_program *program, int op)
{
    const czr_op *row = &program->ops[op];
    const int rank = member->ranks[member->comm.position];
    const czr_range range = czr_program_rows(program, row->table, rank);
    const czr_exchange_entry *entries =
        (const czr_exchange_entry *)program->tables[row->table].rows +
        range.first;
    const int64_t element =
        row->kind == CZR_REDUCE_SCATTER
            ? (int64_t)sizeof(float)
            : (int64_t)czr_dtype_bytes(program->buckets[row->bucket].dtype);
    czr_box *boxes = czr_alloc((size_t)range.n, sizeof *boxes);

    if (!boxes)
        return CZR_ERR_NO_MEMORY;
    for (int64_t i = 0; i < range.n; i++)
        boxes[i] = (czr_box){.is_recv = entries[i].is_recv,
                             .peer = entries[i].peer,
                             .n_rows = 1,
                             .row_bytes = entries[i].count * element};
    const czr_status status =
        czr_transport_reserve_boxes(member, boxes, range.n);
    czr_free(boxes);
    return status;
}

czr_status czr_transport_prepare(czr_transport_member *member,
                                 const czr_program *program, int op)
{
    const czr_op *row = &program->ops[op];
    czr_status status = CZR_OK;

    if (row->kind == CZR_REDUCE_SCATTER)
        status = prepare_reduction(member, program, op);
    else if (row->kind == CZR_TRANSFER)
        status = prepare_boxes(member, program, op);
    else if (row->kind == CZR_GROUP_SUM)
        status = prepare_sums(member, program, op);
    if (status == CZR_OK && row->table >= 0 &&
        (row->kind == CZR_REDUCE_SCATTER || row->kind == CZR_ALL_GATHER))
        status = prepare_exchange(member, program, op);
    return status;
}
