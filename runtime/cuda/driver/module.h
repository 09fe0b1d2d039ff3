/* Machine code on one device: loaded, its kernels found, launched; and the maps
 * that copies of tensors by TMA read. */
#ifndef CZR_CUDA_DRIVER_MODULE_H
#define CZR_CUDA_DRIVER_MODULE_H

#include "runtime/cuda/driver/context.h"

typedef struct czr_module {
    czr_context *context;
    void *library;
} czr_module;

/* A cubin, or PTX with its final zero; `name` is for messages.  The code may go
 * as soon as this returns.  CZR_ERR_DEVICE_CODE: the device cannot run it. */
czr_status czr_module_open(czr_context *context, const void *code,
                           const char *name, czr_module *out);
/* Half-open ones too. */
void czr_module_close(czr_module *module);

/* How often a kernel runs at once; extents are > 0. */
typedef struct czr_launch {
    unsigned grid[3], block[3];
    unsigned shared_memory_bytes; /* dynamic, as czr_module_find was reported at
                                     most */
} czr_launch;

/* A kernel that lives as long as the module and may ask for so many bytes of
 * dynamic shared memory.  The device has its code when this returns.  The
 * context is entered, and the thread captures nothing.  CZR_ERR_DEVICE_CODE: no
 * such kernel, or the device has not that much. */
czr_status czr_module_find(const czr_module *module, const char *name,
                           int shared_memory_bytes, void **kernel);
/* `arguments` point to the values, which are copied. */
czr_status czr_module_launch(czr_context *context, void *kernel,
                             const czr_launch *launch, void **arguments,
                             void *stream);

/* A tensor in device memory, seen in boxes; dimension 0 is contiguous. */
typedef struct czr_tiled {
    int type; /* CZR_TENSOR_MAP_BFLOAT16 or CZR_TENSOR_MAP_FLOAT16 */
    int rank;
    czr_address address; /* a multiple of 16 */
    uint64_t dims[CZR_TENSOR_MAP_MAX_RANK];
    uint64_t strides[CZR_TENSOR_MAP_MAX_RANK - 1]; /* bytes, multiples of 16, of
                                                    * dimensions 1, 2, ... */
    uint32_t box[CZR_TENSOR_MAP_MAX_RANK];
    int swizzle; /* CZR_TENSOR_MAP_SWIZZLE_128B and the like */
} czr_tiled;

/* What lies outside is read as zero and not written. */
czr_status czr_module_encode(czr_context *context, const czr_tiled *tiled,
                             czr_tensor_map *out);

#endif
