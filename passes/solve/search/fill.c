/* Water-filling of what is divisible, bucket by bucket. */
#include "passes/solve/search/place.h"

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"
#include "passes/solve/batch.h"

#include <assert.h>
#include <stdlib.h>

/* A bucket with less than this part of what a rank has on the mean, in time
 * and in bytes, is not cut. */
enum { LITTLE = 4096 };

/* All ranks, and the bucket that is being filled. */
typedef struct filler {
    const cz_solve_problem *problem;
    int64_t *load_ps, *state; /* [n_ranks] so far; load of the fullest host */
    int64_t state_cap;
    int64_t little_ps, little_bytes; /* not worth a cut */
    int64_t *elements;               /* [n_ranks] whole ones of the bucket */
    int64_t length, ps, bytes;       /* of all that is divisible in it */
    int64_t *caps;                   /* [n_ranks] */
    int64_t *spared;                 /* [n_ranks] amounts that cut less */
    const int64_t *heights;          /* [n_ranks] what is evened out, and */
    int64_t rise;                    /* what all of it adds to that */
} filler;

/* Whole items of a bucket by rank; length, time and bytes of the others. */
static void look_at(filler *f, const int *slot_of, int bucket)
{
    const cz_solve_problem *problem = f->problem;
    for (int r = 0; r < problem->n_ranks; r++)
        f->elements[r] = 0;
    f->length = f->ps = f->bytes = 0;
    for (int i = problem->bucket_start[bucket];
         i < problem->bucket_start[bucket + 1]; i++) {
        const cz_solve_class *c = &problem->classes[problem->class_of[i]];
        const int64_t n = cz_round_up(c->elements, problem->align);
        if (slot_of[i] >= 0) {
            f->elements[slot_of[i] / problem->n_hosts] += n;
            continue;
        }
        f->length += n;
        f->ps += c->cost_ps;
        f->bytes += c->state_bytes;
    }
}

/* What fits a rank below a level of heights, aligned, at most its cap. */
static int64_t below(const filler *f, int rank, int64_t level)
{
    const int64_t capacity = level - f->heights[rank];
    if (capacity <= 0)
        return 0;
    if (capacity >= f->rise)
        return f->caps[rank];
    const int64_t align = f->problem->align;
    return cz_solve_min(f->caps[rank],
                        cz_solve_fraction(f->length, capacity, f->rise) /
                            align * align);
}

static int64_t all_below(const filler *f, int64_t level)
{
    int64_t sum = 0;
    for (int r = 0; r < f->problem->n_ranks; r++)
        sum += below(f, r, level);
    return sum;
}

/* The least level with room for all of it. */
static int64_t find_level(const filler *f)
{
    int64_t low = INT64_MAX, high = 0;
    for (int r = 0; r < f->problem->n_ranks; r++) {
        low = cz_solve_min(low, f->heights[r]);
        high = cz_solve_max(high, f->heights[r] + f->rise);
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (all_below(f, middle) >= f->length)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void measure_by(filler *f, const int64_t *heights, int64_t rise)
{
    f->heights = rise > 0 ? heights : f->elements;
    f->rise = rise > 0 ? rise : f->length;
}

/* The most of the bucket that each rank may have under the cap on state, which
 * rises where all together need more. */
static void find_caps(filler *f)
{
    const int n_ranks = f->problem->n_ranks;
    for (int r = 0; r < n_ranks; r++)
        f->caps[r] = f->length;
    if (f->state_cap == INT64_MAX || f->bytes == 0)
        return;
    measure_by(f, f->state, f->bytes);
    const int64_t level = cz_solve_max(f->state_cap, find_level(f));
    for (int r = 0; r < n_ranks; r++)
        f->caps[r] = below(f, r, level);
}

/* What is below the level, and of the last step as much as is left. */
static void pour(const filler *f, int64_t *amounts)
{
    const int64_t level = find_level(f);
    int64_t left = f->length;
    for (int r = 0; r < f->problem->n_ranks; r++) {
        amounts[r] = below(f, r, level - 1);
        left -= amounts[r];
    }
    for (int r = 0; r < f->problem->n_ranks; r++) {
        const int64_t n = cz_solve_min(left, below(f, r, level) - amounts[r]);
        amounts[r] += n;
        left -= n;
    }
    assert(left == 0);
}

/* A cut that falls into an item that stays whole goes to its nearer end. */
static int64_t find_cut(const filler *f, const cz_solve_class *c, int64_t begin,
                        int64_t cut)
{
    const int64_t end = begin + cz_round_up(c->elements, f->problem->align);
    if (c->cost_ps >= f->problem->cut_ps || c->state_bytes >= f->little_bytes)
        return cut;
    return cut - begin < end - cut ? begin : end;
}

/* Moves the ends of ranks' parts out of items that stay whole, unless a rank
 * then has more than its cap. */
static void spare(const filler *f, const int *slot_of, int bucket,
                  int64_t *amounts)
{
    const cz_solve_problem *problem = f->problem;
    int item = problem->bucket_start[bucket];
    int64_t begin = 0, cut = 0, before = 0;
    bool fits = true;
    for (int r = 0; r < problem->n_ranks; r++) {
        int64_t n = 0, at;
        cut += amounts[r];
        for (; item < problem->bucket_start[bucket + 1]; item++, begin += n) {
            n = slot_of[item] >= 0
                    ? 0
                    : cz_round_up(
                          problem->classes[problem->class_of[item]].elements,
                          problem->align);
            if (begin + n > cut)
                break;
        }
        at = begin < cut
                 ? find_cut(f, &problem->classes[problem->class_of[item]],
                            begin, cut)
                 : cut;
        f->spared[r] = at - before;
        fits &= f->spared[r] <= f->caps[r];
        before = at;
    }
    for (int r = 0; fits && r < problem->n_ranks; r++)
        amounts[r] = f->spared[r];
}

static void fill_bucket(filler *f, const int *slot_of, int bucket,
                        int64_t *amounts)
{
    const int n_ranks = f->problem->n_ranks;
    const bool is_whole = f->ps < f->little_ps && f->bytes < f->little_bytes;
    if (is_whole) {
        /* So little that one rank may have it all: that with least of the
         * bucket, and of these the least loaded. */
        int best = 0;
        for (int r = 1; r < f->problem->n_ranks; r++)
            if (f->elements[r] < f->elements[best] ||
                (f->elements[r] == f->elements[best] &&
                 f->load_ps[r] < f->load_ps[best]))
                best = r;
        amounts[best] = f->length;
    } else {
        find_caps(f);
        measure_by(f, f->load_ps, f->ps);
        pour(f, amounts);
    }
    for (int r = 0; r < n_ranks; r++) {
        f->load_ps[r] += cz_solve_fraction(f->ps, amounts[r], f->length);
        f->state[r] += cz_solve_fraction(f->bytes, amounts[r], f->length);
    }
    if (!is_whole && f->problem->cut_ps > 0)
        spare(f, slot_of, bucket, amounts);
}

/* Loads and states of what is whole. */
static void begin(filler *f, cz_arena *scratch, const int *slot_of)
{
    cz_counts counts = cz_counts_make(scratch, f->problem, false);
    const int hosts = f->problem->n_hosts;
    for (int i = 0; i < f->problem->n_items; i++)
        if (slot_of[i] >= 0)
            cz_counts_put(&counts, 0, slot_of[i],
                          counts.kind_of[f->problem->class_of[i]], 1);
    cz_solve_batch_add(scratch, f->problem, slot_of, counts.load_ps);
    f->state = counts.state;
    f->state_cap = counts.state_cap;
    f->load_ps = CZ_NEW(scratch, int64_t, f->problem->n_ranks);
    for (int s = 0; s < counts.n_slots; s++)
        f->load_ps[s / hosts] =
            cz_solve_max(f->load_ps[s / hosts], counts.load_ps[s]);
    for (int r = 0; r < f->problem->n_ranks; r++)
        f->little_bytes += f->state[r] / f->problem->n_ranks;
    f->little_bytes /= LITTLE;
    f->little_ps = counts.goal_ps / LITTLE;
    f->elements = CZ_NEW(scratch, int64_t, f->problem->n_ranks);
    f->caps = CZ_NEW(scratch, int64_t, f->problem->n_ranks);
    f->spared = CZ_NEW(scratch, int64_t, f->problem->n_ranks);
}

typedef struct sized {
    int64_t length;
    int bucket;
} sized;

static int by_length(const void *left, const void *right)
{
    const sized *a = left, *b = right;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return (a->bucket > b->bucket) - (a->bucket < b->bucket);
}

/* Buckets with little to fill first: what is most levels the others out. */
void cz_place_fill(cz_arena *scratch, const cz_solve_problem *problem,
                   const int *slot_of, int64_t *amounts)
{
    filler f = {.problem = problem};
    sized *order = CZ_NEW(scratch, sized, problem->n_buckets + 1);
    begin(&f, scratch, slot_of);
    for (int b = 0; b < problem->n_buckets; b++) {
        look_at(&f, slot_of, b);
        order[b] = (sized){f.length, b};
    }
    qsort(order, (size_t)problem->n_buckets, sizeof *order, by_length);
    for (int i = 0; i < problem->n_buckets; i++) {
        const int b = order[i].bucket;
        int64_t *row = amounts + (size_t)b * (size_t)problem->n_ranks;
        for (int r = 0; r < problem->n_ranks; r++)
            row[r] = 0;
        if (order[i].length == 0)
            continue;
        look_at(&f, slot_of, b);
        fill_bucket(&f, slot_of, b, row);
    }
}
