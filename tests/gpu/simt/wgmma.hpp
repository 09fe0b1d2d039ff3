// A model of wgmma: a warpgroup's products are done as late as its waits allow,
// and until then its accumulators are NaNs.
#pragma once

#include "sm90.hpp"

namespace simt
{

constexpr int GROUP_THREADS = 128, MAX_ACCUMULATORS = 128;

struct wgmma_call {
    float *d;
    u64 a, b;
    int accumulate;
};

struct wgmma_queue {
    std::vector<work> open;
    std::vector<std::vector<work>> committed;
    // Accumulators on their way, where they go, and products they wait for.
    float d[GROUP_THREADS][MAX_ACCUMULATORS];
    float *registers[GROUP_THREADS];
    int n_flying = 0;
};

inline wgmma_queue wgmma_queues[MAX_THREADS / GROUP_THREADS];

[[maybe_unused]] static const bool resets_wgmma = (resets.push_back([] {
    for (wgmma_queue &q : wgmma_queues) {
        q.open.clear();
        q.committed.clear();
        q.n_flying = 0;
    }
}),
                                                   true);

inline wgmma_queue &own_queue()
{
    return wgmma_queues[current->number / GROUP_THREADS];
}

inline float shared_element(u32 address)
{
    u16 v;
    std::memcpy(&v, shared + address, sizeof v);
    return from_element(v);
}

// Where element (row, k) of an operand with K contiguous lies.
inline u32 k_major_at(u64 descriptor, int row, int k)
{
    const u32 start = static_cast<u32>(descriptor & 0x3fff) << 4;
    const u32 group = static_cast<u32>(descriptor >> 32 & 0x3fff) << 4;
    if (descriptor >> 62 != 1)
        fail("only 128-byte swizzle is modelled");
    return swizzle(start + static_cast<u32>(row / 8) * group +
                   static_cast<u32>(row % 8 * 128 + k * 2));
}

// The same with M or N contiguous: panels of 64, groups of 8 rows of k.
inline u32 turned_at(u64 descriptor, int n, int k)
{
    const u32 start = static_cast<u32>(descriptor & 0x3fff) << 4;
    const u32 panel = static_cast<u32>(descriptor >> 16 & 0x3fff) << 4;
    const u32 group = static_cast<u32>(descriptor >> 32 & 0x3fff) << 4;
    return swizzle(start + static_cast<u32>(n / 64) * panel +
                   static_cast<u32>(k / 8) * group +
                   static_cast<u32>(k % 8 * 128 + n % 64 * 2));
}

template <int N, int A_TRANSPOSED, int B_TRANSPOSED>
void do_wgmma(wgmma_queue &q, const wgmma_call &call)
{
    static float a[64][16], b[256][16];

    for (int k = 0; k < 16; k++) {
        for (int row = 0; row < 64; row++)
            a[row][k] = shared_element(A_TRANSPOSED ? turned_at(call.a, row, k)
                                                 : k_major_at(call.a, row, k));
        for (int n = 0; n < 2 * N; n++)
            b[n][k] = shared_element(B_TRANSPOSED ? turned_at(call.b, n, k)
                                               : k_major_at(call.b, n, k));
    }
    for (int t = 0; t < GROUP_THREADS; t++)
        for (int i = 0; i < N; i++) {
            const int row = 16 * (t / 32) + t % 32 / 4 + 8 * (i >> 1 & 1);
            const int col = 8 * (i / 4) + 2 * (t % 4) + (i & 1);
            float sum = call.accumulate ? q.d[t][i] : 0.f;
            for (int k = 0; k < 16; k++)
                sum += a[row][k] * b[col][k];
            q.d[t][i] = sum;
        }
    if (--q.n_flying == 0)
        for (int t = 0; t < GROUP_THREADS; t++)
            std::memcpy(q.registers[t], q.d[t], N * sizeof(float));
}

template <int N, int A_TRANSPOSED, int B_TRANSPOSED>
void issue_wgmma(void **all)
{
    wgmma_queue &q = own_queue();
    const wgmma_call first = *static_cast<wgmma_call *>(all[0]);

    for (int t = 0; t < GROUP_THREADS; t++) {
        const auto *c = static_cast<wgmma_call *>(all[t]);
        if (c->a != first.a || c->b != first.b)
            fail("threads of a warpgroup have different descriptors");
        if (q.n_flying && q.registers[t] != c->d)
            fail("only one set of accumulators is modelled");
        if (!q.n_flying)
            std::memcpy(q.d[t], c->d, N * sizeof(float));
        q.registers[t] = c->d;
        std::memset(c->d, 0xff, N * sizeof(float));
    }
    q.n_flying++;
    q.open.push_back([&q, first] { do_wgmma<N, A_TRANSPOSED, B_TRANSPOSED>(q, first); });
}

} // namespace simt

template <int A_TRANSPOSED, int B_TRANSPOSED, int N>
DEV void wgmma(float (&d)[N], u64 a, u64 b, int accumulate)
{
    simt::wgmma_call mine{d, a, b, accumulate};
    simt::in_warpgroup("wgmma", &mine, 
                       simt::issue_wgmma<N, A_TRANSPOSED, B_TRANSPOSED>);
}

DEV void wgmma_fence()
{
    simt::in_warpgroup("wgmma.fence", nullptr, [](void **) {});
}

DEV void wgmma_commit()
{
    simt::in_warpgroup("wgmma.commit", nullptr, [](void **) {
        simt::wgmma_queue &q = simt::own_queue();
        q.committed.push_back(q.open);
        q.open.clear();
    });
}

template <int N> DEV void wgmma_wait()
{
    simt::in_warpgroup("wgmma.wait", nullptr, [](void **) {
        simt::wgmma_queue &q = simt::own_queue();
        while (q.committed.size() > N) {
            for (const simt::work &w : q.committed.front())
                w();
            q.committed.erase(q.committed.begin());
        }
    });
}

template <int N> DEV void wgmma_finished(float (&)[N])
{
}
