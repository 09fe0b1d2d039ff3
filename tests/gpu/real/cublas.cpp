// Our prototypes, numbers and types against cublasLt.h.  Compiling is the test;
// real.py compiles.
#include <cstddef>
#include <cstdint>

#include <cublasLt.h>

extern "C" {
#include "runtime/cuda/library/cublas.h"
}
#include "runtime/cuda/library/cublas_internal.h"
#include "tests/gpu/real/same.hpp"

#define CZR_CUBLAS_CALL(symbol, name, result, arguments)                       \
    static_assert(same<result(*) arguments, decltype(&symbol)>::value(),       \
                  #symbol);
#include "runtime/cuda/library/cublas_calls.def"
#undef CZR_CUBLAS_CALL

#define SAME(ours, theirs) static_assert(int(ours) == int(theirs), #theirs)
SAME(CZR_CUBLAS_32F, CUDA_R_32F);
SAME(CZR_CUBLAS_16F, CUDA_R_16F);
SAME(CZR_CUBLAS_16BF, CUDA_R_16BF);
SAME(CZR_CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F);
SAME(CZR_CUBLAS_OP_N, CUBLAS_OP_N);
SAME(CZR_CUBLAS_OP_T, CUBLAS_OP_T);
SAME(CZR_CUBLAS_DESC_TRANSPOSE_A, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(CZR_CUBLAS_DESC_TRANSPOSE_B, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(CZR_CUBLAS_PREFER_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(CZR_CUBLAS_PREFER_REDUCTIONS, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(CZR_CUBLAS_REDUCE_SUMS, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
SAME(CZR_CUBLAS_PREFER_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(CZR_CUBLAS_PREFER_ALIGNMENT_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);

SAME(sizeof(czr_cublas_choice), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(sizeof(czr_cublas_choice::algorithm), sizeof(cublasLtMatmulAlgo_t));
SAME(offsetof(czr_cublas_choice, workspace),
     offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
SAME(offsetof(czr_cublas_choice, state),
     offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(CZR_CUBLAS_VERSION <= CUBLAS_VER_MAJOR * 10000 +
                                        CUBLAS_VER_MINOR * 100,
              "CUBLAS_VERSION");
