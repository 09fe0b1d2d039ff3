// A model of runtime/cuda/kernels/sm80.cuh.  cp.async happens at once or as late as its
// wait allows, by lot.
#pragma once

#include "element.hpp"

namespace simt
{

using group = std::vector<work>;

inline group copies_open[MAX_THREADS];
inline std::vector<group> copies_committed[MAX_THREADS];
[[maybe_unused]] static const bool resets_copies = (resets.push_back([] {
    for (group &g : copies_open)
        g.clear();
    for (auto &g : copies_committed)
        g.clear();
}),
                                                    true);

struct matrices {
    u32 row;
    u32 *r;
};

template <bool IS_TRANSPOSED> void load_matrices(void **all)
{
    for (int m = 0; m < 4; m++)
        for (int i = 0; i < 64; i++) {
            const int row = i / 8, col = i % 8;
            const int lane =
                IS_TRANSPOSED ? 4 * col + row / 2 : 4 * row + col / 2;
            const int h = (IS_TRANSPOSED ? row : col) % 2;
            const u32 from = static_cast<matrices *>(all[8 * m + row])->row;
            check_shared(from, 16, 16);
            u32 &to = static_cast<matrices *>(all[lane])->r[m];
            u16 v;
            std::memcpy(&v, shared + from + 2 * col, sizeof v);
            to = (to & ~(0xffffu << (16 * h))) | static_cast<u32>(v)
                                                     << (16 * h);
        }
}

struct product_m16n8k16 {
    float *d;
    const u32 *a;
    u32 b[2];
};

inline void multiply_m16n8k16(void **all)
{
    float a[16][16], b[8][16];

    for (int lane = 0; lane < 32; lane++) {
        const auto *p = static_cast<product_m16n8k16 *>(all[lane]);
        const int row = lane / 4, k = 2 * (lane % 4);
        for (int i = 0; i < 4; i++)
            for (int h = 0; h < 2; h++)
                a[row + 8 * (i & 1)][k + h + 8 * (i >> 1)] =
                    from_element(half_of(p->a[i], h));
        for (int i = 0; i < 2; i++)
            for (int h = 0; h < 2; h++)
                b[row][k + h + 8 * i] = from_element(half_of(p->b[i], h));
    }
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            const int row = lane / 4 + 8 * (i >> 1);
            const int col = 2 * (lane % 4) + (i & 1);
            float sum = 0.f;
            for (int k = 0; k < 16; k++)
                sum += a[row][k] * b[col][k];
            static_cast<product_m16n8k16 *>(all[lane])->d[i] += sum;
        }
}

} // namespace simt

DEV void cp_async16(u32 to, const void *from, int n_bytes)
{
    simt::check_shared(to, 16, 16);
    if (reinterpret_cast<std::uintptr_t>(from) % 16)
        simt::fail("cp.async from an address that is no multiple of 16");
    simt::check_global(from, static_cast<std::size_t>(n_bytes));
    const simt::work copy = [=] {
        std::memset(simt::shared + to, 0, 16);
        std::memcpy(simt::shared + to, from, static_cast<std::size_t>(n_bytes));
    };
    if (simt::draw() & 1)
        copy();
    else
        simt::copies_open[threadIdx.x].push_back(copy);
}

DEV void cp_async_commit()
{
    simt::group &open = simt::copies_open[threadIdx.x];
    simt::copies_committed[threadIdx.x].push_back(open);
    open.clear();
}

template <int N> DEV void cp_async_wait()
{
    auto &groups = simt::copies_committed[threadIdx.x];
    while (groups.size() > N) {
        for (const simt::work &copy : groups.front())
            copy();
        groups.erase(groups.begin());
    }
}

DEV void ldmatrix4(u32 (&r)[4], u32 row)
{
    simt::matrices mine{row, r};
    simt::in_warp("ldmatrix", &mine, simt::load_matrices<false>);
}

DEV void ldmatrix4_transposed(u32 (&r)[4], u32 row)
{
    simt::matrices mine{row, r};
    simt::in_warp("ldmatrix.trans", &mine, simt::load_matrices<true>);
}

DEV void mma_m16n8k16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1)
{
    simt::product_m16n8k16 mine{d, a, {b0, b1}};
    simt::in_warp("mma.sync", &mine, simt::multiply_m16n8k16);
}

DEV void store_shared32(u32 to, u32 v)
{
    simt::check_shared(to, 4, 4);
    std::memcpy(simt::shared + to, &v, sizeof v);
}

DEV void store_shared16(u32 to, u16 v)
{
    simt::check_shared(to, 2, 2);
    std::memcpy(simt::shared + to, &v, sizeof v);
}

DEV u16 load_shared16(u32 from)
{
    u16 v;
    simt::check_shared(from, 2, 2);
    std::memcpy(&v, simt::shared + from, sizeof v);
    return v;
}

DEV uint4 load_shared128(u32 from)
{
    uint4 v;
    simt::check_shared(from, 16, 16);
    std::memcpy(&v, simt::shared + from, sizeof v);
    return v;
}
