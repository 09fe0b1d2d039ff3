// Our prototypes and numbers against cuda.h, where there is one: as many
// arguments, each of the same size, pointers where it has pointers.  Compiling is
// the test.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cuda.h>

extern "C" {
#define _Alignas alignas
#include "runtime/cuda/driver.h"
#undef _Alignas
}

template <typename A, typename B> constexpr bool is_same()
{
    return sizeof(A) == sizeof(B) &&
           std::is_pointer<A>::value == std::is_pointer<B>::value;
}

template <typename F, typename G> struct same;
template <typename... A, typename R, typename... B>
struct same<int (*)(A...), R (*)(B...)> {
    static constexpr bool value()
    {
        if constexpr (sizeof...(A) == sizeof...(B))
            return sizeof(R) == sizeof(int) && (is_same<A, B>() && ...);
        else
            return false;
    }
};

#define CZR_CALL(symbol, name, arguments)                                      \
    static_assert(same<int(*) arguments, decltype(&symbol)>::value(), #symbol);
#include "runtime/cuda/driver_calls.def"
#undef CZR_CALL

#define SAME(ours, theirs) static_assert(int(ours) == int(theirs), #theirs)
SAME(CZR_CUDA_SUCCESS, CUDA_SUCCESS);
SAME(CZR_CUDA_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(CZR_CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(CZR_CUDA_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(CZR_CUDA_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
SAME(CZR_CUDA_DEVICE_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(CZR_CUDA_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(CZR_CUDA_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME(CZR_CUDA_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
SAME(CZR_CUDA_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
SAME(CZR_CUDA_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(CZR_CUDA_INVALID_PTX, CUDA_ERROR_INVALID_PTX);
SAME(CZR_CUDA_JIT_COMPILER_NOT_FOUND, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
SAME(CZR_CUDA_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(CZR_CUDA_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME(CZR_CUDA_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME(CZR_CUDA_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(CZR_CUDA_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(CZR_CUDA_SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(CZR_CUDA_SYSTEM_DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(CZR_CUDA_COMPAT_NOT_SUPPORTED_ON_DEVICE,
     CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
SAME(CZR_CUDA_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(CZR_CUDA_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(CZR_CUDA_STREAM_CAPTURE_UNMATCHED, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
SAME(CZR_CUDA_STREAM_CAPTURE_UNJOINED, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
SAME(CZR_CUDA_STREAM_CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SAME(CZR_CUDA_CAPTURED_EVENT, CUDA_ERROR_CAPTURED_EVENT);
SAME(CZR_CUDA_INVALID_CLUSTER_SIZE, CUDA_ERROR_INVALID_CLUSTER_SIZE);
SAME(CZR_DEVICE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(CZR_DEVICE_COMPUTE_CAPABILITY_MAJOR,
     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(CZR_DEVICE_COMPUTE_CAPABILITY_MINOR,
     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CZR_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(CZR_FUNC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(CZR_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES,
     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(CZR_LAUNCH_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(CZR_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(CZR_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(CZR_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(CZR_TENSOR_MAP_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
SAME(CZR_TENSOR_MAP_FLOAT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
SAME(CZR_TENSOR_MAP_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
SAME(CZR_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE);
SAME(CZR_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_SWIZZLE_128B);
SAME(CZR_TENSOR_MAP_L2_256B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);

#define PLACE(ours, field, theirs, its)                                        \
    static_assert(offsetof(ours, field) == offsetof(theirs, its), #its)
static_assert(sizeof(czr_launch_config) == sizeof(CUlaunchConfig));
static_assert(sizeof(czr_launch_attribute) == sizeof(CUlaunchAttribute));
static_assert(sizeof(czr_tensor_map) == sizeof(CUtensorMap));
static_assert(alignof(czr_tensor_map) >= alignof(CUtensorMap));
PLACE(czr_launch_config, grid, CUlaunchConfig, gridDimX);
PLACE(czr_launch_config, block, CUlaunchConfig, blockDimX);
PLACE(czr_launch_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
PLACE(czr_launch_config, stream, CUlaunchConfig, hStream);
PLACE(czr_launch_config, attributes, CUlaunchConfig, attrs);
PLACE(czr_launch_config, n_attributes, CUlaunchConfig, numAttrs);
PLACE(czr_launch_attribute, value, CUlaunchAttribute, value);
PLACE(czr_launch_attribute, value.cluster, CUlaunchAttribute,
      value.clusterDim.x);

int main()
{
    return 0;
}
