// c = alpha x y' + beta s in bf16 or f16, sums in f32, for sm_80 and later.
//
// SYMMETRIC: only tiles on or above the diagonal are computed, and each is
// stored twice, so that c is symmetric to the bit whatever x and y are; of s
// what lies above the diagonal counts.
// M_MAJOR: the first operand is given as [k, rows], not [rows, k]: c = x' y'.
// N_MAJOR: the second one as [k, cols], not [cols, k]: c = x y.
//
// Specialised by KERNEL (its name), SYMMETRIC, M_MAJOR, N_MAJOR, FP16.  256
// threads, tiles of 128 x 128, 64 of k a stage, SHARED_BYTES of dynamic shared
// memory.  Strides are in elements, multiples of 8, and matrices begin at multiples of 16 bytes;
// k_size >= 1.

enum {
    TILE = 128,
    BK = 64,
    THREADS = 256,
    STAGES = 3,
    OPERAND_BYTES = TILE * BK * 2,
    STAGE_BYTES = 2 * OPERAND_BYTES,
    SHARED_BYTES = STAGES * STAGE_BYTES,
    // Of a row of c in shared memory: 16 more, so that columns meet all banks.
    PITCH = TILE * 2 + 16,
    WARP_ROWS = 64,
    WARP_COLS = 32,
    // Fragments of 16 rows and of 8 columns of a warp's part.
    M_FRAGMENTS = WARP_ROWS / 16,
    N_FRAGMENTS = WARP_COLS / 8
};
static_assert(TILE * PITCH <= SHARED_BYTES, "c does not fit over the stages");

struct operand {
    const u16 *data;
    u64 stride, batch;
};

struct output {
    u16 *data;
    u64 stride, batch;
};

// How many of the 16 bytes from element `at` on lie before `size`.
DEV int bytes_before(int at, int size)
{
    return at >= size ? 0 : size - at >= 8 ? 16 : 2 * (size - at);
}

// [128, 64] elements from (row, k) on, rows of 128 bytes, 16-byte chunks
// swizzled by row; zeros where there are none.
DEV void load_k_major(u32 to, const operand &o, int row, int k, int z, int rows,
                      int k_size)
{
    const u16 *const matrix = o.data + z * o.batch;

#pragma unroll
    for (int id = threadIdx.x; id < TILE * 8; id += THREADS) {
        const int r = id / 8, chunk = id & 7;
        const int n = row + r < rows ? bytes_before(k + chunk * 8, k_size) : 0;
        const u64 at = (u64)(row + r) * o.stride + k + chunk * 8;
        cp_async16(to + r * 128 + ((chunk ^ (r & 7)) << 4),
                   n ? matrix + at : matrix, n);
    }
}

// [64, 128] elements from (k, col) on, rows of 256 bytes, swizzled likewise.
DEV void load_turned(u32 to, const operand &o, int k, int col, int z,
                      int k_size, int cols)
{
    const u16 *const matrix = o.data + z * o.batch;

#pragma unroll
    for (int id = threadIdx.x; id < BK * 16; id += THREADS) {
        const int r = id / 16, chunk = id & 15;
        const int n = k + r < k_size ? bytes_before(col + chunk * 8, cols) : 0;
        const u64 at = (u64)(k + r) * o.stride + col + chunk * 8;
        cp_async16(to + r * 256 + ((chunk ^ (r & 7)) << 4),
                   n ? matrix + at : matrix, n);
    }
}

// 16 rows of x at step kk of a stage.
DEV void read_rows(u32 (&a)[4], u32 stage, int row, int kk)
{
    const int lane = threadIdx.x & 31;

    if (M_MAJOR) {
        const int r = kk * 16 + (lane >> 4) * 8 + (lane & 7);
        const int chunk = row / 8 + (lane >> 3 & 1);
        ldmatrix4_transposed(a, stage + r * 256 + ((chunk ^ (r & 7)) << 4));
    } else {
        const int r = row + (lane & 15), chunk = kk * 2 + (lane >> 4);
        ldmatrix4(a, stage + r * 128 + ((chunk ^ (r & 7)) << 4));
    }
}

// 16 columns of c, of y at step kk: two fragments of two registers.
DEV void read_cols(u32 (&b)[4], u32 stage, int col, int kk)
{
    const int lane = threadIdx.x & 31, half = lane >> 3 & 1;

    if (N_MAJOR) {
        const int r = kk * 16 + half * 8 + (lane & 7);
        const int chunk = col / 8 + (lane >> 4);
        ldmatrix4_transposed(b, stage + r * 256 + ((chunk ^ (r & 7)) << 4));
    } else {
        const int r = col + (lane & 7) + (lane >> 4) * 8, chunk = kk * 2 + half;
        ldmatrix4(b, stage + r * 128 + ((chunk ^ (r & 7)) << 4));
    }
}

typedef float sums[M_FRAGMENTS][N_FRAGMENTS][4];

DEV void multiply_stage(sums &d, u32 stage, int warp_row, int warp_col)
{
#pragma unroll
    for (int kk = 0; kk < BK / 16; kk++) {
        u32 a[M_FRAGMENTS][4], b[N_FRAGMENTS / 2][4];
#pragma unroll
        for (int m = 0; m < M_FRAGMENTS; m++)
            read_rows(a[m], stage, warp_row + m * 16, kk);
#pragma unroll
        for (int n = 0; n < N_FRAGMENTS / 2; n++)
            read_cols(b[n], stage + OPERAND_BYTES, warp_col + n * 16, kk);
#pragma unroll
        for (int m = 0; m < M_FRAGMENTS; m++)
#pragma unroll
            for (int n = 0; n < N_FRAGMENTS; n++)
                mma_m16n8k16(d[m][n], a[m], b[n / 2][n % 2 * 2],
                             b[n / 2][n % 2 * 2 + 1]);
    }
}

DEV void load_stage(u32 shared, int step, const operand &x, const operand &y,
                    int i0, int j0, int z, int rows, int cols, int k_size)
{
    const u32 to = shared + step % STAGES * STAGE_BYTES;

    if (M_MAJOR)
        load_turned(to, x, step * BK, i0, z, k_size, rows);
    else
        load_k_major(to, x, i0, step * BK, z, rows, k_size);
    if (N_MAJOR)
        load_turned(to + OPERAND_BYTES, y, step * BK, j0, z, k_size, cols);
    else
        load_k_major(to + OPERAND_BYTES, y, j0, step * BK, z, cols, k_size);
}

// Steps w.first to w.end of k.
DEV void multiply(sums &d, u32 shared, const operand &x, const operand &y,
                  const work &w, int rows, int cols, int k_size)
{
    const int i0 = w.t.i * TILE, j0 = w.t.j * TILE, z = w.t.z;
    const int warp = threadIdx.x / 32;
    const int warp_row = warp / 4 * WARP_ROWS, warp_col = warp % 4 * WARP_COLS;

    for (int s = w.first; s < w.first + STAGES - 1; s++) {
        if (s < w.end)
            load_stage(shared, s, x, y, i0, j0, z, rows, cols, k_size);
        cp_async_commit();
    }
    for (int s = w.first; s < w.end; s++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        if (s + STAGES - 1 < w.end)
            load_stage(shared, s + STAGES - 1, x, y, i0, j0, z, rows, cols,
                       k_size);
        cp_async_commit();
        multiply_stage(d, shared + s % STAGES * STAGE_BYTES, warp_row,
                       warp_col);
    }
    cp_async_wait<0>();
    __syncthreads();
}

// Sums of a part, of each what thread after thread has.
DEV void put_sums(const sums &d, float *to)
{
#pragma unroll
    for (int m = 0; m < M_FRAGMENTS; m++)
#pragma unroll
        for (int n = 0; n < N_FRAGMENTS; n++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                to[((m * N_FRAGMENTS + n) * 4 + i) * THREADS + threadIdx.x] =
                    d[m][n][i];
}

// d, which is 0, and those of all parts in their order.
DEV void add_parts(sums &d, const float *from, int parts)
{
    for (int part = 0; part < parts; part++, from += TILE * TILE)
#pragma unroll
        for (int m = 0; m < M_FRAGMENTS; m++)
#pragma unroll
            for (int n = 0; n < N_FRAGMENTS; n++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    d[m][n][i] +=
                        from[((m * N_FRAGMENTS + n) * 4 + i) * THREADS +
                             threadIdx.x];
}

// Two neighbours of c, from their sums of products.
DEV u32 finish_pair(const epilogue &e, const operand &s, float x, float y,
                    int row, int col, int z, int rows, int cols)
{
    x *= e.alpha;
    y *= e.alpha;
    if (e.beta != 0.f && row < rows && col < cols)
        add_pair(e, x, y,
                 load_global32(s.data + z * s.batch + row * s.stride + col));
    return pack_pair(x, y);
}

// The tile of c to shared memory, rows PITCH bytes apart.
DEV void stage_tile(const sums &d, u32 shared, const epilogue &e,
                    const operand &s, int i0, int j0, int z, int rows, int cols)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;

#pragma unroll
    for (int m = 0; m < M_FRAGMENTS; m++)
#pragma unroll
        for (int n = 0; n < N_FRAGMENTS; n++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const int r = warp / 4 * WARP_ROWS + m * 16 + 8 * h + lane / 4;
                const int q = warp % 4 * WARP_COLS + n * 8 + 2 * (lane & 3);
                store_shared32(shared + r * PITCH + q * 2,
                               finish_pair(e, s, d[m][n][2 * h],
                                           d[m][n][2 * h + 1], i0 + r, j0 + q,
                                           z, rows, cols));
            }
    __syncthreads();
}

// Of a tile on the diagonal: what lies below it from above.
DEV void mirror_tile(u32 shared)
{
    for (int id = threadIdx.x; id < TILE * TILE; id += THREADS) {
        const int r = id / TILE, q = id % TILE;
        if (r > q)
            store_shared16(shared + r * PITCH + q * 2,
                           load_shared16(shared + q * PITCH + r * 2));
    }
    __syncthreads();
}

// Eight elements of a row of c from col on, as many as there are.
DEV void store_eight(const output &c, const uint4 &v, int row, int col, int z,
                     int rows, int cols)
{
    const u32 words[4] = {v.x, v.y, v.z, v.w};
    u16 *const to = c.data + z * c.batch + (u64)row * c.stride + col;

    if (row >= rows || col >= cols)
        return;
    if (col + 8 <= cols) {
        *(uint4 *)to = v;
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (col + i < cols)
            to[i] = (u16)(words[i / 2] >> (i & 1) * 16);
}

DEV void store_rows(const output &c, u32 shared, int i0, int j0, int z,
                    int rows, int cols)
{
    for (int id = threadIdx.x; id < TILE * TILE / 8; id += THREADS) {
        const int r = id / 16, q = id % 16 * 8;
        store_eight(c, load_shared128(shared + r * PITCH + q * 2), i0 + r,
                    j0 + q, z, rows, cols);
    }
}

// The tile's columns as rows of its mirror image.
DEV void store_cols(const output &c, u32 shared, int i0, int j0, int z,
                    int rows, int cols)
{
    for (int id = threadIdx.x; id < TILE * TILE / 8; id += THREADS) {
        const int q = id % TILE, r = id / TILE * 8;
        u32 v[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const u32 at = shared + (r + 2 * i) * PITCH + q * 2;
            v[i] = load_shared16(at) | (u32)load_shared16(at + PITCH) << 16;
        }
        store_eight(c, make_uint4(v[0], v[1], v[2], v[3]), j0 + q, i0 + r, z,
                    cols, rows);
    }
}

// Nothing is written where *skip is not 0; skip may be null.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    KERNEL(const operand x, const operand y, const operand s, const output c,
           const epilogue e, int rows, int cols, int k_size,
           const work_list list, const int *skip)
{
    SHARED_DYNAMIC(bytes);
    const u32 shared = shared_address(bytes);

    if (skip && *skip)
        return;
    for (int n = blockIdx.x; n < count_work(list); n += gridDim.x) {
        const work w = work_at(list, n, (k_size + BK - 1) / BK, TILE * TILE);
        const tile t = w.t;
        const int i0 = t.i * TILE, j0 = t.j * TILE;
        sums d = {};
        if (list.is_end)
            add_parts(d, w.sums, list.splits);
        else
            multiply(d, shared, x, y, w, rows, cols, k_size);
        if (w.sums && !list.is_end) {
            put_sums(d, w.sums);
            continue;
        }
        stage_tile(d, shared, e, s, i0, j0, t.z, rows, cols);
        if (SYMMETRIC && i0 == j0)
            mirror_tile(shared);
        store_rows(c, shared, i0, j0, t.z, rows, cols);
        if (SYMMETRIC && i0 != j0)
            store_cols(c, shared, i0, j0, t.z, rows, cols);
        __syncthreads();
    }
}
