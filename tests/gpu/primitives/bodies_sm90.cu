// As bodies_sm80.cu, for sm_90a, behind sm90.cuh and wgmma.cuh or the model of
// them.  `from` is the input and `to` the output as tensors of 16-bit elements,
// two matrices of 90 x 100 with rows 104 apart, in boxes of 64 x 64 that are
// swizzled by 128 bytes.

#define PRIMITIVE(name)                                                        \
    extern "C" __global__ void name(const __grid_constant__ tensor_map from,   \
                                    const __grid_constant__ tensor_map to,     \
                                    const u32 *in, u32 *out)

enum { BOX_WORDS = 2048, N_BOXES = 4, BARRIER_AT = 40960 };

struct corner {
    int x, y, z;
};

// One inside, one over two edges, one in front of two, one over the tensor's
// end.
DEV corner corner_of(int box)
{
    return box == 0   ? corner{16, 8, 0}
           : box == 1 ? corner{64, 64, 1}
           : box == 2 ? corner{-24, -8, 1}
                      : corner{40, 80, 2};
}

// Where shared memory begins to be as boxes want it.
DEV u32 *aligned(unsigned char *shared)
{
    return (u32 *)(shared + (1024 - shared_address(shared) % 1024) % 1024);
}

DEV void copy_words(u32 *to, const u32 *from, u32 n)
{
    for (u32 i = threadIdx.x; i < n; i += blockDim.x)
        to[i] = from[i];
}

DEV void fill_words(u32 *to, u32 n)
{
    for (u32 i = threadIdx.x; i < n; i += blockDim.x)
        to[i] = 0x5eed0000u + i;
}

// Four forms of stmatrix, rows in another order.
PRIMITIVE(store_matrix)
{
    SHARED_DYNAMIC(shared);
    const u32 start = shared_address(shared), t = threadIdx.x;
    const u32 row = start + (5 * t + 3) % 32 * 16;
    const u32 r[4] = {in[4 * t], in[4 * t + 1], in[4 * t + 2], in[4 * t + 3]};

    for (int form = 0; form < 4; form++) {
        for (int i = 0; i < 4; i++)
            store_shared32(start + 4 * (4 * t + i), 0x5eed0000u + 4 * t + i);
        __syncthreads();
        if (form == 0)
            stmatrix4(row, r);
        if (form == 1)
            stmatrix4_transposed(row, r);
        if (form == 2)
            stmatrix1(row, r[0]);
        if (form == 3)
            stmatrix1_transposed(row, r[0]);
        __syncthreads();
        for (int i = 0; i < 4; i++)
            out[128 * form + 4 * t + i] = load_shared32(start + 4 * (4 * t + i));
        __syncthreads();
    }
}

// What another thread wrote in each of four phases; a new barrier is past the
// phase before its first.
PRIMITIVE(barrier_parity)
{
    SHARED_DYNAMIC(shared);
    u32 *words = aligned(shared);
    const u32 start = shared_address(words), t = threadIdx.x;
    const u32 arrived = start + BARRIER_AT, read = arrived + 8;

    if (t == 0) {
        mbarrier_init(arrived, 64);
        mbarrier_init(read, 64);
        mbarrier_init_fence();
    }
    __syncthreads();
    mbarrier_wait(arrived, 1);
    for (u32 phase = 0; phase < 4; phase++) {
        store_shared32(start + 4 * t, in[64 * phase + t]);
        mbarrier_arrive(arrived);
        mbarrier_wait(arrived, phase & 1);
        out[64 * phase + t] = load_shared32(start + (t + 37) % 64 * 4);
        mbarrier_arrive(read);
        mbarrier_wait(read, phase & 1);
    }
    named_barrier(1, 64);
    out[256 + t] = load_shared32(start + (t + 1) % 64 * 4);
}

// Boxes as they lie in shared memory, zeros where the tensor is not.
PRIMITIVE(tma_read)
{
    SHARED_DYNAMIC(shared);
    u32 *words = aligned(shared);
    const u32 start = shared_address(words), barrier = start + BARRIER_AT;

    fill_words(words, N_BOXES * BOX_WORDS);
    proxy_fence();
    if (threadIdx.x == 0) {
        mbarrier_init(barrier, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        tma_prefetch(&from);
        mbarrier_expect(barrier, N_BOXES * BOX_WORDS * 4);
        for (int box = 0; box < N_BOXES; box++) {
            const corner c = corner_of(box);
            tma_load(start + box * BOX_WORDS * 4, &from, barrier, c.x, c.y,
                     c.z);
        }
    }
    mbarrier_wait(barrier, 0);
    copy_words(out, words, N_BOXES * BOX_WORDS);
}

// Boxes that begin in the tensor, two of them over its edges: of others an H100
// says that the instruction is illegal, while it reads them as zeros.
DEV corner corner_within(int box)
{
    return box == 0   ? corner{16, 8, 0}
           : box == 1 ? corner{64, 64, 1}
           : box == 2 ? corner{80, 0, 0}
                      : corner{0, 72, 1};
}

// What lies outside of the tensor, or in no box, stays as it was; of each row the
// last 16 bytes are written whole.
PRIMITIVE(tma_write)
{
    SHARED_DYNAMIC(shared);
    u32 *words = aligned(shared);

    copy_words(words, in, N_BOXES * BOX_WORDS);
    proxy_fence();
    __syncthreads();
    if (threadIdx.x)
        return;
    for (int box = 0; box < N_BOXES; box++) {
        const corner c = corner_within(box);
        tma_store(&to, shared_address(words) + box * BOX_WORDS * 4, c.x, c.y,
                  c.z);
    }
    tma_store_commit();
    tma_store_wait();
}

// Matrix descriptors as the body of products has them.
DEV u64 descriptor(u32 address, u32 panel_bytes)
{
    return (u64)((address & 0x3ffff) >> 4) | (u64)(panel_bytes >> 4) << 16 |
           (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

// 64 x 64 times 64 x N, of integers, so that all sums are exact; M and N
// contiguous or k.  With N contiguous accumulators are added to, else not.
template <int N, int M_MAJOR, int N_MAJOR>
DEV void multiply(u32 *words, const u32 *in, u32 *out)
{
    const u32 start = shared_address(words);
    const u64 a = descriptor(start, M_MAJOR ? 8192 : 16);
    const u64 b = descriptor(start + BOX_WORDS * 4, N_MAJOR ? 8192 : 16);
    float d[N / 2];

    copy_words(words, in, BOX_WORDS * (1 + N / 64));
    proxy_fence();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < N / 2; i++)
        d[i] = (float)((threadIdx.x + i) % 7);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; k++)
        wgmma<M_MAJOR, N_MAJOR>(d, a + k * (M_MAJOR ? 128 : 2),
                                b + k * (N_MAJOR ? 128 : 2), N_MAJOR | k);
    wgmma_commit();
    wgmma_wait<0>();
    wgmma_finished(d);
#pragma unroll
    for (int i = 0; i < N / 2; i++)
        out[N / 2 * threadIdx.x + i] = __float_as_uint(d[i]);
}

#define WGMMA_CASE(name, n, m_major, n_major)                                          \
    PRIMITIVE(name)                                                            \
    {                                                                          \
        SHARED_DYNAMIC(shared);                                                \
        multiply<n, m_major, n_major>(aligned(shared), in, out);                        \
    }

WGMMA_CASE(wgmma_64_k, 64, 0, 0)
WGMMA_CASE(wgmma_64_n, 64, 0, 1)
WGMMA_CASE(wgmma_128_k, 128, 0, 0)
WGMMA_CASE(wgmma_128_n, 128, 0, 1)
WGMMA_CASE(wgmma_192_k, 192, 0, 0)
WGMMA_CASE(wgmma_192_n, 192, 0, 1)
WGMMA_CASE(wgmma_256_k, 256, 0, 0)
WGMMA_CASE(wgmma_256_n, 256, 0, 1)
WGMMA_CASE(wgmma_64_m_k, 64, 1, 0)
WGMMA_CASE(wgmma_192_m_n, 192, 1, 1)
WGMMA_CASE(wgmma_256_m_n, 256, 1, 1)
