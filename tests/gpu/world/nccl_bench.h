/* A rank's world over the double of NCCL, whose sums are done by functions of
 * the host. */
#ifndef TESTS_CUDA_NCCL_BENCH_H
#define TESTS_CUDA_NCCL_BENCH_H

#include "runtime/cuda/collect/collect.h"
#include "runtime/cuda/world/nccl_world.h"
#include "tests/gpu/driver/ranks.h"

#include <string.h>

typedef czr_status (*nccl_bench_body)(test_rank *self, czr_world *world,
                                      void *user);

/* The body in a world with these options, of which tests leave what is alike;
 * self->status is the body's, or says why there is no world. */
static inline void nccl_bench_run(const ranks_bench *bench, test_rank *self,
                                  czr_world_nccl_options options,
                                  nccl_bench_body body, void *user)
{
    czr_world *world = NULL;

    self->status = czr_collect_open(self->context, NULL, NULL, &options.collect,
                                    self->message);
    if (self->status == CZR_OK) {
        options.nccl = bench->nccl;
        options.id = options.broadcast ? NULL : &bench->id;
        options.rank = self->rank;
        options.size = self->size;
        self->status =
            czr_world_nccl_open(self->context, &options, &world, self->message);
        RANK_CHECK(!world == (self->status != CZR_OK));
    }
    if (self->status == CZR_OK)
        self->status = body(self, world, user);
    czr_world_nccl_close(world);
    czr_collect_close(options.collect);
}

#endif
