// mbarriers of a block, and what blocks of a cluster have of each other: arrivals
// at each other's mbarriers, which come late and in any order, and one barrier
// for all.
#pragma once

#include "block.hpp"

namespace simt
{

struct phase_barrier {
    u32 count, n_missing;
    long bytes_missing;
    u32 parity;
    // Whether other engines and other blocks know of it.
    bool is_known;
};

inline std::map<u32, phase_barrier> phase_barriers[MAX_CLUSTER];
// Arrivals of a thread that are on their way to other blocks.
inline unsigned n_underway[MAX_CLUSTER * MAX_THREADS];
// Threads that are at the cluster's barrier.
inline unsigned n_at_cluster;
inline u64 cluster_generation;

[[maybe_unused]] static const bool resets_mbarrier = (resets.push_back([] {
    for (auto &of_block : phase_barriers)
        of_block.clear();
    std::memset(n_underway, 0, sizeof n_underway);
    n_at_cluster = 0;
}),
                                                      true);

inline phase_barrier &find_barrier(unsigned rank, u32 address)
{
    const auto found = phase_barriers[rank].find(address);
    if (found == phase_barriers[rank].end())
        fail("mbarrier that nobody initialised");
    return found->second;
}

inline phase_barrier &find_known_barrier(unsigned rank, u32 address)
{
    phase_barrier &b = find_barrier(rank, address);
    if (!b.is_known)
        fail("mbarrier without fence.mbarrier_init");
    return b;
}

// Shared memory goes with the last thread of its block.
inline void check_present(unsigned rank)
{
    if (!n_left[rank])
        fail("something comes for a block that has left");
}

inline void end_phase(phase_barrier &b)
{
    if (b.n_missing || b.bytes_missing)
        return;
    b.parity ^= 1;
    b.n_missing = b.count;
    progress++;
}

inline void arrive(phase_barrier &b)
{
    if (!b.n_missing)
        fail("more arrivals than an mbarrier counts");
    b.n_missing--;
    end_phase(b);
}

inline void wait_phase(u32 barrier, u32 parity)
{
    const phase_barrier &b = find_barrier(current->rank, barrier);
    while (b.parity == parity)
        yield("an mbarrier");
}

} // namespace simt

DEV void mbarrier_init(u32 barrier, u32 count)
{
    simt::check_shared(barrier, 8, 8);
    simt::phase_barriers[simt::current->rank][barrier] = {count, count, 0, 0,
                                                          false};
}

DEV void mbarrier_init_fence()
{
    for (auto &[address, b] : simt::phase_barriers[simt::current->rank])
        b.is_known = true;
}

DEV void mbarrier_arrive(u32 barrier)
{
    simt::arrive(simt::find_barrier(simt::current->rank, barrier));
}

DEV void mbarrier_arrive_at(u32 barrier, u32 rank)
{
    if (rank >= simt::cluster_size)
        simt::fail("an mbarrier of a block that the cluster does not have");
    unsigned &n = simt::n_underway[simt::current->number];
    n++;
    simt::pending.push_back([=, &n] {
        simt::check_present(rank);
        simt::arrive(simt::find_known_barrier(rank, barrier));
        n--;
    });
}

DEV void mbarrier_expect(u32 barrier, u32 n_bytes)
{
    simt::find_barrier(simt::current->rank, barrier).bytes_missing += n_bytes;
    mbarrier_arrive(barrier);
}

DEV void mbarrier_wait(u32 barrier, u32 parity)
{
    simt::wait_phase(barrier, parity);
}

// Stores of the model are seen at once.
DEV void __threadfence() {}

// A thread that is done is not waited for.
DEV void cluster_sync()
{
    const u64 generation = simt::cluster_generation;
    while (simt::n_underway[simt::current->number])
        simt::yield("arrivals that are on their way");
    simt::n_at_cluster++;
    simt::progress++;
    while (simt::cluster_generation == generation) {
        unsigned n = 0;
        for (unsigned rank = 0; rank < simt::cluster_size; rank++)
            n += simt::n_left[rank];
        if (simt::n_at_cluster == n) {
            simt::n_at_cluster = 0;
            simt::cluster_generation++;
            simt::progress++;
            return;
        }
        simt::yield("the barrier of the cluster");
    }
}
