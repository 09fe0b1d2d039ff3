/* Sums whose order is part of their meaning. */
#ifndef CZR_WORLD_SUM_H
#define CZR_WORLD_SUM_H

#include "runtime/program/program.h"
#include "runtime/world/world.h"

/* `mine->out` becomes the scaled sum over the members' gradients, and its
 * largest magnitude is noted.  In rank order (a fault that tests plant) each
 * member's leaves are added up first. */
void czr_sum_grads(const czr_reduce_scatter *mine,
                   const czr_collective *const *members, int n_members,
                   bool rank_order);

/* Elements [first, first + n) of all members' data become their sum on every
 * member: neighbouring positions are added first, then neighbouring sums, as a
 * tree, in a type wide enough, rounded once per element, or with
 * CZR_SUM_BF16_EACH after each addition. */
void czr_sum_slice(const czr_collective *const *members, int n_members,
                   size_t first, size_t n);

/* The same sums, on one member alone. */
void czr_sum_slice_at(const czr_collective *const *members, int n_members,
                      int member, size_t first, size_t n);

/* The member's part of a sum_scatter: the same sums, on it alone. */
void czr_sum_equal_part(const czr_collective *const *members, int n_members,
                        int member);

/* Who adds up what of `count` elements: consecutive ranges, the first ones
 * longer by one. */
czr_range czr_sum_range(size_t count, int n_members, int member);
/* Chunk number k, of `chunk` elements, of a range, which may be empty; how many
 * chunks the longest of ranges[n] has. */
czr_range czr_sum_chunk(czr_range range, size_t chunk, int64_t k);
int64_t czr_sum_chunks(const czr_range *ranges, int n, size_t chunk);

#endif
