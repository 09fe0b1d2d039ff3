/* Blocks of a row of n positions: `size` of them each, `stride` apart.  With
 * stride 1 a block is aligned and in one piece; with stride n / size all blocks
 * interleave.  Seats count from a block's first position. */
#ifndef CZ_DSL_BASE_BLOCK_H
#define CZ_DSL_BASE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cz_block {
    int64_t size, stride;
} cz_block;

/* Whether n positions are made of such blocks.  All below wants that. */
static inline bool cz_block_divides(cz_block block, int64_t n)
{
    int64_t span;
    return block.size > 0 && block.stride > 0 &&
           !__builtin_mul_overflow(block.size, block.stride, &span) &&
           n % span == 0;
}

static inline int64_t cz_block_place(cz_block block, int64_t position)
{
    return position / block.stride % block.size;
}

/* The first position of that one's block. */
static inline int64_t cz_block_first(cz_block block, int64_t position)
{
    return position - cz_block_place(block, position) * block.stride;
}

/* The number of its block, below n / size. */
static inline int64_t cz_block_number(cz_block block, int64_t position)
{
    return position / (block.size * block.stride) * block.stride +
           position % block.stride;
}

/* The seat of a position in the block that begins at `first`; -1: none. */
static inline int64_t cz_block_member(cz_block block, int64_t first,
                                      int64_t position)
{
    return position >= 0 && cz_block_first(block, position) == first
               ? cz_block_place(block, position)
               : -1;
}

#endif
