/* Boxes of transfers: what entries say of one member and one peer. */
#ifndef CZ_DSL_PLAN_BOX_H
#define CZ_DSL_PLAN_BOX_H

#include "dsl/vocab/abi.h"

#include <stdbool.h>

/* n_rows runs of row_bytes, stride_bytes apart, from scratch byte `offset` on,
 * to or from the member at position `peer`. */
typedef struct cz_view_box {
    int64_t param, is_recv, peer, offset, n_rows, row_bytes, stride_bytes,
        phases;
} cz_view_box;

/* Whether a position is one of n from `first` on, `step` apart.  Numbers may be
 * wrong. */
static inline bool cz_view_is_among(int64_t position, int64_t first, int64_t n,
                                    int64_t step)
{
    const int64_t behind = position - first;

    if (behind == 0 || step == 1)
        return behind >= 0 && behind < n;
    return behind > 0 && step > 0 && behind % step == 0 && behind / step < n;
}

/* Whether the member at a position has an entry's boxes; whether one of them is
 * to or from it. */
static inline bool cz_view_has_member(const cz_view_transfer_entry *entry,
                                      int64_t position)
{
    return cz_view_is_among(position, entry->member, entry->n_members,
                            entry->member_step);
}

static inline bool cz_view_has_peer(const cz_view_transfer_entry *entry,
                                    int64_t position)
{
    return cz_view_is_among(position, entry->peer, entry->n_peers,
                            entry->peer_step);
}

/* Its k-th box, of n_peers. */
static inline cz_view_box cz_view_box_at(const cz_view_transfer_entry *entry,
                                         int64_t k)
{
    return (cz_view_box){.param = entry->param,
                         .is_recv = entry->is_recv,
                         .peer = entry->peer + k * entry->peer_step,
                         .offset = entry->offset + k * entry->offset_step,
                         .n_rows = entry->n_rows,
                         .row_bytes = entry->row_bytes,
                         .stride_bytes = entry->stride_bytes,
                         .phases = entry->phases};
}

/* Bytes from the first of a box to behind its last. */
static inline int64_t cz_view_box_length(const cz_view_transfer_entry *entry)
{
    return (entry->n_rows - 1) * entry->stride_bytes + entry->row_bytes;
}

/* Behind the last byte of the last box. */
static inline int64_t cz_view_boxes_end(const cz_view_transfer_entry *entry)
{
    return entry->offset + (entry->n_peers - 1) * entry->offset_step +
           cz_view_box_length(entry);
}

/* Whether from the first box's first byte to the last one's end there is none
 * that no box reaches over. */
static inline bool cz_view_boxes_touch(const cz_view_transfer_entry *entry)
{
    return entry->offset_step <= cz_view_box_length(entry);
}

#endif
