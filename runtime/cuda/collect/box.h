/* Boxes of transfers between memories of a device: a copy of a box of few runs,
 * else one kernel for many boxes. */
#ifndef CZR_CUDA_COLLECT_BOX_H
#define CZR_CUDA_COLLECT_BOX_H

#include "runtime/cuda/collect/collect.h"
#include "runtime/cuda/driver/context.h"

/* Boxes that one kernel will move: begins with the first three members set.  No
 * box writes what another reads or writes. */
typedef struct czr_boxes {
    czr_collect *collect;
    void *stream;
    czr_status status; /* the first failure; nothing is done behind it */
    int n;
    czr_move_table moves;
} czr_boxes;

/* Adds a box; a launch's arguments that are full are put on the stream. */
void czr_boxes_add(czr_boxes *boxes, int64_t n_rows, int64_t row_bytes,
                   czr_strided from, czr_strided to);
/* Puts on the stream what has been added, and returns the status. */
czr_status czr_boxes_put(czr_boxes *boxes);

/* czr_box_copy, either among `boxes`, or by a copy behind what the stream has:
 * of a box of few runs, or whose runs are neighbours at both ends. */
czr_status czr_box_put(czr_context *context, czr_boxes *boxes,
                       unsigned char *to_base, const czr_box *to,
                       const unsigned char *from_base, const czr_box *from,
                       void *stream);

#endif
