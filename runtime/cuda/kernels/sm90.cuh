// sm_90a: one inline function per instruction.  Addresses of shared memory are
// those of shared_address().

// What cuTensorMapEncodeTiled fills: opaque, 128 bytes, aligned as cuda.h says.
struct __align__(128) tensor_map {
    u64 opaque[16];
};

// mbarrier: `count` arrivals and the promised bytes end a phase.
DEV void mbarrier_init(u32 barrier, u32 count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier),
                 "r"(count)
                 : "memory");
}

DEV void mbarrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives and promises n_bytes.
DEV void mbarrier_expect(u32 barrier, u32 n_bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     barrier),
                 "r"(n_bytes)
                 : "memory");
}

DEV void mbarrier_arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier)
                 : "memory");
}

// Until the phase of this parity is over; of a new barrier the phase before the
// first, parity 1, is.
DEV void mbarrier_wait(u32 barrier, u32 parity)
{
    asm volatile("{ .reg .pred over;\n"
                 "AGAIN: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], "
                 "%1;\n"
                 "@over bra OVER;\n"
                 "bra AGAIN;\n"
                 "OVER: }" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

// WAIT_LIMIT: ns after which a wait that is not over fails as an assertion does:
// the kernel traps, and the driver prints in which function, block and thread.
#ifdef WAIT_LIMIT
// What the toolkit's assert() calls.
extern "C" __device__ void __assertfail(const char *message, const char *file,
                                        unsigned line, const char *function,
                                        unsigned long char_bytes);

DEV u64 now_ns()
{
    u64 ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

DEV void mbarrier_watch(u32 barrier, u32 parity, const char *where)
{
    const u64 start = now_ns();

    for (u32 is_over = 0; !is_over;) {
        asm volatile("{ .reg .pred over;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, over; }"
                     : "=r"(is_over)
                     : "r"(barrier), "r"(parity)
                     : "memory");
        if (!is_over && now_ns() - start > WAIT_LIMIT)
            __assertfail("a wait ends in time", "a product's kernel", 0, where,
                         1);
    }
}

#define mbarrier_wait(barrier, parity) mbarrier_watch(barrier, parity, __func__)
#endif

// A box of the tensor at (x, y, z) to shared memory; what lies outside the
// tensor is zero and counts among the barrier's bytes.
DEV void tma_load(u32 to, const tensor_map *map, u32 barrier, int x, int y,
                  int z)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile"
                 ".mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%5}], [%2];" ::
                     "r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

// A box to the tensor, which begins there; what lies outside is not written, but
// for what a row's last 16 bytes have there.
DEV void tma_store(const tensor_map *map, u32 from, int x, int y, int z)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group "
                 "[%0, {%2,%3,%4}], [%1];" ::"l"(map),
                 "r"(from), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

DEV void tma_store_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until all but N committed groups of this thread have read shared memory.
template <int N> DEV void tma_store_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

// Until this thread's stores are done.
DEV void tma_store_wait()
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

DEV void tma_prefetch(const tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// What this thread wrote to shared memory before is seen by TMA after.
DEV void proxy_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

DEV void named_barrier(int id, int n_threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(n_threads) : "memory");
}

DEV void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

DEV void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until at most N groups of this warpgroup are under way.
template <int N> DEV void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// Keeps reads of d after the wait: the compiler does not know that it is
// written until then.
template <int N> DEV void wgmma_finished(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

template <int N> DEV void registers_grow()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}

template <int N> DEV void registers_shrink()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}

// Four 8x8 matrices; lane l gives the place of row l % 8 of matrix l / 8.
DEV void stmatrix4(u32 row, const u32 (&r)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], "
                 "{%1,%2,%3,%4};" ::"r"(row),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

DEV void stmatrix4_transposed(u32 row, const u32 (&r)[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], "
                 "{%1,%2,%3,%4};" ::"r"(row),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

// One 8x8 matrix; lanes 0 to 7 give its rows.
DEV void stmatrix1(u32 row, u32 r)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(
                     row),
                 "r"(r)
                 : "memory");
}

DEV void stmatrix1_transposed(u32 row, u32 r)
{
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(row),
        "r"(r)
        : "memory");
}

DEV u32 load_shared32(u32 from)
{
    u32 v;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(from) : "memory");
    return v;
}
