// What tests of runtime/cuda/collect_*.cu share: the bodies on the model of the
// device, the host's functions, and numbers to give to both.
#pragma once

#include "tests/gpu/simt/block.hpp"
// the models of global.cuh and atomics.cuh
#include "tests/gpu/simt/elementwise.hpp"

#include "tests/gpu/simt/atomics.hpp"

// Some functions are called as the host's.
namespace device
{
#include "elementwise.cuh"

#include "collect_sum.cu"

#include "collect_step.cu"

#include "collect_memory.cu"
} // namespace device

#define _Alignas alignas
#define _Static_assert static_assert
extern "C" {
#include "runtime/cuda/collect/internal.h"
#include "runtime/engine/engine.h"
#include "runtime/base/memory.h"
#include "runtime/world/sum.h"
}
#undef _Alignas
#undef _Static_assert
using namespace device;

#include <cstddef>

typedef std::vector<unsigned char> bytes;

[[maybe_unused]] static u64 first_seed;

[[noreturn]] static inline void differ(const char *what, u64 at)
{
    std::fprintf(stderr, "seed %llu: %s: %llu differs\n", first_seed, what, at);
    std::exit(1);
}

static inline u64 pick(u64 n)
{
    return (static_cast<u64>(simt::draw()) << 16 ^ simt::draw()) % n;
}

// Any grid does.
template <class F> void launch_some(F kernel)
{
    simt::launch(1 + static_cast<unsigned>(pick(4)), THREADS, kernel);
}

// ---- numbers ----

// Of any kind: all bits drawn, or near 1, or one of those that are special.
static inline float draw_float(u64 odds_of_special)
{
    static const float special[] = {
        0.f,     -0.f,  INFINITY, -INFINITY,          NAN,
        1e-45f,  3e38f, -3e38f,   1.17549435e-38f, -1e-40f};

    if (odds_of_special && pick(odds_of_special) == 0)
        return special[pick(sizeof special / sizeof *special)];
    if (odds_of_special && pick(8) == 0) {
        const float any = float_of(simt::draw() << 16 ^ simt::draw());
        return any == any ? any : 1.f;
    }
    return float_of((127 - static_cast<u32>(pick(12))) << 23 |
                    static_cast<u32>(pick(1 << 23)) |
                    static_cast<u32>(pick(2)) << 31);
}

static inline void store_drawn(void *to, czr_dtype dtype, u64 odds_of_special)
{
    const float x = draw_float(odds_of_special);
    czr_fill(to, dtype,
             dtype == CZR_F64 ? static_cast<double>(x) * 1.000000119 : x, 1);
}

// n elements behind as many as `gap`; what is not set is 0xa5.
struct numbers {
    czr_dtype dtype;
    u64 gap;
    bytes memory;

    numbers(czr_dtype type, u64 n, u64 before)
        : dtype(type), gap(before), memory((before + n + 9) * width(), 0xa5)
    {
    }
    std::size_t width() const
    {
        return czr_dtype_bytes(dtype);
    }
    void *at(u64 i)
    {
        return memory.data() + (gap + i) * width();
    }
    void draw(u64 n, u64 odds_of_special)
    {
        for (u64 i = 0; i < n; i++)
            store_drawn(at(i), dtype, odds_of_special);
    }
};

// As numbers: NaNs are alike.
static inline bool is_same(const unsigned char *a, const unsigned char *b,
                           czr_dtype dtype)
{
    double x, y;

    if (!std::memcmp(a, b, czr_dtype_bytes(dtype)))
        return true;
    czr_convert(&x, CZR_F64, a, dtype, 1);
    czr_convert(&y, CZR_F64, b, dtype, 1);
    return x != x && y != y;
}

static inline void compare(const char *what, const numbers &mine,
                           const numbers &wanted)
{
    const std::size_t width = mine.width();

    for (std::size_t i = 0; i + width <= mine.memory.size(); i += width)
        if (!is_same(&mine.memory[i], &wanted.memory[i], mine.dtype))
            differ(what, i / width);
}

// ---- a program of so many draws ----

static inline int run_tests(int argc, char **argv, void (*const *tests)(),
                            std::size_t n_tests)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1;
    const int first = argc > 2 ? std::atoi(argv[2]) : 1;

    std::printf("%d draws from seed %d on\n", n, first);
    std::fflush(stdout);
    for (int i = 0; i < n; i++) {
        first_seed = static_cast<u64>(first + i);
        simt::seed = first_seed * 7919;
        for (std::size_t t = 0; t < n_tests; t++)
            tests[t]();
    }
    return 0;
}
