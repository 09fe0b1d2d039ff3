/* Ordered sums, a chunk at a time so that the accumulator stays in cache. */
#include "runtime/world/sum.h"

#include "runtime/base/wide.h"

enum { CHUNK = 2048, MAX_LEVELS = 32 };

/* Elements [at, at + n) of one leaf: added to acc, or its first value. */
static void add_leaf(float *acc, const czr_reduce_scatter *member, int leaf,
                     int64_t at, size_t n, bool is_first)
{
    const size_t start = (size_t)((int64_t)leaf * member->grad_stride + at);
    float converted[CHUNK];
    const float *values = converted;

    if (member->dtype == CZR_F32) {
        values = (const float *)member->grad + start;
    } else {
        const czr_bf16 *bf16 = (const czr_bf16 *)member->grad + start;
        for (size_t i = 0; i < n; i++)
            converted[i] = czr_bf16_to_f32(bf16[i]);
    }
    if (is_first)
        memcpy(acc, values, n * sizeof *acc);
    else
        for (size_t i = 0; i < n; i++)
            acc[i] += values[i];
}

static int leaves_of(const czr_collective *member)
{
    return member->of.reduce_scatter.n_grads;
}

static void sum_in_leaf_order(float *acc, const czr_collective *const *members,
                              int n_members, int64_t at, size_t n)
{
    for (int m = 0; m < n_members; m++)
        for (int leaf = 0; leaf < leaves_of(members[m]); leaf++)
            add_leaf(acc, &members[m]->of.reduce_scatter, leaf, at, n,
                     m == 0 && leaf == 0);
}

static void sum_in_rank_order(float *acc, const czr_collective *const *members,
                              int n_members, int64_t at, size_t n)
{
    float own[CHUNK] = {0};

    for (int m = 0; m < n_members; m++) {
        for (int leaf = 0; leaf < leaves_of(members[m]); leaf++)
            add_leaf(own, &members[m]->of.reduce_scatter, leaf, at, n,
                     leaf == 0);
        for (size_t i = 0; i < n; i++)
            acc[i] = m == 0 ? own[i] : acc[i] + own[i];
    }
}

/* As many running maxima as hide the latency of a comparison, which are a line
 * of a cache.  Prefetchers stop at the end of a page: of many elements a line
 * of each of several streams is read in turn, so that one waits for a page
 * while others go on. */
enum { LINE = 16, STREAMS = 16 };

static int32_t magnitude_bits(float value)
{
    int32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits & INT32_MAX;
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Of streams [length] one behind the other, into `lanes`. */
CZR_INLINE void note_largest(int32_t lanes[LINE], const float *values,
                             size_t n_streams, size_t length)
{
    for (size_t i = 0; i < length; i += LINE)
        for (size_t stream = 0; stream < n_streams; stream++)
            for (size_t k = 0; k < LINE; k++)
                lanes[k] = larger(
                    magnitude_bits(values[stream * length + i + k]), lanes[k]);
}

/* The bits of the largest magnitude of values[n], `largest` among them. */
CZR_INLINE int32_t largest_of(const float *values, size_t n, int32_t largest)
{
    int32_t lanes[LINE] = {0};
    /* An odd number of lines: streams have other places in a cache. */
    const size_t lines = n / STREAMS / LINE;
    const size_t length = lines ? (lines - 1) / 2 * 2 * LINE + LINE : 0;
    const size_t done = STREAMS * length;
    const size_t rest = (n - done) / LINE * LINE;

    note_largest(lanes, values, STREAMS, length);
    note_largest(lanes, values + done, 1, rest);
    for (size_t i = done + rest; i < n; i++)
        largest = larger(magnitude_bits(values[i]), largest);
    for (size_t k = 0; k < LINE; k++)
        largest = larger(lanes[k], largest);
    return largest;
}

CZR_WIDE static int32_t largest_wide(const float *values, size_t n,
                                     int32_t largest)
{
    return largest_of(values, n, largest);
}

static int32_t find_largest(const float *values, size_t n, int32_t largest)
{
    return czr_has_wide() ? largest_wide(values, n, largest)
                          : largest_of(values, n, largest);
}

/* out = scale * sum; the bits of the largest magnitude, `largest` among them.
 */
static int32_t scale_chunk(float *restrict out, const float *restrict sum,
                           size_t n, float scale, int32_t largest)
{
    for (size_t i = 0; i < n; i++)
        out[i] = sum[i] * scale;
    return find_largest(out, n, largest);
}

/* Elements from `at` on of a gradient that is the sum already; else NULL. */
static const float *find_sum(const czr_reduce_scatter *mine, int n_members,
                             int64_t at)
{
    return n_members == 1 && mine->n_grads == 1 && mine->dtype == CZR_F32
               ? (const float *)mine->grad + at
               : NULL;
}

void czr_sum_grads(const czr_reduce_scatter *mine,
                   const czr_collective *const *members, int n_members,
                   bool rank_order)
{
    float acc[CHUNK] = {0};

    if (!mine->out)
        *mine->largest = find_largest(find_sum(mine, n_members, mine->first),
                                      (size_t)mine->n, *mine->largest);
    for (int64_t done = 0; mine->out && done < mine->n; done += CHUNK) {
        const int64_t left = mine->n - done, at = mine->first + done;
        const size_t n = (size_t)(left < CHUNK ? left : CHUNK);
        const float *sum = find_sum(mine, n_members, at);
        if (!sum && rank_order)
            sum_in_rank_order(acc, members, n_members, at, n);
        else if (!sum)
            sum_in_leaf_order(acc, members, n_members, at, n);
        *mine->largest = scale_chunk(mine->out + done, sum ? sum : acc, n,
                                     mine->scale, *mine->largest);
    }
}

static float rounded(float sum)
{
    return czr_bf16_to_f32(czr_f32_to_bf16(sum));
}

/* Elements over all members, in a type wide enough; `keep` is what is left of a
 * sum of two.  Sums lie on a stack like the digits of a counter: two of one
 * size become one of twice that.  A row of elements at a time, so that each
 * addition is a loop over neighbours.  Where other ranks have read an element,
 * their caches have it, and a core waits to write it: it asks a row before. */
enum { ROW = 256, LINE_BYTES = 64 };
CZR_INLINE size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

CZR_INLINE void ask_for(const void *next, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += LINE_BYTES)
        __builtin_prefetch((const char *)next + at, 1);
}

#define ADD(to, from, keep)                                                    \
    for (size_t i = 0; i < n; i++)                                             \
        (to)[i] = keep((to)[i] + (from));
#define SUM_ELEMENTS(type, wide, load, keep, round)                            \
    for (size_t done = 0, n; done < run.n; done += n) {                        \
        wide sums[MAX_LEVELS][ROW];                                            \
        int top = 0;                                                           \
        n = least(ROW, run.n - done);                                          \
        ask_for((type *)members[to]->of.all_reduce.data + run.first + done +   \
                    n,                                                         \
                least(n, run.n - done - n) * sizeof(type));                    \
        memset(sums[0], 0, sizeof sums[0]); /* of no members */                \
        for (int m = 0; m < n_members; m++) {                                  \
            const type *from = (const type *)members[m]->of.all_reduce.data +  \
                               run.first + done;                               \
            if (m % 2) {                                                       \
                ADD(sums[top - 1], load(from[i]), keep)                        \
            } else {                                                           \
                for (size_t i = 0; i < n; i++)                                 \
                    sums[top][i] = load(from[i]);                              \
                top++;                                                         \
            }                                                                  \
            for (int of = (m + 1) / 2; m % 2 && of % 2 == 0; of /= 2, top--)   \
                ADD(sums[top - 2], sums[top - 1][i], keep)                     \
        }                                                                      \
        for (; top > 1; top--)                                                 \
            ADD(sums[top - 2], sums[top - 1][i], keep)                         \
        for (int m = to; m < to_end; m++) {                                    \
            type *out =                                                        \
                (type *)members[m]->of.all_reduce.data + run.first + done;     \
            for (size_t i = 0; i < n; i++)                                     \
                out[i] = round(sums[0][i]);                                    \
        }                                                                      \
    }

/* Members from `to` to before `to_end` get the sums. */
CZR_INLINE void add_members(const czr_collective *const *members, int n_members,
                            int to, int to_end, czr_run run)
{
    switch (members[0]->of.all_reduce.type) {
    case CZR_SUM_F64:
        SUM_ELEMENTS(double, double, , , )
        break;
    case CZR_SUM_F32:
        SUM_ELEMENTS(float, float, , , )
        break;
    case CZR_SUM_BF16:
        SUM_ELEMENTS(czr_bf16, float, czr_bf16_to_f32, , czr_f32_to_bf16)
        break;
    case CZR_SUM_BF16_EACH:
        SUM_ELEMENTS(czr_bf16, float, czr_bf16_to_f32, rounded, czr_f32_to_bf16)
        break;
    case CZR_SUM_I64:
        SUM_ELEMENTS(int64_t, int64_t, , , )
        break;
    case CZR_N_SUMS:
        break;
    }
}

CZR_WIDE static void add_wide(const czr_collective *const *members,
                              int n_members, int to, int to_end, czr_run run)
{
    add_members(members, n_members, to, to_end, run);
}

static void add_run(const czr_collective *const *members, int n_members, int to,
                    int to_end, czr_run run)
{
    if (czr_has_wide())
        add_wide(members, n_members, to, to_end, run);
    else
        add_members(members, n_members, to, to_end, run);
}

void czr_sum_slice(const czr_collective *const *members, int n_members,
                   size_t first, size_t n)
{
    add_run(members, n_members, 0, n_members, (czr_run){first, n});
}

void czr_sum_slice_at(const czr_collective *const *members, int n_members,
                      int member, size_t first, size_t n)
{
    add_run(members, n_members, member, member + 1, (czr_run){first, n});
}

void czr_sum_equal_part(const czr_collective *const *members, int n_members,
                        int member)
{
    const czr_all_reduce *sum = &members[member]->of.all_reduce;
    const size_t position = (size_t)member, n = (size_t)n_members;
    const size_t rows = sum->band.side / n, part = sum->count / n;

    if (sum->band.blocks == 0)
        add_run(members, n_members, member, member + 1,
                (czr_run){position * part, part});
    for (size_t row = 0; sum->band.blocks > 0 && row < rows; row++) {
        czr_run runs[2];
        const int n_runs =
            czr_band_runs(&sum->band, position * rows + row, runs);
        for (int i = 0; i < n_runs; i++)
            add_run(members, n_members, member, member + 1, runs[i]);
    }
}

czr_range czr_sum_range(size_t count, int n_members, int member)
{
    const int64_t n = (int64_t)count / n_members;
    const int64_t rest = (int64_t)count % n_members;

    return (czr_range){n * member + (member < rest ? member : rest),
                       n + (member < rest)};
}

czr_range czr_sum_chunk(czr_range range, size_t chunk, int64_t k)
{
    const int64_t first = k * (int64_t)chunk, left = range.n - first;
    const int64_t n = left < (int64_t)chunk ? left : (int64_t)chunk;

    return (czr_range){range.first + first, n > 0 ? n : 0};
}

int64_t czr_sum_chunks(const czr_range *ranges, int n, size_t chunk)
{
    int64_t most = 0;

    for (int i = 0; i < n; i++)
        most = ranges[i].n > most ? ranges[i].n : most;
    return (most + (int64_t)chunk - 1) / (int64_t)chunk;
}

size_t czr_sum_bytes(czr_sum type)
{
    static const size_t bytes[] = {[CZR_SUM_F64] = 8,
                                   [CZR_SUM_F32] = 4,
                                   [CZR_SUM_BF16] = 2,
                                   [CZR_SUM_BF16_EACH] = 2,
                                   [CZR_SUM_I64] = 8};

    return bytes[type];
}
