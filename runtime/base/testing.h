/* Faults that tests plant.  No part of the public interface. */
#ifndef CZR_BASE_TESTING_H
#define CZR_BASE_TESTING_H

#include "runtime/czr.h"

/* Each rank sums its own leaves first and the ranks' sums are added then: the
 * naive reduction, whose bits depend on the mesh.  All ranks must agree. */
void czr_testing_rank_order_reduction(czr_world *world, int is_on);

/* The n-th allocation of this thread from now on fails, once; 0: none. */
void czr_testing_fail_allocation(int64_t n);

/* Threads share work of elements from two times n on; not while any works. */
void czr_testing_thread_elements(int64_t n);

/* Runs are computed as two streams, in blocks of so many elements, where each
 * has `least` or more. */
void czr_testing_stream_elements(int64_t block, int64_t least);

/* The next n eigenvalue routines that this thread calls do not converge. */
void czr_testing_fail_eigh(int n);

#endif
