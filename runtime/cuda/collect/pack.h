/* Tables for the kernel of pack.cu: boxes of bytes or numbers from one memory
 * to another, moved as they are, transposed, or from f32 to bf16 and back. */
#ifndef CZR_CUDA_COLLECT_PACK_H
#define CZR_CUDA_COLLECT_PACK_H

#include <stddef.h>
#include <stdint.h>

/* A box of `rows` x `columns` elements at the source; if transposed, columns x
 * rows at the target.  Elements have from_bytes and to_bytes: 1, 2, 4, 8 or 16
 * where these are equal; 4 and 2 are f32 and bf16, rounded to nearest even;
 * elements in f16 are moved as they are.
 * Transposed elements have 2 or 4.  `from` and `to` are addresses; these, and
 * strides from one row to the next, in bytes, are multiples of the element's
 * size. */
typedef struct czr_move {
    uint64_t from, to, from_stride, to_stride;
    uint64_t first; /* units of work of all moves before it: see below */
    uint64_t rows, columns;
    uint32_t from_bytes, to_bytes, is_transposed, unused;
} czr_move;

/* As in pack.cu and elementwise.cuh. */
enum {
    CZR_PACK_MOVES = 56,
    CZR_PACK_THREADS = 256,
    CZR_PACK_CHUNK = 4 * CZR_PACK_THREADS,
    CZR_PACK_SIDE = 32
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

/* Sets `first` of n moves that are in the order of the table.  Their units go
 * to *n_jobs, what the kernel takes.  False, and nothing is set: a move has
 * sizes or types that the kernel does not know, is not aligned, or there are
 * more units than 2^63. */
int czr_moves_number(czr_move *moves, size_t n, uint64_t *n_jobs);

#endif
