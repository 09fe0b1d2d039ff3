/* Copies of boxes. */
#include "runtime/base/box.h"

int64_t czr_box_bytes(const czr_box *row)
{
    return row->n_rows * row->row_bytes;
}

void czr_box_copy(unsigned char *to_base, const czr_box *to,
                  const unsigned char *from_base, const czr_box *from)
{
    for (int64_t i = 0; i < to->n_rows; i++)
        memmove(to_base + to->offset + i * to->stride_bytes,
                from_base + from->offset + i * from->stride_bytes,
                (size_t)to->row_bytes);
}
