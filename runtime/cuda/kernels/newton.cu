// Matrices of the coupled Newton iteration, of runtime/math/newton.h, in f32 or,
// where is_wide, in f64: all but the products in f32, which others compute.  No
// element depends on how many threads there are, and with -fmad=false all but
// those products and the norm are the host's bits.
//
// Stands behind device.cuh, global.cuh and elementwise.cuh.  Whoever launches
// these knows that the step is not skipped.

DEV double newton_get(const void *x, u32 is_wide, u64 i)
{
    return is_wide ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

DEV void newton_put(void *x, u32 is_wide, u64 i, double value)
{
    if (is_wide)
        ((double *)x)[i] = value;
    else
        ((float *)x)[i] = (float)value;
}

DEV bool is_on_diagonal(u64 i, u64 n)
{
    return i % (n + 1) == 0;
}

// Of all of the block's threads, in an order that depends on their number alone.
template <class F> DEV double newton_fold(double mine, F join)
{
    __shared__ double each[THREADS];

    each[threadIdx.x] = mine;
    __syncthreads();
    for (u32 half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            each[threadIdx.x] =
                join(each[threadIdx.x], each[threadIdx.x + half]);
        __syncthreads();
    }
    return each[0];
}

// parts[b]: the sum of squares of what block b has of a + shift I, a [n, n].
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    newton_norm(const float *a, u64 n, double shift, double *parts)
{
    double sum = 0.;

    for (u64 i = thread_in_grid(); i < n * n; i += threads_in_grid()) {
        const double x = (double)a[i] + (is_on_diagonal(i, n) ? shift : 0.);
        sum += x * x;
    }
    sum = newton_fold(sum, [](double x, double y) { return x + y; });
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

// m = z (a + shift I), x = root I, all [n, n].
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    newton_start(const float *a, u64 n, double shift, double z, double root,
                 u32 is_wide, void *m, void *x)
{
    for (u64 i = thread_in_grid(); i < n * n; i += threads_in_grid()) {
        const bool is_diagonal = is_on_diagonal(i, n);
        newton_put(m, is_wide, i,
                   z * ((double)a[i] + (is_diagonal ? shift : 0.)));
        newton_put(x, is_wide, i, is_diagonal ? root : 0.);
    }
}

// t = ((k + 1) I - m) / k.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    newton_turn(const void *m, u64 n, double k, u32 is_wide, void *t)
{
    for (u64 i = thread_in_grid(); i < n * n; i += threads_in_grid())
        newton_put(t, is_wide, i,
                   ((is_on_diagonal(i, n) ? k + 1. : 0.) -
                    newton_get(m, is_wide, i)) /
                       k);
}

// parts[b]: the largest element of |m - I| among those that block b has,
// infinity where one is NaN.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    newton_distance(const void *m, u64 n, u32 is_wide, double *parts)
{
    double most = 0.;

    for (u64 i = thread_in_grid(); i < n * n; i += threads_in_grid()) {
        const double off = fabs(newton_get(m, is_wide, i) -
                                (is_on_diagonal(i, n) ? 1. : 0.));
        if (!(off <= most))
            most = off == off ? off : (double)INFINITY;
    }
    most = newton_fold(most, [](double x, double y) { return x > y ? x : y; });
    if (threadIdx.x == 0)
        parts[blockIdx.x] = most;
}

// Both halves of out are the lower one of x, [n, n]; words[0] becomes 1 where
// that is not finite.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    newton_take(const void *x, u64 n, u32 is_wide, float *out, int *words)
{
    bool is_finite = true;

    for (u64 e = thread_in_grid(); e < n * n; e += threads_in_grid()) {
        const u64 i = e / n, j = e % n;
        const u64 lower = j < i ? e : j * n + i;
        out[e] = (float)newton_get(x, is_wide, lower);
        is_finite &= fabsf(out[e]) <= 3.4028235e38f;
    }
    if (!is_finite)
        keep_first(words, 1);
}

// ---- products in f64 ----

enum {
    // Rows and columns of a tile, of it those that a thread has, and how much
    // of k is in shared memory at once.
    NEWTON_TILE = 64,
    NEWTON_SIDE = 4,
    NEWTON_ACROSS = NEWTON_TILE / NEWTON_SIDE,
    NEWTON_DEPTH = 8,
    // Between rows in shared memory, so that columns meet several banks.
    NEWTON_PITCH = NEWTON_TILE + 2
};
static_assert(NEWTON_ACROSS * NEWTON_ACROSS == THREADS, "threads fill a tile");

typedef double newton_panel[NEWTON_DEPTH][NEWTON_PITCH];

// Rows from `depth` on of x [n, n], NEWTON_TILE columns from `column` on; zeros
// where there are none.  Of a symmetric matrix these are columns and rows, too.
DEV void newton_load(newton_panel &to, const double *x, u64 n, u64 depth,
                     u64 column)
{
    for (u32 i = threadIdx.x; i < NEWTON_TILE * NEWTON_DEPTH; i += THREADS) {
        const u64 row = depth + i / NEWTON_TILE, at = column + i % NEWTON_TILE;
        to[i / NEWTON_TILE][i % NEWTON_TILE] =
            row < n && at < n ? x[row * n + at] : 0.;
    }
}

DEV void newton_tile(const double *a, const double *b, double *c, u64 n,
                     u64 row, u64 column)
{
    __shared__ newton_panel x, y;
    const u32 i0 = threadIdx.x / NEWTON_ACROSS * NEWTON_SIDE;
    const u32 j0 = threadIdx.x % NEWTON_ACROSS * NEWTON_SIDE;
    double sums[NEWTON_SIDE][NEWTON_SIDE] = {};

    for (u64 depth = 0; depth < n; depth += NEWTON_DEPTH) {
        newton_load(x, a, n, depth, row);
        newton_load(y, b, n, depth, column);
        __syncthreads();
#pragma unroll
        for (u32 d = 0; d < NEWTON_DEPTH; d++)
#pragma unroll
            for (u32 i = 0; i < NEWTON_SIDE; i++)
#pragma unroll
                for (u32 j = 0; j < NEWTON_SIDE; j++)
                    sums[i][j] += x[d][i0 + i] * y[d][j0 + j];
        __syncthreads();
    }
#pragma unroll
    for (u32 i = 0; i < NEWTON_SIDE; i++)
#pragma unroll
        for (u32 j = 0; j < NEWTON_SIDE; j++) {
            const u64 r = row + i0 + i, s = column + j0 + j;
            if (r < n && s <= r)
                c[r * n + s] = c[s * n + r] = sums[i][j];
        }
}

// c = a b, all [n, n] and equal to their transposes: what lies on and below the
// diagonal is computed and mirrored.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    newton_multiply(const double *a, const double *b, double *c, u64 n)
{
    const u64 across = (n + NEWTON_TILE - 1) / NEWTON_TILE;

    for (u64 t = blockIdx.x; t < across * across; t += gridDim.x) {
        const u64 row = t / across * NEWTON_TILE;
        const u64 column = t % across * NEWTON_TILE;
        if (column <= row)
            newton_tile(a, b, c, n, row, column);
    }
}
