/* Units on the streams of their members.  All streams meet before a unit's work
 * and behind it: before, so that everybody has what is read; behind, so that
 * nobody goes on while it is read.  What dsl/SCHEDULE.md asks of transfers is
 * less. */
#include "runtime/cuda/world/loopback_world.h"

#include <stdio.h>

#include "runtime/cuda/collect/box.h"

/* ---- meetings ----------------------------------------------------------- */

/* The first of those that have come; all of them, of a collective. */
static int first_of(const czr_loopback_communicator *communicator)
{
    int i = 0;

    while (!communicator->posted[i])
        i++;
    return i;
}

static void *stream_of(const czr_loopback_communicator *communicator, int i)
{
    return communicator->posted[i]->stream;
}

/* The first member's stream goes on when all have come there. */
static czr_status gather_streams(const czr_loopback_communicator *communicator)
{
    const czr_loopback_world *common = communicator->common;
    const int first = first_of(communicator);
    czr_status status = CZR_OK;

    for (int i = first + 1; i < communicator->size && status == CZR_OK; i++) {
        void *event = common->arrivals[communicator->ranks[i]];
        if (!communicator->posted[i])
            continue;
        status = czr_context_record(common->context, event,
                                    stream_of(communicator, i));
        if (status == CZR_OK)
            status = czr_context_wait(common->context,
                                      stream_of(communicator, first), event);
    }
    return status;
}

/* The others go on when the first has come there. */
static czr_status release_streams(const czr_loopback_communicator *communicator)
{
    const czr_loopback_world *common = communicator->common;
    const int first = first_of(communicator);
    czr_status status =
        communicator->n_posted > 1
            ? czr_context_record(common->context, common->rendezvous,
                                 stream_of(communicator, first))
            : CZR_OK;

    for (int i = first + 1; i < communicator->size && status == CZR_OK; i++)
        if (communicator->posted[i])
            status =
                czr_context_wait(common->context, stream_of(communicator, i),
                                 common->rendezvous);
    return status;
}

static czr_status meet(const czr_loopback_communicator *communicator)
{
    const czr_status status = gather_streams(communicator);

    return status == CZR_OK ? release_streams(communicator) : status;
}

/* ---- work of the first member for all ----------------------------------- */

/* The table of what `find` gives of each member's unit. */
static czr_status
make_table(czr_loopback_communicator *communicator,
           const void *(*find)(const czr_collective *collective),
           const void *const **table)
{
    for (int i = 0; i < communicator->size; i++)
        communicator->pointers[i] = find(communicator->posted[i]);
    return czr_loopback_communicator_table(communicator, communicator->pointers,
                                           table, stream_of(communicator, 0));
}

static const void *find_grad(const czr_collective *collective)
{
    return collective->of.reduce_scatter.grad;
}

static const void *find_data(const czr_collective *collective)
{
    return collective->of.all_reduce.data;
}

static const void *find_band(const czr_collective *collective)
{
    return collective->of.band_gather.data;
}

static czr_collect_members
all_members(const czr_loopback_communicator *communicator,
            const void *const *table)
{
    union {
        const void *const *given;
        void *const *taken;
    } data = {.given = table};

    return (czr_collect_members){.data = data.taken,
                                 .n_members = communicator->size,
                                 .to_end = communicator->size};
}

static czr_status put_sums(czr_loopback_communicator *communicator,
                           const czr_collective *collective)
{
    const void *const *table;
    const czr_all_reduce *sum = &collective->of.all_reduce;
    czr_collect *collect = communicator->common->collect;
    const czr_status status = make_table(communicator, find_data, &table);

    if (status != CZR_OK)
        return status;
    const czr_collect_members members = all_members(communicator, table);
    return collective->kind == CZR_COLLECTIVE_ALL_REDUCE
               ? czr_collect_sum_slice(collect, &members, sum->type, sum->count,
                                       collective->stream)
               : czr_collect_sum_equal_parts(collect, &members, sum->type,
                                             sum->count, sum->band,
                                             collective->stream);
}

static czr_status put_band(czr_loopback_communicator *communicator,
                           const czr_collective *collective)
{
    const void *const *table;
    const czr_status status = make_table(communicator, find_band, &table);

    if (status != CZR_OK)
        return status;
    const czr_collect_members members = all_members(communicator, table);
    return czr_collect_band_gather(communicator->common->collect, &members,
                                   collective->of.band_gather.element_bytes,
                                   collective->of.band_gather.band,
                                   collective->stream);
}

/* ---- work of each member ------------------------------------------------ */

static czr_status put_leaves(const czr_loopback_communicator *communicator,
                             const czr_collective *collective,
                             const void *const *grads)
{
    const czr_reduce_scatter *of = &collective->of.reduce_scatter;
    const czr_collect_grads n_grads = {.grads = grads,
                                       .n_members = communicator->size,
                                       .n_grads = of->n_grads,
                                       .dtype = of->dtype,
                                       .grad_stride = of->grad_stride,
                                       .first = of->first,
                                       .n = of->n,
                                       .out = of->out,
                                       .scale = of->scale,
                                       .largest = of->largest};

    return czr_collect_sum_grads(communicator->common->collect, &n_grads,
                                 collective->stream);
}

static czr_status copy(const czr_loopback_communicator *communicator,
                       unsigned char *to, const unsigned char *from,
                       size_t bytes, void *stream)
{
    return to == from ? CZR_OK
                      : czr_context_copy(communicator->common->context,
                                         czr_address_of(to),
                                         czr_address_of(from), bytes, stream);
}

static czr_status put_gather(const czr_loopback_communicator *communicator,
                             const czr_collective *collective)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < communicator->size && status == CZR_OK; i++) {
        const czr_all_gather *from = &communicator->posted[i]->of.all_gather;
        status =
            copy(communicator, collective->of.all_gather.receive + from->at,
                 from->send, from->bytes, collective->stream);
    }
    return status;
}

/* Of a sender, the next row to `peer` from *cursor on; NULL: none. */
static const czr_box *next_row(const czr_transfer *of, int64_t *cursor,
                               int peer)
{
    while (*cursor < of->n_rows) {
        const czr_box *row = &of->rows[(*cursor)++];
        if (!row->is_recv && row->peer == peer)
            return row;
    }
    return NULL;
}

static czr_status refuse_row(czr_loopback_communicator *communicator,
                             int receiver, int sender)
{
    snprintf(communicator->why, sizeof communicator->why,
             "what rank %d sends and rank %d receives differ",
             communicator->ranks[sender], communicator->ranks[receiver]);
    return CZR_ERR_MISMATCH;
}

static czr_status receive_row(czr_loopback_communicator *communicator,
                              int receiver, const czr_box *to, czr_boxes *boxes)
{
    const czr_collective *mine = communicator->posted[receiver];
    const czr_collective *theirs = communicator->posted[to->peer];
    const czr_box *from =
        theirs ? next_row(&theirs->of.transfer,
                          &communicator->cursors[to->peer], receiver)
               : NULL;

    if (!from || from->n_rows != to->n_rows || from->row_bytes != to->row_bytes)
        return refuse_row(communicator, receiver, to->peer);
    return czr_box_put(communicator->common->context, boxes,
                       mine->of.transfer.base, to, theirs->of.transfer.base,
                       from, mine->stream);
}

/* All that `receiver` receives; whoever sends it more is refused. */
static czr_status receive_rows(czr_loopback_communicator *communicator,
                               int receiver, czr_boxes *boxes)
{
    const czr_transfer *mine = &communicator->posted[receiver]->of.transfer;
    czr_status status = CZR_OK;

    memset(communicator->cursors, 0,
           (size_t)communicator->size * sizeof *communicator->cursors);
    for (int64_t i = 0; i < mine->n_rows && status == CZR_OK; i++)
        if (mine->rows[i].is_recv && mine->rows[i].peer != receiver)
            status = receive_row(communicator, receiver, &mine->rows[i], boxes);
    for (int i = 0; i < communicator->size && status == CZR_OK; i++)
        if (i != receiver && communicator->posted[i] &&
            next_row(&communicator->posted[i]->of.transfer,
                     &communicator->cursors[i], receiver))
            status = refuse_row(communicator, receiver, i);
    return status;
}

/* ---- a unit ------------------------------------------------------------- */

/* Sends to somebody who has not come. */
static czr_status check_absent(czr_loopback_communicator *communicator)
{
    for (int i = 0; i < communicator->size; i++)
        for (int64_t k = 0; communicator->posted[i] &&
                            k < communicator->posted[i]->of.transfer.n_rows;
             k++) {
            const int peer = communicator->posted[i]->of.transfer.rows[k].peer;
            if (!communicator->posted[peer])
                return refuse_row(communicator, peer, i);
        }
    return CZR_OK;
}

/* Boxes of many runs on the first stream, for everybody; the others on their
 * receivers'. */
static czr_status put_transfer(czr_loopback_communicator *communicator)
{
    czr_boxes boxes = {.collect = communicator->common->collect,
                       .stream =
                           stream_of(communicator, first_of(communicator))};
    czr_status status = check_absent(communicator);

    if (status == CZR_OK)
        status = meet(communicator);
    for (int i = 0; i < communicator->size && status == CZR_OK; i++)
        if (communicator->posted[i])
            status = receive_rows(communicator, i, &boxes);
    if (status == CZR_OK)
        status = czr_boxes_put(&boxes);
    return status == CZR_OK ? meet(communicator) : status;
}

static czr_status put_by_first(czr_loopback_communicator *communicator)
{
    const czr_collective *collective = communicator->posted[0];
    czr_status status = gather_streams(communicator);

    if (status == CZR_OK)
        status = collective->kind == CZR_COLLECTIVE_BAND_GATHER
                     ? put_band(communicator, collective)
                     : put_sums(communicator, collective);
    return status == CZR_OK ? release_streams(communicator) : status;
}

static czr_status put_by_all(czr_loopback_communicator *communicator)
{
    const bool is_sum =
        communicator->posted[0]->kind == CZR_COLLECTIVE_REDUCE_SCATTER;
    const void *const *grads = NULL;
    czr_status status =
        is_sum ? make_table(communicator, find_grad, &grads) : CZR_OK;

    if (status == CZR_OK)
        status = meet(communicator);
    for (int i = 0; i < communicator->size && status == CZR_OK; i++)
        status = is_sum
                     ? put_leaves(communicator, communicator->posted[i], grads)
                     : put_gather(communicator, communicator->posted[i]);
    return status == CZR_OK ? meet(communicator) : status;
}

/* All have come, to the same. */
static czr_status check_agreement(czr_loopback_communicator *communicator)
{
    const czr_collective *first = communicator->posted[first_of(communicator)];

    for (int i = 0; i < communicator->size; i++) {
        const czr_collective *collective = communicator->posted[i];
        const bool may_be_absent = first->kind == CZR_COLLECTIVE_TRANSFER;
        if (collective ? czr_collective_agrees(collective, first)
                       : may_be_absent)
            continue;
        snprintf(communicator->why, sizeof communicator->why,
                 "rank %d is not in the same collective as rank %d",
                 communicator->ranks[i],
                 communicator->ranks[first_of(communicator)]);
        return CZR_ERR_MISMATCH;
    }
    return CZR_OK;
}

static czr_status put_unit(czr_loopback_communicator *communicator,
                           czr_collective_kind kind)
{
    switch (kind) {
    case CZR_COLLECTIVE_BARRIER:
        return meet(communicator);
    case CZR_COLLECTIVE_ALL_REDUCE:
    case CZR_COLLECTIVE_SUM_SCATTER:
    case CZR_COLLECTIVE_BAND_GATHER:
        return put_by_first(communicator);
    case CZR_COLLECTIVE_REDUCE_SCATTER:
    case CZR_COLLECTIVE_ALL_GATHER:
        return put_by_all(communicator);
    case CZR_COLLECTIVE_TRANSFER:
        break;
    }
    return put_transfer(communicator);
}

czr_status
czr_loopback_communicator_carry_out(czr_loopback_communicator *communicator)
{
    const czr_context *context = communicator->common->context;
    czr_status status = check_agreement(communicator);

    if (status != CZR_OK)
        return status;
    status = put_unit(communicator,
                      communicator->posted[first_of(communicator)]->kind);
    if (status != CZR_OK && context->status != CZR_OK)
        snprintf(communicator->why, sizeof communicator->why, "%.*s",
                 (int)sizeof communicator->why - 1, context->error);
    return status;
}
