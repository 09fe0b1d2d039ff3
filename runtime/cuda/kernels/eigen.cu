// Eigenvalues and eigenvectors of a batch of symmetric f32 matrices of order
// n <= 128, by Jacobi's method: one block of threads has one matrix in its
// shared memory.  A sweep meets every pair of rows once, n / 2 pairs at a time
// as in a round-robin tournament, so the order of all operations depends on n
// alone and results are the same bits wherever they are computed.
//
// What does not converge so, as matrices of few clusters now and then, is begun
// anew in f64, in memory of the device; only what does not converge there
// either is reported as such.
//
// Specialised by KERNEL (its name), MAX_SWEEPS and WIDE_SWEEPS, those in f64.
// THREADS threads, and dynamic shared memory of shared_bytes(n).
enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    LARGEST_ORDER = 128,
    // What becomes of a matrix.  Only EIGEN_OK says that there are results.
    EIGEN_OK = 0,
    EIGEN_NOT_FINITE = 1,
    EIGEN_NO_CONVERGENCE = 2,
    // The bits of infinity.
    INFINITE = 0x7f800000
};

// Converged: off the diagonal no more is left than this part of the largest
// element, or than the rounding of the diagonal beside it: there, among equal
// eigenvalues, rotations bring nothing more.
#define TOLERANCE 3.7252903e-9f // 2^-28
#define ROUNDING 1.1920929e-7f  // 2^-23

// ---- numbers of either type ----

DEV float size_of(float x)
{
    return fabsf(x);
}

DEV double size_of(double x)
{
    return fabs(x);
}

DEV float root_of(float x)
{
    return sqrtf(x);
}

DEV double root_of(double x)
{
    return sqrt(x);
}

DEV float with_sign(float x, float sign)
{
    return copysignf(x, sign);
}

DEV double with_sign(double x, double sign)
{
    return copysign(x, sign);
}

// x y + z, rounded once.
DEV float add_product(float x, float y, float z)
{
    return fmaf(x, y, z);
}

DEV double add_product(double x, double y, double z)
{
    return fma(x, y, z);
}

template <class T> DEV T larger(T x, T y)
{
    return x > y ? x : y;
}

// ---- the matrix ----

// Of the plane of p and q: tau is the tangent of half the angle, s its sine.
template <class T> struct rotation {
    int p, q;
    T s, tau;
};

// a [even, even] is turned until it is diagonal, rows of v [even, even] become
// the vectors; rows lie `pitch` apart, an odd number, so that columns meet all
// banks.  An odd n gets one more row and column, zeros, that nothing turns.
template <class T> struct room {
    T *a, *v;
    rotation<T> *rotations;
    u32 *words; // THREADS
    int n, even, pitch;
};

DEV room<float> plan_room(unsigned char *shared, int n)
{
    room<float> r;
    r.n = n;
    r.even = n + (n & 1);
    r.pitch = r.even + 1;
    r.rotations = (rotation<float> *)shared;
    r.words = (u32 *)(r.rotations + r.even / 2);
    r.a = (float *)(r.words + THREADS);
    r.v = r.a + r.even * r.pitch;
    return r;
}

constexpr u32 shared_memory_bytes(int n)
{
    return (n + 1) / 2 * sizeof(rotation<float>) + THREADS * sizeof(u32) +
           2 * (n + (n & 1)) * (n + (n & 1) + 1) * sizeof(float);
}

// Of one block's memory for f64.
constexpr u32 wide_bytes(int n)
{
    return (n + 1) / 2 * sizeof(rotation<double>) +
           2 * (n + (n & 1)) * (n + (n & 1) + 1) * sizeof(double);
}

DEV room<double> plan_wide_room(const room<float> &narrow, unsigned char *wide)
{
    room<double> r;
    r.n = narrow.n;
    r.even = narrow.even;
    r.pitch = narrow.pitch;
    r.words = narrow.words;
    r.rotations = (rotation<double> *)wide;
    r.a = (double *)(r.rotations + r.even / 2);
    r.v = r.a + r.even * r.pitch;
    return r;
}
static_assert(shared_memory_bytes(LARGEST_ORDER) <= 166912,
              "sm_80 has no such room");

// What lies on and above the diagonal, as it is, and the unit matrix.  The
// largest absolute value there, and what below is not finite, as bits: they are
// ordered as values are, infinity and NaN last.
template <class T> DEV u32 load_matrix(const room<T> &r, const float *x)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    u32 largest = 0;

    for (int row = warp; row < r.even; row += WARPS)
        for (int col = lane; col < r.even; col += 32) {
            const bool is_inside = row < r.n && col < r.n;
            const float v = is_inside ? x[row * r.n + col] : 0.f;
            const u32 size = __float_as_uint(v) & 0x7fffffffu;
            if (size > largest && (row <= col || size >= INFINITE))
                largest = size;
            r.v[row * r.pitch + col] = row == col ? 1.f : 0.f;
            if (row <= col) {
                r.a[row * r.pitch + col] = v;
                r.a[col * r.pitch + row] = v;
            }
        }
    r.words[threadIdx.x] = largest;
    __syncthreads();
    for (int i = 0; i < THREADS; i++)
        largest = r.words[i] > largest ? r.words[i] : largest;
    return largest;
}

// A power of two that brings the largest to [1, 4), if it is no subnormal.
DEV float scale_of(u32 largest)
{
    const u32 exponent = largest >> 23;
    return __uint_as_float((exponent < 254 ? 254 - exponent : 1) << 23);
}

template <class T> DEV void scale_matrix(const room<T> &r, float scale)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;

    for (int row = warp; row < r.even; row += WARPS)
        for (int col = lane; col < r.even; col += 32)
            r.a[row * r.pitch + col] *= scale;
}

// Pair k of this round: the last row stands still, the others go round.
template <class T> DEV rotation<T> pair_of(const room<T> &r, int round, int k)
{
    const int others = r.even - 1;
    const int ahead = round + k, behind = round - k;
    const int p = ahead < others ? ahead : ahead - others;
    const int q = behind >= 0 ? behind : behind + others;
    return {k ? p : others, q, 0.f, 0.f};
}

// The rotation that makes a[p][q] zero, done to the three elements that it has
// alone.  Whether that was above the limit.
template <class T> DEV bool turn_pair(const room<T> &r, T limit, rotation<T> &t)
{
    T &pp = r.a[t.p * r.pitch + t.p], &qq = r.a[t.q * r.pitch + t.q];
    T &pq = r.a[t.p * r.pitch + t.q], &qp = r.a[t.q * r.pitch + t.p];
    const T x = pq, beside = larger(size_of(pp), size_of(qq)), one = 1;

    if (x == 0)
        return false;
    const T cotangent = (qq - pp) / (2 * x);
    const T tangent =
        with_sign(one, cotangent) /
        (size_of(cotangent) + root_of(add_product(cotangent, cotangent, one)));
    const T cosine = one / root_of(add_product(tangent, tangent, one));
    t.s = tangent * cosine;
    t.tau = t.s / (one + cosine);
    pp = add_product(-tangent, x, pp);
    qq = add_product(tangent, x, qq);
    pq = qp = 0;
    return size_of(x) > larger(limit, beside * (T)ROUNDING);
}

// (c x - s y, s x + c y) with c = 1 - s tau: exact where the angle is small.
template <class T> DEV void turn(T &x, T &y, const rotation<T> &t)
{
    const T old = x;
    x = add_product(-t.s, add_product(t.tau, x, y), x);
    y = add_product(t.s, add_product(-t.tau, y, old), y);
}

// The four elements where two pairs meet, and their mirror images.
template <class T>
DEV void turn_meeting(const room<T> &r, const rotation<T> &t,
                      const rotation<T> &u)
{
    T *const p = r.a + t.p * r.pitch, *const q = r.a + t.q * r.pitch;
    T pp = p[u.p], pq = p[u.q], qp = q[u.p], qq = q[u.q];

    turn(pp, qp, t);
    turn(pq, qq, t);
    turn(pp, pq, u);
    turn(qp, qq, u);
    p[u.p] = r.a[u.p * r.pitch + t.p] = pp;
    p[u.q] = r.a[u.q * r.pitch + t.p] = pq;
    q[u.p] = r.a[u.p * r.pitch + t.q] = qp;
    q[u.q] = r.a[u.q * r.pitch + t.q] = qq;
}

// One warp has the row of meetings of a pair, and its two vectors.
template <class T> DEV void turn_rest(const room<T> &r)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    const int pairs = r.even / 2;

    for (int k = warp; k < pairs; k += WARPS) {
        const rotation<T> t = r.rotations[k];
        for (int other = k + 1 + lane; other < pairs; other += 32)
            turn_meeting(r, t, r.rotations[other]);
        for (int i = lane; i < r.even; i += 32)
            turn(r.v[t.p * r.pitch + i], r.v[t.q * r.pitch + i], t);
    }
}

// Whether any pair was above the limit when it met.
template <class T> DEV bool sweep(const room<T> &r, T limit)
{
    const int k = threadIdx.x;
    bool is_any = false;

    for (int round = 0; round < r.even - 1; round++) {
        if (k < r.even / 2) {
            rotation<T> t = pair_of(r, round, k);
            is_any |= turn_pair(r, limit, t);
            r.rotations[k] = t;
        }
        __syncthreads();
        turn_rest(r);
        __syncthreads();
    }
    return __syncthreads_or(is_any);
}

// words[j]: the row of the eigenvalue that is number j, ascending, equal ones
// in the order of their rows.
template <class T> DEV void sort_values(const room<T> &r)
{
    const int i = threadIdx.x;

    if (i < r.n) {
        const T mine = r.a[i * r.pitch + i];
        int before = 0;
        for (int j = 0; j < r.n; j++) {
            const T other = r.a[j * r.pitch + j];
            before += other < mine || (other == mine && j < i);
        }
        r.words[before] = i;
    }
    __syncthreads();
}

// False, and nothing is written: a value is beyond f32.
template <class T>
DEV bool store_results(const room<T> &r, float scale, float *values,
                       float *vectors)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    const int i = threadIdx.x;
    const bool is_mine = i < r.n;
    const int at = is_mine ? (int)r.words[i] * (r.pitch + 1) : 0;
    const T value = is_mine ? r.a[at] / scale : 0;

    if (__syncthreads_or(size_of(value) > 3.4028235e38f))
        return false;
    if (is_mine)
        values[i] = (float)value;
    for (int row = warp; row < r.n; row += WARPS)
        for (int col = lane; col < r.n; col += 32)
            vectors[row * r.n + col] = (float)r.v[r.words[col] * r.pitch + row];
    return true;
}

template <class T>
DEV u32 solve(const room<T> &r, int left, const float *x, float *values,
              float *vectors)
{
    const u32 largest = load_matrix(r, x);
    const float scale = scale_of(largest);
    const T limit = __uint_as_float(largest) * scale * TOLERANCE;

    if (largest >= INFINITE)
        return EIGEN_NOT_FINITE;
    scale_matrix(r, scale);
    __syncthreads();
    while (sweep(r, limit))
        if (--left == 0)
            return EIGEN_NO_CONVERGENCE;
    sort_values(r);
    return store_results(r, scale, values, vectors) ? EIGEN_OK
                                                    : EIGEN_NO_CONVERGENCE;
}

// In f32, else in f64.
DEV u32 solve_either(const room<float> &r, unsigned char *wide, const float *x,
                     float *values, float *vectors)
{
    const u32 result = solve(r, MAX_SWEEPS, x, values, vectors);

    if (result != EIGEN_NO_CONVERGENCE || !wide)
        return result;
    __syncthreads();
    return solve(plan_wide_room(r, wide + (u64)blockIdx.x * wide_bytes(r.n)),
                 WIDE_SWEEPS, x, values, vectors);
}

// What a matrix came to, to those that want to know.
DEV void tell(u32 result, u32 *status, int *first, int not_finite,
              int no_convergence)
{
    if (status)
        *status = result;
    if (first && result != EIGEN_OK)
        keep_first(first,
                   result == EIGEN_NOT_FINITE ? not_finite : no_convergence);
}

// x, vectors [batch, n, n], values [batch, n], status [batch]: EIGEN_OK or why
// values and vectors of that matrix are left as they were.  Of x what lies on
// and above the diagonal counts, but all of it is finite.  Values ascend; each
// column is a vector.
//
// The first failure stays in *first, as not_finite or no_convergence.  Nothing
// is written where *skip is not 0.  wide is wide_bytes(n) for each block.
// Status, first and skip may be null; wide, too: then f64 is not tried.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    KERNEL(const float *x, float *values, float *vectors, u32 *status, int n,
           int batch, int *first, int not_finite, int no_convergence,
           const int *skip, unsigned char *wide)
{
    SHARED_DYNAMIC(shared);
    const room<float> r = plan_room(shared, n);
    const u64 size = (u64)n * n;

    if (skip && *skip)
        return;
    for (int z = blockIdx.x; z < batch; z += gridDim.x) {
        const u32 result = solve_either(
            r, wide, x + z * size, values + (u64)z * n, vectors + z * size);
        if (threadIdx.x == 0)
            tell(result, status ? status + z : status, first, not_finite,
                 no_convergence);
        __syncthreads();
    }
}
