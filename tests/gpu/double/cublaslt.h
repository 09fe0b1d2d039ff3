/* What the double of cuBLASLt counts, for who opens it by CUBLASLT_PATH. */
#ifndef TESTS_CUDA_CUBLASLT_H
#define TESTS_CUDA_CUBLASLT_H

#include <dlfcn.h>
#include <stdlib.h>

typedef struct test_cublaslt {
    void *handle;
    int *fails;    /* the call from now on that fails, 0: none */
    int *products; /* that came */
    int *narrow;   /* of these, to bf16 */
} test_cublaslt;

/* Stays loaded until the process ends. */
static inline test_cublaslt test_cublaslt_open(void)
{
    test_cublaslt c = {0};

    c.handle = dlopen(CUBLASLT_PATH, RTLD_NOW | RTLD_LOCAL);
    if (!c.handle)
        abort();
    c.fails = dlsym(c.handle, "double_cublaslt_fails");
    c.products = dlsym(c.handle, "double_cublaslt_products");
    c.narrow = dlsym(c.handle, "double_cublaslt_narrow");
    if (!c.fails || !c.products || !c.narrow)
        abort();
    return c;
}

#endif
