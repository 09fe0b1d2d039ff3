// Our prototypes and numbers against cuda.h: as many arguments, each of the
// same size, pointers where it has pointers.  Compiling is the test; real.py
// compiles.
#include <cstddef>
#include <cstdint>

#include <cuda.h>

#include "tests/gpu/real/same.hpp"

extern "C" {
#define _Alignas alignas
#include "runtime/cuda/driver/driver.h"
#undef _Alignas
}

#define CZR_CALL(symbol, name, arguments)                                      \
    static_assert(same<int(*) arguments, decltype(&symbol)>::value(), #symbol);
#include "runtime/cuda/driver/driver_calls.def"
#undef CZR_CALL
#if CUDA_VERSION >= 12040 /* the one that is looked for by itself */
static_assert(same<decltype(czr_driver::function_load),
                   decltype(&cuFuncLoad)>::value(),
              "cuFuncLoad");
#endif

#define SAME(ours, theirs) static_assert(int(ours) == int(theirs), #theirs)
SAME(CZR_CUDA_SUCCESS, CUDA_SUCCESS);
SAME(CZR_CUDA_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME(CZR_CUDA_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(CZR_CUDA_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(CZR_CUDA_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY);
#if CUDA_VERSION >= 13000 /* older ones know it of the runtime API alone */
SAME(CZR_CUDA_CALL_REQUIRES_NEWER_DRIVER,
     CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
#endif
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
SAME(CZR_CUDA_STREAM_CAPTURE_UNSUPPORTED,
     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(CZR_CUDA_STREAM_CAPTURE_INVALIDATED,
     CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(CZR_CUDA_STREAM_CAPTURE_UNMATCHED, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
SAME(CZR_CUDA_STREAM_CAPTURE_UNJOINED, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
SAME(CZR_CUDA_STREAM_CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
SAME(CZR_CUDA_CAPTURED_EVENT, CUDA_ERROR_CAPTURED_EVENT);
SAME(CZR_MEMORY_TYPE_DEVICE, CU_MEMORYTYPE_DEVICE);
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
SAME(CZR_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(CZR_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(CZR_EVENT_RECORD_EXTERNAL, CU_EVENT_RECORD_EXTERNAL);
SAME(CZR_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(CZR_TENSOR_MAP_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
SAME(CZR_TENSOR_MAP_BFLOAT16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
SAME(CZR_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE);
SAME(CZR_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_SWIZZLE_128B);
SAME(CZR_TENSOR_MAP_L2_256B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);

static_assert(CZR_DRIVER_VERSION <= CUDA_VERSION, "CUDA_VERSION");

#define PLACE(ours, field, theirs, its)                                        \
    static_assert(offsetof(ours, field) == offsetof(theirs, its), #its)
#define SIZE(ours, theirs)                                                     \
    static_assert(sizeof(ours) == sizeof(theirs), #theirs)
SIZE(czr_launch_config, CUlaunchConfig);
SIZE(czr_tensor_map, CUtensorMap);
static_assert(alignof(czr_tensor_map) >= alignof(CUtensorMap), "alignment");
SIZE(czr_copy_box, CUDA_MEMCPY2D);
PLACE(czr_copy_box, from.column, CUDA_MEMCPY2D, srcXInBytes);
PLACE(czr_copy_box, from.row, CUDA_MEMCPY2D, srcY);
PLACE(czr_copy_box, from.type, CUDA_MEMCPY2D, srcMemoryType);
PLACE(czr_copy_box, from.host, CUDA_MEMCPY2D, srcHost);
PLACE(czr_copy_box, from.address, CUDA_MEMCPY2D, srcDevice);
PLACE(czr_copy_box, from.array, CUDA_MEMCPY2D, srcArray);
PLACE(czr_copy_box, from.stride, CUDA_MEMCPY2D, srcPitch);
PLACE(czr_copy_box, to.type, CUDA_MEMCPY2D, dstMemoryType);
PLACE(czr_copy_box, to.address, CUDA_MEMCPY2D, dstDevice);
PLACE(czr_copy_box, to.stride, CUDA_MEMCPY2D, dstPitch);
PLACE(czr_copy_box, row_bytes, CUDA_MEMCPY2D, WidthInBytes);
PLACE(czr_copy_box, n_rows, CUDA_MEMCPY2D, Height);
PLACE(czr_launch_config, grid, CUlaunchConfig, gridDimX);
PLACE(czr_launch_config, block, CUlaunchConfig, blockDimX);
PLACE(czr_launch_config, shared_memory_bytes, CUlaunchConfig, sharedMemBytes);
PLACE(czr_launch_config, stream, CUlaunchConfig, hStream);
PLACE(czr_launch_config, attributes, CUlaunchConfig, attrs);
PLACE(czr_launch_config, n_attributes, CUlaunchConfig, numAttrs);
