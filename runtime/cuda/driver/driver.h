/* The CUDA driver, opened when asked for: a machine without one runs all the
 * same.  Types and numbers are those of the driver API, by their names there;
 * no header of CUDA is needed. */
#ifndef CZR_CUDA_DRIVER_DRIVER_H
#define CZR_CUDA_DRIVER_DRIVER_H

#include "runtime/czr.h"

/* What knows all we need, and runs machine code of NVRTC 12: CUDA 12.0. */
enum { CZR_DRIVER_VERSION = 12000, CZR_DRIVER_MESSAGE = 256 };

/* CUresult, as far as we tell codes apart. */
enum {
    CZR_CUDA_SUCCESS = 0,
    CZR_CUDA_INVALID_VALUE = 1,
    CZR_CUDA_OUT_OF_MEMORY = 2,
    CZR_CUDA_NOT_INITIALIZED = 3,
    CZR_CUDA_STUB_LIBRARY = 34,
    CZR_CUDA_CALL_REQUIRES_NEWER_DRIVER = 36,
    CZR_CUDA_DEVICE_UNAVAILABLE = 46,
    CZR_CUDA_NO_DEVICE = 100,
    CZR_CUDA_INVALID_DEVICE = 101,
    CZR_CUDA_INVALID_IMAGE = 200,
    CZR_CUDA_INVALID_CONTEXT = 201,
    CZR_CUDA_NO_BINARY_FOR_GPU = 209,
    CZR_CUDA_INVALID_PTX = 218,
    CZR_CUDA_JIT_COMPILER_NOT_FOUND = 221,
    CZR_CUDA_UNSUPPORTED_PTX_VERSION = 222,
    CZR_CUDA_INVALID_HANDLE = 400,
    CZR_CUDA_NOT_FOUND = 500,
    CZR_CUDA_NOT_READY = 600,
    CZR_CUDA_ILLEGAL_ADDRESS = 700,
    CZR_CUDA_SYSTEM_NOT_READY = 802,
    CZR_CUDA_SYSTEM_DRIVER_MISMATCH = 803,
    CZR_CUDA_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
    CZR_CUDA_STREAM_CAPTURE_UNSUPPORTED = 900,
    CZR_CUDA_STREAM_CAPTURE_INVALIDATED = 901,
    CZR_CUDA_STREAM_CAPTURE_UNMATCHED = 903,
    CZR_CUDA_STREAM_CAPTURE_UNJOINED = 904,
    CZR_CUDA_STREAM_CAPTURE_ISOLATION = 905,
    CZR_CUDA_CAPTURED_EVENT = 907
};

/* CUdevice_attribute, CUfunction_attribute, and flags. */
enum {
    CZR_DEVICE_MULTIPROCESSOR_COUNT = 16,
    CZR_DEVICE_COMPUTE_CAPABILITY_MAJOR = 75,
    CZR_DEVICE_COMPUTE_CAPABILITY_MINOR = 76,
    CZR_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
    CZR_FUNC_SHARED_SIZE_BYTES = 1,
    CZR_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
    CZR_STREAM_NON_BLOCKING = 1,
    CZR_EVENT_DISABLE_TIMING = 2,
    CZR_EVENT_RECORD_EXTERNAL = 1,
    CZR_CAPTURE_MODE_THREAD_LOCAL = 1
};

/* CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion. */
enum {
    CZR_TENSOR_MAP_FLOAT16 = 6,
    CZR_TENSOR_MAP_BFLOAT16 = 9,
    CZR_TENSOR_MAP_SWIZZLE_NONE = 0,
    CZR_TENSOR_MAP_SWIZZLE_128B = 3,
    CZR_TENSOR_MAP_L2_256B = 3,
    CZR_TENSOR_MAP_MAX_RANK = 5
};

/* CUlaunchConfig. */
typedef struct czr_launch_config {
    unsigned grid[3], block[3], shared_memory_bytes;
    void *stream;
    const void *attributes; /* none */
    unsigned n_attributes;
} czr_launch_config;

/* CUDA_MEMCPY2D between two places of device memory. */
enum { CZR_MEMORY_TYPE_DEVICE = 2 };
typedef struct czr_copy_side {
    size_t column, row; /* bytes and rows, 0 */
    int type;
    const void *host;
    uint64_t address;
    void *array;
    size_t stride;
} czr_copy_side;
typedef struct czr_copy_box {
    czr_copy_side from, to;
    size_t row_bytes, n_rows;
} czr_copy_box;

/* CUtensorMap: opaque, and written by the driver alone. */
typedef struct czr_tensor_map {
    _Alignas(128) uint64_t opaque[16];
} czr_tensor_map;

typedef struct czr_driver {
    void *library;
    int version; /* of CUDA that it knows: 1000 major + 10 minor */
    int (*function_load)(void *function); /* cuFuncLoad; NULL: before 12.4 */
#define CZR_CALL(symbol, name, arguments) int(*name) arguments;
#include "runtime/cuda/driver/driver_calls.def"
#undef CZR_CALL
} czr_driver;

/* The library at `path`, or where that is NULL libcuda.so.1; initialised.  If
 * it fails, *out is NULL and `message` says why: CZR_ERR_NO_DEVICE where
 * library, function or device is missing or the driver too old,
 * CZR_ERR_NO_MEMORY. */
czr_status czr_driver_open(const char *path, czr_driver **out,
                           char message[CZR_DRIVER_MESSAGE]);
/* NULL is allowed. */
void czr_driver_close(czr_driver *driver);

/* What a CUresult is to us. */
czr_status czr_driver_status(int code);
/* The driver's sentence for it; never NULL. */
const char *czr_driver_text(const czr_driver *driver, int code);

#endif
