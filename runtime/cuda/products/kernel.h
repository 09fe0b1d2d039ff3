/* A product on a device: its tiles in the device's memory, its arguments ready,
 * so that to start it is one call of the driver. */
#ifndef CZR_CUDA_PRODUCTS_KERNEL_H
#define CZR_CUDA_PRODUCTS_KERNEL_H

#include "runtime/cuda/driver/cache.h"
#include "runtime/cuda/driver/module.h"
#include "runtime/cuda/products/host.h"

/* By NVRTC or from the cache (which may be NULL), code for the context's device
 * (target.h), which the plan is for; czr_nvrtc_code_fini frees it.  REFUSED:
 * the log says why. */
czr_nvrtc_status czr_product_kernel_compile(const czr_context *context,
                                            czr_cache *cache, czr_nvrtc *nvrtc,
                                            const czr_cuda_product_plan *plan,
                                            czr_nvrtc_code *code);

/* As the bodies have them.  Strides count elements. */
typedef struct czr_product_operand {
    czr_address data;
    uint64_t stride, batch;
} czr_product_operand;

typedef struct czr_product_epilogue {
    float alpha, beta;
} czr_product_epilogue;

typedef struct czr_product_list {
    czr_address tiles; /* 64 bits for each */
    czr_address sums;
    int n_tiles, n_full, splits, is_end;
} czr_product_list;

enum { CZR_PRODUCT_OPERANDS = 4, CZR_PRODUCT_ARGUMENTS = 10 };
/* Bytes of each argument, for sm_80 and later and for sm_90. */
extern const int czr_product_kernel_bytes[2][CZR_PRODUCT_ARGUMENTS];

/* Stands where it was opened: arguments point inside. */
typedef struct czr_product_kernel {
    czr_context *context; /* the caller's, open as long as this */
    void *kernel;
    czr_launch launch;
    czr_product_list list;
    /* Arguments: of sm_90 maps, else where operands lie; x, y, s, c. */
    czr_tensor_map maps[CZR_PRODUCT_OPERANDS];
    czr_product_operand matrices[CZR_PRODUCT_OPERANDS];
    czr_product_epilogue epilogue;
    int rows, cols, depth;
    czr_address skip;
    void *arguments[CZR_PRODUCT_ARGUMENTS];
} czr_product_kernel;

/* For products of a shape, which the plan is of, with its `kernel`, found in a
 * module that lives longer, and its table of tiles, which may go as soon as
 * this returns: it waits until the table is on the device.  What fails is said
 * by the context; *out is then closed. */
czr_status czr_product_kernel_open(czr_context *context,
                                   const czr_cuda_product_plan *plan,
                                   void *kernel, const uint64_t *tiles,
                                   void *stream, czr_product_kernel *out);
/* Before it is put: `product` has the device's addresses, and `plan` is of it;
 * of a batch also for fewer matrices, whose tiles come first in the table.
 * plan->sums_bytes at `sums`, a multiple of 4, are its own while it runs.
 * Where the device has something other than 0 at `skip`, c stays as it is; 0:
 * nowhere. */
czr_status czr_product_kernel_aim(czr_product_kernel *kernel,
                                  const czr_cuda_product *product,
                                  const czr_cuda_product_plan *plan,
                                  czr_address sums, czr_address skip);
/* c is computed behind what the stream has: by two launches if the plan is
 * split. */
czr_status czr_product_kernel_put(czr_product_kernel *kernel, void *stream);
/* What was started has ended before. */
void czr_product_kernel_close(czr_product_kernel *kernel);

#endif
