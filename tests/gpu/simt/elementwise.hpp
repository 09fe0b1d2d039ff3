// The model's runtime/cuda/kernels/global.cuh: 16 bytes at an address that is a
// multiple of 16, bits of numbers, exchange of doubles in a warp; and barriers
// behind which threads go on at different times.
#pragma once

#include "element.hpp"

namespace simt
{

inline void check_aligned(const void *p)
{
    if (reinterpret_cast<std::uintptr_t>(p) % 16)
        fail("16 bytes at an address that is no multiple of 16");
}

// Now and then a thread pauses behind a barrier, and others get ahead of it:
// most often the first, which is the one that goes on with a sum.
inline void pause()
{
    if (draw() % (current->thread.x ? 64 : 4))
        return;
    for (unsigned n = draw() % 32; n; n--) {
        progress++;
        yield("a pause");
    }
}

} // namespace simt

DEV void synchronise_and_pause()
{
    __syncthreads();
    simt::pause();
}

#define __syncthreads synchronise_and_pause

DEV uint4 load_global128(const void *p)
{
    uint4 v;
    simt::check_aligned(p);
    simt::check_global(p, sizeof v);
    std::memcpy(&v, p, sizeof v);
    return v;
}

DEV void store_global128(void *p, uint4 v)
{
    simt::check_aligned(p);
    std::memcpy(p, &v, sizeof v);
}

DEV u32 bits_of(float x)
{
    return __float_as_uint(x);
}

DEV float float_of(u32 bits)
{
    return __uint_as_float(bits);
}

DEV u64 bits_of(double x)
{
    u64 bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

DEV void keep_first(int *p, int value)
{
    if (!*p)
        *p = value;
}

DEV double shuffle_xor(double x, int mask)
{
    return simt::exchange("shuffle of doubles", x, mask);
}
