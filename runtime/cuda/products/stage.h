/* Stages of a program on one device: NAME.cu compiled and loaded, and all that
 * the tables of stages need found, so that a step launches and does nothing
 * else. */
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

typedef struct czr_cuda_stages {
    const czr_cuda_program *program;
    czr_context *context; /* the caller's, open as long as this */
    czr_cache *cache;     /* the caller's, or NULL */
    czr_nvrtc *nvrtc;     /* the caller's, while this is opened */
    czr_module module;
    void **kernels; /* [program->n_kernels] */
    void *common[CZR_CUDA_N_COMMON];
    size_t workspace_bytes; /* that the calls of a stage need at most */
    /* Where libraries are; NULL: where the loader finds them. */
    const char *cublas, *cusolver;
    struct czr_cuda_products *products; /* of multiply.c and factorise.c; NULL:
                                         * nobody asked for one */
} czr_cuda_stages;

/* One call of a stage, as czr_call; pointers to data are the device's.  The
 * memory that it names stays until the stream has done the work. */
typedef struct czr_cuda_call {
    czr_cuda_stages *stages;
    czr_cuda_stage next; /* step of its table */
    const void *const *in;
    void *const *out;
    /* [n_scalars] of the stage: where each lies when the stream gets there. */
    const float *const *scalars;
    size_t count, equal_part;
    unsigned char *work;
    /* Memory of this stage alone until the stream has done it: as many bytes as
     * czr_cuda_stages_workspace says, aligned to 256. */
    unsigned char *workspace;
    /* The rank's scratch, [scratch_bytes].  A skipped step may leave anything
     * there.  NULL: none. */
    unsigned char *scratch;
    size_t scratch_bytes;
    int32_t *status;     /* keeps the first failure; 0 is CZR_OK */
    const int32_t *skip; /* not 0: kernels write nothing; NULL: they do */
    void *stream;
} czr_cuda_call;

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

/* Bytes of czr_cuda_call.workspace: one such for each stage that may run beside
 * others, that is, for each stream of each engine. */
static inline size_t czr_cuda_stages_workspace(const czr_cuda_stages *stages)
{
    return stages->workspace_bytes;
}

/* Puts all steps of n calls on the stream that they share: the first step of
 * each, then the second, until all are at their ends.  Products that are alike
 * and as far apart from one call to the next are one launch.  The calls compute
 * with different matrices.
 *
 * - A failure to put a step ends this, and the context has its sentence.
 * - A failure on the device goes to call->status.  The work behind it runs
 *   nevertheless, and outputs then mean nothing. */
czr_status czr_cuda_stages_put(czr_cuda_call *calls, size_t n);

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
