/* Boxes of scratch to and from peers; boxes to oneself are copies. */
#include "runtime/base/box.h"
#include "runtime/engine/engine.h"

/* The next row to oneself of one direction from *at on; NULL: none. */
static const czr_box *next_to_self(const czr_transfer *transfer, int self,
                                   int is_recv, int64_t *at)
{
    while (*at < transfer->n_rows) {
        const czr_box *row = &transfer->rows[(*at)++];
        if (row->peer == self && row->is_recv == is_recv)
            return row;
    }
    return NULL;
}

static czr_status copy_to_self(czr_engine *engine, int op,
                               const czr_transfer *transfer)
{
    const int self = engine->comms[op]->position;
    int64_t send_at = 0, receive_at = 0;

    for (;;) {
        const czr_box *from = next_to_self(transfer, self, 0, &send_at);
        const czr_box *to = next_to_self(transfer, self, 1, &receive_at);
        if (!from && !to)
            return CZR_OK;
        if (!from || !to || from->n_rows != to->n_rows ||
            from->row_bytes != to->row_bytes)
            return czr_engine_poison(
                engine, CZR_ERR_MISMATCH,
                "operation %d, transfer: sends and receives to itself differ",
                op);
        engine->device->ops->copy_box(engine->device, transfer->base, to,
                                      transfer->base, from);
    }
}

/* All boxes of the operation, or those that travel at this update. */
static czr_transfer moving_boxes(czr_engine *engine, int op)
{
    const czr_op_boxes *of = &engine->boxes[op];
    int64_t n = 0;

    if (!engine->moving)
        return (czr_transfer){of->v, of->n, engine->scratch};
    for (int64_t i = 0; i < of->n; i++)
        if (of->v[i].phases >> engine->phases[of->v[i].param] & 1)
            engine->moving[n++] = of->v[i];
    return (czr_transfer){engine->moving, n, engine->scratch};
}

czr_status czr_op_transfer(czr_engine *engine, int op, czr_segment *segment)
{
    segment->is_last = true;
    segment->collective =
        (czr_collective){.kind = CZR_COLLECTIVE_TRANSFER,
                         .of.transfer = moving_boxes(engine, op)};
    const czr_status status =
        copy_to_self(engine, op, &segment->collective.of.transfer);
    if (status == CZR_OK) {
        /* Counts bytes; returns whether any row is of another rank. */
        const czr_transfer *transfer = &segment->collective.of.transfer;
        bool has_others = false;

        for (int64_t i = 0; i < transfer->n_rows; i++) {
            const czr_box *row = &transfer->rows[i];
            if (row->peer == engine->comms[op]->position)
                continue;
            has_others = true;
            int64_t *bytes = row->is_recv ? engine->received : engine->sent;
            bytes[op] += czr_box_bytes(row);
        }
        segment->has_collective = has_others;
    }
    return status;
}
