// Our prototypes, numbers and places against nccl.h.  Compiling is the test;
// real.py compiles.
#include <cstddef>
#include <cstdint>

#include <nccl.h>

#include "tests/gpu/real/same.hpp"

extern "C" {
#include "runtime/cuda/world/nccl.h"
}

#define CZR_CALL(symbol, name, result, arguments)                              \
    static_assert(same<result(*) arguments, decltype(&symbol)>::value(),       \
                  #symbol);
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
SAME(CZR_NCCL_DEFAULT, NCCL_CONFIG_UNDEF_INT);
SAME(CZR_NCCL_VERSION, NCCL_VERSION(2, 20, 0));
static_assert(CZR_NCCL_VERSION <= NCCL_VERSION_CODE, "NCCL_VERSION_CODE");
constexpr ncclConfig_t initial = NCCL_CONFIG_INITIALIZER;
SAME(CZR_NCCL_MAGIC, initial.magic);

#define PLACE(ours, theirs)                                                    \
    static_assert(offsetof(czr_nccl_config, ours) ==                           \
                      offsetof(ncclConfig_t, theirs),                          \
                  #theirs)
static_assert(sizeof(czr_nccl_id) == sizeof(ncclUniqueId), "ncclUniqueId");
static_assert(sizeof(czr_nccl_config) <= sizeof(ncclConfig_t), "ncclConfig_t");
PLACE(size, size);
PLACE(magic, magic);
PLACE(version, version);
PLACE(blocking, blocking);
PLACE(cluster, cgaClusterSize);
PLACE(min_blocks, minCTAs);
PLACE(max_blocks, maxCTAs);
PLACE(net, netName);
PLACE(split_share, splitShare);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 26, 0)
PLACE(traffic_class, trafficClass);
#else
// Nothing of theirs begins where ours does.
static_assert(offsetof(czr_nccl_config, traffic_class) ==
                  offsetof(ncclConfig_t, splitShare) + sizeof(int),
              "trafficClass");
static_assert(sizeof(czr_nccl_config) == sizeof(ncclConfig_t), "ncclConfig_t");
#endif
