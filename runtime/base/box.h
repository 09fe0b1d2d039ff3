/* Boxes of transfers: runs of bytes, a stride apart. */
#ifndef CZR_BASE_BOX_H
#define CZR_BASE_BOX_H

#include "runtime/czr.h"

/* A box to or from one member: n_rows runs of row_bytes, stride_bytes apart,
 * from byte `offset` of scratch on. */
typedef struct czr_box {
    int32_t param, is_recv, peer; /* peer: its position in the communicator */
    int64_t offset, n_rows, row_bytes, stride_bytes;
    uint32_t phases; /* bit p: it travels in phase p of its parameter's rule */
} czr_box;

/* Bytes that a box holds. */
int64_t czr_box_bytes(const czr_box *row);
/* Copies a box of one shape; `to` and `from` have equal runs. */
void czr_box_copy(unsigned char *to_base, const czr_box *to,
                  const unsigned char *from_base, const czr_box *from);

#endif
