/* Bounds of the busiest rank's time. */
#include "passes/cost/time_bounds.h"

#include "dsl/base/checked.h"
#include "passes/cost/time.h"

#include <stdlib.h>

/* Equal matrices, of one family. */
typedef struct pile {
    int64_t time_ps, n;
} pile;

static int by_falling_time(const void *left, const void *right)
{
    const pile *a = left, *b = right;
    return (a->time_ps < b->time_ps) - (a->time_ps > b->time_ps);
}

/* Time that one rank of several spends on each of a family's matrices, all of
 * which it owns or shares; else -1. */
static int64_t whole_ps(const cz_plan_view *view, const cz_stage_time *times,
                        int family)
{
    const cz_view_family *f = &view->families[family];
    if (f->n_params == 0 || view->params[f->first_param].shard_owner < 0)
        return -1;
    return cz_matrix_time(view, times, f->first_param);
}

static int find_piles(const cz_plan_view *view, const cz_stage_time *times,
                      pile *piles, cz_time_bounds *out)
{
    int n = 0;
    for (int f = 0; f < view->n_families; f++) {
        const cz_view_family *family = &view->families[f];
        const int64_t ps = whole_ps(view, times, f);
        if (ps < 0)
            continue;
        piles[n++] = (pile){ps, family->n_params * family->n_spread};
        if (out->item < 0 || ps > out->item_ps) {
            out->item_ps = ps;
            out->item = family->first_param;
        }
    }
    if (n > 0)
        qsort(piles, (size_t)n, sizeof *piles, by_falling_time);
    return n;
}

/* Inside a pile the most ranks that have to share one is at its end. */
static void find_pigeons(const cz_plan_view *view, const pile *piles, int n,
                         cz_time_bounds *out)
{
    int64_t longer = 0;
    for (int i = 0; i < n; i++) {
        longer += piles[i].n;
        const int64_t shared = cz_ceil_div(longer, view->n_ranks);
        const int64_t ps = cz_time_limit((cz_wide)shared * piles[i].time_ps);
        if (shared < 2 || ps <= out->pigeonhole_ps)
            continue;
        out->pigeonhole_ps = ps;
        out->shared = (int)shared;
    }
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

cz_time_bounds cz_time_bounds_find(cz_arena *scratch, const cz_plan_view *view,
                                   const cz_stage_time *times,
                                   const int64_t *rank_ps)
{
    cz_time_bounds out = {.item = -1, .shared = -1};
    pile *piles = CZ_NEW(scratch, pile, view->n_families + 1);
    for (int r = 0; r < view->n_ranks; r++) {
        out.sum_ps = cz_time_add(out.sum_ps, rank_ps[r]);
        out.max_ps = larger(out.max_ps, rank_ps[r]);
    }
    out.mean_ps = cz_ceil_div(out.sum_ps, view->n_ranks);
    find_pigeons(view, piles, find_piles(view, times, piles, &out), &out);
    out.bound_ps = larger(larger(out.mean_ps, out.item_ps), out.pigeonhole_ps);
    return out;
}
