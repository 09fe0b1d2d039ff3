// One instruction a kernel, behind device.cuh and sm80.cuh or the model of them:
// inputs and results are plain words, so that one can be held to the other.

// The bits of a number; a NaN's are nobody's promise.
DEV u32 number_bits(float x)
{
    return x == x ? __float_as_uint(x) : 0x7fffffffu;
}

extern "C" __global__ void rounding(const u32 *in, u32 *out)
{
    const u32 t = threadIdx.x;
    const float low = __uint_as_float(in[2 * t]);
    const float high = __uint_as_float(in[2 * t + 1]);
    const u32 pair = pack_bf16(low, high);

    out[3 * t] = pair;
    out[3 * t + 1] = number_bits(low_bf16(pair));
    out[3 * t + 2] = number_bits(high_bf16(pair));
}

extern "C" __global__ void rounding_f16(const u32 *in, u32 *out)
{
    const u32 t = threadIdx.x;

    for (int i = 0; i < 2; i++) {
        const float x = __uint_as_float(in[2 * t + i]);
        const u16 narrow = round_f16(x);
        out[4 * t + 2 * i] = x == x ? narrow : 0x7fffu;
        out[4 * t + 2 * i + 1] = number_bits(widen_f16(narrow));
    }
}

extern "C" __global__ void shuffle(const u32 *in, u32 *out)
{
    // Finite: a model may carry a NaN otherwise.
    const float x = (float)(in[threadIdx.x] & 0xffffff);

    for (int mask = 1, i = 0; mask < 32; mask *= 2, i++)
        out[32 * i + threadIdx.x] =
            __float_as_uint(__shfl_xor_sync(0xffffffffu, x, mask));
}

extern "C" __global__ void move_matrix(const u32 *in, u32 *out)
{
    out[threadIdx.x] = movmatrix(in[threadIdx.x]);
}

// As many bytes as the thread's number says, from 0 to 16, zeros behind.
extern "C" __global__ void copy_async(const u32 *in, u32 *out)
{
    SHARED_DYNAMIC(shared);
    const u32 to = shared_address(shared) + 16 * threadIdx.x;

    for (int i = 0; i < 4; i++)
        store_shared32(to + 4 * i, 0xbadbadu);
    // What is copied is ordered behind it by a barrier alone.
    __syncthreads();
    cp_async16(to, in + 4 * threadIdx.x, (int)(threadIdx.x % 17));
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    const uint4 v = load_shared128(to);
    out[4 * threadIdx.x] = v.x;
    out[4 * threadIdx.x + 1] = v.y;
    out[4 * threadIdx.x + 2] = v.z;
    out[4 * threadIdx.x + 3] = v.w;
}

// Rows of the matrices lie in another order.
extern "C" __global__ void load_matrix(const u32 *in, u32 *out)
{
    SHARED_DYNAMIC(shared);
    const u32 start = shared_address(shared), t = threadIdx.x;
    const u32 row = start + (5 * t + 3) % 32 * 16;
    u32 r[4], s[4];

    for (int i = 0; i < 4; i++)
        store_shared32(start + 4 * (4 * t + i), in[4 * t + i]);
    __syncthreads();
    ldmatrix4(r, row);
    ldmatrix4_transposed(s, row);
    for (int i = 0; i < 4; i++) {
        out[4 * t + i] = r[i];
        out[128 + 4 * t + i] = s[i];
    }
}

// Two products, the second added: sums of integers, exact in f32.
extern "C" __global__ void mma_sync(const u32 *in, u32 *out)
{
    float d[4];

    for (int i = 0; i < 4; i++)
        d[i] = (float)(4 * threadIdx.x + i);
    for (int step = 0; step < 2; step++) {
        const u32 *from = in + 192 * step + 6 * threadIdx.x;
        const u32 a[4] = {from[0], from[1], from[2], from[3]};
        mma_m16n8k16(d, a, from[4], from[5]);
    }
    for (int i = 0; i < 4; i++)
        out[4 * threadIdx.x + i] = __float_as_uint(d[i]);
}
