/* Sums whose order is part of their meaning. */
#ifndef CZR_WORLD_SUM_H
#define CZR_WORLD_SUM_H

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

/* The member's part of a sum_scatter: the same sums, on it alone. */
void czr_sum_equal_part(const czr_collective *const *members, int n_members,
                        int member);

#endif
