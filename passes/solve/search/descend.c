/* Coordinate descent over buckets, each by parametric search. */
#include "passes/solve/search/line.h"

#include "dsl/base/arithmetic.h"

#include <string.h>

enum {
    ROUNDS = 30,
    EVALUATIONS = 1 << 19, /* greedy cuts of all rounds, times ranks */
    ROUGHLY = 1 << 13 /* T is found within this part, where ranks are many */
};

typedef struct descent {
    const cz_line *line;
    cz_cut *cuts;
    int64_t *load;   /* [n_ranks] weight in all buckets */
    int64_t *others; /* [n_ranks] and in all but one */
    cz_cut *latest;  /* [n_ranks + 1] greedy cuts from the front */
    cz_cut *soonest; /* [n_ranks + 1] and from the back */
} descent;

static cz_cut *row_of(const descent *d, int bucket)
{
    return d->cuts + (size_t)bucket * ((size_t)d->line->n_ranks + 1);
}

static int64_t share(const descent *d, int bucket, int rank)
{
    const cz_cut *row = row_of(d, bucket);
    return cz_line_weight(d->line, row[rank + 1]) -
           cz_line_weight(d->line, row[rank]);
}

static int64_t fullest(const descent *d)
{
    int64_t most = 0;
    for (int r = 0; r < d->line->n_ranks; r++)
        most = cz_solve_max(most, d->load[r]);
    return most;
}

static bool is_before(cz_cut a, cz_cut b)
{
    return a.item != b.item ? a.item < b.item : a.within < b.within;
}

/* Each rank as much as fits below T; whether that is all.  Fills latest. */
static bool fits(descent *d, int bucket, int64_t t)
{
    cz_cut cut = cz_line_begin(d->line, bucket);
    d->latest[0] = cut;
    for (int r = 0; r < d->line->n_ranks; r++) {
        if (d->others[r] > t)
            return false;
        cut = cz_line_extend(d->line, bucket, cut, t - d->others[r]);
        d->latest[r + 1] = cut;
    }
    return cut.item == d->line->start[bucket + 1];
}

static int64_t least_fitting(descent *d, int bucket)
{
    int64_t low = 0, high = 0;
    for (int r = 0; r < d->line->n_ranks; r++)
        high = cz_solve_max(high, d->others[r]);
    low = high;
    high += d->line->before[d->line->start[bucket + 1]] -
            d->line->before[d->line->start[bucket]];
    const int64_t enough = d->line->n_ranks > 64 ? high / ROUGHLY : 0;
    while (high - low > enough) {
        const int64_t middle = low + (high - low) / 2;
        if (fits(d, bucket, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

/* Of all cuts below T those that leave the ranks most alike: each rank takes
 * the mean of what is left, as nearly as T lets it. */
static void cut_evenly(descent *d, int bucket, int64_t t)
{
    const cz_line *line = d->line;
    const int n = line->n_ranks;
    cz_cut *row = row_of(d, bucket);
    int64_t left = line->before[line->start[bucket + 1]] -
                   line->before[line->start[bucket]];
    fits(d, bucket, t);
    d->soonest[n] = cz_line_end(line, bucket);
    for (int r = n; r-- > 0;)
        d->soonest[r] =
            cz_line_retreat(line, bucket, d->soonest[r + 1], t - d->others[r]);
    for (int r = 0; r < n; r++)
        left += d->others[r];
    row[0] = cz_line_begin(line, bucket);
    row[n] = cz_line_end(line, bucket);
    for (int r = 0; r < n - 1; r++) {
        const int64_t capacity = t - d->others[r];
        const int64_t want = left / (n - r) - d->others[r];
        cz_cut cut =
            cz_line_extend(line, bucket, row[r],
                           cz_solve_min(capacity, cz_solve_max(0, want)));
        if (is_before(cut, d->soonest[r + 1]))
            cut = d->soonest[r + 1];
        if (is_before(d->latest[r + 1], cut))
            cut = d->latest[r + 1];
        row[r + 1] = cut;
        left -= d->others[r] + cz_line_weight(line, cut) -
                cz_line_weight(line, row[r]);
    }
}

void cz_line_descend(cz_arena *scratch, const cz_line *line, cz_cut *cuts)
{
    const size_t n = (size_t)line->n_buckets * ((size_t)line->n_ranks + 1);
    cz_cut *best = CZ_NEW(scratch, cz_cut, n + 1);
    descent d = {line,
                 cuts,
                 CZ_NEW(scratch, int64_t, line->n_ranks),
                 CZ_NEW(scratch, int64_t, line->n_ranks),
                 CZ_NEW(scratch, cz_cut, line->n_ranks + 1),
                 CZ_NEW(scratch, cz_cut, line->n_ranks + 1)};
    const int rounds =
        (int)cz_solve_min(ROUNDS, 2 + EVALUATIONS / (1 + (int64_t)n));
    for (int r = 0; r < d.line->n_ranks; r++) {
        d.load[r] = d.line->base[r];
        for (int b = 0; b < d.line->n_buckets; b++)
            d.load[r] += share(&d, b, r);
    }
    int64_t least = fullest(&d);
    memcpy(best, cuts, n * sizeof *best);
    for (int round = 0, idle = 0; round < rounds && idle < 2; round++) {
        for (int at = 0; at < line->n_buckets; at++) {
            const int bucket = round % 2 ? line->n_buckets - 1 - at : at;
            for (int r = 0; r < d.line->n_ranks; r++)
                d.others[r] = d.load[r] - share(&d, bucket, r);
            cut_evenly(&d, bucket, least_fitting(&d, bucket));
            for (int r = 0; r < d.line->n_ranks; r++)
                d.load[r] = d.others[r] + share(&d, bucket, r);
        }
        const int64_t now = fullest(&d);
        idle = now < least ? 0 : idle + 1;
        if (now < least) {
            least = now;
            memcpy(best, cuts, n * sizeof *best);
        }
    }
    memcpy(cuts, best, n * sizeof *best);
}
