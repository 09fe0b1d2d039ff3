/* cuBLAS, opened when asked for; numbers are those of its API. */
#include "bench/gpu/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cublasOperation_t, cudaDataType, cublasComputeType_t, cublasGemmAlgo_t. */
enum { OP_N = 0, OP_T = 1, R_16BF = 14, COMPUTE_32F = 68, GEMM_DEFAULT = -1 };

struct gpu_cublas {
    void *library, *handle;
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    int (*set_stream)(void *handle, void *stream);
    int (*gemm)(void *handle, int op_a, int op_b, int m, int n, int k,
                const void *alpha, const void *a, int a_type, int a_stride,
                long long a_batch, const void *b, int b_type, int b_stride,
                long long b_batch, const void *beta, void *c, int c_type,
                int c_stride, long long c_batch, int batch, int compute,
                int algorithm);
};

static bool find_all(gpu_cublas *c)
{
    const struct {
        const char *name;
        void *to;
    } rows[] = {{"cublasCreate_v2", &c->create},
                {"cublasDestroy_v2", &c->destroy},
                {"cublasSetStream_v2", &c->set_stream},
                {"cublasGemmStridedBatchedEx", &c->gemm}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *symbol = dlsym(c->library, rows[i].name);
        if (!symbol)
            return false;
        memcpy(rows[i].to, &symbol, sizeof symbol);
    }
    return true;
}

static void *open_library(const char *path)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

    for (int i = 0; i < 2 && !path && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

gpu_cublas *gpu_cublas_open(const char *path, void *stream)
{
    gpu_cublas *c = calloc(1, sizeof *c);

    if (c && (c->library = open_library(path)) && find_all(c) &&
        c->create(&c->handle) == 0 && c->set_stream(c->handle, stream) == 0)
        return c;
    fprintf(stderr, "cuBLAS is missing or does not start\n");
    gpu_cublas_close(c);
    return NULL;
}

void gpu_cublas_close(gpu_cublas *cublas)
{
    if (!cublas)
        return;
    if (cublas->handle)
        cublas->destroy(cublas->handle);
    if (cublas->library)
        dlclose(cublas->library);
    free(cublas);
}

static void *pointer_to(const czr_cuda_product_matrix *m)
{
    void *pointer;

    _Static_assert(sizeof pointer == sizeof m->address, "64 bits");
    memcpy(&pointer, &m->address, sizeof pointer);
    return pointer;
}

/* It counts columns first, so it is reported of c' = y x'. */
bool gpu_cublas_multiply(const gpu_cublas *cublas,
                         const czr_cuda_product *product)
{
    const czr_cuda_product *p = product;
    const float one = 1, zero = 0;

    return cublas->gemm(
               cublas->handle, p->is_n_major ? OP_N : OP_T, OP_N, (int)p->n,
               (int)p->m, (int)p->k, &one, pointer_to(&p->y), R_16BF,
               (int)p->y.stride, p->y.batch_stride, pointer_to(&p->x), R_16BF,
               (int)p->x.stride, p->x.batch_stride, &zero, pointer_to(&p->c),
               R_16BF, (int)p->c.stride, p->c.batch_stride, (int)p->batch,
               COMPUTE_32F, GEMM_DEFAULT) == 0;
}
