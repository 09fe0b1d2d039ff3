#include "tests/gpu/bodies/plain_bodies.h"

#include "tests/gpu/simt/block.hpp"
// the model's global.cuh
#include "tests/gpu/simt/elementwise.hpp"
// without its pauses, which take long
#undef __syncthreads

extern "C" {
#include "tests/gpu/double/fake.h"
}

#define KERNEL eigen
#define MAX_SWEEPS 30
#define WIDE_SWEEPS 30
namespace
{
#include "eigen.cu"

template <class T> T argument(const void *from)
{
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// Memory of the device; null stays null.
template <class T> T *memory(const void *from, u64 n)
{
    const u64 address = argument<u64>(from);
    return address ? static_cast<T *>(fake_at(address, n * sizeof(T)))
                   : nullptr;
}

// A launch without statuses of its own, as stages have it.
void run_eigen(void **arguments)
{
    const int n = argument<int>(arguments[4]);
    const int batch = argument<int>(arguments[5]);
    const u64 size = static_cast<u64>(n) * n;
    const auto *x = memory<const float>(arguments[0], size * batch);
    auto *values = memory<float>(arguments[1], static_cast<u64>(n) * batch);
    auto *vectors = memory<float>(arguments[2], size * batch);

    if (!x || !values || !vectors)
        return;
    simt::launch(1, THREADS, [&] {
        eigen(x, values, vectors, nullptr, n, batch,
              memory<int>(arguments[6], 1), argument<int>(arguments[7]),
              argument<int>(arguments[8]), memory<const int>(arguments[9], 1),
              memory<unsigned char>(arguments[10], wide_bytes(n)));
    });
}
} // namespace

void eigen_bodies_register(void)
{
    fake_register("eigen", run_eigen);
}

bool eigen_bodies_write_code(const char *text, char *code, size_t n)
{
    static const char start[] = "#define KERNEL eigen\n";

    if (std::strncmp(text, start, sizeof start - 1) != 0)
        return false;
    std::snprintf(code, n, "FAKE sm_90\neigen 0 8 8 8 8 4 4 8 4 4 8 8\n");
    return true;
}
