// Our prototypes against nvrtc.h.  Compiling is the test; real.py compiles.
#include <cstddef>

#include <nvrtc.h>

#include "tests/gpu/real/same.hpp"

#define CZR_NVRTC_CALL(symbol, name, arguments)                                \
    static_assert(same<int(*) arguments, decltype(&symbol)>::value(), #symbol);
#include "runtime/cuda/library/nvrtc_calls.def"
#undef CZR_NVRTC_CALL

static_assert(NVRTC_SUCCESS == 0, "NVRTC_SUCCESS");
