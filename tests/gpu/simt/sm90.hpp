// A model of what runtime/cuda/kernels/sm90.cuh has besides wgmma: TMA of 64x64 boxes
// with 128-byte swizzle, stmatrix, the pool of registers.  It is our reading of
// the manual: a device has the last word.
#pragma once

#include "mbarrier.hpp"

namespace simt
{

constexpr u32 BOX = 64, BOX_BYTES = BOX * BOX * 2;

inline std::vector<work> stores_open[MAX_THREADS];
// Groups, the oldest first, of stores that have not read shared memory yet.
inline std::vector<std::vector<work>> stores_committed[MAX_THREADS];
// Of 16 bytes of shared memory: thread + 1 that wrote them and has not fenced.
inline u16 unfenced[SHARED_BYTES_LIMIT / 16];
// Registers of the block that nobody has, and those a thread began with.
inline int pool, entry_registers;

[[maybe_unused]] static const bool resets_sm90 = (resets.push_back([] {
    for (auto &s : stores_open)
        s.clear();
    for (auto &s : stores_committed)
        s.clear();
    std::memset(unfenced, 0, sizeof unfenced);
    pool = 0;
}),
                                                  true);

// The 128-byte swizzle: bits 4 to 6 of an address with bits 7 to 9.
inline u32 swizzle(u32 address)
{
    return address ^ (address >> 7 & 7) << 4;
}

struct stored {
    u32 row;
    const u32 *r;
    u32 thread;
};

template <int N, bool IS_TRANSPOSED> void store_matrices(void **all)
{
    for (int m = 0; m < N; m++)
        for (int i = 0; i < 64; i++) {
            const int row = i / 8, col = i % 8;
            const int lane =
                IS_TRANSPOSED ? 4 * col + row / 2 : 4 * row + col / 2;
            const int h = (IS_TRANSPOSED ? row : col) % 2;
            const auto *to = static_cast<stored *>(all[8 * m + row]);
            const u16 v = half_of(static_cast<stored *>(all[lane])->r[m], h);
            check_shared(to->row, 16, 16);
            std::memcpy(shared + to->row + 2 * col, &v, sizeof v);
            unfenced[to->row / 16] =
                static_cast<u16>(to->thread + 1);
        }
}

template <int N, bool IS_TRANSPOSED> void store_matrix(u32 row, const u32 *r)
{
    stored mine{row, r, current->thread.x};
    in_warp(IS_TRANSPOSED ? "stmatrix.trans" : "stmatrix", &mine,
            store_matrices<N, IS_TRANSPOSED>);
}

// By whole warps, as setmaxnreg is; the first thread of each does the sums.
inline void change_registers(int to, bool is_growing)
{
    const int change = (to - entry_registers) * 32;
    if (to % 8 || to < 24 || to > 256 || (change > 0) != is_growing)
        fail("setmaxnreg: no such number of registers");
    if (current->thread.x % 32 == 0) {
        while (pool < change)
            yield("setmaxnreg");
        pool -= change;
        progress++;
    }
    in_warp("setmaxnreg", nullptr, [](void **) {});
}

} // namespace simt

// A tensor of 16-bit elements; x is contiguous.
struct alignas(128) tensor_map {
    u16 *data;
    u64 size[3], stride[3];
};

DEV u16 *tensor_at(const tensor_map &m, u64 x, u64 y, u64 z)
{
    const bool is_inside = x < m.size[0] && y < m.size[1] && z < m.size[2];
    return is_inside ? m.data + z * m.stride[2] + y * m.stride[1] + x : nullptr;
}

DEV void tma_prefetch(const tensor_map *)
{
}

// A box on its way.
DEV void tma_load(u32 to, const tensor_map *map, u32 barrier, int x, int y,
                  int z)
{
    const tensor_map m = *map;
    simt::check_shared(to, simt::BOX_BYTES, 1024);
    simt::find_barrier(barrier);
    simt::pending.push_back([=] {
        simt::check_present();
        for (u32 r = 0; r < simt::BOX; r++)
            for (u32 c = 0; c < simt::BOX; c++) {
                const u16 *from =
                    tensor_at(m, static_cast<u64>(x) + c,
                              static_cast<u64>(y) + r, static_cast<u64>(z));
                const u16 v = from ? *from : static_cast<u16>(0);
                std::memcpy(simt::shared +
                                simt::swizzle(to + r * 128 + c * 2),
                            &v, sizeof v);
            }
        simt::phase_barrier &b = simt::find_known_barrier(barrier);
        b.bytes_missing -= simt::BOX_BYTES;
        simt::end_phase(b);
    });
}

DEV void tma_store(const tensor_map *map, u32 from, int x, int y, int z)
{
    const tensor_map m = *map;
    simt::check_shared(from, simt::BOX_BYTES, 1024);
    if (x < 0 || y < 0 || z < 0 ||
        !tensor_at(m, static_cast<u64>(x), static_cast<u64>(y),
                   static_cast<u64>(z)))
        simt::fail("TMA stores a box that begins outside of the tensor");
    // Rows are clipped by 16 bytes, where loads clip them by elements.
    tensor_map wide = m;
    wide.size[0] = (m.size[0] + 7) / 8 * 8;
    simt::stores_open[simt::current->number].push_back([=] {
        for (u32 r = 0; r < simt::BOX; r++)
            for (u32 c = 0; c < simt::BOX; c++) {
                const u32 at = simt::swizzle(from + r * 128 + c * 2);
                if (simt::unfenced[at / 16])
                    simt::fail("TMA reads what no fence.proxy.async follows");
                u16 *to =
                    tensor_at(wide, static_cast<u64>(x) + c,
                              static_cast<u64>(y) + r, static_cast<u64>(z));
                if (to)
                    std::memcpy(to, simt::shared + at, sizeof *to);
            }
    });
}

// Shared memory is read at once, or as late as waits allow.
DEV void tma_store_commit()
{
    auto &open = simt::stores_open[simt::current->number];
    if (simt::draw() % 4 == 0) {
        for (const simt::work &store : open)
            store();
        open.clear();
    }
    simt::stores_committed[simt::current->number].push_back(open);
    open.clear();
}

template <int N> DEV void tma_store_wait_read()
{
    auto &groups = simt::stores_committed[simt::current->number];
    while (groups.size() > N) {
        for (const simt::work &store : groups.front())
            store();
        groups.erase(groups.begin());
    }
}

DEV void tma_store_wait()
{
    tma_store_wait_read<0>();
}

DEV void proxy_fence()
{
    for (u16 &writer : simt::unfenced)
        if (writer == threadIdx.x + 1)
            writer = 0;
}

DEV void named_barrier(int id, int n_threads)
{
    simt::wait_at(id, n_threads);
}

template <int N> DEV void registers_grow()
{
    simt::change_registers(N, true);
}

template <int N> DEV void registers_shrink()
{
    simt::change_registers(N, false);
}

DEV void stmatrix4(u32 row, const u32 (&r)[4])
{
    simt::store_matrix<4, false>(row, r);
}

DEV void stmatrix4_transposed(u32 row, const u32 (&r)[4])
{
    simt::store_matrix<4, true>(row, r);
}

DEV void stmatrix1(u32 row, u32 r)
{
    simt::store_matrix<1, false>(row, &r);
}

DEV void stmatrix1_transposed(u32 row, u32 r)
{
    simt::store_matrix<1, true>(row, &r);
}

DEV u32 load_shared32(u32 from)
{
    u32 v;
    simt::check_shared(from, 4, 4);
    std::memcpy(&v, simt::shared + from, sizeof v);
    return v;
}
