/* Stages of a program on one device: NAME.cu compiled and loaded, all kernels
 * found, so that a step launches and does nothing else. */
#ifndef CZR_CUDA_PRODUCTS_STAGE_H
#define CZR_CUDA_PRODUCTS_STAGE_H

#include "runtime/cuda/driver/cache.h"
#include "runtime/cuda/driver/module.h"
#include "runtime/czr_cuda.h"

/* Kernels that every NAME.cu has, of elementwise.cuh. */
typedef enum czr_cuda_common {
    CZR_CUDA_SUM_BLOCKS,
    CZR_CUDA_LARGEST_BLOCKS,
    CZR_CUDA_SUM_STRIPS,
    CZR_CUDA_LARGEST_STRIPS,
    CZR_CUDA_COPY,
    CZR_CUDA_PROLOGUE, /* of NAME.cu itself */
    CZR_CUDA_N_COMMON
} czr_cuda_common;

struct czr_cuda_stages {
    const czr_cuda_program *program;
    czr_context *context; /* the caller's, open as long as this */
    czr_cache *cache;     /* the caller's, or NULL */
    czr_nvrtc *nvrtc;     /* the caller's, while this is opened */
    czr_module module;
    void **kernels; /* [program->n_kernels] */
    void *shared[CZR_CUDA_N_COMMON];
    size_t workspace_bytes; /* that the calls of a stage need at most */
    /* While this is opened every stage is called once, with pointers that mean
     * nothing: nothing is launched, each call compiles and loads what it will
     * need and asks for its room. */
    bool is_opening;
    /* While it is: matrices that the stage's products may have at once; steps
     * and pointers of the call, and the most of any. */
    int64_t batch;
    size_t n_deferred, n_pointers, most_deferred, most_pointers;
    /* Where libraries are; NULL: where the loader finds them. */
    const char *cublas, *cusolver;
    struct czr_cuda_products *products; /* of multiply.c and factorise.c; NULL:
                                         * nobody asked for one */
};

/* Compiles by `nvrtc`, or takes from the cache (which may be NULL), for the
 * device of the context, which says what failed: CZR_ERR_DEVICE_CODE also where
 * NVRTC refuses or is missing.  `out` stays where it is, and is closed where
 * this fails. */
czr_status czr_cuda_stages_open(czr_context *context, czr_cache *cache,
                                czr_nvrtc *nvrtc,
                                const czr_cuda_program *program,
                                czr_cuda_stages *out);
/* What was started has ended before. */
void czr_cuda_stages_close(czr_cuda_stages *stages);

/* Bytes of czr_cuda_call.room: one such for each stage that may run beside
 * others, that is, for each stream of each engine. */
static inline size_t czr_cuda_stages_workspace(const czr_cuda_stages *stages)
{
    return stages->workspace_bytes;
}

/* While stages are opened: a call will need so much room. */
static inline void czr_cuda_stages_need(czr_cuda_stages *stages, size_t bytes)
{
    if (stages->workspace_bytes < bytes)
        stages->workspace_bytes = bytes;
}

/* The program's scalars of a step, as program->prologue: all pointers are the
 * device's.  One thread on `stream`. */
czr_status czr_cuda_prologue(const czr_cuda_stages *stages, const double *t,
                             const double *clip, const double *hypers,
                             float *scalars, void *stream);

#endif
