/* Contention: what computes is slower while links of its rank are at work. */
#include "passes/simulate/internal.h"

#include <stdlib.h>

enum { N_ROUNDS = 3 };

/* Times at which links of a rank are at work, ascending and apart. */
typedef struct interval {
    int64_t start, end;
} interval;

typedef struct intervals {
    int n;
    interval *list;
} intervals;

static int by_start(const void *left, const void *right)
{
    const interval *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

static void find_intervals(const cz_simulation *s,
                           const cz_timeline_times *times, int rank,
                           intervals *out)
{
    int n = 0;
    out->n = 0;
    for (int i = 0; i < s->list.n_ops; i++) {
        const cz_timeline_op *op = &s->list.ops[i];
        const int64_t end = times->end[(int64_t)i * s->list.n_ranks + rank];
        if (op->stream == CZ_TIMELINE_COMPUTE || op->ps[rank] <= 0)
            continue;
        out->list[out->n++] = (interval){end - op->ps[rank], end};
    }
    if (out->n > 0)
        qsort(out->list, (size_t)out->n, sizeof *out->list, by_start);
    for (int i = 1; i < out->n; i++)
        if (out->list[i].start > out->list[n].end)
            out->list[++n] = out->list[i];
        else if (out->list[i].end > out->list[n].end)
            out->list[n].end = out->list[i].end;
    out->n = out->n > 0 ? n + 1 : 0;
}

/* What [start, end) has in common with them, from the first on that may have
 * something; that moves on. */
static int64_t overlap(const intervals *all, int *first, int64_t start,
                       int64_t end)
{
    int64_t sum = 0;
    while (*first < all->n && all->list[*first].end <= start)
        ++*first;
    for (int i = *first; i < all->n && all->list[i].start < end; i++) {
        const int64_t from = all->list[i].start, to = all->list[i].end;
        sum += (to < end ? to : end) - (from > start ? from : start);
    }
    return sum;
}

/* calm[n_ops]: the times that kernels have beside no link; slow[n_ops]: those
 * that they get.  Of a kernel's time beside links, which is longer by the part
 * c, c / (1 + c) is what it is longer by. */
static void lengthen(const cz_simulation *s, const cz_timeline_times *times,
                     const int64_t *const *calm, int64_t *const *slow,
                     intervals *busy)
{
    const int n = s->list.n_ranks;
    const int64_t c = s->options->contention;
    for (int r = 0; r < n; r++) {
        int first = 0;
        find_intervals(s, times, r, busy);
        for (int i = 0; i < s->list.n_ops; i++) {
            const int64_t end = times->end[(int64_t)i * n + r];
            if (!slow[i] || calm[i][r] <= 0)
                continue;
            const cz_wide beside =
                overlap(busy, &first, end - s->list.ops[i].ps[r], end);
            const cz_wide ps = calm[i][r] + beside * c / (CZ_TIME_MILLION + c);
            slow[i][r] =
                ps < s->prices.most_ps ? (int64_t)ps : s->prices.most_ps;
        }
    }
}

cz_timeline_times cz_simulate_contention(cz_simulation *s)
{
    const int n_ops = s->list.n_ops, n = s->list.n_ranks;
    cz_timeline_times times = cz_timeline_simulate(s->arena, &s->list);
    if (s->options->contention == 0)
        return times;
    intervals busy = {0, CZ_NEW(s->arena, interval, n_ops + 1)};
    const int64_t **calm = CZ_NEW(s->arena, const int64_t *, n_ops);
    int64_t **slow = CZ_NEW(s->arena, int64_t *, n_ops);
    for (int i = 0; i < n_ops; i++) {
        cz_timeline_op *op = &s->list.ops[i];
        calm[i] = op->ps;
        if (op->stream != CZ_TIMELINE_COMPUTE ||
            s->marks[i].role == CZ_SIMULATE_BUBBLE)
            continue;
        slow[i] = CZ_NEW(s->arena, int64_t, n);
        for (int r = 0; r < n; r++)
            slow[i][r] = op->ps[r];
        op->ps = slow[i];
    }
    for (int round = 0; round < N_ROUNDS; round++) {
        lengthen(s, &times, calm, slow, &busy);
        cz_timeline_run(&s->list, NULL, &times);
    }
    return times;
}
