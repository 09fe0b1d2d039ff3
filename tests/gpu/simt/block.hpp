// What all architectures have: CUDA's words, shared memory that begins as NaNs,
// barriers, collectives of warps, work that other engines do later, bf16.
#pragma once

#include "fibers.hpp"

#include <cmath>

#define __global__
#define __device__
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__
#define __align__(n) alignas(n)
#define __shared__ static
#define DEV [[maybe_unused]] static inline
#define threadIdx (simt::current->thread)
#define blockIdx (simt::current->block)
#define blockDim (simt::block_size)
#define gridDim (simt::grid_size)
#define SHARED_DYNAMIC(name) unsigned char *name = simt::shared

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct uint2 {
    u32 x, y;
};
struct alignas(16) uint4 {
    u32 x, y, z, w;
};
struct alignas(16) float4 {
    float x, y, z, w;
};

DEV uint2 make_uint2(u32 x, u32 y)
{
    return {x, y};
}

DEV uint4 make_uint4(u32 x, u32 y, u32 z, u32 w)
{
    return {x, y, z, w};
}

namespace simt
{

constexpr u32 SHARED_BYTES_LIMIT = 232448;
constexpr unsigned MAX_THREADS = 1024;

using work = std::function<void()>;

alignas(1024) inline unsigned char shared[SHARED_BYTES_LIMIT];
// Work of other engines, done in any order, late.
inline std::vector<work> pending;
// What architectures' models forget between blocks.
inline std::vector<work> resets;

// One meeting of n threads, each with its argument.
struct meeting {
    int n = 0;
    u64 generation = 0;
    const char *kind = nullptr;
    void *arguments[128];
};

struct barrier {
    int n = 0, needed = 0;
    u64 generation = 0;
};

inline meeting warps[MAX_THREADS / 32];
inline meeting warpgroups[MAX_THREADS / 128];
inline barrier barriers[16];

template <class F>
void meet(meeting &m, int n, const char *kind, void *argument, F act)
{
    if (m.n && std::strcmp(m.kind, kind) != 0)
        fail("threads of one group are at different instructions");
    m.kind = kind;
    m.arguments[current->thread.x % static_cast<unsigned>(n)] = argument;
    if (++m.n == n) {
        act(m.arguments);
        m.n = 0;
        m.generation++;
        progress++;
        return;
    }
    const u64 generation = m.generation;
    while (m.generation == generation)
        yield(kind);
}

template <class F> void in_warp(const char *kind, void *argument, F act)
{
    meet(warps[current->number / 32], 32, kind, argument, act);
}

// What the lane has whose number differs in these bits.
template <class T> T exchange(const char *kind, T v, int mask)
{
    struct lane_value {
        T v, result;
        int mask;
    } mine{v, T(), mask};
    in_warp(kind, &mine, [](void **all) {
        for (int lane = 0; lane < 32; lane++) {
            auto *to = static_cast<lane_value *>(all[lane]);
            to->result = static_cast<lane_value *>(all[lane ^ to->mask])->v;
        }
    });
    return mine.result;
}

template <class F> void in_warpgroup(const char *kind, void *argument, F act)
{
    meet(warpgroups[current->number / 128], 128, kind, argument, act);
}

inline void wait_at(int id, int n)
{
    barrier &b = barriers[id];
    if (b.n && b.needed != n)
        fail("two counts of threads at one barrier");
    b.needed = n;
    if (++b.n == n) {
        b.n = 0;
        b.generation++;
        progress++;
        return;
    }
    const u64 generation = b.generation;
    while (b.generation == generation)
        yield("a barrier");
}

inline void check_shared(u32 address, u32 n_bytes, u32 alignment)
{
    if (address % alignment || n_bytes > SHARED_BYTES_LIMIT ||
        address > SHARED_BYTES_LIMIT - n_bytes)
        fail("bad address of shared memory");
}

// Global memory that kernels may read; where there is none, all.
struct range {
    const void *start;
    std::size_t n_bytes;
};
inline std::vector<range> readable;

inline void check_global(const void *p, std::size_t n_bytes)
{
    const auto at = reinterpret_cast<std::uintptr_t>(p);
    bool is_inside = readable.empty() || !n_bytes;
    for (const range &r : readable) {
        const auto start = reinterpret_cast<std::uintptr_t>(r.start);
        is_inside |= at >= start && at + n_bytes <= start + r.n_bytes;
    }
    if (!is_inside)
        fail("global memory is read where there is none");
}

// Some of what is pending, or all of it.
inline void do_pending(bool is_all)
{
    while (!pending.empty() && (is_all || draw() % 4 == 0)) {
        const std::size_t i = draw() % pending.size();
        const work w = pending[i];
        pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
        w();
        progress++;
    }
}

inline void reset_block()
{
    std::memset(shared, 0xff, sizeof shared);
    pending.clear();
    for (meeting &m : warps)
        m = meeting();
    for (meeting &m : warpgroups)
        m = meeting();
    for (barrier &b : barriers)
        b = barrier();
    for (const work &reset : resets)
        reset();
}

inline void run_block()
{
    int idle = 0;

    reset_block();
    prepare();
    for (;;) {
        const u64 before = progress;
        if (!go_round())
            break;
        do_pending(false);
        if (progress != before)
            idle = 0;
        else if (!pending.empty())
            do_pending(true);
        else if (sleepers.n_rounds)
            sleepers.n_rounds = 0;
        else if (++idle > 3)
            report_deadlock();
    }
    do_pending(true);
}

// The blocks, one after the other: they do not wait for each other.
template <class F>
void launch(unsigned n_blocks, unsigned n_threads, F kernel)
{
    grid_size.x = n_blocks;
    block_size.x = n_threads;
    body = kernel;
    for (block.x = 0; block.x < n_blocks; block.x++)
        run_block();
}

inline float from_bf16(u16 v)
{
    const u32 bits = static_cast<u32>(v) << 16;
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return f;
}

inline u16 to_bf16(float f)
{
    u32 bits;
    std::memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    return static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Element h of a pair of 16-bit elements.
inline u16 half_of(u32 pair, int h)
{
    return static_cast<u16>(pair >> (16 * h));
}

} // namespace simt

DEV void __syncthreads()
{
    simt::wait_at(0, static_cast<int>(simt::block_size.x));
}

DEV void __syncwarp()
{
    simt::in_warp("__syncwarp", nullptr, [](void **) {});
}

DEV u32 __float_as_uint(float f)
{
    u32 bits;
    std::memcpy(&bits, &f, sizeof bits);
    return bits;
}

DEV float __uint_as_float(u32 bits)
{
    float f;
    std::memcpy(&f, &bits, sizeof f);
    return f;
}

DEV float __shfl_xor_sync(u32, float v, int mask)
{
    return simt::exchange("shfl", v, mask);
}

DEV u32 shared_address(const void *p)
{
    return static_cast<u32>(static_cast<const unsigned char *>(p) -
                            simt::shared);
}

DEV u32 pack_bf16(float low, float high)
{
    return simt::to_bf16(low) | static_cast<u32>(simt::to_bf16(high)) << 16;
}

DEV float low_bf16(u32 pair)
{
    return simt::from_bf16(simt::half_of(pair, 0));
}

DEV float high_bf16(u32 pair)
{
    return simt::from_bf16(simt::half_of(pair, 1));
}

DEV u32 load_global32(const void *p)
{
    u32 v;
    simt::check_global(p, sizeof v);
    std::memcpy(&v, p, sizeof v);
    return v;
}

// The element (row, col) of an 8x8 matrix is half col % 2 of lane
// 4 row + col / 2.
DEV u32 movmatrix(u32 v)
{
    u32 pair[2] = {v, 0};
    simt::in_warp("movmatrix", pair, [](void **all) {
        for (int lane = 0; lane < 32; lane++) {
            const int row = lane / 4;
            u32 result = 0;
            for (int h = 0; h < 2; h++) {
                const int col = 2 * (lane % 4) + h;
                const u32 from = *static_cast<u32 *>(all[4 * col + row / 2]);
                result |= static_cast<u32>(simt::half_of(from, row % 2))
                          << (16 * h);
            }
            static_cast<u32 *>(all[lane])[1] = result;
        }
    });
    return pair[1];
}
