/* The functions of cuBLAS that the benchmark calls, on the double of the
 * driver: a launch of its kernel "gemm". */
#include "tests/gpu/bodies/product_bodies.h"
#include "tests/gpu/double/library_kernel.h"

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
    *out = open_handle("FAKE sm_90\ngemm 0 96\n", "gemm");
    return !*out;
}

int cublasDestroy_v2(handle *h)
{
    close_handle(h);
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
    return launch_kernel(h, 32, arguments, h->stream);
}
