/* Equal parts of a bucket and the slices of its owners: the rows of the plan
 * say what travels between the two. */
#include "runtime/engine/engine.h"

/* Where the run of a row lies on this rank: in its slice or in its part. */
static int64_t place_of(const czr_exchange *x, const czr_exchange_entry *row,
                        bool in_slice)
{
    return (row->offset + (in_slice ? x->slice_shift : x->equal_part_shift)) *
           x->element;
}

static czr_box box_of(const czr_exchange *x, const czr_exchange_entry *row)
{
    const int64_t bytes = row->count * x->element;
    const bool in_slice = (row->is_recv != 0) == x->to_owners;

    return (czr_box){.is_recv = row->is_recv,
                     .peer = row->peer,
                     .offset = place_of(x, row, in_slice),
                     .n_rows = 1,
                     .row_bytes = bytes,
                     .stride_bytes = bytes};
}

void czr_op_exchange(czr_engine *engine, int op, const czr_exchange *x,
                     czr_segment *segment)
{
    const czr_program *program = engine->program;
    const int table = program->ops[op].table;
    const czr_range range = czr_program_rows(program, table, engine->rank);
    const czr_exchange_entry *rows = program->tables[table].rows;
    czr_box *boxes = engine->spaces[x->bucket].rows;
    int64_t n = 0;

    rows += range.first;
    for (int64_t i = 0; i < range.n; i++) {
        int64_t *bytes = rows[i].is_recv ? engine->received : engine->sent;
        if (rows[i].peer == engine->comms[op]->position) {
            /* What a rank sends to itself is copied as it is received. */
            const czr_exchange_entry *row = &rows[i];
            if (row->is_recv)
                engine->device->ops->copy(
                    engine->device, x->base + place_of(x, row, x->to_owners),
                    x->base + place_of(x, row, !x->to_owners),
                    (size_t)(row->count * x->element));
            continue;
        }
        boxes[n++] = box_of(x, &rows[i]);
        bytes[op] += rows[i].count * x->element;
    }
    segment->has_collective = n > 0;
    segment->collective = (czr_collective){.kind = CZR_COLLECTIVE_TRANSFER,
                                           .of.transfer = {boxes, n, x->base}};
}
