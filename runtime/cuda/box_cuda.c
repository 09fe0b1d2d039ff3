/* Boxes run by run. */
#include "runtime/cuda/box_cuda.h"

#include "runtime/box.h"

static bool is_flat(const czr_transfer_row *row)
{
    return row->stride_bytes == row->row_bytes;
}

czr_status czr_box_put(czr_context *context, unsigned char *to_base,
                       const czr_transfer_row *to,
                       const unsigned char *from_base,
                       const czr_transfer_row *from, void *stream)
{
    const bool is_one = is_flat(to) && is_flat(from);
    const int64_t n = is_one ? 1 : to->n_rows;
    const int64_t bytes = is_one ? czr_box_bytes(to) : to->row_bytes;
    czr_status status = CZR_OK;

    for (int64_t i = 0; i < n && status == CZR_OK; i++)
        status = czr_context_copy(
            context,
            czr_address_of(to_base + to->offset + i * to->stride_bytes),
            czr_address_of(from_base + from->offset + i * from->stride_bytes),
            (size_t)bytes, stream);
    return status;
}
