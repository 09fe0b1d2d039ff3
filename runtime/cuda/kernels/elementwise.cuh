// What generated element-wise kernels are written in: numbers as in czr_math.h,
// neighbours of 16 bytes, sums in an order that shapes alone decide, and the
// kernels that end such sums.
//
// Numbers are those of generated C to the bit with -fmad=false, which forbids
// what C forbids by -ffp-contract=off; NVRTC's own settings round division and
// square root as C does and keep subnormal numbers.  But for exp, log,
// pow, tanh, cos and sin, which are CUDA's.  Sums are of f64, in another order than in C: of n
// terms t they differ by n 2^-53 sum |t| at most, twice; the largest of many is
// the same number, but for the sign of a zero and the bits of a NaN.

typedef u16 czr_bf16;
typedef u16 czr_f16;

enum {
    THREADS = 256,
    // That share a multiprocessor at least.  Not reported so, ptxas aims at
    // more of them, and spills a few registers for that.
    BLOCKS = 2,
    WARP = 32,
    WARPS = THREADS / WARP,
    // Elements that a block of threads adds up by itself.
    CHUNK = 16 * THREADS,
    // Rows of a column that one thread adds up.
    STRIP_ROWS = 64,
    // So long a row, or part of it, has one warp; a longer one a block.
    WARP_COLUMNS = 1024,
    // Rows and columns of what is transposed at once.
    SIDE = 32,
    MAX_PARTS = 8,
    // Sums that one launch ends.
    MAX_ENDS = 64
};

// Where a step is skipped kernels write nothing; no pointer: none is.
DEV bool is_skipped(const int *skip)
{
    return skip && *skip;
}

// ---- numbers ----

DEV float czr_bf16_to_f32(czr_bf16 x)
{
    return low_bf16(x);
}

// To nearest even; NaN stays NaN, with its sign and what fits of its bits.
DEV czr_bf16 czr_f32_to_bf16(float f)
{
    return f == f ? (czr_bf16)pack_bf16(f, 0.f)
                  : (czr_bf16)(bits_of(f) >> 16 | 0x40u);
}

// Of NaN the instruction says nothing of its bits.
DEV float czr_f16_to_f32(czr_f16 x)
{
    return (x & 0x7fffu) > 0x7c00u
               ? float_of((x & 0x8000u) << 16 | 0x7f800000u | (x & 0x3ffu) << 13)
               : widen_f16(x);
}

// As czr_f32_to_bf16; what is beyond f16 becomes infinity.
DEV czr_f16 czr_f32_to_f16(float f)
{
    const u32 bits = bits_of(f);

    return f == f ? round_f16(f)
                  : (czr_f16)((bits >> 16 & 0x8000u) | 0x7e00u |
                              (bits >> 13 & 0x3ffu));
}

// Not 0 where x is infinite or NaN.
DEV u32 czr_nonfinite_f32(float x)
{
    return bits_of(x - x);
}

DEV u32 czr_nonfinite_bf16(czr_bf16 x)
{
    return czr_nonfinite_f32(czr_bf16_to_f32(x));
}

DEV u32 czr_nonfinite_f16(czr_f16 x)
{
    return czr_nonfinite_f32(czr_f16_to_f32(x));
}

// An integer below 2^53, of all bits of both.
DEV double hash_of(double a, double b)
{
    const u64 y = bits_of(b);
    u64 x = bits_of(a);

    x += 0x9e3779b97f4a7c15ull * (1 + (y >> 28 | y << 36));
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (double)(long long)((x ^ x >> 31) >> 11);
}

// ---- neighbours ----

// V elements that one thread has, 16 bytes or a multiple.
template <class T, int V> union wide {
    static_assert(sizeof(T) * V % 16 == 0, "neighbours are not whole quads");
    T v[V];
    uint4 quads[sizeof(T) * V / 16];
};

// Whether all lie at multiples of 16 bytes.
DEV bool are_aligned()
{
    return true;
}

template <class T, class... Others>
DEV bool are_aligned(const T *p, Others... others)
{
    return (u64)p % 16 == 0 && are_aligned(others...);
}

// How many of V neighbours there are where `rest` elements are left.
template <int V> DEV int left_of(u64 rest)
{
    return rest < V ? (int)rest : V;
}

template <int V, class T>
DEV wide<T, V> read_wide(const T *p, int left, bool is_wide)
{
    enum { QUADS = sizeof(T) * V / 16, A_QUAD = 16 / sizeof(T) };
    wide<T, V> w;

    if (is_wide && left == V) {
#pragma unroll
        for (int q = 0; q < QUADS; q++)
            w.quads[q] = load_global128(p + q * A_QUAD);
        return w;
    }
#pragma unroll
    for (int k = 0; k < V; k++)
        if (k < left)
            w.v[k] = p[k];
    return w;
}

template <int V, class T>
DEV void write_wide(T *p, const wide<T, V> &w, int left, bool is_wide)
{
    enum { QUADS = sizeof(T) * V / 16, A_QUAD = 16 / sizeof(T) };

    if (is_wide && left == V) {
#pragma unroll
        for (int q = 0; q < QUADS; q++)
            store_global128(p + q * A_QUAD, w.quads[q]);
        return;
    }
#pragma unroll
    for (int k = 0; k < V; k++)
        if (k < left)
            p[k] = w.v[k];
}

// ---- entries: runs that one launch has ----

// A block of threads has a chunk of one entry, or where nothing is reduced so
// many neighbours each, and finds it by the blocks of those before.
template <class Entry, int N> struct entry_table {
    u64 n[N]; // elements of each
    Entry of[N];
    u32 ends[N]; // blocks of it and of those before
    u32 n_entries;
};

template <class Entry, int N> DEV u32 blocks_of(const entry_table<Entry, N> &t)
{
    return t.ends[t.n_entries - 1];
}

template <class Entry, int N>
DEV u32 entry_of(const entry_table<Entry, N> &t, u32 block)
{
    u32 low = 0, high = t.n_entries - 1;

    while (low < high) {
        const u32 middle = (low + high) / 2;
        if (block < t.ends[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

template <class Entry, int N>
DEV u32 block_in_entry(const entry_table<Entry, N> &t, u32 number, u32 block)
{
    return block - (number ? t.ends[number - 1] : 0);
}

template <class Entry, int N>
DEV u64 thread_in_entry(const entry_table<Entry, N> &t, u32 number, u32 block)
{
    return (u64)block_in_entry(t, number, block) * THREADS + threadIdx.x;
}

DEV u64 thread_in_grid()
{
    return (u64)blockIdx.x * THREADS + threadIdx.x;
}

DEV u64 threads_in_grid()
{
    return (u64)gridDim.x * THREADS;
}

// ---- chunks: a run in parts of `length` elements, each in chunks ----

// A kernel leaves parts * chunks_of(length) partial sums.
DEV u64 chunks_of(u64 length)
{
    return (length + CHUNK - 1) / CHUNK;
}

DEV u64 end_of(u64 start, u64 length)
{
    return length - start < CHUNK ? length : start + CHUNK;
}

// Element e of a part that is `width` of a matrix's columns, where it lies.
DEV u64 at_in_part(u64 e, u64 part, u64 width, u64 columns)
{
    return e / width * columns + part * width + e % width;
}

// ---- sums ----

// NaN is larger than anything.
DEV double larger(double a, double b)
{
    return b > a || b != b ? b : a;
}

DEV double warp_sum(double x)
{
    for (int mask = WARP / 2; mask > 0; mask /= 2)
        x += shuffle_xor(x, mask);
    return x;
}

DEV double warp_largest(double x)
{
    for (int mask = WARP / 2; mask > 0; mask /= 2)
        x = larger(x, shuffle_xor(x, mask));
    return x;
}

// Of all threads of the block, in all of them.
DEV double block_sum(double x)
{
    __shared__ double sums[WARPS];

    x = warp_sum(x);
    if (threadIdx.x % WARP == 0)
        sums[threadIdx.x / WARP] = x;
    __syncthreads();
    x = sums[0];
    for (int w = 1; w < WARPS; w++)
        x += sums[w];
    __syncthreads();
    return x;
}

DEV double block_largest(double x)
{
    __shared__ double sums[WARPS];

    x = warp_largest(x);
    if (threadIdx.x % WARP == 0)
        sums[threadIdx.x / WARP] = x;
    __syncthreads();
    x = sums[0];
    for (int w = 1; w < WARPS; w++)
        x = larger(x, sums[w]);
    __syncthreads();
    return x;
}

// A power of two of sums, neighbours first; they are used up.
DEV double tree_sum(double *sums, int n)
{
    for (n /= 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++)
            sums[i] = sums[2 * i] + sums[2 * i + 1];
    return sums[0];
}

DEV double tree_largest(double *sums, int n)
{
    for (int i = 1; i < n; i++)
        sums[0] = larger(sums[0], sums[i]);
    return sums[0];
}

// ---- rows: a team of threads each ----

// A warp or a block: its thread `lane` of `size`; its rows are first,
// first + step, ...
struct team {
    u64 first, step;
    u32 lane, size;
};

// Of rows, or parts of rows, of `length` elements.  All threads of a grid have
// the same kind.
DEV team team_of(u64 length)
{
    if (length > WARP_COLUMNS)
        return {blockIdx.x, gridDim.x, threadIdx.x, THREADS};
    return {thread_in_grid() / WARP, (u64)gridDim.x * WARPS, threadIdx.x % WARP,
            WARP};
}

// To *to, by thread 0 of the team.
DEV void team_sum(const team &t, double x, double *to)
{
    x = t.size == WARP ? warp_sum(x) : block_sum(x);
    if (t.lane == 0)
        *to = x;
}

DEV void team_largest(const team &t, double x, double *to)
{
    x = t.size == WARP ? warp_largest(x) : block_largest(x);
    if (t.lane == 0)
        *to = x;
}

// ---- squares ----

// Where one begins; a block of threads has each.
struct square {
    u64 row, column, block;
};

DEV square square_at(u64 block, u64 columns)
{
    const u64 across = (columns + SIDE - 1) / SIDE;

    return {block / across * SIDE, block % across * SIDE, block};
}

DEV square first_square(u64 columns)
{
    return square_at(blockIdx.x, columns);
}

DEV void next_square(square &s, u64 columns)
{
    s = square_at(s.block + gridDim.x, columns);
}

// t[x][y] is the element of row y and column x of the square, of a matrix that
// is stored as [columns, rows]: it is read along its own rows.
template <class T>
DEV void load_transposed(T (&t)[SIDE][SIDE + 1], const T *stored,
                         const square &s, u64 rows, u64 columns)
{
    const u32 y = threadIdx.x % SIDE;

    for (u32 x = threadIdx.x / SIDE; x < SIDE; x += THREADS / SIDE)
        if (s.row + y < rows && s.column + x < columns)
            t[x][y] = stored[(s.column + x) * rows + s.row + y];
}

// ---- columns: strips of rows ----

// Rows [row, end) of a thread's column, which may be past the last.
struct strip {
    u64 number, row, end, rows, column, block;
};

DEV void place_strip(strip &s, u64 columns)
{
    const u64 across = (columns + THREADS - 1) / THREADS;

    s.number = s.block / across;
    s.row = s.number * STRIP_ROWS;
    s.end = s.row + STRIP_ROWS < s.rows ? s.row + STRIP_ROWS : s.rows;
    s.column = s.block % across * THREADS + threadIdx.x;
}

DEV strip first_strip(u64 rows, u64 columns)
{
    strip s = {0, 0, 0, rows, 0, blockIdx.x};

    place_strip(s, columns);
    return s;
}

DEV void next_strip(strip &s, u64 columns)
{
    s.block += gridDim.x;
    place_strip(s, columns);
}

// ---- the ends of sums ----

// Parts of `length` partial sums, and their result.
struct part_sums {
    const double *partial;
    u64 length;
    double *y;
};

struct part_table {
    part_sums of[MAX_ENDS];
};

// Of each of `n`: y = the sum of `parts` parts, as a tree.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    sum_parts(const __grid_constant__ part_table ends, int n, int parts,
              const int *skip)
{
    if (is_skipped(skip))
        return;
    // Thread 0's own, but a local array would be memory of every thread.
    __shared__ double sums[MAX_PARTS];

    for (int e = blockIdx.x; e < n; e += gridDim.x) {
        const part_sums &of = ends.of[e];
        for (int part = 0; part < parts; part++) {
            double sum = 0;
            for (u64 i = threadIdx.x; i < of.length; i += THREADS)
                sum += of.partial[part * of.length + i];
            sum = block_sum(sum);
            if (threadIdx.x == 0)
                sums[part] = sum;
        }
        if (threadIdx.x == 0)
            *of.y = tree_sum(sums, parts);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    largest_parts(const __grid_constant__ part_table ends, int n, int parts,
                  const int *skip)
{
    if (is_skipped(skip))
        return;
    for (int e = blockIdx.x; e < n; e += gridDim.x) {
        const part_sums &of = ends.of[e];
        double most = -INFINITY;
        for (u64 i = threadIdx.x; i < parts * of.length; i += THREADS)
            most = larger(most, of.partial[i]);
        most = block_largest(most);
        if (threadIdx.x == 0)
            *of.y = most;
    }
}

// y[columns] = the sums of `strips` rows of partial sums.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    sum_strips(const double *partial, u64 strips, u64 columns, double *y,
               const int *skip)
{
    if (is_skipped(skip))
        return;
    for (u64 j = thread_in_grid(); j < columns; j += threads_in_grid()) {
        double sum = 0;
        for (u64 s = 0; s < strips; s++)
            sum += partial[s * columns + j];
        y[j] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    largest_strips(const double *partial, u64 strips, u64 columns, double *y,
                   const int *skip)
{
    if (is_skipped(skip))
        return;
    for (u64 j = thread_in_grid(); j < columns; j += threads_in_grid()) {
        double most = -INFINITY;
        for (u64 s = 0; s < strips; s++)
            most = larger(most, partial[s * columns + j]);
        y[j] = most;
    }
}

// ---- copies ----

// `n` bytes, 16 of them at once where both ends allow it.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    copy_bytes(const unsigned char *from, unsigned char *to, u64 n,
               const int *skip)
{
    if (is_skipped(skip))
        return;
    const bool is_wide = are_aligned(from, to);

    for (u64 at = 16 * thread_in_grid(); at < n; at += 16 * threads_in_grid()) {
        const int left = left_of<16>(n - at);
        write_wide(to + at, read_wide<16>(from + at, left, is_wide), left,
                   is_wide);
    }
}
