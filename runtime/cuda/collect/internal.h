/* What the parts of collect.h share: kernels by number, arguments as the bodies
 * have them, launches. */
#ifndef CZR_CUDA_COLLECT_INTERNAL_H
#define CZR_CUDA_COLLECT_INTERNAL_H

#include "runtime/cuda/collect/collect.h"

/* Kernels of collect_*.cu and pack.cu; their names have collect_ in front. */
#define CZR_COLLECT_KERNELS(X)                                                 \
    X(leaves_f32)                                                              \
    X(leaves_bf16)                                                             \
    X(slice)                                                                   \
    X(band_sum)                                                                \
    X(band_gather)                                                             \
    X(mirror)                                                                  \
    X(norm)                                                                    \
    X(ask)                                                                     \
    X(guard)                                                                   \
    X(begin)                                                                   \
    X(decide)                                                                  \
    X(note)                                                                    \
    X(settle)                                                                  \
    X(hypers)                                                                  \
    X(fill)                                                                    \
    X(convert)                                                                 \
    X(copy)                                                                    \
    X(hash)                                                                    \
    X(pack)

typedef enum czr_collect_kernel {
#define CZR_COLLECT_KERNEL(name) CZR_COLLECT_##name,
    CZR_COLLECT_KERNELS(CZR_COLLECT_KERNEL)
#undef CZR_COLLECT_KERNEL
        CZR_COLLECT_N_KERNELS
} czr_collect_kernel;

/* Threads of a block, elements of a unit of spans, and of a tile's side. */
enum {
    CZR_COLLECT_THREADS = 256,
    CZR_COLLECT_CHUNK = 32 * CZR_COLLECT_THREADS,
    CZR_COLLECT_SIDE = 32
};

struct czr_collect {
    czr_context *context;
    czr_module module;
    uint64_t most_blocks;
    void *kernels[CZR_COLLECT_N_KERNELS];
};

/* Arguments that are structs. */
typedef struct czr_collect_grads_argument {
    const void *const *grads;
    int32_t n_members, n_grads;
    uint64_t grad_stride, first, n;
    float *out;
    float scale;
    int32_t *largest;
} czr_collect_grads_argument;

typedef struct czr_collect_slice_argument {
    uint64_t n, is_equal_part;
} czr_collect_slice_argument;

typedef struct czr_collect_band_argument {
    uint64_t side, blocks;
} czr_collect_band_argument;

typedef struct czr_collect_hypers_argument {
    double values[CZR_COLLECT_HYPERS];
} czr_collect_hypers_argument;

/* Work that blocks of so many threads share in any number. */
typedef struct czr_collect_work {
    czr_collect_kernel kernel;
    uint64_t n_blocks; /* that have something to do; 0: nothing is launched */
    unsigned n_threads;
} czr_collect_work;

czr_status czr_collect_put(czr_collect *collect, czr_collect_work work,
                           void **arguments, void *stream);

/* Of elements, of which a thread takes so many at once. */
static inline czr_collect_work
czr_collect_elements(czr_collect_kernel kernel, uint64_t n, unsigned at_once)
{
    const uint64_t block = (uint64_t)CZR_COLLECT_THREADS * at_once;

    return (czr_collect_work){kernel, n / block + (n % block > 0),
                              CZR_COLLECT_THREADS};
}

#endif
