// The model's runtime/cuda/kernels/atomics.cuh: updates of memory, now and then late;
// memory by pointers that the host gave.
#pragma once

#include "block.hpp"

namespace simt
{

// What pointers of the device have more than addresses of memory here.
inline std::uintptr_t address_tag = 0;

// Other threads may come first.
inline void update_late()
{
    if (draw() % 32)
        return;
    progress++;
    yield("an update");
}

} // namespace simt

DEV void atomic_raise(int *p, int x)
{
    simt::update_late();
    *p = x > *p ? x : *p;
}

DEV void atomic_lower(int *p, int x)
{
    simt::update_late();
    *p = x < *p ? x : *p;
}

DEV void atomic_add(u64 *p, u64 x)
{
    simt::update_late();
    *p += x;
}

DEV u32 atomic_add(u32 *p, u32 x)
{
    simt::update_late();
    const u32 before = *p;
    *p += x;
    return before;
}

DEV void store_whole128(void *p, uint4 v)
{
    if (reinterpret_cast<std::uintptr_t>(p) % sizeof v)
        simt::fail("16 bytes at an address that is no multiple of 16");
    std::memcpy(p, &v, sizeof v);
}

DEV void fence_for_host()
{
}

DEV double double_of(u64 bits)
{
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

template <class T> [[maybe_unused]] static inline T *reach(T *p)
{
    return reinterpret_cast<T *>(reinterpret_cast<std::uintptr_t>(p) &
                                 ~simt::address_tag);
}
