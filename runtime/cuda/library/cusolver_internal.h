/* Numbers of cuSOLVER's and cuBLAS's APIs, private to cusolver.c; a test
 * compares them with their headers. */
#ifndef CZR_CUDA_LIBRARY_CUSOLVER_INTERNAL_H
#define CZR_CUDA_LIBRARY_CUSOLVER_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/* cudaDataType, cusolverEigMode_t, cublasFillMode_t, cublasOperation_t,
 * cublasSideMode_t, cublasDiagType_t. */
enum {
    CZR_CUSOLVER_32F = 0,
    CZR_CUSOLVER_64F = 1,
    CZR_CUSOLVER_VECTORS = 1,
    CZR_CUSOLVER_LOWER = 0,
    CZR_CUSOLVER_UPPER = 1,
    CZR_CUSOLVER_OP_N = 0,
    CZR_CUSOLVER_OP_T = 1,
    CZR_CUSOLVER_RIGHT = 1,
    CZR_CUSOLVER_NON_UNIT = 0
};

#endif
