/* Sums over NCCL.  What has to be added up in an order comes to slots, a chunk
 * at a time, and is added up there; a chunk is what a slot holds.  And bands.
 */
#include "runtime/cuda/world/nccl_exchange.h"
#include "runtime/world/sum.h"

/* ---- shares ------------------------------------------------------------- */

static int64_t count_chunks(const czr_nccl_work *work, size_t chunk)
{
    return czr_sum_chunks(work->member->ranges, work->size, chunk);
}

/* Consecutive shares of `count` elements, the first ones longer by one. */
static void deal(const czr_nccl_work *work, size_t count)
{
    for (int i = 0; i < work->size; i++)
        work->member->ranges[i] = czr_sum_range(count, work->size, i);
}

bool czr_nccl_are_equal(const czr_nccl_work *work)
{
    const czr_range *ranges = work->member->ranges;

    for (int i = 1; i < work->size; i++)
        if (ranges[i].n != ranges[0].n ||
            ranges[i].first != ranges[0].first + i * ranges[0].n)
            return false;
    return work->size > 1;
}

/* ---- sums of gradients -------------------------------------------------- */

static size_t element_of(const czr_nccl_work *work)
{
    return czr_dtype_bytes(work->collective->of.reduce_scatter.dtype);
}

/* Elements [done, ...) of the result from n of each slot's leaves, of which
 * there are `members` slots from `first` on. */
static void add_leaves(czr_nccl_work *work, int first, int members, int n_grads,
                       czr_dtype dtype, int64_t done, int64_t n)
{
    const czr_reduce_scatter *collective = &work->collective->of.reduce_scatter;
    const czr_address table =
        work->member->table + (size_t)first * sizeof(void *);
    const czr_collect_grads sum = {.grads = czr_pointer_of(table),
                                   .n_members = members,
                                   .n_grads = n_grads,
                                   .dtype = dtype,
                                   .grad_stride = n,
                                   .n = n,
                                   .out = collective->out + done,
                                   .scale = collective->scale,
                                   .largest = collective->largest};

    if (work->status == CZR_OK && n > 0)
        work->status = czr_collect_sum_grads(work->world->options.collect, &sum,
                                             work->stream);
}

/* A leaf's chunks to whoever adds them up, and the own from all. */
static void exchange_leaf(czr_nccl_work *work, size_t chunk, int64_t k,
                          int leaf)
{
    const czr_reduce_scatter *collective = &work->collective->of.reduce_scatter;
    const size_t element = element_of(work);
    const czr_range own =
        czr_sum_chunk(work->member->ranges[work->self], chunk, k);
    const size_t at = (size_t)leaf * (size_t)own.n * element;

    for (int i = 0; i < work->size; i++) {
        const czr_range theirs =
            czr_sum_chunk(work->member->ranges[i], chunk, k);
        const unsigned char *from =
            (const unsigned char *)collective->grad +
            (size_t)(leaf * collective->grad_stride + theirs.first) * element;
        work->member->buffers.from[i] = from;
        work->member->buffers.from_bytes[i] = (size_t)theirs.n * element;
        work->member->buffers.to[i] = czr_nccl_slot(work, i) + at;
        work->member->buffers.to_bytes[i] = (size_t)own.n * element;
        if (i == work->self)
            czr_nccl_copy(work, work->member->buffers.to[i], from,
                          (size_t)own.n * element);
    }
    czr_nccl_exchange(work);
}

static void reduce_in_order(czr_nccl_work *work)
{
    const czr_reduce_scatter *collective = &work->collective->of.reduce_scatter;
    const size_t chunk = work->member->slot_bytes /
                         ((size_t)collective->n_grads * element_of(work));
    const int64_t n_chunks = chunk ? count_chunks(work, chunk) : 0;

    if (!chunk)
        work->status = CZR_ERR_STATE; /* nobody made room for it */
    for (int64_t k = 0; k < n_chunks; k++) {
        const czr_range own =
            czr_sum_chunk(work->member->ranges[work->self], chunk, k);
        for (int leaf = 0; leaf < collective->n_grads; leaf++)
            exchange_leaf(work, chunk, k, leaf);
        add_leaves(work, 0, work->size, collective->n_grads, collective->dtype,
                   k * (int64_t)chunk, own.n);
    }
}

/* Slices of one length by one call, others by one for each: pieces of all to
 * all would leave a node once for each of its ranks, a ring leaves it once. */
static void put_sums(czr_nccl_work *work)
{
    const czr_reduce_scatter *collective = &work->collective->of.reduce_scatter;
    const czr_nccl *nccl = work->world->options.nccl;
    const czr_range *ranges = work->member->ranges;
    const float *from = (const float *)collective->grad;
    void *comm = work->member->nccl.handle;

    if (czr_nccl_are_equal(work)) {
        if (ranges[0].n > 0)
            czr_nccl_keep(work, nccl->reduce_scatter(
                                    from + ranges[0].first, collective->out,
                                    (size_t)ranges[0].n, CZR_NCCL_FLOAT32,
                                    CZR_NCCL_SUM, comm, work->stream));
        return;
    }
    for (int i = 0; i < work->size; i++)
        if (ranges[i].n > 0)
            czr_nccl_keep(work,
                          nccl->reduce(from + ranges[i].first,
                                       i == work->self ? collective->out : NULL,
                                       (size_t)ranges[i].n, CZR_NCCL_FLOAT32,
                                       CZR_NCCL_SUM, i, comm, work->stream));
}

/* NCCL's own sums, which are then scaled. */
static void reduce_by_nccl(czr_nccl_work *work)
{
    const czr_reduce_scatter *collective = &work->collective->of.reduce_scatter;
    const size_t n = (size_t)collective->n;
    const size_t chunk = work->member->slot_bytes / sizeof(float);

    if (!czr_nccl_begin(work))
        return;
    put_sums(work);
    czr_nccl_end(work);
    for (size_t done = 0; done < n; done += chunk) {
        const size_t left = n - done < chunk ? n - done : chunk;
        czr_nccl_copy(work, czr_nccl_slot(work, work->self),
                      collective->out + done, left * sizeof(float));
        add_leaves(work, work->self, 1, 1, CZR_F32, (int64_t)done,
                   (int64_t)left);
    }
}

void czr_nccl_reduce_scatter(czr_nccl_work *work)
{
    const czr_reduce_scatter *collective = &work->collective->of.reduce_scatter;
    const czr_world_nccl *world = work->world;

    if (work->collective->op < 0 || !world->ranges ||
        !world->ranges[work->collective->op]) {
        work->status = CZR_ERR_STATE;
        return;
    }
    memcpy(work->member->ranges, world->ranges[work->collective->op],
           (size_t)work->size * sizeof(czr_range));
    if (!world->options.is_strict && collective->dtype == CZR_F32 &&
        collective->n_grads == 1 && work->size > 1)
        reduce_by_nccl(work);
    else
        reduce_in_order(work);
}

/* ---- other sums --------------------------------------------------------- */

/* The type by which NCCL may add it up; -1: none. */
static int native_type(const czr_nccl_work *work, czr_sum type)
{
    const bool is_strict = work->world->options.is_strict;

    if (work->size == 1)
        return -1;
    switch (type) {
    case CZR_SUM_I64:
        return CZR_NCCL_INT64; /* any order is as good */
    case CZR_SUM_F64:
        return is_strict ? -1 : CZR_NCCL_FLOAT64;
    case CZR_SUM_F32:
        return is_strict ? -1 : CZR_NCCL_FLOAT32;
    case CZR_SUM_BF16:
    case CZR_SUM_BF16_EACH:
    case CZR_N_SUMS:
        break;
    }
    return -1;
}

static void reduce_all_by_nccl(czr_nccl_work *work, int type)
{
    const czr_all_reduce *sum = &work->collective->of.all_reduce;

    if (sum->count == 0 || !czr_nccl_begin(work))
        return;
    czr_nccl_keep(work,
                  work->world->options.nccl->all_reduce(
                      sum->data, sum->data, sum->count, type, CZR_NCCL_SUM,
                      work->member->nccl.handle, work->stream));
    czr_nccl_end(work);
}

/* Everybody's chunk of its share, in its own slot, is the sum. */
static void sum_chunk(czr_nccl_work *work, size_t chunk, int64_t k)
{
    const czr_all_reduce *sum = &work->collective->of.all_reduce;
    const czr_nccl_buffers *pieces = &work->member->buffers;
    const size_t element = czr_sum_bytes(sum->type);
    const czr_range own =
        czr_sum_chunk(work->member->ranges[work->self], chunk, k);

    for (int i = 0; i < work->size; i++) {
        const czr_range theirs =
            czr_sum_chunk(work->member->ranges[i], chunk, k);
        pieces->from[i] =
            (unsigned char *)sum->data + (size_t)theirs.first * element;
        pieces->from_bytes[i] = (size_t)theirs.n * element;
        pieces->to[i] = czr_nccl_slot(work, i);
        pieces->to_bytes[i] = (size_t)own.n * element;
    }
    czr_nccl_copy(work, pieces->to[work->self], pieces->from[work->self],
                  pieces->to_bytes[work->self]);
    czr_nccl_exchange(work);
    czr_nccl_sum(work, sum->type, (size_t)own.n);
    czr_nccl_copy(work,
                  (unsigned char *)sum->data + (size_t)own.first * element,
                  pieces->to[work->self], (size_t)own.n * element);
}

/* The sums of a chunk to all others. */
static void return_chunk(czr_nccl_work *work, size_t chunk, int64_t k)
{
    const czr_all_reduce *sum = &work->collective->of.all_reduce;
    const czr_nccl_buffers *pieces = &work->member->buffers;
    const size_t element = czr_sum_bytes(sum->type);
    const czr_range own =
        czr_sum_chunk(work->member->ranges[work->self], chunk, k);

    for (int i = 0; i < work->size; i++) {
        const czr_range theirs =
            czr_sum_chunk(work->member->ranges[i], chunk, k);
        pieces->from[i] = czr_nccl_slot(work, work->self);
        pieces->from_bytes[i] = (size_t)own.n * element;
        pieces->to[i] =
            (unsigned char *)sum->data + (size_t)theirs.first * element;
        pieces->to_bytes[i] = (size_t)theirs.n * element;
    }
    czr_nccl_exchange(work);
}

void czr_nccl_all_reduce(czr_nccl_work *work)
{
    const czr_all_reduce *sum = &work->collective->of.all_reduce;
    const size_t chunk = work->member->slot_bytes / czr_sum_bytes(sum->type);
    const int native = native_type(work, sum->type);

    if (native >= 0) {
        reduce_all_by_nccl(work, native);
        return;
    }
    deal(work, sum->count);
    const int64_t n_chunks = count_chunks(work, chunk);
    for (int64_t k = 0; k < n_chunks; k++) {
        sum_chunk(work, chunk, k);
        return_chunk(work, chunk, k);
    }
}

/* ---- bands -------------------------------------------------------------- */

/* A member's rows [first, first + n) of a band, between a matrix and where they
 * are packed. */
static void move_band(czr_boxes *boxes, const czr_band *band,
                      unsigned char *matrix, unsigned char *packed,
                      size_t element, czr_range rows, bool is_back)
{
    const size_t block = band->side / band->blocks;
    const size_t end = (size_t)(rows.first + rows.n);
    const size_t width = czr_band_width(band) * element;

    for (size_t row = (size_t)rows.first, next; row < end; row = next) {
        czr_run runs[2];
        const int n_runs = czr_band_runs(band, row, runs);
        next = (row / block + 1) * block;
        next = next < end ? next : end;
        for (int i = 0; i < n_runs; i++) {
            const czr_strided at = {
                czr_address_of(packed + (i ? runs[0].n * element : 0)), width};
            const czr_strided place = {
                czr_address_of(matrix + runs[i].first * element),
                band->side * element};
            czr_boxes_add(boxes, (int64_t)(next - row),
                          (int64_t)(runs[i].n * element), is_back ? at : place,
                          is_back ? place : at);
        }
        packed += (next - row) * width;
    }
}

/* Shares of rows; how many make a chunk. */
static size_t deal_band(const czr_nccl_work *work, const czr_band *band,
                        size_t element)
{
    deal(work, band->side);
    return work->member->slot_bytes / (czr_band_width(band) * element);
}

static size_t band_bytes(const czr_band *band, size_t element, czr_range rows)
{
    return (size_t)rows.n * czr_band_width(band) * element;
}

static void sum_band_chunk(czr_nccl_work *work, size_t chunk, int64_t k)
{
    const czr_all_reduce *sum = &work->collective->of.all_reduce;
    const czr_nccl_buffers *pieces = &work->member->buffers;
    const size_t element = czr_sum_bytes(sum->type);
    const czr_range own =
        czr_sum_chunk(work->member->ranges[work->self], chunk, k);
    const size_t own_bytes = band_bytes(&sum->band, element, own);
    czr_boxes out = czr_nccl_boxes_of(work);

    for (int i = 0; i < work->size; i++) {
        const czr_range theirs =
            czr_sum_chunk(work->member->ranges[i], chunk, k);
        unsigned char *packed = i == work->self ? czr_nccl_slot(work, i)
                                                : czr_nccl_send_buffer(work, i);
        move_band(&out, &sum->band, sum->data, packed, element, theirs, false);
        pieces->from[i] = packed;
        pieces->from_bytes[i] = band_bytes(&sum->band, element, theirs);
        pieces->to[i] = czr_nccl_slot(work, i);
        pieces->to_bytes[i] = own_bytes;
    }
    work->status = czr_boxes_put(&out);
    czr_nccl_exchange(work);
    czr_nccl_sum(work, sum->type, own_bytes / element);
    czr_boxes back = czr_nccl_boxes_of(work);
    move_band(&back, &sum->band, sum->data, czr_nccl_slot(work, work->self),
              element, own, true);
    work->status = czr_boxes_put(&back);
}

void czr_nccl_sum_scatter(czr_nccl_work *work)
{
    const czr_all_reduce *sum = &work->collective->of.all_reduce;
    const size_t element = czr_sum_bytes(sum->type);
    const bool has_band = sum->band.blocks > 0;
    size_t chunk = work->member->slot_bytes / element;

    if (has_band)
        chunk = deal_band(work, &sum->band, element);
    else
        deal(work, sum->count - sum->count % (size_t)work->size);
    const int64_t n_chunks = chunk ? count_chunks(work, chunk) : 0;
    if (!chunk)
        work->status = CZR_ERR_STATE;
    for (int64_t k = 0; k < n_chunks; k++) {
        if (has_band)
            sum_band_chunk(work, chunk, k);
        else
            sum_chunk(work, chunk, k);
    }
}

void czr_nccl_band_gather(czr_nccl_work *work)
{
    const czr_band_gather *collective = &work->collective->of.band_gather;
    const size_t chunk =
        deal_band(work, &collective->band, collective->element_bytes);
    const int64_t n_chunks = chunk ? count_chunks(work, chunk) : 0;

    if (!chunk)
        work->status = CZR_ERR_STATE;
    for (int64_t k = 0; k < n_chunks; k++) {
        const czr_range own =
            czr_sum_chunk(work->member->ranges[work->self], chunk, k);
        czr_boxes out = czr_nccl_boxes_of(work);
        move_band(&out, &collective->band, collective->data,
                  czr_nccl_slot(work, work->self), collective->element_bytes,
                  own, false);
        work->status = czr_boxes_put(&out);
        czr_nccl_all_slots(work, band_bytes(&collective->band,
                                            collective->element_bytes, own));
        czr_boxes back = czr_nccl_boxes_of(work);
        for (int i = 0; i < work->size; i++)
            if (i != work->self)
                move_band(&back, &collective->band, collective->data,
                          czr_nccl_slot(work, i), collective->element_bytes,
                          czr_sum_chunk(work->member->ranges[i], chunk, k),
                          true);
        work->status = czr_boxes_put(&back);
    }
}
