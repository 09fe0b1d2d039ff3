/* Units on the streams of their members.  All streams meet before a unit's work
 * and behind it: before, so that everybody has what is read; behind, so that
 * nobody goes on while it is read.  What dsl/SCHEDULE.md asks of transfers is
 * less. */
#include "runtime/cuda/world/loopback_world.h"

#include <stdio.h>

#include "runtime/cuda/collect/box.h"

/* ---- meetings ----------------------------------------------------------- */

/* The first of those that have come; all of them, of a collective. */
static int first_of(const czr_lobby *lobby)
{
    int i = 0;

    while (!lobby->posted[i])
        i++;
    return i;
}

static void *stream_of(const czr_lobby *lobby, int i)
{
    return lobby->posted[i]->stream;
}

/* The first member's stream goes on when all have come there. */
static czr_status gather_streams(const czr_lobby *lobby)
{
    const czr_lobby_hall *hall = lobby->hall;
    const int first = first_of(lobby);
    czr_status status = CZR_OK;

    for (int i = first + 1; i < lobby->size && status == CZR_OK; i++) {
        void *event = hall->arrivals[lobby->ranks[i]];
        if (!lobby->posted[i])
            continue;
        status = czr_context_record(hall->context, event, stream_of(lobby, i));
        if (status == CZR_OK)
            status =
                czr_context_wait(hall->context, stream_of(lobby, first), event);
    }
    return status;
}

/* The others go on when the first has come there. */
static czr_status release_streams(const czr_lobby *lobby)
{
    const czr_lobby_hall *hall = lobby->hall;
    const int first = first_of(lobby);
    czr_status status = lobby->n_posted > 1
                            ? czr_context_record(hall->context, hall->meeting,
                                                 stream_of(lobby, first))
                            : CZR_OK;

    for (int i = first + 1; i < lobby->size && status == CZR_OK; i++)
        if (lobby->posted[i])
            status = czr_context_wait(hall->context, stream_of(lobby, i),
                                      hall->meeting);
    return status;
}

static czr_status meet(const czr_lobby *lobby)
{
    const czr_status status = gather_streams(lobby);

    return status == CZR_OK ? release_streams(lobby) : status;
}

/* ---- work of the first member for all ----------------------------------- */

/* The table of what `find` gives of each member's unit. */
static czr_status make_table(czr_lobby *lobby,
                             const void *(*find)(const czr_unit *unit),
                             const void *const **table)
{
    for (int i = 0; i < lobby->size; i++)
        lobby->pointers[i] = find(lobby->posted[i]);
    return czr_lobby_table(lobby, lobby->pointers, table, stream_of(lobby, 0));
}

static const void *find_grad(const czr_unit *unit)
{
    return unit->of.reduce_scatter.grad;
}

static const void *find_data(const czr_unit *unit)
{
    return unit->of.all_reduce.data;
}

static const void *find_band(const czr_unit *unit)
{
    return unit->of.band_gather.data;
}

static czr_collect_members all_members(const czr_lobby *lobby,
                                       const void *const *table)
{
    union {
        const void *const *given;
        void *const *taken;
    } data = {.given = table};

    return (czr_collect_members){
        .data = data.taken, .n_members = lobby->size, .to_end = lobby->size};
}

static czr_status put_sums(czr_lobby *lobby, const czr_unit *unit)
{
    const void *const *table;
    const czr_all_reduce *sum = &unit->of.all_reduce;
    czr_collect *collect = lobby->hall->collect;
    const czr_status status = make_table(lobby, find_data, &table);

    if (status != CZR_OK)
        return status;
    const czr_collect_members members = all_members(lobby, table);
    return unit->kind == CZR_UNIT_ALL_REDUCE
               ? czr_collect_sum_slice(collect, &members, sum->type, 0,
                                       sum->count, NULL, unit->stream)
               : czr_collect_sum_parts(collect, &members, sum->type, sum->count,
                                       sum->band, NULL, unit->stream);
}

static czr_status put_band(czr_lobby *lobby, const czr_unit *unit)
{
    const void *const *table;
    const czr_status status = make_table(lobby, find_band, &table);

    if (status != CZR_OK)
        return status;
    const czr_collect_members members = all_members(lobby, table);
    return czr_collect_band_gather(
        lobby->hall->collect, &members, unit->of.band_gather.element_bytes,
        unit->of.band_gather.band, NULL, unit->stream);
}

/* ---- work of each member ------------------------------------------------ */

static czr_status put_leaves(const czr_lobby *lobby, const czr_unit *unit,
                             const void *const *grads)
{
    const czr_reduce_scatter *of = &unit->of.reduce_scatter;
    const czr_collect_leaves leaves = {.grads = grads,
                                       .n_members = lobby->size,
                                       .leaves = of->leaves,
                                       .dtype = of->dtype,
                                       .leaf_stride = of->leaf_stride,
                                       .first = of->first,
                                       .n = of->n,
                                       .out = of->out,
                                       .scale = of->scale,
                                       .largest = of->largest};

    return czr_collect_sum_leaves(lobby->hall->collect, &leaves, unit->stream);
}

static czr_status copy(const czr_lobby *lobby, unsigned char *to,
                       const unsigned char *from, size_t bytes, void *stream)
{
    return to == from
               ? CZR_OK
               : czr_context_copy(lobby->hall->context, czr_address_of(to),
                                  czr_address_of(from), bytes, stream);
}

static czr_status put_gather(const czr_lobby *lobby, const czr_unit *unit)
{
    czr_status status = CZR_OK;

    for (int i = 0; i < lobby->size && status == CZR_OK; i++) {
        const czr_all_gather *from = &lobby->posted[i]->of.all_gather;
        status = copy(lobby, unit->of.all_gather.receive + from->at, from->send,
                      from->bytes, unit->stream);
    }
    return status;
}

/* Of a sender, the next row to `peer` from *cursor on; NULL: none. */
static const czr_transfer_row *next_row(const czr_transfer *of, int64_t *cursor,
                                        int peer)
{
    while (*cursor < of->n_rows) {
        const czr_transfer_row *row = &of->rows[(*cursor)++];
        if (!row->is_recv && row->peer == peer)
            return row;
    }
    return NULL;
}

static czr_status refuse_row(czr_lobby *lobby, int receiver, int sender)
{
    snprintf(lobby->why, sizeof lobby->why,
             "what rank %d sends and rank %d receives differ",
             lobby->ranks[sender], lobby->ranks[receiver]);
    return CZR_ERR_MISMATCH;
}

static czr_status receive_row(czr_lobby *lobby, int receiver,
                              const czr_transfer_row *to, czr_boxes *boxes)
{
    const czr_unit *mine = lobby->posted[receiver];
    const czr_unit *theirs = lobby->posted[to->peer];
    const czr_transfer_row *from =
        theirs ? next_row(&theirs->of.transfer, &lobby->cursors[to->peer],
                          receiver)
               : NULL;

    if (!from || from->n_rows != to->n_rows || from->row_bytes != to->row_bytes)
        return refuse_row(lobby, receiver, to->peer);
    return czr_box_put(lobby->hall->context, boxes, mine->of.transfer.base, to,
                       theirs->of.transfer.base, from, mine->stream);
}

/* All that `receiver` receives; whoever sends it more is refused. */
static czr_status receive_rows(czr_lobby *lobby, int receiver, czr_boxes *boxes)
{
    const czr_transfer *mine = &lobby->posted[receiver]->of.transfer;
    czr_status status = CZR_OK;

    memset(lobby->cursors, 0, (size_t)lobby->size * sizeof *lobby->cursors);
    for (int64_t i = 0; i < mine->n_rows && status == CZR_OK; i++)
        if (mine->rows[i].is_recv && mine->rows[i].peer != receiver)
            status = receive_row(lobby, receiver, &mine->rows[i], boxes);
    for (int i = 0; i < lobby->size && status == CZR_OK; i++)
        if (i != receiver && lobby->posted[i] &&
            next_row(&lobby->posted[i]->of.transfer, &lobby->cursors[i],
                     receiver))
            status = refuse_row(lobby, receiver, i);
    return status;
}

/* ---- a unit ------------------------------------------------------------- */

/* Sends to somebody who has not come. */
static czr_status check_absent(czr_lobby *lobby)
{
    for (int i = 0; i < lobby->size; i++)
        for (int64_t k = 0;
             lobby->posted[i] && k < lobby->posted[i]->of.transfer.n_rows;
             k++) {
            const int peer = lobby->posted[i]->of.transfer.rows[k].peer;
            if (!lobby->posted[peer])
                return refuse_row(lobby, peer, i);
        }
    return CZR_OK;
}

/* Boxes of many runs on the first stream, for everybody; the others on their
 * receivers'. */
static czr_status put_transfer(czr_lobby *lobby)
{
    czr_boxes boxes = {.collect = lobby->hall->collect,
                       .pack = czr_collect_pack,
                       .stream = stream_of(lobby, first_of(lobby))};
    czr_status status = check_absent(lobby);

    if (status == CZR_OK)
        status = meet(lobby);
    for (int i = 0; i < lobby->size && status == CZR_OK; i++)
        if (lobby->posted[i])
            status = receive_rows(lobby, i, &boxes);
    if (status == CZR_OK)
        status = czr_boxes_put(&boxes);
    return status == CZR_OK ? meet(lobby) : status;
}

static czr_status put_by_first(czr_lobby *lobby)
{
    const czr_unit *unit = lobby->posted[0];
    czr_status status = gather_streams(lobby);

    if (status == CZR_OK)
        status = unit->kind == CZR_UNIT_BAND_GATHER ? put_band(lobby, unit)
                                                    : put_sums(lobby, unit);
    return status == CZR_OK ? release_streams(lobby) : status;
}

static czr_status put_by_all(czr_lobby *lobby)
{
    const bool is_sum = lobby->posted[0]->kind == CZR_UNIT_REDUCE_SCATTER;
    const void *const *grads = NULL;
    czr_status status = is_sum ? make_table(lobby, find_grad, &grads) : CZR_OK;

    if (status == CZR_OK)
        status = meet(lobby);
    for (int i = 0; i < lobby->size && status == CZR_OK; i++)
        status = is_sum ? put_leaves(lobby, lobby->posted[i], grads)
                        : put_gather(lobby, lobby->posted[i]);
    return status == CZR_OK ? meet(lobby) : status;
}

/* All have come, to the same. */
static czr_status check_agreement(czr_lobby *lobby)
{
    const czr_unit *first = lobby->posted[first_of(lobby)];

    for (int i = 0; i < lobby->size; i++) {
        const czr_unit *unit = lobby->posted[i];
        const bool may_be_absent = first->kind == CZR_UNIT_TRANSFER;
        if (unit ? czr_unit_agrees(unit, first) : may_be_absent)
            continue;
        snprintf(lobby->why, sizeof lobby->why,
                 "rank %d is not in the same collective as rank %d",
                 lobby->ranks[i], lobby->ranks[first_of(lobby)]);
        return CZR_ERR_MISMATCH;
    }
    return CZR_OK;
}

static czr_status put_unit(czr_lobby *lobby, czr_unit_kind kind)
{
    switch (kind) {
    case CZR_UNIT_BARRIER:
        return meet(lobby);
    case CZR_UNIT_ALL_REDUCE:
    case CZR_UNIT_SUM_SCATTER:
    case CZR_UNIT_BAND_GATHER:
        return put_by_first(lobby);
    case CZR_UNIT_REDUCE_SCATTER:
    case CZR_UNIT_ALL_GATHER:
        return put_by_all(lobby);
    case CZR_UNIT_TRANSFER:
        break;
    }
    return put_transfer(lobby);
}

czr_status czr_lobby_carry_out(czr_lobby *lobby)
{
    const czr_context *context = lobby->hall->context;
    czr_status status = check_agreement(lobby);

    if (status != CZR_OK)
        return status;
    status = put_unit(lobby, lobby->posted[first_of(lobby)]->kind);
    if (status != CZR_OK && context->status != CZR_OK)
        snprintf(lobby->why, sizeof lobby->why, "%.*s",
                 (int)sizeof lobby->why - 1, context->error);
    return status;
}
