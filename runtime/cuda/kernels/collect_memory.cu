// Memory of a rank: run-time values, first values of states, masters
// (runtime/base/memory.h).
//
// Stands behind device.cuh, global.cuh, elementwise.cuh and atomics.cuh.

enum { HYPERS = 32 };

struct hypers {
    double values[HYPERS];
};

extern "C" __global__ void __launch_bounds__(HYPERS)
    collect_hypers(double *to, hypers h, int n)
{
    if ((int)threadIdx.x < n)
        reach(to)[threadIdx.x] = h.values[threadIdx.x];
}

// ---- fills ----

// Elements 0, stride, ..., n of them.
template <class T> DEV void fill(T *to, T value, u64 n, u64 stride)
{
    enum { V = 16 / sizeof(T) };
    wide<T, V> w;

    if (stride != 1) {
        for (u64 i = thread_in_grid(); i < n; i += threads_in_grid())
            to[i * stride] = value;
        return;
    }
#pragma unroll
    for (int k = 0; k < V; k++)
        w.v[k] = value;
    for (u64 i = thread_in_grid() * V; i < n; i += threads_in_grid() * V)
        write_wide(to + i, w, left_of<V>(n - i), are_aligned(to));
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_fill(void *to, u64 bits, int bytes, u64 n, u64 stride)
{
    if (bytes == 2)
        fill(reach((u16 *)to), (u16)bits, n, stride);
    else if (bytes == 4)
        fill(reach((u32 *)to), (u32)bits, n, stride);
    else
        fill(reach((u64 *)to), bits, n, stride);
}

// ---- conversions ----

// As enum czr_dtype.
enum { DTYPE_F64, DTYPE_F32, DTYPE_BF16, DTYPE_F16 };

DEV double load_number(const void *from, int dtype, u64 i)
{
    if (dtype == DTYPE_F64)
        return ((const double *)from)[i];
    if (dtype == DTYPE_F32)
        return ((const float *)from)[i];
    return dtype == DTYPE_BF16 ? czr_bf16_to_f32(((const u16 *)from)[i])
                               : czr_f16_to_f32(((const u16 *)from)[i]);
}

DEV void store_number(void *to, int dtype, u64 i, double x)
{
    if (dtype == DTYPE_F64)
        ((double *)to)[i] = x;
    else if (dtype == DTYPE_F32)
        ((float *)to)[i] = (float)x;
    else if (dtype == DTYPE_BF16)
        ((u16 *)to)[i] = czr_f32_to_bf16((float)x);
    else
        ((u16 *)to)[i] = czr_f32_to_f16((float)x);
}

// Two types that are not the same.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_convert(void *to, int to_dtype, const void *from, int from_dtype,
                    u64 n, const int *skip)
{
    if (is_skipped(reach(skip)))
        return;
    for (u64 i = thread_in_grid(); i < n; i += threads_in_grid())
        store_number(reach(to), to_dtype, i,
                     load_number(reach(from), from_dtype, i));
}

template <class T> DEV void copy(T *to, const T *from, u64 n)
{
    for (u64 i = thread_in_grid(); i < n; i += threads_in_grid())
        to[i] = from[i];
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_copy(void *to, const void *from, int bytes, u64 n, const int *skip)
{
    if (is_skipped(reach(skip)))
        return;
    if (bytes == 2)
        copy(reach((u16 *)to), reach((const u16 *)from), n);
    else if (bytes == 4)
        copy(reach((u32 *)to), reach((const u32 *)from), n);
    else
        copy(reach((u64 *)to), reach((const u64 *)from), n);
}

// ---- hashes ----

// *to rises by czr_hash.
template <class T> DEV void hash(u64 *to, const T *from, u64 n)
{
    __shared__ u64 sums[THREADS];
    u64 sum = 0;

    for (u64 i = thread_in_grid(); i < n; i += threads_in_grid())
        sum += ((u64)from[i] + 1) * (i * 0x9e3779b97f4a7c15ull | 1);
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x)
        return;
    for (int k = 1; k < THREADS; k++)
        sum += sums[k];
    atomic_add(to, sum);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_hash(u64 *to, const void *from, int bytes, u64 n)
{
    if (bytes == 2)
        hash(reach(to), reach((const u16 *)from), n);
    else if (bytes == 4)
        hash(reach(to), reach((const u32 *)from), n);
    else
        hash(reach(to), reach((const u64 *)from), n);
}
