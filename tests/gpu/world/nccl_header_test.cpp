// Our prototypes and numbers against nccl.h, where there is one.  Compiling is the
// test.
#include <cstddef>
#include <cstdint>

#include <nccl.h>

#include "tests/gpu/bodies/same.hpp"

extern "C" {
#include "runtime/cuda/world/nccl.h"
}

#define CZR_CALL(symbol, name, arguments)                                      \
    static_assert(same<int(*) arguments, decltype(&symbol)>::value(), #symbol);
#include "runtime/cuda/world/nccl_calls.def"
#undef CZR_CALL

#define SAME(ours, theirs) static_assert(int(ours) == int(theirs), #theirs)
SAME(CZR_NCCL_SUCCESS, ncclSuccess);
SAME(CZR_NCCL_UNHANDLED_CUDA_ERROR, ncclUnhandledCudaError);
SAME(CZR_NCCL_SYSTEM_ERROR, ncclSystemError);
SAME(CZR_NCCL_INTERNAL_ERROR, ncclInternalError);
SAME(CZR_NCCL_INVALID_ARGUMENT, ncclInvalidArgument);
SAME(CZR_NCCL_INVALID_USAGE, ncclInvalidUsage);
SAME(CZR_NCCL_REMOTE_ERROR, ncclRemoteError);
SAME(CZR_NCCL_IN_PROGRESS, ncclInProgress);
SAME(CZR_NCCL_INT8, ncclInt8);
SAME(CZR_NCCL_INT64, ncclInt64);
SAME(CZR_NCCL_FLOAT32, ncclFloat32);
SAME(CZR_NCCL_FLOAT64, ncclFloat64);
SAME(CZR_NCCL_SUM, ncclSum);
SAME(CZR_NCCL_ID_BYTES, NCCL_UNIQUE_ID_BYTES);
SAME(CZR_NCCL_VERSION, NCCL_VERSION(2, 18, 0));

#define PLACE(ours, theirs)                                                    \
    static_assert(offsetof(czr_nccl_config, ours) ==                           \
                      offsetof(ncclConfig_t, theirs),                          \
                  #theirs)
static_assert(sizeof(czr_nccl_id) == sizeof(ncclUniqueId), "id");
static_assert(sizeof(czr_nccl_config) <= sizeof(ncclConfig_t), "configuration");
PLACE(size, size);
PLACE(magic, magic);
PLACE(version, version);
PLACE(blocking, blocking);
PLACE(cluster, cgaClusterSize);
PLACE(min_blocks, minCTAs);
PLACE(max_blocks, maxCTAs);
PLACE(net, netName);
PLACE(split_share, splitShare);

int main()
{
    return 0;
}
