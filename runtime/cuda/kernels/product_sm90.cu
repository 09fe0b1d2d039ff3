// c = alpha x y' + beta s in bf16 or f16, sums in f32, for sm_90a.
//
// SYMMETRIC: only 64x64 blocks on or above the diagonal are computed, and each
// is stored twice, so that c is symmetric to the bit whatever x and y are; of s
// what lies above the diagonal counts.
// M_MAJOR: the first operand is given as [k, rows], not [rows, k]: c = x' y'.
// N_MAJOR: the second one as [k, cols], not [cols, k]: c = x y.
//
// Specialised by KERNEL (its name), BM, BN (rows and columns of a tile, 64 rows
// a consumer), STAGES, BUFFERS (of staging a consumer, 1 or 2), SYMMETRIC,
// M_MAJOR, N_MAJOR, FP16.  Maps of x, y, s and c have boxes of 64 x 64
// elements with 128-byte swizzle.  k_steps >= 1: without products there would
// be no sums to begin with, and the host refuses.
//
// One warpgroup feeds TMA, the others multiply.  A block of threads goes
// through numbers blockIdx.x, blockIdx.x + gridDim.x and so on of the work
// list. Clusters of two blocks that load y for each other gained nothing on an
// H100 (bench/gpu.md), so blocks know nothing of each other.

enum {
    BK = 64,
    WARPGROUP = 128,
    CONSUMERS = BM / 64,
    ROW_BYTES = BK * 2,
    X_BYTES = BM * ROW_BYTES,
    STAGE_BYTES = X_BYTES + BN * ROW_BYTES,
    BLOCK_BYTES = 64 * 64 * 2,
    // Blocks of a stage, and stages that the blocks of s fill.
    STAGE_BLOCKS = STAGE_BYTES / BLOCK_BYTES,
    ADDEND_STAGES = (CONSUMERS * (BN / 64) + STAGE_BLOCKS - 1) / STAGE_BLOCKS,
    // A block and its mirror image.
    TILE_SIZE = BM * BN,
    BUFFER_BYTES = (SYMMETRIC ? 2 : 1) * BLOCK_BYTES,
    STAGING_BYTES = CONSUMERS * BUFFERS * BUFFER_BYTES,
    SHARED_LIMIT = 232448,
    // 1024 for alignment, two barriers a stage.
    SHARED_BYTES = STAGES * STAGE_BYTES + STAGING_BYTES + 1024 + STAGES * 16
};
static_assert(ADDEND_STAGES <= STAGES, "s has no room in the ring");
static_assert(BM % 64 == 0 && BN % 64 == 0, "tiles are of 64x64 blocks");
static_assert(SHARED_BYTES <= SHARED_LIMIT, "stages do not fit");

// Registers a thread, by consumers: as compiled (65536 dealt out to all, whole
// eights), then what the producer gives away and the consumers take.
struct register_split {
    int entry, producer, consumer;
};
constexpr register_split SPLITS[] = {
    {0, 0, 0}, {0, 0, 0}, {168, 40, 232}, {128, 32, 160}};
static_assert(CONSUMERS >= 2 && CONSUMERS <= 3, "no split of registers");
constexpr register_split SPLIT = SPLITS[CONSUMERS];
static_assert(SPLIT.producer + SPLIT.consumer * CONSUMERS <=
                  SPLIT.entry * (CONSUMERS + 1),
              "consumers would wait for registers for ever");

// Matrix descriptors for wgmma, 128-byte swizzle.  K contiguous: groups of 8
// rows lie 1024 bytes apart.  M or N contiguous: panels of 64 8192 apart, groups
// of 8 rows of k 1024.
DEV u64 descriptor(u32 address, u32 panel_bytes)
{
    return (u64)((address & 0x3ffff) >> 4) | (u64)(panel_bytes >> 4) << 16 |
           (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

// Addresses of shared memory.
struct shared_plan {
    u32 stages, blocks, full, empty;
};

DEV shared_plan plan_shared(u32 start)
{
    shared_plan p;
    p.stages = (start + 1023) & ~1023u;
    p.blocks = p.stages + STAGES * STAGE_BYTES;
    p.full = p.blocks + STAGING_BYTES;
    p.empty = p.full + 8 * STAGES;
    return p;
}

// The ring of stages: `n` stages were used before.
struct ring {
    u32 n;
};

DEV u32 ring_slot(ring r)
{
    return r.n % STAGES;
}

DEV u32 ring_parity(ring r)
{
    return r.n / STAGES & 1;
}

// Until all have read what was in the slot.
DEV void wait_empty(const shared_plan &p, ring r)
{
    mbarrier_wait(p.empty + 8 * ring_slot(r), ring_parity(r) ^ 1);
}

// This warp has read the slot, for all who load into it.
DEV void give_back(const shared_plan &p, ring r)
{
    if ((threadIdx.x & 31) == 0)
        mbarrier_arrive(p.empty + 8 * ring_slot(r));
}

DEV void load_stage(const shared_plan &p, ring r, const tensor_map *x,
                    const tensor_map *y, tile t, int k)
{
    const u32 at = p.stages + ring_slot(r) * STAGE_BYTES;
    const u32 full = p.full + 8 * ring_slot(r);

    wait_empty(p, r);
    mbarrier_expect(full, STAGE_BYTES);
    for (int row = 0; row < BM; row += 64)
        if (M_MAJOR)
            tma_load(at + row * ROW_BYTES, x, full, t.i * BM + row, k * BK,
                     t.z);
        else
            tma_load(at + row * ROW_BYTES, x, full, k * BK, t.i * BM + row,
                     t.z);
    for (int row = 0; row < BN; row += 64) {
        const u32 to = at + X_BYTES + row * ROW_BYTES;
        const int col = t.j * BN + row;
        if (N_MAJOR)
            tma_load(to, y, full, col, k * BK, t.z);
        else
            tma_load(to, y, full, k * BK, col, t.z);
    }
}

// Whether the 64x64 block at (r0, c0) is computed.
DEV bool has_block(int r0, int c0, int rows, int cols)
{
    return r0 < rows && c0 < cols && !(SYMMETRIC && c0 < r0);
}

// Blocks of s go through the ring behind the tile's last products, as if they
// were operands: block b of consumer wg has number b CONSUMERS + wg.  Those
// that nobody computes are left out.
DEV void load_addend(const shared_plan &p, ring r, const tensor_map *s, tile t,
                     int stage, int rows, int cols)
{
    const u32 at = p.stages + ring_slot(r) * STAGE_BYTES;
    const u32 full = p.full + 8 * ring_slot(r);
    int n = 0;

    wait_empty(p, r);
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            mbarrier_expect(full, n * BLOCK_BYTES);
        for (int i = 0; i < STAGE_BLOCKS; i++) {
            const int id = stage * STAGE_BLOCKS + i;
            const int r0 = t.i * BM + id % CONSUMERS * 64;
            const int c0 = t.j * BN + id / CONSUMERS * 64;
            if (id >= CONSUMERS * (BN / 64) || !has_block(r0, c0, rows, cols))
                continue;
            if (pass)
                tma_load(at + i * BLOCK_BYTES, s, full, c0, r0, t.z);
            n++;
        }
    }
}

// d = the sums of 64 rows of the tile: those of consumer wg, of n_steps >= 1 of
// k.  A stage is given back when the products after it are under way.  ptxas
// lets products overlap only if it sees that d is defined where the loop
// begins, as the caller's zeros are, and that the loop's first round is like
// the others.
DEV void multiply(float (&d)[BN / 2], const shared_plan &p, ring &r, int wg,
                  int n_steps)
{
#pragma unroll 1
    for (int k = 0; k < n_steps; k++, r.n++) {
        const u32 at = p.stages + ring_slot(r) * STAGE_BYTES;
        const u64 a = descriptor(at + wg * 64 * ROW_BYTES,
                                 M_MAJOR ? BLOCK_BYTES : 16);
        const u64 b = descriptor(at + X_BYTES, N_MAJOR ? BLOCK_BYTES : 16);
        mbarrier_wait(p.full + 8 * ring_slot(r), ring_parity(r));
        wgmma_fence();
#pragma unroll
        for (int kk = 0; kk < BK / 16; kk++)
            wgmma<M_MAJOR, N_MAJOR>(d, a + kk * (M_MAJOR ? 128 : 2),
                                    b + kk * (N_MAJOR ? 128 : 2), k | kk);
        wgmma_commit();
        wgmma_wait<1>();
        if (k)
            give_back(p, {r.n - 1});
    }
    wgmma_wait<0>();
    wgmma_finished(d);
    give_back(p, {r.n - 1});
}

// Sums of a part, 64 rows of the tile one after the other, of each what thread
// after thread has.
DEV void put_sums(const float (&d)[BN / 2], float *sums, int wg)
{
    float *to = sums + wg * 64 * BN + threadIdx.x % WARPGROUP;

#pragma unroll
    for (int i = 0; i < BN / 2; i++)
        to[i * WARPGROUP] = d[i];
}

// d = those of all parts, in their order.
DEV void add_parts(float (&d)[BN / 2], const float *sums, int wg, int parts)
{
    const float *from = sums + wg * 64 * BN + threadIdx.x % WARPGROUP;

#pragma unroll
    for (int i = 0; i < BN / 2; i++)
        d[i] = from[i * WARPGROUP];
    for (int part = 1; part < parts; part++) {
        from += TILE_SIZE;
#pragma unroll
        for (int i = 0; i < BN / 2; i++)
            d[i] += from[i * WARPGROUP];
    }
}

// Where row `row` of the 8x8 block in column `chunk` lies in a swizzled block.
DEV u32 place(u32 block, int row, int chunk)
{
    return block + row * 128 + ((chunk ^ (row & 7)) << 4);
}

// d = alpha d + beta s, and the ring goes on: stages are given back before the
// blocks of c are stored.
DEV void add_addend(float (&d)[BN / 2], const shared_plan &p, ring &r,
                    const epilogue &e, int wg, int r0, int j0, int rows,
                    int cols)
{
    const int warp = threadIdx.x % WARPGROUP / 32, lane = threadIdx.x & 31;

    for (int stage = 0; stage < ADDEND_STAGES; stage++) {
        const ring at = {r.n + stage};
        mbarrier_wait(p.full + 8 * ring_slot(at), ring_parity(at));
    }
#pragma unroll
    for (int b = 0; b < BN / 64; b++) {
        const int id = b * CONSUMERS + wg;
        const ring at = {r.n + id / STAGE_BLOCKS};
        const u32 block = p.stages + ring_slot(at) * STAGE_BYTES +
                          id % STAGE_BLOCKS * BLOCK_BYTES;
        if (!has_block(r0, j0 + b * 64, rows, cols))
            continue;
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const u32 row =
                place(block, 16 * warp + 8 * (i & 1) + lane / 4, i >> 1);
            const int x = 32 * b + 2 * i;
            add_pair(e, d[x], d[x + 1], load_shared32(row + 4 * (lane & 3)));
        }
    }
    __syncwarp();
    for (int stage = 0; stage < ADDEND_STAGES; stage++, r.n++)
        give_back(p, r);
}

// The four 8x8 blocks that a warp has at columns j and j + 1 of its 16 rows, to
// `normal` and transposed to `mirror`.
DEV void stage_pairs(u32 normal, u32 mirror, int warp, int j, const u32 (&v)[4])
{
    const int lane = threadIdx.x & 31, m = lane / 8, in = lane & 7;

    stmatrix4(place(normal, 16 * warp + 8 * (m & 1) + in, j + (m >> 1)), v);
    if (SYMMETRIC)
        stmatrix4_transposed(
            place(mirror, 8 * (j + (m >> 1)) + in, 2 * warp + (m & 1)), v);
}

// A block on the diagonal is its own mirror image: what lies below it comes
// from above, also inside the 8x8 blocks that it crosses.
DEV void stage_diagonal(u32 block, int warp, int j, const u32 (&v)[4])
{
    const int lane = threadIdx.x & 31, in = lane & 7;
    const int row = lane / 4, col = 2 * (lane & 3);

#pragma unroll
    for (int q = 0; q < 4; q++) {
        const int above = 2 * warp + (q & 1), right = j + (q >> 1);
        if (right < above)
            continue;
        if (right > above) {
            stmatrix1(place(block, 8 * above + in, right), v[q]);
            stmatrix1_transposed(place(block, 8 * right + in, above), v[q]);
            continue;
        }
        const u32 t = movmatrix(v[q]);
        const u32 low = (row <= col ? v[q] : t) & 0xffffu;
        const u32 high = (row <= col + 1 ? v[q] : t) & 0xffff0000u;
        stmatrix1(place(block, 8 * above + in, right), low | high);
    }
}

// The 64x64 block at (r0, c0), the number p of this consumer's, to c.  The
// store before it may still be under way where there are two buffers.
DEV void store_block(const float (&d)[BN / 2], int p, u32 normal,
                     const tensor_map *c, int wg, int r0, int c0, int z)
{
    const int in = threadIdx.x % WARPGROUP, warp = in / 32;
    const u32 mirror = normal + BLOCK_BYTES;
    const bool is_diagonal = SYMMETRIC && r0 == c0;

    if (in == 0)
        tma_store_wait_read<BUFFERS - 1>();
    named_barrier(1 + wg, WARPGROUP);
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
        u32 v[4];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const int at = 4 * (p * 8 + j + (q >> 1)) + 2 * (q & 1);
            v[q] = pack_pair(d[at], d[at + 1]);
        }
        if (is_diagonal)
            stage_diagonal(normal, warp, j, v);
        else
            stage_pairs(normal, mirror, warp, j, v);
    }
    proxy_fence();
    named_barrier(1 + wg, WARPGROUP);
    if (in == 0) {
        tma_store(c, normal, c0, r0, z);
        if (SYMMETRIC && !is_diagonal)
            tma_store(c, mirror, r0, c0, z);
        tma_store_commit();
    }
}

DEV void produce(const shared_plan &p, const tensor_map *x, const tensor_map *y,
                 const tensor_map *s, const epilogue &e, int rows, int cols,
                 int k_steps, const work_list &list)
{
    ring r = {0};

    for (int n = blockIdx.x; n < count_work(list); n += gridDim.x) {
        const work w = work_at(list, n, k_steps, TILE_SIZE);
        const bool has_addend = e.beta != 0.f && (!w.sums || list.is_end);
#pragma unroll 1
        for (int k = w.first; k < w.end; k++, r.n++)
            load_stage(p, r, x, y, w.t, k);
        for (int stage = 0; has_addend && stage < ADDEND_STAGES; stage++, r.n++)
            load_addend(p, r, s, w.t, stage, rows, cols);
    }
}

// Of all blocks of the consumer's rows, c from their sums.
DEV void end_tile(float (&d)[BN / 2], const shared_plan &p, ring &r,
                  const tensor_map *c, const epilogue &e, int rows, int cols,
                  tile t, u32 &n_stored)
{
    const int wg = threadIdx.x / WARPGROUP, r0 = t.i * BM + wg * 64;
    const u32 staging = p.blocks + wg * BUFFERS * BUFFER_BYTES;

#pragma unroll
    for (int i = 0; i < BN / 2; i++)
        d[i] *= e.alpha;
    if (e.beta != 0.f)
        add_addend(d, p, r, e, wg, r0, t.j * BN, rows, cols);
#pragma unroll
    for (int b = 0; b < BN / 64; b++) {
        const int c0 = t.j * BN + b * 64;
        if (!has_block(r0, c0, rows, cols))
            continue;
        store_block(d, b, staging + n_stored++ % BUFFERS * BUFFER_BYTES, c, wg,
                    r0, c0, t.z);
    }
}

DEV void consume(const shared_plan &p, const tensor_map *c, const epilogue &e,
                 int rows, int cols, int k_steps, const work_list &list)
{
    const int wg = threadIdx.x / WARPGROUP;
    ring r = {0};
    u32 n_stored = 0;

    for (int n = blockIdx.x; n < count_work(list); n += gridDim.x) {
        const work w = work_at(list, n, k_steps, TILE_SIZE);
        float d[BN / 2] = {};
        if (list.is_end)
            add_parts(d, w.sums, wg, list.splits);
        else
            multiply(d, p, r, wg, w.end - w.first);
        if (w.sums && !list.is_end)
            put_sums(d, w.sums, wg);
        else
            end_tile(d, p, r, c, e, rows, cols, w.t, n_stored);
    }
    if (threadIdx.x % WARPGROUP == 0)
        tma_store_wait();
}

// Nothing is written where *skip is not 0; skip may be null.
extern "C" __global__ void __launch_bounds__(WARPGROUP *(CONSUMERS + 1), 1)
    KERNEL(const __grid_constant__ tensor_map x,
           const __grid_constant__ tensor_map y,
           const __grid_constant__ tensor_map s,
           const __grid_constant__ tensor_map c, const epilogue e, int rows,
           int cols, int k_steps, const work_list list, const int *skip)
{
    SHARED_DYNAMIC(shared);
    const shared_plan p = plan_shared(shared_address(shared));

    if (skip && *skip)
        return;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            mbarrier_init(p.full + 8 * i, 1);
            mbarrier_init(p.empty + 8 * i, CONSUMERS * 4);
        }
        mbarrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x / WARPGROUP == CONSUMERS) {
        registers_shrink<SPLIT.producer>();
        if (threadIdx.x == CONSUMERS * WARPGROUP) {
            tma_prefetch(&x);
            tma_prefetch(&y);
            tma_prefetch(&c);
            produce(p, &x, &y, &s, e, rows, cols, k_steps, list);
        }
    } else {
        registers_grow<SPLIT.consumer>();
        consume(p, &c, e, rows, cols, k_steps, list);
    }
}
