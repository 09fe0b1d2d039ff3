/* Boxes of transfers between memories of a device. */
#ifndef CZR_CUDA_BOX_CUDA_H
#define CZR_CUDA_BOX_CUDA_H

#include "runtime/cuda/context.h"

/* czr_box_copy behind what the stream has: a copy for each run, or one where
 * the runs of both are neighbours. */
czr_status czr_box_put(czr_context *context, unsigned char *to_base,
                       const czr_transfer_row *to,
                       const unsigned char *from_base,
                       const czr_transfer_row *from, void *stream);

#endif
