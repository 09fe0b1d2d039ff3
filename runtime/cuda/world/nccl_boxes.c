/* Transfers: the boxes of a pair of ranks are one message, packed by one kernel
 * for all peers, but for large ones, each of which is a message of its own.
 * What lies in one piece travels from its place and to it.
 *
 * Both ends know how large a box is, and in which order theirs are; whether one
 * lies in one piece is each end's own affair. */
#include "runtime/base/box.h"
#include "runtime/cuda/world/nccl_exchange.h"
#include "runtime/base/memory.h"

/* Bytes of a box that is large.  A copy of it is dearer than a message. */
enum { LARGE = 1 << 18 };

static bool is_large(const czr_box *row)
{
    return czr_box_bytes(row) >= LARGE;
}

static bool is_flat(const czr_box *row)
{
    return row->n_rows == 1 || row->stride_bytes == row->row_bytes;
}

/* Bytes of a packed message, so that each begins where copies of 16 bytes can.
 */
static size_t room_of(size_t bytes)
{
    return czr_round_up(bytes);
}

/* ---- messages ----------------------------------------------------------- */

static czr_nccl_message *message_of(const czr_nccl_member *member, int peer,
                                    bool is_recv)
{
    return &member->messages[is_recv ? member->comm.size + peer : peer];
}

static void add_row(czr_nccl_message *message, const czr_box *row)
{
    message->only = message->bytes == 0 && is_flat(row) ? row : NULL;
    message->bytes += (size_t)czr_box_bytes(row);
}

size_t czr_nccl_lay_out(czr_nccl_member *member, const czr_box *rows, int64_t n)
{
    const int n_messages = 2 * member->comm.size;
    size_t bytes = 0;

    memset(member->messages, 0, (size_t)n_messages * sizeof *member->messages);
    for (int64_t i = 0; i < n; i++) {
        const czr_box *row = &rows[i];
        if (row->peer == member->comm.position || czr_box_bytes(row) == 0)
            continue;
        if (!is_large(row))
            add_row(message_of(member, row->peer, row->is_recv), row);
        else if (!is_flat(row))
            bytes += room_of((size_t)czr_box_bytes(row));
    }
    for (int i = 0; i < n_messages; i++) {
        member->messages[i].at = bytes;
        bytes +=
            member->messages[i].only ? 0 : room_of(member->messages[i].bytes);
    }
    return bytes;
}

/* ---- boxes -------------------------------------------------------------- */

/* Where a row travels from or to: its place, or in the member's memory.  Rows
 * are asked for in order; *at goes on with large ones, messages keep their own.
 */
static unsigned char *travels_at(const czr_nccl_work *work, const czr_box *row,
                                 size_t *at)
{
    unsigned char *place = work->collective->of.transfer.base + row->offset;
    unsigned char *packed = czr_nccl_boxes(work) + *at;

    if (!is_large(row)) {
        czr_nccl_message *message =
            message_of(work->member, row->peer, row->is_recv);
        packed = czr_nccl_boxes(work) + message->at + message->done;
        message->done += (size_t)czr_box_bytes(row);
        return message->only ? place : packed;
    }
    if (is_flat(row))
        return place;
    *at += room_of((size_t)czr_box_bytes(row));
    return packed;
}

static void move_row(czr_boxes *boxes, const czr_box *row,
                     const unsigned char *place, const unsigned char *packed)
{
    const czr_strided strided = {czr_address_of(place),
                                 (uint64_t)row->stride_bytes};
    const czr_strided dense = {czr_address_of(packed),
                               (uint64_t)row->row_bytes};

    czr_boxes_add(boxes, row->n_rows, row->row_bytes,
                  row->is_recv ? dense : strided,
                  row->is_recv ? strided : dense);
}

/* Boxes of one direction to where they are packed, or from there. */
static void pack(czr_nccl_work *work, bool is_recv)
{
    const czr_transfer *transfer = &work->collective->of.transfer;
    czr_boxes boxes = czr_nccl_boxes_of(work);
    size_t at = 0;

    for (int i = 0; i < 2 * work->size; i++)
        work->member->messages[i].done = 0;
    for (int64_t i = 0; i < transfer->n_rows; i++) {
        const czr_box *row = &transfer->rows[i];
        if (row->peer == work->self || czr_box_bytes(row) == 0)
            continue;
        const unsigned char *packed = travels_at(work, row, &at);
        const unsigned char *place = transfer->base + row->offset;
        if (packed != place && row->is_recv == is_recv)
            move_row(&boxes, row, place, packed);
    }
    work->status = czr_boxes_put(&boxes);
}

/* ---- on their way ------------------------------------------------------- */

static void exchange_large(czr_nccl_work *work)
{
    const czr_transfer *transfer = &work->collective->of.transfer;
    size_t at = 0;

    for (int64_t i = 0; i < transfer->n_rows; i++) {
        const czr_box *row = &transfer->rows[i];
        if (row->peer == work->self || !is_large(row))
            continue;
        unsigned char *place = travels_at(work, row, &at);
        const size_t bytes = (size_t)czr_box_bytes(row);
        if (row->is_recv)
            czr_nccl_receive(work, place, bytes, row->peer);
        else
            czr_nccl_send(work, place, bytes, row->peer);
    }
}

static unsigned char *message_at(const czr_nccl_work *work,
                                 const czr_nccl_message *message)
{
    return message->only
               ? work->collective->of.transfer.base + message->only->offset
               : czr_nccl_boxes(work) + message->at;
}

/* Everybody begins with another one. */
static void exchange_messages(czr_nccl_work *work)
{
    for (int i = 1; i < work->size; i++) {
        const int to = (work->self + i) % work->size;
        const int from = (work->self + work->size - i) % work->size;
        const czr_nccl_message *sent = message_of(work->member, to, false);
        const czr_nccl_message *received = message_of(work->member, from, true);
        czr_nccl_send(work, message_at(work, sent), sent->bytes, to);
        czr_nccl_receive(work, message_at(work, received), received->bytes,
                         from);
    }
}

void czr_nccl_transfer(czr_nccl_work *work)
{
    const czr_transfer *transfer = &work->collective->of.transfer;

    if (czr_nccl_lay_out(work->member, transfer->rows, transfer->n_rows) >
        work->member->box_bytes) {
        work->status = CZR_ERR_STATE;
        return;
    }
    pack(work, false);
    if (!czr_nccl_begin(work))
        return;
    exchange_large(work);
    exchange_messages(work);
    czr_nccl_end(work);
    pack(work, true);
}
