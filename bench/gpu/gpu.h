/* What `make bench-gpu` measures with: one GPU, our products on it, cuBLAS. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include "passes/gpu/tile_model.h"
#include "runtime/cuda/products/kernel.h"

typedef struct gpu_cublas gpu_cublas;
typedef struct gpu_library gpu_library;
typedef struct gpu_codes gpu_codes;

/* All that a measurement needs; what is missing is NULL. */
typedef struct gpu_machine {
    czr_driver *driver;
    czr_context *context;
    czr_nvrtc *nvrtc;
    gpu_cublas *cublas;
    const char *cublaslt; /* its path */
    gpu_codes *codes;     /* of kernels, so that none is compiled twice */
    void *stream;
} gpu_machine;

/* On the first GPU, with libraries at these paths or, where NULL, the ones that
 * the loader finds; false: a sentence on stderr says what is missing. */
typedef struct gpu_paths {
    const char *driver, *nvrtc, *cublas, *cublaslt;
} gpu_paths;
bool gpu_open(const gpu_paths *paths, gpu_machine *out);
void gpu_close(gpu_machine *machine);
/* False: with what the context says on stderr. */
bool gpu_is_ok(const gpu_machine *machine, czr_status status);

/* cublas.c.  On the machine's stream, bf16, sums in f32.  NULL and a sentence
 * on stderr where there is none. */
gpu_cublas *gpu_cublas_open(const char *path, void *stream);
void gpu_cublas_close(gpu_cublas *cublas);
/* c = x y', or with N-major operands x y: all of it. */
bool gpu_cublas_multiply(const gpu_cublas *cublas,
                         const czr_cuda_product *product);

/* library.c.  cuBLASLt as the runtime has it compute such a product, which is
 * not symmetric, and whose result lies in scratch: by stages that were opened
 * for it alone.  NULL and a sentence on stderr where there is none. */
gpu_library *gpu_library_open(const gpu_machine *machine,
                              const cz_tile_product *of);
/* NULL is allowed. */
void gpu_library_close(gpu_library *library);
/* Behind what the machine's stream has; strides are the sizes of rows. */
bool gpu_library_multiply(gpu_library *library,
                          const czr_cuda_product *product);

/* codes.c.  NULL: no memory. */
gpu_codes *gpu_codes_open(void);
/* Of the plan's kernel, compiled once; the machine's.  NULL and a sentence on
 * stderr. */
const czr_nvrtc_code *gpu_codes_find(const gpu_machine *machine,
                                     const czr_cuda_product_plan *plan);
/* NULL is allowed. */
void gpu_codes_close(gpu_codes *codes);

/* A product with operands of its own on the device: x and y random, c as NaN.
 * s is not used. */
typedef struct gpu_product {
    const gpu_machine *machine;
    gpu_library *library; /* the caller's, of such a product; NULL: none */
    czr_cuda_product product;
    czr_module module;
    czr_product_kernel kernel;
    czr_address sums; /* of parts, 0: none */
    size_t c_bytes;
} gpu_product;

/* By tiles of this shape; y is x where the product is a Gram matrix. */
bool gpu_product_open(const gpu_machine *machine, const cz_tile_product *of,
                      cz_tile_shape shape, gpu_product *out);
void gpu_product_close(gpu_product *product);
/* By our kernel, by cuBLAS, by `library`. */
typedef enum gpu_way { GPU_OURS, GPU_CUBLAS, GPU_LIBRARY, GPU_N_WAYS } gpu_way;

/* The largest difference from cuBLAS's c, over its largest magnitude; INFINITY:
 * there is NaN left, or a symmetric c is not, bit by bit.  Negative: the device
 * failed. */
double gpu_product_compare(gpu_product *product, gpu_way by);

/* Medians of `pairs` turns, ours, cuBLAS's and the library's in alternation,
 * each as often in a row as takes some milliseconds; microseconds of one. */
typedef struct gpu_times {
    double ours, cublas, lt; /* lt, cuBLASLt: 0 if none */
} gpu_times;
bool gpu_product_time(gpu_product *product, int pairs, gpu_times *out);

/* What is wanted of a product: over the ceiling of cuBLAS's time * (n + 1) / 2n
 * if `is_share`; else cuBLAS's time over ours, or where it is not symmetric the
 * library's. */
typedef struct gpu_case {
    cz_tile_product product;
    double wanted;
    bool is_share;
} gpu_case;

/* ---- what all measure with ---------------------------------------------- */

enum { GPU_MAX_PAIRS = 99, GPU_TURN_US = 4000 };

/* values.c: n random elements to the device, those of one long pattern from
 * `first` on, again and again. */
czr_status gpu_fill(const gpu_machine *machine, czr_address to, czr_dtype dtype,
                    int64_t n, int64_t first);
double gpu_now_us(void);
/* Sorts them; n > 0. */
double gpu_median(double *values, int n);

/* apart.c: a kernel that does not end, or loses the context, takes a process
 * with it and no more.  `trial` returns one of these; no GPU is open here. */
typedef enum gpu_trial {
    GPU_RIGHT,
    GPU_WRONG,
    GPU_NO_MACHINE,
    GPU_LATE /* no end in time: of who tries alone */
} gpu_trial;
gpu_trial gpu_try_apart(int (*trial)(const gpu_paths *paths, const void *user),
                        const gpu_paths *paths, const void *user,
                        unsigned seconds);

/* ---- products ----------------------------------------------------------- */

/* Tries every shape of tiles in a process of its own, small products first;
 * then measures each case with those that passed.  A table to stdout, rows for
 * bench/tiles.txt to the file.  False: nothing could be measured. */
bool gpu_run(const gpu_paths *paths, const gpu_case *cases, int n_cases,
             int pairs, const char *tiles_file);

#endif
