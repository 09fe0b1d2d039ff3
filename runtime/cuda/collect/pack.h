/* Tables for the kernel of pack.cu: boxes of bytes from one memory to another.
 */
#ifndef CZR_CUDA_COLLECT_PACK_H
#define CZR_CUDA_COLLECT_PACK_H

#include <stddef.h>
#include <stdint.h>

/* A box of `rows` x `columns` elements of 1, 2, 4, 8 or 16 bytes, as
 * czr_move_bytes makes it.  `from` and `to` are addresses; these, and strides
 * from one row to the next, in bytes, are multiples of the element's size. */
typedef struct czr_move {
    uint64_t from, to, from_stride, to_stride;
    uint64_t first; /* units of work of all moves before it: see below */
    uint64_t rows, columns;
    uint64_t element_bytes;
} czr_move;

/* As in pack.cu and elementwise.cuh. */
enum {
    CZR_PACK_MOVES = 63,
    CZR_PACK_THREADS = 256,
    CZR_PACK_CHUNK = 4 * CZR_PACK_THREADS
};

/* What a launch is given: devices take 4096 bytes of arguments. */
typedef struct czr_move_table {
    czr_move of[CZR_PACK_MOVES];
} czr_move_table;

/* One side of a box that is copied: `n_rows` runs of `row_bytes`, so far apart.
 */
typedef struct czr_strided {
    uint64_t address, stride;
} czr_strided;

/* The move of such a box in the widest elements that both sides allow. */
czr_move czr_move_bytes(uint64_t n_rows, uint64_t row_bytes, czr_strided from,
                        czr_strided to);

/* Sets `first` of n <= CZR_PACK_MOVES moves that are in the order of the table.
 * Their units go to *n_jobs, what the kernel takes.  False: a move has more
 * elements than 64 bits count. */
int czr_moves_number(czr_move *moves, size_t n, uint64_t *n_jobs);

#endif
