/* Branch and bound over loads: first the item with the least gather, then
 * items by what a second of them is worth. */
#include "passes/solve/bound/load.h"

#include "dsl/base/arithmetic.h"

#include <stdlib.h>

enum {
    TOLERANCE_BITS = 14, /* what is no better than this is not looked for */
    BAND = 8,            /* gathers within a part of this of each other */
    N_STEPS = 100000,    /* of a search; beyond, what is left is estimated
                          * from above */
    N_STEPS_IN_ALL = 5 * 1000 * 1000 /* of all searches of a loader */
};

struct cz_bin_loader {
    int n;
    const cz_bin_item **items; /* by rising compute */
    cz_bin_divisible divisible;
    int n_useful;
    const cz_bin_item **useful;  /* by falling worth of a second */
    int n_steps, n_steps_left;   /* of this search; for all others too */
    int64_t best_worth, cut_off; /* of a load; of those not looked at */
    cz_bin_load now, *best;
};

typedef cz_bin_loader loader;

/* Loads whose least gather is in the band. */
typedef struct band {
    int64_t from_ps, to_ps; /* gathers */
    int64_t next_ps;        /* where the next one begins; INT64_MAX: nowhere */
    int64_t scatter_ps;     /* least of those with such a gather or a longer */
} band;

static int by_rising_compute(const void *left, const void *right)
{
    const cz_bin_item *a = *(const cz_bin_item *const *)left;
    const cz_bin_item *b = *(const cz_bin_item *const *)right;
    if (a->compute_ps != b->compute_ps)
        return a->compute_ps < b->compute_ps ? -1 : 1;
    return (a > b) - (a < b);
}

static int by_falling_density(const void *left, const void *right)
{
    const cz_bin_item *a = *(const cz_bin_item *const *)left;
    const cz_bin_item *b = *(const cz_bin_item *const *)right;
    const cz_wide of_a = (cz_wide)a->worth * b->compute_ps;
    const cz_wide of_b = (cz_wide)b->worth * a->compute_ps;
    if (of_a != of_b)
        return of_a > of_b ? -1 : 1;
    return (a > b) - (a < b);
}

cz_bin_loader *cz_bin_loader_make(cz_arena *arena, const cz_bin_item *items,
                                  int n)
{
    loader *l = CZ_NEW(arena, loader, 1);
    *l = (loader){.n = n,
                  .n_steps_left = N_STEPS_IN_ALL,
                  .items = CZ_NEW(arena, const cz_bin_item *, n),
                  .useful = CZ_NEW(arena, const cz_bin_item *, n)};
    for (int i = 0; i < n; i++)
        l->items[i] = &items[i];
    if (n > 0)
        qsort(l->items, (size_t)n, sizeof *l->items, by_rising_compute);
    return l;
}

/* ---- the search ---- */

/* What the capacity is worth at most, filled with items from the q-th on. */
static int64_t worth_of_capacity(const loader *l, int q, int64_t capacity)
{
    const cz_bin_item *item = l->useful[q];
    return (int64_t)((cz_wide)capacity * item->worth / item->compute_ps) + 1;
}

static int64_t worth_of_divisible(const loader *l, int64_t ps)
{
    const cz_bin_divisible *all = &l->divisible;
    return all->time_ps == 0
               ? 0
               : (int64_t)(((cz_wide)ps * all->worth + all->time_ps - 1) /
                           all->time_ps);
}

/* The load of now, with what is divisible in the capacity that is left. */
static void keep(loader *l, int64_t capacity, int64_t worth)
{
    worth += worth_of_divisible(l, capacity);
    if (worth <= l->best_worth)
        return;
    l->best_worth = worth;
    *l->best = l->now;
    if (l->divisible.time_ps > 0)
        l->best->divisible_ps += capacity;
}

static bool may_go_on(loader *l, int64_t bound)
{
    if (l->n_steps < N_STEPS && l->n_steps_left > 0 &&
        l->now.n < CZ_BIN_MAX_LOAD) {
        l->n_steps++;
        l->n_steps_left--;
        return true;
    }
    l->cut_off = cz_solve_max(l->cut_off, bound);
    return false;
}

/* Fill the capacity with items from the q-th on, beside what has that worth.
 * Pieces worth less a second than what is divisible do not help. */
static void fill(loader *l, int q, int64_t capacity, int64_t worth)
{
    keep(l, capacity, worth);
    for (; q < l->n_useful; q++) {
        const cz_bin_item *item = l->useful[q];
        const int64_t bound = worth + worth_of_capacity(l, q, capacity);
        if (bound - l->best_worth <= l->best_worth >> TOLERANCE_BITS)
            return;
        for (int64_t n = capacity / item->compute_ps; n > 0; n--) {
            if (!may_go_on(l, bound))
                return;
            l->now.of[l->now.n].item = item;
            l->now.of[l->now.n++].times = n;
            fill(l, q + 1, capacity - n * item->compute_ps,
                 worth + n * item->worth);
            l->now.n--;
        }
    }
}

/* ---- bands ---- */

/* Of two items with such gathers, one is useful beside an opening one only if
 * it takes less or is worth more. */
static void open_band(loader *l, band *b)
{
    int64_t worth = 0;
    b->next_ps = b->scatter_ps = INT64_MAX;
    l->n_useful = 0;
    for (int i = 0; i < l->n; i++) {
        const cz_bin_item *item = l->items[i];
        if (item->gather_ps < b->from_ps || item->worth <= 0)
            continue;
        b->scatter_ps = cz_solve_min(b->scatter_ps, item->scatter_ps);
        if (item->gather_ps > b->to_ps)
            b->next_ps = cz_solve_min(b->next_ps, item->gather_ps);
        if (item->worth <= worth)
            continue;
        worth = item->worth;
        l->useful[l->n_useful++] = item;
    }
    qsort(l->useful, (size_t)l->n_useful, sizeof *l->useful,
          by_falling_density);
}

static int64_t least_gather(const loader *l)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < l->n; i++)
        if (l->items[i]->worth > 0)
            least = cz_solve_min(least, l->items[i]->gather_ps);
    return least;
}

int64_t cz_bin_most_worth(cz_bin_loader *l, const cz_bin_divisible *divisible,
                          int64_t time_ps, cz_bin_load *best)
{
    band b = {.next_ps = least_gather(l)};
    *best = l->now = (cz_bin_load){.n = 0};
    l->best = best;
    l->divisible = *divisible;
    l->best_worth = l->cut_off = 0;
    l->n_steps = 0;
    keep(l, time_ps, 0);
    while (b.next_ps < INT64_MAX) {
        b.from_ps = b.next_ps;
        b.to_ps = b.from_ps + b.from_ps / BAND;
        open_band(l, &b);
        /* Loads that one of the band's own items opens. */
        const int64_t ramp = b.from_ps + b.scatter_ps;
        const int64_t capacity = time_ps - ramp;
        for (int i = 0; i < l->n; i++) {
            const cz_bin_item *item = l->items[i];
            if (item->gather_ps < b.from_ps || item->gather_ps > b.to_ps ||
                item->worth <= 0 || item->compute_ps > capacity)
                continue;
            l->now.n = 1;
            l->now.of[0].item = item;
            l->now.of[0].times = 1;
            l->now.divisible_ps = l->divisible.time_ps > 0 ? ramp : 0;
            fill(l, 0, capacity - item->compute_ps,
                 item->worth + worth_of_divisible(l, ramp));
        }
    }
    return cz_solve_max(l->cut_off,
                        l->best_worth + (l->best_worth >> TOLERANCE_BITS));
}
