/* Boxes run by run, or many together. */
#include "runtime/cuda/box_cuda.h"

#include "runtime/box.h"

/* So many runs are copied sooner than a kernel is launched. */
enum { FEW_RUNS = 3 };

/* ---- one kernel --------------------------------------------------------- */

czr_status czr_boxes_put(czr_boxes *boxes)
{
    if (boxes->status == CZR_OK && boxes->n > 0)
        boxes->status =
            boxes->pack(boxes->collect, &boxes->moves, boxes->n, boxes->stream);
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

/* ---- or copies ---------------------------------------------------------- */

static bool is_flat(const czr_transfer_row *row)
{
    return row->stride_bytes == row->row_bytes;
}

static czr_status copy_runs(czr_context *context, czr_address to,
                            const czr_transfer_row *to_row, czr_address from,
                            const czr_transfer_row *from_row, void *stream)
{
    const bool is_one = is_flat(to_row) && is_flat(from_row);
    const int64_t n = is_one ? 1 : to_row->n_rows;
    const int64_t bytes = is_one ? czr_box_bytes(to_row) : to_row->row_bytes;
    czr_status status = CZR_OK;

    for (int64_t i = 0; i < n && status == CZR_OK; i++)
        status = czr_context_copy(
            context, to + (czr_address)(i * to_row->stride_bytes),
            from + (czr_address)(i * from_row->stride_bytes), (size_t)bytes,
            stream);
    return status;
}

czr_status czr_box_put(czr_context *context, czr_boxes *boxes,
                       unsigned char *to_base, const czr_transfer_row *to,
                       const unsigned char *from_base,
                       const czr_transfer_row *from, void *stream)
{
    const czr_address at = czr_address_of(to_base + to->offset);
    const czr_address source = czr_address_of(from_base + from->offset);

    if (!boxes->collect || to->n_rows <= FEW_RUNS ||
        (is_flat(to) && is_flat(from)))
        return copy_runs(context, at, to, source, from, stream);
    czr_boxes_add(boxes, to->n_rows, to->row_bytes,
                  (czr_strided){source, (uint64_t)from->stride_bytes},
                  (czr_strided){at, (uint64_t)to->stride_bytes});
    return boxes->status;
}
