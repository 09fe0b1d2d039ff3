/* A double of runtime/cuda/collect/collect.c: the host's functions as kernels
 * of the double of the driver.  For tests of what calls them; that the kernels
 * of collect.cu make the same bits is said by tests of their own. */
#ifndef TESTS_CUDA_HOST_COLLECT_H
#define TESTS_CUDA_HOST_COLLECT_H

#include "runtime/cuda/collect/collect.h"
#include "tests/gpu/plan/deferred.h"

struct czr_collect {
    deferred deferred;
};

#define PUT(collect, work, given, stream)                                      \
    deferred_put(&(collect)->deferred, work, &(given), sizeof(given), stream)

static inline bool is_skipped(const int32_t *skip)
{
    const int32_t *at = skip ? deferred_at(skip, sizeof *skip) : NULL;

    return skip && (!at || *at);
}

#endif
