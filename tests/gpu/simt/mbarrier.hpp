// mbarriers of a block.
#pragma once

#include "element.hpp"

namespace simt
{

struct phase_barrier {
    u32 count, n_missing;
    long bytes_missing;
    u32 parity;
    // Whether other engines know of it.
    bool is_known;
};

inline std::map<u32, phase_barrier> phase_barriers;

[[maybe_unused]] static const bool resets_mbarrier =
    (resets.push_back([] { phase_barriers.clear(); }), true);

inline phase_barrier &find_barrier(u32 address)
{
    const auto found = phase_barriers.find(address);
    if (found == phase_barriers.end())
        fail("mbarrier that nobody initialised");
    return found->second;
}

inline phase_barrier &find_known_barrier(u32 address)
{
    phase_barrier &b = find_barrier(address);
    if (!b.is_known)
        fail("mbarrier without fence.mbarrier_init");
    return b;
}

// Shared memory goes with the last thread of its block.
inline void check_present()
{
    if (!n_left)
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
    const phase_barrier &b = find_barrier(barrier);
    while (b.parity == parity)
        yield("an mbarrier");
}

} // namespace simt

DEV void mbarrier_init(u32 barrier, u32 count)
{
    simt::check_shared(barrier, 8, 8);
    simt::phase_barriers[barrier] = {count, count, 0, 0, false};
}

DEV void mbarrier_init_fence()
{
    for (auto &[address, b] : simt::phase_barriers)
        b.is_known = true;
}

DEV void mbarrier_arrive(u32 barrier)
{
    simt::arrive(simt::find_barrier(barrier));
}

DEV void mbarrier_expect(u32 barrier, u32 n_bytes)
{
    simt::find_barrier(barrier).bytes_missing += n_bytes;
    mbarrier_arrive(barrier);
}

DEV void mbarrier_wait(u32 barrier, u32 parity)
{
    simt::wait_phase(barrier, parity);
}
