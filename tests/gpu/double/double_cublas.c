/* The functions of cuBLAS that the benchmark calls, on the double of the
 * driver: a launch of its kernel "gemm". */
#include "tests/gpu/bodies/product_bodies.h"

#include <stdlib.h>

int cuLibraryLoadData(void **library, const void *code, int *jit_options,
                      void **jit_values, unsigned n_jit, int *options,
                      void **values, unsigned n);
int cuLibraryUnload(void *library);
int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuFuncLoad(void *function);
int cuLaunchKernelEx(const czr_launch_config *config, void *kernel,
                     void **arguments, void **extra);

typedef struct handle {
    void *library, *kernel, *stream;
} handle;

int cublasCreate_v2(handle **out);
int cublasDestroy_v2(handle *h);
int cublasSetStream_v2(handle *h, void *stream);
int cublasGemmStridedBatchedEx(handle *h, int op_a, int op_b, int m, int n,
                               int k, const void *alpha, uint64_t a, int a_type,
                               int a_stride, long long a_batch, uint64_t b,
                               int b_type, int b_stride, long long b_batch,
                               const void *beta, uint64_t c, int c_type,
                               int c_stride, long long c_batch, int batch,
                               int compute, int algorithm);

int cublasCreate_v2(handle **out)
{
    handle *h = calloc(1, sizeof *h);

    *out = h;
    return !h ||
           cuLibraryLoadData(&h->library, "FAKE sm_90\ngemm 0 96\n", NULL, NULL,
                             0, NULL, NULL, 0) != 0 ||
           cuLibraryGetKernel(&h->kernel, h->library, "gemm") != 0 ||
           cuFuncLoad(h->kernel) != 0;
}

int cublasDestroy_v2(handle *h)
{
    cuLibraryUnload(h->library);
    free(h);
    return 0;
}

int cublasSetStream_v2(handle *h, void *stream)
{
    h->stream = stream;
    return 0;
}

/* Column-major op(a) b of bf16, alpha 1 and beta 0: row-major b' op(a)'. */
int cublasGemmStridedBatchedEx(handle *h, int op_a, int op_b, int m, int n,
                               int k, const void *alpha, uint64_t a, int a_type,
                               int a_stride, long long a_batch, uint64_t b,
                               int b_type, int b_stride, long long b_batch,
                               const void *beta, uint64_t c, int c_type,
                               int c_stride, long long c_batch, int batch,
                               int compute, int algorithm)
{
    const czr_launch_config config = {
        .grid = {1, 1, 1}, .block = {32, 1, 1}, .stream = h->stream};
    bodies_gemm g = {{b, (uint64_t)b_stride, (uint64_t)b_batch},
                     {a, (uint64_t)a_stride, (uint64_t)a_batch},
                     {c, (uint64_t)c_stride, (uint64_t)c_batch},
                     n,
                     m,
                     k,
                     batch,
                     op_a == 0};
    void *arguments[] = {&g};
    _Static_assert(sizeof g == 96, "as the code says");

    if (op_b || *(const float *)alpha != 1.f || *(const float *)beta != 0.f ||
        a_type != 14 || b_type != 14 || c_type != 14 || compute != 68 ||
        algorithm != -1)
        return 1;
    return cuLaunchKernelEx(&config, h->kernel, arguments, NULL);
}
