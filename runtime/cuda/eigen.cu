// Eigenvalues and eigenvectors of a batch of symmetric f32 matrices of order
// n <= 128, by Jacobi's method: one block of threads has one matrix in its
// shared memory.  A sweep meets every pair of rows once, n / 2 pairs at a time
// as in a round-robin tournament, so the order of all operations depends on n
// alone and results are the same bits wherever they are computed.
//
// Specialised by KERNEL (its name) and MAX_SWEEPS.  THREADS threads, and
// dynamic shared memory of shared_bytes(n).
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

// Of the plane of p and q: tau is the tangent of half the angle, s its sine.
struct rotation {
    int p, q;
    float s, tau;
};

// a [even, even] is turned until it is diagonal, rows of v [even, even] become
// the vectors; rows lie `pitch` apart, an odd number, so that columns meet all
// banks.  An odd n gets one more row and column, zeros, that nothing turns.
struct room {
    float *a, *v;
    rotation *rotations;
    u32 *words; // THREADS
    int n, even, pitch;
};

DEV room plan_room(unsigned char *shared, int n)
{
    room r;
    r.n = n;
    r.even = n + (n & 1);
    r.pitch = r.even + 1;
    r.rotations = (rotation *)shared;
    r.words = (u32 *)(r.rotations + r.even / 2);
    r.a = (float *)(r.words + THREADS);
    r.v = r.a + r.even * r.pitch;
    return r;
}

constexpr u32 shared_bytes(int n)
{
    return (n + 1) / 2 * sizeof(rotation) + THREADS * sizeof(u32) +
           2 * (n + (n & 1)) * (n + (n & 1) + 1) * sizeof(float);
}
static_assert(shared_bytes(LARGEST_ORDER) <= 166912, "sm_80 has no such room");

// What lies on and above the diagonal, as it is, and the unit matrix.  The
// largest absolute value there, and what below is not finite, as bits: they are
// ordered as values are, infinity and NaN last.
DEV u32 load_matrix(const room &r, const float *x)
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

DEV void scale_matrix(const room &r, float scale)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;

    for (int row = warp; row < r.even; row += WARPS)
        for (int col = lane; col < r.even; col += 32)
            r.a[row * r.pitch + col] *= scale;
}

// Pair k of this round: the last row stands still, the others go round.
DEV rotation pair_of(const room &r, int round, int k)
{
    const int others = r.even - 1;
    const int ahead = round + k, behind = round - k;
    const int p = ahead < others ? ahead : ahead - others;
    const int q = behind >= 0 ? behind : behind + others;
    return {k ? p : others, q, 0.f, 0.f};
}

// The rotation that makes a[p][q] zero, done to the three elements that it has
// alone.  Whether that was above the limit.
DEV bool turn_pair(const room &r, float limit, rotation &t)
{
    float &pp = r.a[t.p * r.pitch + t.p], &qq = r.a[t.q * r.pitch + t.q];
    float &pq = r.a[t.p * r.pitch + t.q], &qp = r.a[t.q * r.pitch + t.p];
    const float x = pq, beside = fmaxf(fabsf(pp), fabsf(qq));

    if (x == 0.f)
        return false;
    const float cotangent = (qq - pp) / (2.f * x);
    const float tangent =
        copysignf(1.f, cotangent) /
        (fabsf(cotangent) + sqrtf(fmaf(cotangent, cotangent, 1.f)));
    const float cosine = 1.f / sqrtf(fmaf(tangent, tangent, 1.f));
    t.s = tangent * cosine;
    t.tau = t.s / (1.f + cosine);
    pp = fmaf(-tangent, x, pp);
    qq = fmaf(tangent, x, qq);
    pq = qp = 0.f;
    return fabsf(x) > fmaxf(limit, beside * ROUNDING);
}

// (c x - s y, s x + c y) with c = 1 - s tau: exact where the angle is small.
DEV void turn(float &x, float &y, const rotation &t)
{
    const float old = x;
    x = fmaf(-t.s, fmaf(t.tau, x, y), x);
    y = fmaf(t.s, fmaf(-t.tau, y, old), y);
}

// The four elements where two pairs meet, and their mirror images.
DEV void turn_meeting(const room &r, const rotation &t, const rotation &u)
{
    float *const p = r.a + t.p * r.pitch, *const q = r.a + t.q * r.pitch;
    float pp = p[u.p], pq = p[u.q], qp = q[u.p], qq = q[u.q];

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
DEV void turn_rest(const room &r)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    const int pairs = r.even / 2;

    for (int k = warp; k < pairs; k += WARPS) {
        const rotation t = r.rotations[k];
        for (int other = k + 1 + lane; other < pairs; other += 32)
            turn_meeting(r, t, r.rotations[other]);
        for (int i = lane; i < r.even; i += 32)
            turn(r.v[t.p * r.pitch + i], r.v[t.q * r.pitch + i], t);
    }
}

// Whether any pair was above the limit when it met.
DEV bool sweep(const room &r, float limit)
{
    const int k = threadIdx.x;
    bool is_any = false;

    for (int round = 0; round < r.even - 1; round++) {
        if (k < r.even / 2) {
            rotation t = pair_of(r, round, k);
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
DEV void sort_values(const room &r)
{
    const int i = threadIdx.x;

    if (i < r.n) {
        const float mine = r.a[i * r.pitch + i];
        int before = 0;
        for (int j = 0; j < r.n; j++) {
            const float other = r.a[j * r.pitch + j];
            before += other < mine || (other == mine && j < i);
        }
        r.words[before] = i;
    }
    __syncthreads();
}

// False, and nothing is written: a value is beyond f32.
DEV bool store_results(const room &r, float scale, float *values,
                       float *vectors)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    const int i = threadIdx.x;
    const bool is_mine = i < r.n;
    const int at = is_mine ? (int)r.words[i] * (r.pitch + 1) : 0;
    const float value = is_mine ? r.a[at] / scale : 0.f;

    if (__syncthreads_or(fabsf(value) > 3.4028235e38f))
        return false;
    if (is_mine)
        values[i] = value;
    for (int row = warp; row < r.n; row += WARPS)
        for (int col = lane; col < r.n; col += 32)
            vectors[row * r.n + col] = r.v[r.words[col] * r.pitch + row];
    return true;
}

DEV u32 solve(const room &r, const float *x, float *values, float *vectors)
{
    const u32 largest = load_matrix(r, x);
    const float scale = scale_of(largest);
    const float limit = __uint_as_float(largest) * scale * TOLERANCE;

    if (largest >= INFINITE)
        return EIGEN_NOT_FINITE;
    scale_matrix(r, scale);
    __syncthreads();
    int left = MAX_SWEEPS;
    while (sweep(r, limit))
        if (--left == 0)
            return EIGEN_NO_CONVERGENCE;
    sort_values(r);
    return store_results(r, scale, values, vectors) ? EIGEN_OK
                                                    : EIGEN_NO_CONVERGENCE;
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
// is written where *skip is not 0.  Status, first and skip may be null.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    KERNEL(const float *x, float *values, float *vectors, u32 *status, int n,
           int batch, int *first, int not_finite, int no_convergence,
           const int *skip)
{
    SHARED_DYNAMIC(shared);
    const room r = plan_room(shared, n);
    const u64 size = (u64)n * n;

    if (skip && *skip)
        return;
    for (int z = blockIdx.x; z < batch; z += gridDim.x) {
        const u32 result =
            solve(r, x + z * size, values + (u64)z * n, vectors + z * size);
        if (threadIdx.x == 0)
            tell(result, status ? status + z : status, first, not_finite,
                 no_convergence);
        __syncthreads();
    }
}
