/* What computes products and factorisations: private to
 * runtime/cuda/products and runtime/cuda/factor. */
#ifndef CZR_CUDA_PRODUCTS_INTERNAL_H
#define CZR_CUDA_PRODUCTS_INTERNAL_H

#include "runtime/cuda/library/cublas.h"
#include "runtime/cuda/library/cusolver.h"
#include "runtime/cuda/products/multiply.h"
#include "runtime/cuda/products/kernel.h"
#include "runtime/cuda/driver/source.h"
#include "runtime/math/product.h"

/* Machine code of one name, which several products share. */
typedef struct czr_cuda_loaded {
    struct czr_cuda_loaded *next;
    char name[CZR_CUDA_PRODUCT_NAME];
    czr_module module;
} czr_cuda_loaded;

/* A kernel of tensor cores for one shape. */
typedef struct czr_cuda_tensor {
    char name[CZR_CUDA_PRODUCT_NAME + 48]; /* and what is in parts */
    czr_cuda_product_tiles tiles;
    int splits;                /* of k, for tiles that fill no wave */
    czr_product_kernel kernel; /* without a context: there is none */
} czr_cuda_tensor;

/* A product of one kind, whatever its addresses. */
typedef struct czr_cuda_known {
    struct czr_cuda_known *next;
    czr_product shape;      /* its pointers mean nothing */
    int64_t batch;          /* 1, or up to so many, by `tensor` or `library` */
    void *plain;            /* kernel of product_plain.cu */
    czr_cuda_tensor tensor; /* of tensor cores */
    /* By cuBLASLt, or NULL, and the kernel behind it. */
    czr_cublas_plan *library;
    bool is_chosen; /* by the program, which measured it: to out_dtype */
    void *finish;
    size_t workspace_bytes; /* that a call takes of its room */
} czr_cuda_known;

/* A factorisation of one kind. */
typedef struct czr_cuda_factored {
    struct czr_cuda_factored *next;
    czr_factor shape; /* its pointers mean nothing */
    /* By cuSOLVER, which takes this besides, for eigenvalues in f64 that; by
     * nothing of these: the host's. */
    bool is_solved;
    czr_cusolver_workspace workspace, wide_workspace;
    /* By kernels of newton.cu, with so much room in front of its products'. */
    bool is_iterated;
    size_t iteration_bytes;
} czr_cuda_factored;

/* Kernels of factor.cu and newton.cu. */
typedef enum czr_cuda_factor_kernel {
    CZR_CUDA_FACTOR_CHECK,
    CZR_CUDA_FACTOR_TRANSPOSE,
    CZR_CUDA_FACTOR_LOWER,
    CZR_CUDA_FACTOR_MIRROR,
    CZR_CUDA_FACTOR_ROWS,
    CZR_CUDA_FACTOR_SCALE,
    CZR_CUDA_FACTOR_WIDEN,
    CZR_CUDA_FACTOR_NARROW,
    CZR_CUDA_NEWTON_NORM,
    CZR_CUDA_NEWTON_START,
    CZR_CUDA_NEWTON_TRANSPOSE,
    CZR_CUDA_NEWTON_MULTIPLY,
    CZR_CUDA_NEWTON_DISTANCE,
    CZR_CUDA_NEWTON_TAKE,
    CZR_CUDA_N_FACTOR_KERNELS
} czr_cuda_factor_kernel;

/* What the device factorises with, by cuSOLVER and without, one call at a time.
 */
typedef struct czr_cuda_solver {
    bool is_tried;
    czr_cusolver *cusolver;
    void *kernels[CZR_CUDA_N_FACTOR_KERNELS];
    void *pinned;
    unsigned char *host;
    size_t pinned_bytes, host_bytes;
    char warning[CZR_CUSOLVER_MESSAGE]; /* why there is none; "": not asked */
} czr_cuda_solver;

/* What the host factorises with, one call at a time. */
typedef struct czr_cuda_host {
    bool is_open; /* math is */
    czr_host_math math;
    void *pinned;
    unsigned char *work;
    size_t pinned_bytes, work_bytes;
} czr_cuda_host;

typedef struct czr_cuda_products {
    czr_cuda_loaded *loaded;
    czr_cuda_known *known, **end;
    czr_cuda_factored *factored, **factored_end;
    czr_cuda_host host;
    czr_cuda_solver solver;
    bool is_cublas_tried;
    czr_cublas *cublas;
    char warning[CZR_CUBLAS_MESSAGE]; /* why there is none; "": not asked */
} czr_cuda_products;

/* So many products at once; apart does not count where n is 1. */
typedef struct czr_cuda_batched {
    int64_t n;
    czr_cuda_apart apart;
} czr_cuda_batched;

/* What the i-th has that lies so many bytes apart. */
static inline void *czr_cuda_behind(const void *first, int64_t apart, int64_t i)
{
    return czr_pointer_of(czr_address_of(first) + (czr_address)(apart * i));
}

/* While stages are opened: stages->products, made by the first call. */
czr_status czr_cuda_products_make(czr_cuda_stages *stages);

/* While stages are opened: what is there under this name, or `body` with
 * `header` in front compiled with -fmad=false for the device, by NVRTC or from
 * the cache, and loaded. */
czr_status czr_cuda_products_load(czr_cuda_stages *stages, czr_source_body body,
                                  const char *name, const char *header,
                                  czr_module **out);

/* While stages are opened: code of product_plain.cu for this product. */
czr_status czr_cuda_plain_module(czr_cuda_stages *stages,
                                 const czr_product *product, czr_module **out);

/* While stages are opened: kernels of tensor cores, as far as the shape and the
 * program allow; else nothing is done. */
czr_status czr_cuda_tensor_prepare(czr_cuda_stages *stages,
                                   czr_cuda_known *known);
/* Puts the product, or as many as known->batch at most, on the call's stream;
 * false: operands lie as tensor cores' kernels cannot have them, or there are
 * none. */
bool czr_cuda_tensor_put(const czr_cuda_call *call, czr_cuda_known *known,
                         const czr_product *product,
                         const czr_cuda_batched *batched, czr_status *status);
void czr_cuda_tensor_close(czr_cuda_known *known);
/* Whether they could compute it, and the program says that cuBLASLt shall. */
bool czr_cuda_tensor_is_left(const czr_cuda_stages *stages,
                             const czr_cuda_known *known);

/* While stages are opened: by cuBLASLt, where it is found and the program says
 * so; else nothing is done. */
czr_status czr_cuda_library_choose(czr_cuda_stages *stages,
                                   czr_cuda_known *known);
/* The same of what tensor cores do not take, which are prepared before. */
czr_status czr_cuda_library_prepare(czr_cuda_stages *stages,
                                    czr_cuda_known *known);
/* As czr_cuda_tensor_put; several one by one. */
bool czr_cuda_library_put(const czr_cuda_call *call,
                          const czr_cuda_known *known,
                          const czr_product *product,
                          const czr_cuda_batched *batched, czr_status *status);

/* While stages are opened: by cuSOLVER, where it is found and the plan is not
 * strict; else nothing is done. */
czr_status czr_cuda_solver_prepare(czr_cuda_stages *stages,
                                   czr_cuda_factored *known);
/* Computes the whole and waits for the stream. */
czr_status czr_cuda_solver_put(const czr_cuda_call *call,
                               const czr_cuda_factored *known,
                               const czr_factor *factor);
void czr_cuda_solver_close(czr_cuda_stages *stages);

/* While stages are opened: room for the sums of a loop, of `batch` calls. */
void czr_cuda_loop_prepare(czr_cuda_stages *stages,
                           const czr_cuda_loop_step *loop, int64_t batch);

/* NEWTON_ROOT where matrices stay on the device; as the solver's. */
czr_status czr_cuda_newton_prepare(czr_cuda_stages *stages,
                                   czr_cuda_factored *known);
czr_status czr_cuda_newton_put(const czr_cuda_call *call,
                               const czr_cuda_factored *known,
                               const czr_factor *factor);

/* By the host, with what was prepared for it; the stream is waited for. */
czr_status czr_cuda_host_put(const czr_cuda_call *call, const czr_factor *f);

void czr_cuda_factored_describe(const czr_cuda_factored *known,
                                char line[CZR_CUDA_LINE]);
void czr_cuda_factored_close(czr_cuda_stages *stages);

#endif
