/* Boxes of transfers: runs of bytes, a stride apart. */
#ifndef CZR_BASE_BOX_H
#define CZR_BASE_BOX_H

#include "runtime/czr.h"

/* Bytes that a box holds. */
int64_t czr_box_bytes(const czr_transfer_entry *row);
/* Copies a box of one shape; `to` and `from` have equal runs. */
void czr_box_copy(unsigned char *to_base, const czr_transfer_entry *to,
                  const unsigned char *from_base,
                  const czr_transfer_entry *from);

#endif
