/* Transfers over a transport.  Small boxes of a pair of ranks travel as one
 * message, packed; a large one is a message of its own, from its place where it
 * is one run.  Both ends know the size of a box and the order of theirs;
 * whether one lies in a run is each end's own affair. */
#include "runtime/world/transport.h"

#include "runtime/base/memory.h"

/* Bytes of a box that is large.  A copy of it is dearer than a message. */
enum { LARGE = 1 << 16 };

static bool is_large(const czr_box *box)
{
    return czr_box_bytes(box) >= LARGE;
}

static bool is_run(const czr_box *box)
{
    return box->n_rows == 1 || box->stride_bytes == box->row_bytes;
}

static bool travels(const czr_transport_member *member, const czr_box *box)
{
    return box->peer != member->comm.position && czr_box_bytes(box) > 0;
}

static size_t room_of(const czr_box *box)
{
    return czr_round_up((size_t)czr_box_bytes(box));
}

/* The number of a direction to or from a peer. */
static int side_of(const czr_transport_member *member, const czr_box *box)
{
    return box->peer + (box->is_recv ? member->comm.size : 0);
}

/* Where small boxes of each side begin, behind large ones that are packed; all
 * bytes. */
static size_t lay_out(czr_transport_member *member, const czr_box *boxes,
                      int64_t n, int *n_messages)
{
    const size_t sides = 2 * (size_t)member->comm.size;
    size_t at = 0;

    *n_messages = member->comm.size;
    memset(member->box_bytes, 0, sides * sizeof *member->box_bytes);
    for (int64_t i = 0; i < n; i++) {
        const czr_box *box = &boxes[i];
        if (!travels(member, box))
            continue;
        if (!is_large(box))
            member->box_bytes[side_of(member, box)] +=
                (size_t)czr_box_bytes(box);
        else if (!is_run(box))
            at += room_of(box);
        *n_messages += is_large(box);
    }
    for (size_t side = 0; side < sides; side++) {
        member->box_at[side] = at;
        at += czr_round_up(member->box_bytes[side]);
    }
    return at;
}

czr_status czr_transport_reserve_boxes(czr_transport_member *member,
                                       const czr_box *boxes, int64_t n)
{
    int n_messages;
    const size_t bytes = lay_out(member, boxes, n, &n_messages);

    return czr_transport_reserve(member, bytes, n_messages);
}

/* Copies a box to where it is packed, or from there. */
static void move(const czr_transfer *transfer, const czr_box *box,
                 unsigned char *packed)
{
    czr_box dense = *box;

    dense.offset = 0;
    dense.stride_bytes = box->row_bytes;
    if (box->is_recv)
        czr_box_copy(transfer->base, box, packed, &dense);
    else
        czr_box_copy(packed, &dense, transfer->base, box);
}

/* Large ones, in order: puts their messages, packs what is sent. */
static void put_large(czr_transport_work *work)
{
    const czr_transfer *transfer = &work->unit->of.transfer;
    unsigned char *packed = work->member->buffer;

    for (int64_t i = 0; i < transfer->n_rows; i++) {
        const czr_box *box = &transfer->rows[i];
        const size_t bytes = (size_t)czr_box_bytes(box);
        unsigned char *at = transfer->base + box->offset;
        if (!travels(work->member, box) || !is_large(box))
            continue;
        if (!is_run(box)) {
            at = packed;
            packed += room_of(box);
            if (!box->is_recv)
                move(transfer, box, at);
        }
        czr_transport_put(work, box->peer, at, box->is_recv ? 0 : bytes, at,
                          box->is_recv ? bytes : 0);
    }
}

static void put_small(czr_transport_work *work)
{
    const czr_transfer *transfer = &work->unit->of.transfer;
    const czr_transport_member *member = work->member;
    unsigned char *packed = member->buffer;

    for (int64_t i = 0; i < transfer->n_rows; i++) {
        const czr_box *box = &transfer->rows[i];
        if (!travels(member, box) || is_large(box) || box->is_recv)
            continue;
        move(transfer, box, packed + member->box_at[box->peer]);
        member->box_at[box->peer] += (size_t)czr_box_bytes(box);
    }
    for (int i = 1; i < work->size; i++) {
        const int peer = (work->self + i) % work->size;
        const size_t sent = member->box_bytes[peer];
        czr_transport_put(work, peer, packed + member->box_at[peer] - sent,
                          sent, packed + member->box_at[work->size + peer],
                          member->box_bytes[work->size + peer]);
    }
}

static void take_received(czr_transport_work *work)
{
    const czr_transfer *transfer = &work->unit->of.transfer;
    const czr_transport_member *member = work->member;
    unsigned char *packed = member->buffer, *large = packed;

    for (int64_t i = 0; i < transfer->n_rows; i++) {
        const czr_box *box = &transfer->rows[i];
        const int side = side_of(member, box);
        if (!travels(member, box))
            continue;
        if (is_large(box) && is_run(box))
            continue;
        if (box->is_recv)
            move(transfer, box,
                 is_large(box) ? large : packed + member->box_at[side]);
        if (is_large(box))
            large += room_of(box);
        else
            member->box_at[side] += (size_t)czr_box_bytes(box);
    }
}

void czr_transport_transfer(czr_transport_work *work)
{
    const czr_transfer *transfer = &work->unit->of.transfer;
    int n_messages;
    const size_t bytes =
        lay_out(work->member, transfer->rows, transfer->n_rows, &n_messages);

    work->status = czr_transport_reserve(work->member, bytes, n_messages);
    if (work->status != CZR_OK)
        return;
    put_large(work);
    put_small(work);
    czr_transport_exchange(work);
    if (work->status == CZR_OK)
        take_received(work);
}
