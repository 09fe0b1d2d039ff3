/* One bucket at a time. */
#include "passes/solve/padded.h"

#include "dsl/base/arithmetic.h"
#include "dsl/base/checked.h"

#include <stdlib.h>

static int least(const int64_t *values, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (values[i] < values[best])
            best = i;
    return best;
}

/* ---- buckets ---- */

/* One that is being filled. */
typedef struct filling {
    int n;
    int64_t *slices;         /* [n] */
    int64_t filled, largest; /* elements */
} filling;

static void clear(filling *f)
{
    f->filled = f->largest = 0;
    for (int r = 0; r < f->n; r++)
        f->slices[r] = 0;
}

static void add(filling *f, int64_t elements)
{
    int64_t *shortest = &f->slices[least(f->slices, f->n)];
    *shortest = cz_round_up(*shortest, CZ_PADDED_ALIGN) + elements;
    f->filled += elements;
    f->largest = cz_solve_max(f->largest, elements);
}

/* Whether one more would make the longest slice longer. */
static bool is_tight(const filling *f, int64_t elements)
{
    int64_t longest = 0;
    for (int r = 0; r < f->n; r++)
        longest = cz_solve_max(longest, f->slices[r]);
    return f->slices[least(f->slices, f->n)] + elements >
           cz_round_up(longest, CZ_PADDED_ALIGN);
}

static bool is_closed(const filling *f, const cz_solve_class *next,
                      int64_t most)
{
    return f->filled >= most &&
           (next->divisible || (f->filled >= f->n * f->largest * 9 / 10 &&
                                is_tight(f, next->elements)));
}

void cz_padded_fill(cz_arena *arena, cz_solve_problem *problem,
                    const int *reduction_of, int64_t most)
{
    int *start = CZ_NEW(arena, int, problem->n_items + 2);
    filling f = {problem->n_ranks, CZ_NEW(arena, int64_t, problem->n_ranks), 0,
                 0};
    int n = 0;
    for (int i = 0; i < problem->n_items; i++) {
        const cz_solve_class *c = &problem->classes[problem->class_of[i]];
        if (i == 0 || reduction_of[i] != reduction_of[i - 1] ||
            c->divisible !=
                problem->classes[problem->class_of[i - 1]].divisible ||
            is_closed(&f, c, most)) {
            start[n++] = i;
            clear(&f);
        }
        add(&f, c->elements);
    }
    start[n] = problem->n_items;
    problem->n_buckets = n;
    problem->bucket_start = start;
}

/* ---- owners ---- */

typedef struct priced {
    int64_t ps;
    int item;
} priced;

static int by_falling_time(const void *left, const void *right)
{
    const priced *a = left, *b = right;
    if (a->ps != b->ps)
        return a->ps > b->ps ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

int64_t cz_padded_owners(cz_arena *arena, const cz_solve_problem *problem,
                         int bucket, int64_t *load, int *owner)
{
    const int first = problem->bucket_start[bucket], n = problem->n_ranks;
    const int end = problem->bucket_start[bucket + 1];
    priced *order = CZ_NEW(arena, priced, end - first + 1);
    int64_t *slices = CZ_NEW(arena, int64_t, n), all = 0, longest = 0;
    int n_items = 0;
    for (int i = first; i < end; i++) {
        const cz_solve_class *c = &problem->classes[problem->class_of[i]];
        if (c->divisible)
            continue;
        order[n_items++] = (priced){c->cost_ps + c->coordinate_ps, i};
        all += c->elements;
    }
    const int64_t cap = all * 13 / 10 / n;
    if (n_items > 0)
        qsort(order, (size_t)n_items, sizeof *order, by_falling_time);
    for (int i = 0; i < n_items; i++) {
        const int64_t elements =
            problem->classes[problem->class_of[order[i].item]].elements;
        int best = -1;
        for (int r = 0; r < n; r++)
            if (cz_round_up(slices[r], CZ_PADDED_ALIGN) + elements <= cap &&
                (best < 0 || load[r] < load[best]))
                best = r;
        if (best < 0)
            best = least(slices, n);
        slices[best] = cz_round_up(slices[best], CZ_PADDED_ALIGN) + elements;
        load[best] += order[i].ps;
        if (owner)
            owner[order[i].item] = best;
    }
    for (int r = 0; r < n; r++)
        longest =
            cz_solve_max(longest, cz_round_up(slices[r], CZ_PADDED_ALIGN));
    return longest;
}
