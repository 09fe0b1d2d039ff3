// What stands between the routines of cuSOLVER and our matrices, which lie by
// rows: checks, transposes, triangles, signs.
//
// Stands behind device.cuh, global.cuh and elementwise.cuh.  Whoever launches
// these knows that the step is not skipped, and that results may be written.

// words[0] becomes 1 where x [n] is not finite; words[1] where one of its
// elements 0, stride, 2 stride, ... is zero.  Stride 0: there are none.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    factor_check(const float *x, u64 n, u64 stride, int *words)
{
    bool is_finite = true, has_zero = false;

    for (u64 i = thread_in_grid(); i < n; i += threads_in_grid()) {
        is_finite &= fabsf(x[i]) <= 3.4028235e38f;
        has_zero |= stride && i % stride == 0 && x[i] == 0.f;
    }
    if (!is_finite)
        keep_first(words, 1);
    if (has_zero)
        keep_first(words + 1, 1);
}

// to [columns, rows] = the transpose of from [rows, columns], of which row i is
// multiplied by signs[i].  Signs may be null.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    factor_turn(const float *from, float *to, u64 rows, u64 columns,
                const float *signs)
{
    __shared__ float tile[SIDE][SIDE + 1];
    const u64 across = (columns + SIDE - 1) / SIDE;
    const u64 n_tiles = across * ((rows + SIDE - 1) / SIDE);
    const u32 x = threadIdx.x / SIDE, y = threadIdx.x % SIDE;

    for (u64 t = blockIdx.x; t < n_tiles; t += gridDim.x) {
        const u64 row = t / across * SIDE, column = t % across * SIDE;
        for (u32 i = x; i < SIDE; i += THREADS / SIDE)
            if (row + i < rows && column + y < columns)
                tile[i][y] = from[(row + i) * columns + column + y] *
                             (signs ? signs[row + i] : 1.f);
        __syncthreads();
        for (u32 j = x; j < SIDE; j += THREADS / SIDE)
            if (row + y < rows && column + j < columns)
                to[(column + j) * rows + row + y] = tile[y][j];
        __syncthreads();
    }
}

// Above the diagonal of x [n, n] are zeros then.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    factor_lower(float *x, u64 n)
{
    for (u64 i = thread_in_grid(); i < n * n; i += threads_in_grid())
        if (i % n > i / n)
            x[i] = 0.f;
}

// Below the diagonal of x [n, n] is the mirror image of what is above.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    factor_mirror(float *x, u64 n)
{
    for (u64 i = thread_in_grid(); i < n * n; i += threads_in_grid())
        if (i % n < i / n)
            x[i] = x[i % n * n + i / n];
}

// r [s, n] upper triangular of a [m, n], which lies by columns; signs [s] are
// those by which rows were multiplied, so that no diagonal is negative.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    factor_rows(const float *a, u64 m, u64 n, u64 s, float *r, float *signs)
{
    for (u64 e = thread_in_grid(); e < s * n; e += threads_in_grid()) {
        const u64 i = e / n, j = e % n;
        const float sign = a[i * m + i] < 0.f ? -1.f : 1.f;
        r[e] = j < i ? 0.f : sign * a[j * m + i];
        if (i == j)
            signs[i] = sign;
    }
}

// Row i of x [n, n] times scales[i].
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    factor_scale(float *x, const float *scales, u64 n)
{
    for (u64 i = thread_in_grid(); i < n * n; i += threads_in_grid())
        x[i] *= scales[i / n];
}

// to [n] = from [n], which are exact there.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    factor_widen(const float *from, double *to, u64 n)
{
    for (u64 i = thread_in_grid(); i < n; i += threads_in_grid())
        to[i] = from[i];
}

// to [n] = from [n], to nearest even; what is beyond f32 becomes infinity.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    factor_narrow(const double *from, float *to, u64 n)
{
    for (u64 i = thread_in_grid(); i < n; i += threads_in_grid())
        to[i] = (float)from[i];
}
