// What a step decides by: the exact norm of gradients (runtime/math/norm.h),
// whether rules can compute with them (runtime/engine/guard.c), and the
// decision.
//
// Stands behind device.cuh, global.cuh, elementwise.cuh and atomics.cuh.

enum {
    NORM_DIGITS = 21,
    NORM_INFINITIES = 21,
    NORM_NANS,
    NORM_NONFINITE,
    NORM_FAULTS,
    NORM_WORDS
};
enum { MAY_BE_BEYOND, FAULTY, BEYOND, COUNTS };
enum { NOBODY = 0x7fffffff };

// As struct czr_collect_decision.
struct decision {
    u64 norm[NORM_WORDS];
    u64 counts[COUNTS];
    long long steps, sequence;
    double t, clip, grad_norm;
    int largest, beyond, skip, status;
    int sound, mark;
    long long update, undone, refused;
    int refusal, refused_beyond, stopped, unused;
};

// ---- spans of gradients ----

// As struct czr_collect_span.
struct span {
    const float *data;
    u64 n, first;
    int param, limit;
};

// Elements of a unit of work, and of a thread's neighbours.
enum { SPAN_UNIT = 32 * THREADS, NEIGHBOURS = 4 };

// The last span that begins at the unit or before.
DEV int find_span(const span *spans, int n, u64 unit)
{
    int low = 0, high = n;

    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (spans[middle].first <= unit)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// use(x) for this thread's elements of the unit.
template <class F> DEV void for_elements(const span &s, u64 unit, F use)
{
    const float *data = reach(s.data);
    const bool is_wide = are_aligned(data);
    const u64 first = (unit - s.first) * SPAN_UNIT;

    for (u32 k = threadIdx.x * NEIGHBOURS; k < SPAN_UNIT;
         k += THREADS * NEIGHBOURS) {
        if (first + k >= s.n)
            return;
        const u64 e = first + k;
        const int left = left_of<NEIGHBOURS>(s.n - e);
        const wide<float, NEIGHBOURS> w =
            read_wide<NEIGHBOURS>(data + e, left, is_wide);
#pragma unroll
        for (int i = 0; i < NEIGHBOURS; i++)
            if (i < left)
                use(w.v[i]);
    }
}

// ---- the norm ----

// Exponents whose squares a thread adds up in 128 bits, the first of them
// `base`: a square has 48 bits and is shifted by two for each exponent, so that
// 2^34 of them fit.
enum { WINDOW = 24, ABOVE = 8, FRACTION_BITS = 23, SPECIAL = 255 };
// Exponent 0 would lie at this bit of the digits.
enum { LOWEST_BIT = 52 };

struct exact {
    u64 low, high;
    u32 base;
};

// A word of the block's, as two halves: shared memory adds 32 bits at once.
typedef u32 word_halves[2];

DEV void add_word(word_halves *words, int at, u32 x)
{
    if (!x)
        return;
    const u32 before = atomic_add(&words[at][0], x);
    if (before + x < before)
        atomic_add(&words[at][1], 1);
}

// Digits [at, at + 5) of the block get what the thread has.
DEV void put_digits(const exact &sum, word_halves *words)
{
    const u32 digits[6] = {0,
                           (u32)sum.low,
                           (u32)(sum.low >> 32),
                           (u32)sum.high,
                           (u32)(sum.high >> 32),
                           0};
    const u32 position = 2 * sum.base + LOWEST_BIT, shift = position % 32;

#pragma unroll
    for (int d = 0; d < 5; d++) {
        const u64 pair = (u64)digits[d + 1] << 32 | digits[d];
        add_word(words, (int)(position / 32) + d, (u32)(pair << shift >> 32));
    }
}

DEV void add_square(exact &sum, float x, word_halves *words)
{
    const u32 bits = bits_of(x), fraction = bits & 0x7fffffu;
    const u32 marked = bits >> FRACTION_BITS & SPECIAL;

    if (marked == SPECIAL) {
        add_word(words, fraction ? NORM_NANS : NORM_INFINITIES, 1);
        return;
    }
    const u32 exponent = marked ? marked : 1;
    const u64 root = fraction | (marked ? 1u << FRACTION_BITS : 0u);
    if (root && exponent - sum.base >= WINDOW) {
        put_digits(sum, words);
        const u32 below = WINDOW - ABOVE;
        sum = {0, 0, exponent > below ? exponent - below : 1};
    }
    if (root) {
        const u64 square = root * root;
        const u32 shift = 2 * (exponent - sum.base);
        const u64 low = square << shift;
        sum.low += low;
        sum.high += (square >> 1 >> (63 - shift)) + (sum.low < low);
    }
}

// Words of the block, digits carried, to those of all.
DEV void add_words(word_halves *words, u64 *to)
{
    if (threadIdx.x == 0) {
        u64 carried = 0;
        for (int d = 0; d < NORM_DIGITS - 1; d++) {
            const u64 low = carried + words[d][0];
            words[d][0] = (u32)low;
            carried = (low >> 32) + words[d][1];
            words[d][1] = 0;
        }
        const u64 top = carried + words[NORM_DIGITS - 1][0];
        words[NORM_DIGITS - 1][0] = (u32)top;
        words[NORM_DIGITS - 1][1] += (u32)(top >> 32);
    }
    __syncthreads();
    if (threadIdx.x >= NORM_NONFINITE)
        return;
    const u64 word = (u64)words[threadIdx.x][1] << 32 | words[threadIdx.x][0];
    if (word)
        atomic_add(to + threadIdx.x, word);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_norm(const span *spans, int n_spans, u64 n_jobs, decision *v)
{
    __shared__ word_halves words[NORM_WORDS];
    exact sum = {0, 0, 1};

    if (threadIdx.x < NORM_WORDS)
        words[threadIdx.x][0] = words[threadIdx.x][1] = 0;
    __syncthreads();
    for (u64 u = blockIdx.x; u < n_jobs; u += gridDim.x) {
        const span s = reach(spans)[find_span(reach(spans), n_spans, u)];
        for_elements(s, u, [&](float x) { add_square(sum, x, words); });
    }
    put_digits(sum, words);
    __syncthreads();
    add_words(words, reach(v)->norm);
}

// ---- the guard ----

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_guard(const span *spans, int n_spans, u64 n_jobs, decision *v)
{
    if (!reach(v)->counts[MAY_BE_BEYOND])
        return;
    for (u64 u = blockIdx.x; u < n_jobs; u += gridDim.x) {
        const span s = reach(spans)[find_span(reach(spans), n_spans, u)];
        bool is_beyond = false;
        for_elements(s, u, [&](float x) {
            is_beyond |= (int)(bits_of(x) & 0x7fffffffu) >= s.limit;
        });
        if (is_beyond) {
            reach(v)->counts[BEYOND] = 1; // whoever comes says the same
            atomic_lower(&reach(v)->beyond, s.param);
        }
    }
}

// ---- one block ----

extern "C" __global__ void __launch_bounds__(1) collect_begin(decision *given)
{
    decision *v = reach(given);

    for (int i = 0; i < NORM_WORDS; i++)
        v->norm[i] = 0;
    for (int i = 0; i < COUNTS; i++)
        v->counts[i] = 0;
    v->norm[NORM_FAULTS] = v->counts[FAULTY] = v->status != 0;
    v->clip = 1;
    v->grad_norm = 0;
    v->largest = 0;
    v->beyond = NOBODY;
    v->skip = 0;
}

// A rank's word of its row that failed, and how.
DEV u64 fault_of(int status, u64 mark)
{
    return status ? 1ull << 63 | (mark + 1) << 8 | (u64)status : 0;
}

// czr_identity_word.
DEV u64 identity_of(int number, long long update, const double *hypers, int n)
{
    u64 hash = 0;

    for (int i = 0; i < n; i++) {
        hash = (hash ^ bits_of(hypers[i])) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
    }
    return (u64)(number & 0x7fff) << 48 | (u64)(update & 0xffffff) << 24 |
           (hash & 0xffffff);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_ask(const decision *given, u64 *word, int limit, u64 *words,
                int rank, int n_ranks, int number, const double *hypers,
                int n_hypers)
{
    const decision *v = reach(given);

    for (int k = (int)threadIdx.x; k < n_ranks; k += THREADS)
        if (k != rank)
            reach(words)[k] = 0;
    if (threadIdx.x)
        return;
    *reach(word) = v->largest >= limit;
    reach(words)[rank] =
        v->status
            ? fault_of(v->status, (u64)v->mark)
            : identity_of(number, v->steps + 1, reach(hypers), n_hypers);
}

// Every digit but the top one is below 2^32 then.
DEV void carry(long long *digits, const u64 *words)
{
    long long carried = 0;

    for (int d = 0; d < NORM_DIGITS - 1; d++) {
        const long long sum = (long long)words[d] + carried;
        digits[d] = sum & 0xffffffffll;
        carried = sum >> 32;
    }
    digits[NORM_DIGITS - 1] = (long long)words[NORM_DIGITS - 1] + carried;
}

// The sum of squares, rounded to nearest even: the leading 64 bits, and in the
// lowest of them whether anything follows, decide the rounding.
DEV double round_sum(const u64 *words)
{
    __shared__ long long digits[NORM_DIGITS];
    int top = NORM_DIGITS - 1;

    carry(digits, words);
    while (top > 2 && !digits[top])
        top--;
    u64 high = (u64)digits[top] << 32 | (u64)digits[top - 1];
    u64 rest = (u64)digits[top - 2];
    int exponent = (top - 1) * 32 - 352;
    if (!high)
        return 0;
    for (; !(high >> 63); exponent--) {
        high = high << 1 | (rest >> 31 & 1);
        rest = rest << 1 & 0xffffffffu;
    }
    for (int d = 0; d < top - 2; d++)
        rest |= (u64)digits[d];
    return (double)(high | (rest != 0)) *
           double_of((u64)(exponent + 1023) << 52);
}

DEV double norm_root(const u64 *words)
{
    if (words[NORM_NANS])
        return NAN;
    if (words[NORM_INFINITIES])
        return INFINITY;
    return words[NORM_NONFINITE] ? NAN : sqrt(round_sum(words));
}

// CZR_ERR_MISMATCH.
enum { MISMATCH = 11 };

// As enum czr_collect_reason.
enum { APPLIED, FAULT, GRADIENT, NORM, UNDONE };

DEV int reason_of(const decision &v)
{
    if (v.counts[FAULTY] || v.norm[NORM_FAULTS] || v.stopped)
        return FAULT;
    if (v.counts[BEYOND])
        return GRADIENT;
    return v.norm[NORM_NANS] || v.norm[NORM_INFINITIES] ||
                   v.norm[NORM_NONFINITE]
               ? NORM
               : APPLIED;
}

// As struct czr_collect_result.
struct result {
    double grad_norm;
    long long step;
    int reason, beyond, status, mark;
    long long update;
    int rank, refusal, refused_beyond, other;
    u64 words[2];
    long long refused, undone, sequence;
};

DEV void tell(const decision &v, int reason, volatile result *r)
{
    r->grad_norm = v.grad_norm;
    r->step = v.steps;
    r->reason = reason;
    r->beyond = v.beyond;
    if (v.status && reason != FAULT) {
        r->status = v.status;
        r->mark = v.mark;
        r->update = v.update;
    }
    r->refused = v.refused;
    r->refusal = v.refusal;
    r->refused_beyond = v.refused_beyond;
    fence_for_host();
    r->sequence = v.sequence;
}

// The lowest rank whose word tells of a fault, which speaks for all; the lowest
// that has a word; and the lowest whose word is another than that.  n_ranks:
// there is none.  Where the world fails, words of others are missing.
struct told {
    int fault, first, stranger;
};

DEV told find_told(const u64 *words, int n_ranks)
{
    __shared__ told found;

    if (threadIdx.x == 0)
        found = {n_ranks, n_ranks, n_ranks};
    __syncthreads();
    for (int k = (int)threadIdx.x; k < n_ranks; k += THREADS) {
        if (words[k] >> 63)
            atomic_lower(&found.fault, k);
        if (words[k])
            atomic_lower(&found.first, k);
    }
    __syncthreads();
    for (int k = (int)threadIdx.x; k < n_ranks; k += THREADS)
        if (words[k] && words[k] != words[found.first])
            atomic_lower(&found.stranger, k);
    __syncthreads();
    return found;
}

DEV void name_fault(const decision &v, const u64 *words, int rank, result *r)
{
    r->status = (int)(words[rank] & 0xff);
    r->mark = (int)(words[rank] << 1 >> 9) - 1;
    r->rank = rank;
    r->update = v.steps;
}

// As czr_identity_find.
DEV void name_stranger(const decision &v, const u64 *words, int n_ranks,
                       result *r)
{
    int most = 0, votes = 0, rank = 0;

    for (int k = 0; k < n_ranks; k++) {
        if (!words[k])
            continue;
        if (votes == 0)
            most = k;
        votes += words[k] == words[most] ? 1 : -1;
    }
    while (!words[rank] || words[rank] == words[most])
        rank++;
    r->status = MISMATCH;
    r->update = v.steps;
    r->rank = rank;
    r->other = most;
    r->words[0] = words[rank];
    r->words[1] = words[most];
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_decide(decision *given, int has_norm, double clip,
                   const u64 *given_words, int n_ranks, result *r)
{
    const double floor = 1e-6; // keeps 0 / 0 away, as trainers have it
    decision &v = *reach(given);
    const u64 *words = reach(given_words);
    const told all = find_told(words, n_ranks);

    if (threadIdx.x)
        return;
    const bool is_alone = all.fault == n_ranks && all.stranger < n_ranks;
    const int reason = is_alone ? FAULT : reason_of(v);
    if (has_norm)
        v.grad_norm = norm_root(v.norm);
    if (clip > 0) {
        const double least = clip / (v.grad_norm + floor);
        v.clip = least > 1 ? 1 : least; // NaN stays
    }
    if (reason == GRADIENT || reason == NORM) {
        v.refused++;
        v.refusal = reason;
        v.refused_beyond = v.beyond;
    }
    v.skip = reason != APPLIED;
    v.steps += reason == APPLIED;
    v.t = (double)v.steps;
    v.sequence++;
    if (is_alone && !v.stopped)
        name_stranger(v, words, n_ranks, reach(r));
    if (reason == FAULT && all.fault < n_ranks && !v.stopped)
        name_fault(v, words, all.fault, reach(r));
    v.stopped = reason == FAULT;
    tell(v, reason, reach(r));
}

// ---- rules that failed ----

// The first row that did in this update, which all ranks may be reported of;
// all rows begin anew.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_note(int *given_marks, u64 n, decision *given, u64 *words,
                 int rank, int n_ranks)
{
    __shared__ u64 firsts[THREADS];
    __shared__ int status;
    int *marks = reach(given_marks);
    decision *v = reach(given);
    u64 first = threadIdx.x;

    while (first < n && !marks[first])
        first += THREADS;
    firsts[threadIdx.x] = first;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < THREADS; i++)
            first = firsts[i] < first ? firsts[i] : first;
        firsts[0] = first;
        status = first < n ? marks[first] : 0;
        if (status && !v->status) {
            v->status = status;
            v->mark = (int)first;
            v->update = v->steps;
        }
    }
    __syncthreads();
    for (u64 i = threadIdx.x; status && i < n; i += THREADS)
        marks[i] = 0;
    for (int k = (int)threadIdx.x; k < n_ranks; k += THREADS)
        reach(words)[k] = k == rank ? fault_of(status, firsts[0]) : 0;
}

// From the words of all ranks.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    collect_settle(decision *given, const u64 *words, int n_ranks,
                   const result *decided, result *reported)
{
    decision &v = *reach(given);
    result *r = reach(reported);
    int reason = reach(decided)->reason;
    const int rank = find_told(reach(words), n_ranks).fault;

    if (threadIdx.x)
        return;
    v.sound = rank == n_ranks;
    if (!v.sound) {
        reason = UNDONE;
        name_fault(v, reach(words), rank, r);
        r->undone = ++v.undone;
        v.t = (double)--v.steps;
        v.status = 0;
    }
    tell(v, reason, r);
}
