// Sums over members whose order is part of their meaning (runtime/world/sum.h),
// and what of a band of a symmetric matrix travels (runtime/base/band.h).
//
// Stands behind device.cuh, global.cuh, elementwise.cuh and atomics.cuh.  A
// thread has whole elements: no order of threads changes a bit.

// ---- members' leaves, in order ----

// As struct czr_collect_grads.
struct n_grads {
    const void *const *grads;
    int n_members, n_microbatches;
    u64 grad_stride, first, n;
    float *out;
    float scale;
    int *largest;
};

DEV float float_at(float x)
{
    return x;
}

DEV float float_at(u16 x)
{
    return czr_bf16_to_f32(x);
}

// Elements e, e + 1, ... of one leaf: added, or the first values.
template <int V, class T>
DEV void add_leaf(float (&sum)[V], const T *p, int left, bool is_first)
{
    const wide<T, V> w = read_wide<V>(p, left, are_aligned(p));

#pragma unroll
    for (int k = 0; k < V; k++)
        if (k < left)
            sum[k] = is_first ? float_at(w.v[k]) : sum[k] + float_at(w.v[k]);
}

// out = scale * sum; the bits of the largest magnitude, `most` among them.
template <int V>
DEV int scale_elements(float *out, const float (&sum)[V], int left, float scale,
                       int most)
{
    wide<float, V> w;

#pragma unroll
    for (int k = 0; k < V; k++)
        if (k < left) {
            w.v[k] = sum[k] * scale;
            const int bits = (int)(bits_of(w.v[k]) & 0x7fffffffu);
            most = bits > most ? bits : most;
        }
    write_wide(out, w, left, are_aligned(out));
    return most;
}

// All of the grid's elements; the largest magnitude of this thread's.
template <int V, class T> DEV int sum_leaves(const n_grads &s)
{
    int most = 0;

    for (u64 e = thread_in_grid() * V; e < s.n; e += threads_in_grid() * V) {
        const int left = left_of<V>(s.n - e);
        float sum[V];
        for (int m = 0; m < s.n_members; m++)
            for (int leaf = 0; leaf < s.n_microbatches; leaf++)
                add_leaf<V>(sum,
                            reach((const T *)reach(s.grads)[m]) +
                                leaf * s.grad_stride + s.first + e,
                            left, m == 0 && leaf == 0);
        most = scale_elements<V>(reach(s.out) + e, sum, left, s.scale, most);
    }
    return most;
}

// One update of *largest for a block.
DEV void raise_largest(int *largest, int mine)
{
    __shared__ int most;

    if (threadIdx.x == 0)
        most = 0;
    __syncthreads();
    if (mine > 0)
        atomic_raise(&most, mine);
    __syncthreads();
    if (threadIdx.x == 0 && most > 0)
        atomic_raise(reach(largest), most);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_leaves_f32(n_grads s)
{
    raise_largest(s.largest, sum_leaves<4, float>(s));
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_leaves_bf16(n_grads s)
{
    raise_largest(s.largest, sum_leaves<8, u16>(s));
}

// ---- trees ----

// As enum czr_sum.
enum sum_type { SUM_F64, SUM_F32, SUM_BF16, SUM_BF16_EACH, SUM_I64 };

// Levels of the tree: 2^16 members, or below 2^5.
enum { LEVELS = 17, FEW_LEVELS = 5 };

template <class T> struct plain_sum {
    typedef T element, number;
    DEV number load(element x)
    {
        return x;
    }
    DEV number keep(number x)
    {
        return x;
    }
    DEV element round(number x)
    {
        return x;
    }
};

struct bf16_sum {
    typedef u16 element;
    typedef float number;
    DEV number load(element x)
    {
        return czr_bf16_to_f32(x);
    }
    DEV number keep(number x)
    {
        return x;
    }
    DEV element round(number x)
    {
        return czr_f32_to_bf16(x);
    }
};

// Every sum of two is rounded.
struct bf16_each_sum : bf16_sum {
    DEV number keep(number x)
    {
        return czr_bf16_to_f32(czr_f32_to_bf16(x));
    }
};

struct members {
    void *const *data;
    int n, to, to_end;
};

template <class T> DEV T *data_of(const members &t, int m)
{
    return reach((T *)reach(t.data)[m]);
}

// V neighbours, 16 bytes or one; those that are not there are not touched.
template <int V, class T> DEV void read_some(T (&v)[V], const T *p, int left)
{
    if constexpr (V == 1) {
        v[0] = p[0];
    } else {
        const wide<T, V> w = read_wide<V>(p, left, are_aligned(p));
#pragma unroll
        for (int k = 0; k < V; k++)
            if (k < left)
                v[k] = w.v[k];
    }
}

template <int V, class T> DEV void write_some(T *p, const T (&v)[V], int left)
{
    if constexpr (V == 1) {
        p[0] = v[0];
    } else {
        wide<T, V> w;
#pragma unroll
        for (int k = 0; k < V; k++)
            w.v[k] = v[k];
        if (left == V && are_aligned(p)) {
            store_whole128(p, w.quads[0]);
            return;
        }
#pragma unroll
        for (int k = 0; k < V; k++)
            if (k < left)
                p[k] = v[k];
    }
}

// Sums of neighbours lie like the digits of a counter: row l is of 2^l members
// where that bit of how many came is set.  Indices are constants, so that all
// lies in registers.
template <class S, int V, int L> struct counter {
    typename S::number rows[L][V];
};

// Member m, behind the m before it; x is used up.
template <class S, int V, int L>
DEV void count_in(counter<S, V, L> &sums, int m, typename S::number (&x)[V])
{
    bool is_placed = false;

#pragma unroll
    for (int l = 0; l < L; l++) {
        const bool is_set = m >> l & 1;
#pragma unroll
        for (int k = 0; k < V; k++)
            if (is_set && !is_placed)
                x[k] = S::keep(sums.rows[l][k] + x[k]);
            else if (!is_placed)
                sums.rows[l][k] = x[k];
        is_placed |= !is_set;
    }
}

// What is left of n members: the smaller trees first.
template <class S, int V, int L>
DEV void count_out(const counter<S, V, L> &sums, int n,
                   typename S::number (&sum)[V])
{
    bool is_first = true;

#pragma unroll
    for (int l = 0; l < L; l++)
        if (n >> l & 1) {
#pragma unroll
            for (int k = 0; k < V; k++)
                sum[k] = is_first ? sums.rows[l][k]
                                  : S::keep(sums.rows[l][k] + sum[k]);
            is_first = false;
        }
}

// Elements i, i + 1, ... of members from `to` to before `to_end` become the
// sums over all.
template <class S, int V, int L>
DEV void sum_elements(const members &t, u64 i, int left, int to, int to_end)
{
    typedef typename S::element element;
    counter<S, V, L> sums;
    typename S::number x[V] = {};
    element v[V] = {};

    for (int m = 0; m < t.n; m++) {
        read_some(v, data_of<element>(t, m) + i, left);
#pragma unroll
        for (int k = 0; k < V; k++)
            x[k] = S::load(v[k]);
        count_in(sums, m, x);
    }
    count_out(sums, t.n, x);
#pragma unroll
    for (int k = 0; k < V; k++)
        v[k] = S::round(x[k]);
    for (int m = to; m < to_end; m++)
        write_some(data_of<element>(t, m) + i, v, left);
}

// Elements [first, first + n), by threads of which this is one.
struct run {
    u64 first, n, thread, threads;
};

template <class S, int V, int L>
DEV void sum_neighbours(const members &t, const run &r, int to, int to_end)
{
    for (u64 k = r.thread * V; k < r.n; k += r.threads * V)
        sum_elements<S, V, L>(t, r.first + k, left_of<V>(r.n - k), to, to_end);
}

// Of few members 16 bytes at once; what more have in registers leaves room for
// one element.
template <class S>
DEV void sum_run(const members &t, const run &r, int to, int to_end)
{
    if (t.n >> FEW_LEVELS)
        sum_neighbours<S, 1, LEVELS>(t, r, to, to_end);
    else
        sum_neighbours<S, 16 / sizeof(typename S::element), FEW_LEVELS>(
            t, r, to, to_end);
}

// The first n elements, for all that get something; or, where
// `is_equal_part`, the k-th n elements for the k-th member.
struct slice {
    u64 n, is_equal_part;
};

template <class S> DEV void sum_slice(const members &t, const slice &s)
{
    const u64 thread = thread_in_grid(), threads = threads_in_grid();

    if (!s.is_equal_part)
        sum_run<S>(t, {0, s.n, thread, threads}, t.to, t.to_end);
    for (int own = t.to; s.is_equal_part && own < t.to_end; own++)
        sum_run<S>(t, {own * s.n, s.n, thread, threads}, own, own + 1);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_slice(members t, slice s, int type)
{
    if (type == SUM_F64)
        sum_slice<plain_sum<double>>(t, s);
    else if (type == SUM_F32)
        sum_slice<plain_sum<float>>(t, s);
    else if (type == SUM_BF16)
        sum_slice<bf16_sum>(t, s);
    else if (type == SUM_BF16_EACH)
        sum_slice<bf16_each_sum>(t, s);
    else
        sum_slice<plain_sum<u64>>(t, s);
}

// ---- bands ----

struct band {
    u64 side, blocks; // below 2^31
};

// The elements of a row that lie in the band: `head` from `first` on, and
// `rest` from the row's first.
struct band_row {
    u64 first, row;
    u32 head, rest;
};

DEV band_row find_row(const band &b, u32 row)
{
    const u32 side = (u32)b.side, blocks = (u32)b.blocks, block = side / blocks;
    const u32 start = row / block * block, width = (blocks / 2 + 1) * block;
    const u32 room = side - start, head = width < room ? width : room;

    return {row * b.side + start, row * b.side, head, width - head};
}

DEV u64 at_in_row(const band_row &r, u32 k)
{
    return k < r.head ? r.first + k : r.row + (k - r.head);
}

// Rows of `to` to before `to_end`, one block of threads each.
template <class S> DEV void sum_band(const members &t, const band &b)
{
    const u32 rows = (u32)b.side / t.n;

    for (u32 row = t.to * rows + blockIdx.x; row < t.to_end * rows;
         row += gridDim.x) {
        const band_row r = find_row(b, row);
        const int own = (int)(row / rows);
#pragma unroll 1
        for (int second = 0; second < 2; second++)
            sum_run<S>(t,
                       {second ? r.row : r.first, second ? r.rest : r.head,
                        threadIdx.x, THREADS},
                       own, own + 1);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_band_sum(members t, band b, int type)
{
    if (type == SUM_F64)
        sum_band<plain_sum<double>>(t, b);
    else if (type == SUM_F32)
        sum_band<plain_sum<float>>(t, b);
    else if (type == SUM_BF16)
        sum_band<bf16_sum>(t, b);
    else if (type == SUM_BF16_EACH)
        sum_band<bf16_each_sum>(t, b);
    else
        sum_band<plain_sum<u64>>(t, b);
}

// Every member's rows to those from `to` to before `to_end`.
template <class T> DEV void gather_band(const members &t, const band &b)
{
    const u32 rows = (u32)b.side / t.n;

    for (u32 row = blockIdx.x; row < rows * t.n; row += gridDim.x) {
        const band_row r = find_row(b, row);
        const int own = (int)(row / rows);
        for (u32 k = threadIdx.x; k < r.head + r.rest; k += THREADS) {
            const u64 i = at_in_row(r, k);
            const T x = data_of<T>(t, own)[i];
            for (int m = t.to; m < t.to_end; m++)
                if (m != own)
                    data_of<T>(t, m)[i] = x;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_band_gather(members t, band b, int bytes)
{
    if (bytes == 2)
        gather_band<u16>(t, b);
    else if (bytes == 4)
        gather_band<u32>(t, b);
    else
        gather_band<u64>(t, b);
}

// ---- mirrors ----

// Whether an element becomes the one at its mirrored place, which does not:
// outside the band, or where there is none above the diagonal.
DEV bool is_mirrored(const band &b, u32 row, u32 column)
{
    if (!b.blocks)
        return column > row;
    const u32 blocks = (u32)b.blocks, n = (u32)b.side / blocks;
    return (column / n + blocks - row / n) % blocks > blocks / 2;
}

// The elements of a tile by way of their mirror image, read along its rows.
template <class T>
DEV void mirror_tile(T *matrix, const band &b, u32 row, u32 column)
{
    __shared__ T tile[SIDE][SIDE + 1];
    const u32 x = threadIdx.x % SIDE, side = (u32)b.side;

    for (u32 y = threadIdx.x / SIDE; y < SIDE; y += WARPS)
        if (row + x < side && column + y < side &&
            is_mirrored(b, row + x, column + y))
            tile[y][x] = matrix[(column + y) * b.side + row + x];
    __syncthreads();
    for (u32 y = threadIdx.x / SIDE; y < SIDE; y += WARPS)
        if (row + y < side && column + x < side &&
            is_mirrored(b, row + y, column + x))
            matrix[(row + y) * b.side + column + x] = tile[x][y];
    __syncthreads();
}

template <class T> DEV void mirror(T *matrix, const band &b)
{
    const u32 across = (u32)((b.side + SIDE - 1) / SIDE);

    for (u64 u = blockIdx.x; u < (u64)across * across; u += gridDim.x)
        mirror_tile(matrix, b, (u32)(u / across) * SIDE,
                    (u32)(u % across) * SIDE);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_mirror(void *matrix, band b, int bytes)
{
    if (bytes == 2)
        mirror(reach((u16 *)matrix), b);
    else if (bytes == 4)
        mirror(reach((u32 *)matrix), b);
    else
        mirror(reach((u64 *)matrix), b);
}
