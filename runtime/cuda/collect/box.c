/* Boxes one by one, or many together. */
#include "runtime/cuda/collect/box.h"

/* Boxes of so many runs are copied. */
enum { FEW_RUNS = 3 };

/* ---- one kernel --------------------------------------------------------- */

czr_status czr_boxes_put(czr_boxes *boxes)
{
    if (boxes->status == CZR_OK && boxes->n > 0)
        boxes->status = czr_collect_pack(boxes->collect, &boxes->moves,
                                         boxes->n, boxes->stream);
    boxes->n = 0;
    return boxes->status;
}

void czr_boxes_add(czr_boxes *boxes, int64_t n_rows, int64_t row_bytes,
                   czr_strided from, czr_strided to)
{
    if (boxes->n == CZR_PACK_MOVES)
        czr_boxes_put(boxes);
    boxes->moves.of[boxes->n++] =
        czr_move_bytes((uint64_t)n_rows, (uint64_t)row_bytes, from, to);
}

/* ---- or a copy ---------------------------------------------------------- */

static bool is_flat(const czr_box *row)
{
    return row->stride_bytes == row->row_bytes;
}

czr_status czr_box_put(czr_context *context, czr_boxes *boxes,
                       unsigned char *to_base, const czr_box *to,
                       const unsigned char *from_base, const czr_box *from,
                       void *stream)
{
    const czr_strided target = {czr_address_of(to_base + to->offset),
                                (uint64_t)to->stride_bytes};
    const czr_strided source = {czr_address_of(from_base + from->offset),
                                (uint64_t)from->stride_bytes};

    if (to->n_rows <= FEW_RUNS || (is_flat(to) && is_flat(from)))
        return czr_context_copy_box(
            context, target.address, target.stride, source.address,
            source.stride, (size_t)to->n_rows, (size_t)to->row_bytes, stream);
    czr_boxes_add(boxes, to->n_rows, to->row_bytes, source, target);
    return boxes->status;
}
