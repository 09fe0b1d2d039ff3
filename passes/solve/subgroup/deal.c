/* Rows of matrices: which row gets how many of each class. */
#include "passes/solve/subgroup/internal.h"

#include <stdlib.h>

typedef struct deal {
    const cz_subgroup_problem *problem;
    int *counts;    /* [row][class] */
    int64_t *work;  /* [row] */
    int64_t *state; /* [row] */
    int64_t *least; /* [class] */
} deal;

typedef struct ranked {
    int64_t work_ps;
    int of;
} ranked;

static int by_falling_work(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->work_ps != b->work_ps)
        return a->work_ps < b->work_ps ? 1 : -1;
    return (a->of > b->of) - (a->of < b->of);
}

static void put(deal *d, int row, int of, int n)
{
    d->counts[row * d->problem->n_classes + of] += n;
    d->work[row] += n * d->least[of];
    d->state[row] += n * d->problem->classes[of].state_bytes;
}

static bool is_lighter(const deal *d, int a, int b)
{
    return d->work[a] != d->work[b] ? d->work[a] < d->work[b]
                                    : d->state[a] < d->state[b];
}

/* Longest first, each to the row with the least work. */
static void place(cz_arena *arena, deal *d)
{
    const int n = d->problem->n_classes;
    ranked *order = CZ_NEW(arena, ranked, n);
    for (int c = 0; c < n; c++)
        order[c] = (ranked){d->least[c], c};
    qsort(order, (size_t)n, sizeof *order, by_falling_work);
    for (int c = 0; c < n; c++)
        for (int i = 0; i < d->problem->classes[order[c].of].count; i++) {
            int best = 0;
            for (int row = 1; row < d->problem->n_rows; row++)
                if (is_lighter(d, row, best))
                    best = row;
            put(d, best, order[c].of, 1);
        }
}

/* Sum over rows of load squared falls by 2 (from - to - gap) gap: a change
 * that moves `gap` helps when 0 < gap < from - to. */
static bool helps(int64_t from, int64_t to, int64_t gap)
{
    return gap > 0 && gap < from - to;
}

/* -1: no matrix. */
static int64_t least_of(const deal *d, int of)
{
    return of < 0 ? 0 : d->least[of];
}

static bool has(const deal *d, int row, int of)
{
    return of < 0 || d->counts[row * d->problem->n_classes + of] > 0;
}

/* Exchange one matrix of class a against one of class b, or none. */
static bool exchange(deal *d, int from, int to)
{
    const int n = d->problem->n_classes;
    int best_a = -1, best_b = -1;
    int64_t best = 0;
    for (int a = 0; a < n; a++)
        for (int b = -1; b < n; b++) {
            const int64_t gap = least_of(d, a) - least_of(d, b);
            if (!has(d, from, a) || !has(d, to, b) ||
                !helps(d->work[from], d->work[to], gap))
                continue;
            const int64_t gain = (d->work[from] - d->work[to] - gap);
            const int64_t less = gain < gap ? gain : gap;
            if (less > best) {
                best = less;
                best_a = a;
                best_b = b;
            }
        }
    if (best == 0)
        return false;
    put(d, from, best_a, -1);
    put(d, to, best_a, 1);
    if (best_b >= 0) {
        put(d, to, best_b, -1);
        put(d, from, best_b, 1);
    }
    return true;
}

/* Between all pairs of rows, until nothing helps: work only evens out, so
 * this ends; the number of rounds is bounded nevertheless. */
static void improve(deal *d)
{
    const int n = d->problem->n_rows;
    bool again = true;
    for (int round = 0; round < 100 && again; round++) {
        again = false;
        for (int from = 0; from < n; from++)
            for (int to = 0; to < n; to++)
                if (d->work[from] > d->work[to] && exchange(d, from, to))
                    again = true;
    }
}

void cz_subgroup_deal(cz_arena *arena, const cz_subgroup_problem *problem,
                      int *counts)
{
    deal d = {problem, counts, CZ_NEW(arena, int64_t, problem->n_rows),
              CZ_NEW(arena, int64_t, problem->n_rows),
              CZ_NEW(arena, int64_t, problem->n_classes)};
    for (int c = 0; c < problem->n_classes; c++)
        d.least[c] = cz_subgroup_least_work_ps(&problem->classes[c]);
    for (int i = 0; i < problem->n_rows * problem->n_classes; i++)
        counts[i] = 0;
    place(arena, &d);
    improve(&d);
}
