/* Numbers and types of cuBLASLt's API, private to cublas.c; a test compares
 * them with its header. */
#ifndef CZR_CUDA_LIBRARY_CUBLAS_INTERNAL_H
#define CZR_CUDA_LIBRARY_CUBLAS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

/* cudaDataType, cublasComputeType_t, cublasOperation_t,
 * cublasLtMatmulDescAttributes_t, cublasLtMatmulPreferenceAttributes_t,
 * cublasLtReductionScheme_t. */
enum {
    CZR_CUBLAS_32F = 0,
    CZR_CUBLAS_16F = 2,
    CZR_CUBLAS_16BF = 14,
    CZR_CUBLAS_COMPUTE_32F = 68,
    CZR_CUBLAS_OP_N = 0,
    CZR_CUBLAS_OP_T = 1,
    CZR_CUBLAS_DESC_TRANSPOSE_A = 3,
    CZR_CUBLAS_DESC_TRANSPOSE_B = 4,
    CZR_CUBLAS_PREFER_WORKSPACE = 1,
    CZR_CUBLAS_PREFER_REDUCTIONS = 3,
    CZR_CUBLAS_PREFER_ALIGNMENT_A = 5,
    CZR_CUBLAS_PREFER_ALIGNMENT_D = 8, /* between them b and c */
    CZR_CUBLAS_REDUCE_SUMS = 2         /* in the type of sums */
};

/* cublasLtMatmulHeuristicResult_t. */
typedef struct czr_cublas_choice {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} czr_cublas_choice;

#endif
