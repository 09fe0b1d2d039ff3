// Our prototypes and numbers against cusolverDn.h and cublas_v2.h.  Compiling
// is the test; real.py compiles.
#include <cstddef>
#include <cstdint>

#include <cublas_v2.h>
#include <cusolverDn.h>

extern "C" {
#include "runtime/cuda/library/cusolver.h"
}
#include "runtime/cuda/library/cusolver_internal.h"
#include "tests/gpu/real/same.hpp"

#define CZR_CUSOLVER_CALL(symbol, name, arguments)                             \
    static_assert(same<int(*) arguments, decltype(&symbol)>::value(), #symbol);
#include "runtime/cuda/library/cusolver_calls.def"
#undef CZR_CUSOLVER_CALL

#define SAME(ours, theirs) static_assert(int(ours) == int(theirs), #theirs)
SAME(CZR_CUSOLVER_32F, CUDA_R_32F);
SAME(CZR_CUSOLVER_64F, CUDA_R_64F);
SAME(CZR_CUSOLVER_VECTORS, CUSOLVER_EIG_MODE_VECTOR);
SAME(CZR_CUSOLVER_LOWER, CUBLAS_FILL_MODE_LOWER);
SAME(CZR_CUSOLVER_UPPER, CUBLAS_FILL_MODE_UPPER);
SAME(CZR_CUSOLVER_OP_N, CUBLAS_OP_N);
SAME(CZR_CUSOLVER_OP_T, CUBLAS_OP_T);
SAME(CZR_CUSOLVER_RIGHT, CUBLAS_SIDE_RIGHT);
SAME(CZR_CUSOLVER_NON_UNIT, CUBLAS_DIAG_NON_UNIT);
static_assert(CZR_CUSOLVER_VERSION <= CUSOLVER_VER_MAJOR * 1000 +
                                          CUSOLVER_VER_MINOR * 100 +
                                          CUSOLVER_VER_PATCH,
              "CUSOLVER_VERSION");
