/* The bound by fit: bisection over time, and for each time prices that refute
 * it, by ternary search of one after the other: the relaxation is concave. */
#include "passes/solve/subgroup_internal.h"

#include "passes/solve/arithmetic.h"

#include <string.h>

enum {
    N_PRICES = 160,
    N_RATIOS = 40,
    RATIO_UNIT = 4,
    PRICE_UNIT = 1 << CZ_SUBGROUP_PRICE_BITS,
    PRECISION = 4096 /* of the time, that it is looked for with */
};

/* Prices: of a byte, in 2^-20 ps; of a rank's first gather and of its last
 * scatter, in ps. */
typedef enum priced { BYTES, GATHER, SCATTER, N_PRICED } priced;

/* A way of one matrix of a batch. */
typedef struct item {
    int of, g, batch;
    int64_t alone_ps, work_ps, wire_bytes, gather_ps, scatter_ps;
} item;

typedef struct fit {
    const cz_subgroup_problem *problem;
    int64_t n_ranks, time_ps;
    int n;
    item *items; /* by class */
    int64_t prices[N_PRICED];
} fit;

/* ---- ways ---- */

static int64_t with_latency(const cz_subgroup_problem *problem, int64_t ps)
{
    return ps > 0 ? ps + problem->latency_ps : 0;
}

static item item_of(const cz_subgroup_problem *problem, int of,
                    const cz_subgroup_way *way)
{
    return (item){.of = of,
                  .g = way->g,
                  .batch = cz_subgroup_batch(way),
                  .alone_ps = cz_subgroup_alone_ps(way, problem->latency_ps),
                  .work_ps = cz_subgroup_work_ps(way),
                  .wire_bytes = way->wire_bytes,
                  .gather_ps = with_latency(problem, way->gather_ps),
                  .scatter_ps = with_latency(problem, way->scatter_ps)};
}

/* Those whose buffers keep the cap. */
static item *list_items(cz_arena *arena, const cz_subgroup_problem *problem,
                        int *n)
{
    item *items = NULL;
    *n = 0;
    for (int c = 0; c < problem->n_classes; c++) {
        const cz_subgroup_class *of = &problem->classes[c];
        for (int w = 0; w < of->n_ways + of->n_others && of->count > 0; w++) {
            const cz_subgroup_way *way =
                w < of->n_ways ? &of->ways[w] : &of->others[w - of->n_ways];
            if (way->staging_bytes <= problem->staging_cap_bytes)
                *CZ_PUSH(arena, items, *n) = item_of(problem, c, way);
        }
    }
    return items;
}

/* Whether every class has a way, and all of them together need no more bytes
 * than the cap, in any time. */
static bool is_possible(const cz_subgroup_problem *problem, const item *items,
                        int n)
{
    cz_wide bytes = 0;
    for (int c = 0; c < problem->n_classes; c++) {
        int64_t least = -1;
        for (int i = 0; i < n; i++) {
            const int64_t each = items[i].wire_bytes / items[i].batch;
            if (items[i].of == c && (least < 0 || each < least))
                least = each;
        }
        if (least < 0 && problem->classes[c].count > 0)
            return false;
        bytes += (cz_wide)least * problem->classes[c].count;
    }
    return bytes <= problem->wire_cap_bytes;
}

/* ---- the relaxation ---- */

static cz_wide cost_of(const fit *f, const item *i)
{
    const int64_t first = cz_solve_max(0, f->prices[GATHER] - i->gather_ps);
    const int64_t last = cz_solve_max(0, f->prices[SCATTER] - i->scatter_ps);
    const cz_wide ps = i->work_ps - i->g * ((cz_wide)first + last);
    return (ps * PRICE_UNIT + (cz_wide)f->prices[BYTES] * i->wire_bytes) /
               i->batch -
           1; /* rounding */
}

/* What is left over of the ranks' time at these prices, in 2^-20 ps: below 0
 * the time is refuted, as it is where some class has no way that ends in it.
 * `costs`, unless NULL, gets what each class costs. */
static cz_wide left_over(const fit *f, cz_wide *costs)
{
    const int64_t ramp = f->prices[GATHER] + f->prices[SCATTER];
    cz_wide left = f->n_ranks * ((cz_wide)f->time_ps - ramp) * PRICE_UNIT;
    int i = 0;
    if (f->prices[BYTES] > 0)
        left += (cz_wide)f->prices[BYTES] * f->problem->wire_cap_bytes;
    while (i < f->n) {
        const int of = f->items[i].of;
        bool any = false;
        cz_wide least = 0;
        for (; i < f->n && f->items[i].of == of; i++) {
            if (f->items[i].alone_ps > f->time_ps)
                continue;
            const cz_wide cost = cost_of(f, &f->items[i]);
            least = !any || cost < least ? cost : least;
            any = true;
        }
        if (!any)
            return -1;
        least *= f->problem->classes[of].count;
        left -= least;
        if (costs)
            costs[of] = least;
    }
    return left;
}

/* 0, then four to a doubling. */
static int64_t on_grid(int at)
{
    return at == 0 ? 0 : (int64_t)(4 + at % 4) << at / 4;
}

/* A scatter is about half a gather.  `ratio` is of a ramp to a byte; beyond
 * the last one bytes have no price. */
static cz_wide left_at(fit *f, int ratio, int at)
{
    const int64_t price = on_grid(at);
    const bool is_ramp_alone = ratio == N_RATIOS;
    const int64_t ramp =
        is_ramp_alone ? price : price * on_grid(ratio) / RATIO_UNIT;
    f->prices[BYTES] = is_ramp_alone ? 0 : price;
    f->prices[GATHER] = ramp < f->time_ps / 2 ? ramp : f->time_ps / 2;
    f->prices[SCATTER] = f->prices[GATHER] / 2;
    return left_over(f, NULL);
}

/* Of one ratio what is left over is convex in the price. */
static bool is_refuted_at(fit *f, int ratio)
{
    int low = 0, high = N_PRICES - 1;
    while (high > low) {
        const int middle = low + (high - low) / 2;
        const cz_wide a = left_at(f, ratio, middle);
        if (a < 0)
            return true;
        if (a <= left_at(f, ratio, middle + 1))
            high = middle;
        else
            low = middle + 1;
    }
    return left_at(f, ratio, low) < 0;
}

static bool is_refuted(fit *f, int64_t time_ps)
{
    const int first = f->problem->wire_cap_bytes < INT64_MAX ? 0 : N_RATIOS;
    f->time_ps = time_ps;
    for (int ratio = first; ratio <= N_RATIOS; ratio++)
        if (is_refuted_at(f, ratio))
            return true;
    return false;
}

/* What alone ends later will not be needed any more. */
static void drop_late(fit *f, int64_t time_ps)
{
    int n = 0;
    for (int i = 0; i < f->n; i++)
        if (f->items[i].alone_ps <= time_ps)
            f->items[n++] = f->items[i];
    f->n = n;
}

/* The class that costs most at the last prices that refuted a time. */
static int witness_of(cz_arena *scratch, fit *f, const int64_t *prices)
{
    cz_wide *costs = CZ_NEW(scratch, cz_wide, f->problem->n_classes);
    int witness = 0;
    memcpy(f->prices, prices, sizeof f->prices);
    left_over(f, costs);
    for (int c = 1; c < f->problem->n_classes; c++)
        if (costs[c] > costs[witness])
            witness = c;
    return witness;
}

/* The least time that is not refuted, and so is every time below. */
static int64_t least_time(fit *f, int64_t low, int64_t *prices)
{
    int64_t high = low > 0 ? low : 1;
    while (high < INT64_MAX / 4 && is_refuted(f, high)) {
        memcpy(prices, f->prices, sizeof f->prices);
        low = high;
        high *= 2;
    }
    drop_late(f, high);
    while (high - low > low / PRECISION) {
        const int64_t middle = low + (high - low) / 2;
        if (is_refuted(f, middle)) {
            memcpy(prices, f->prices, sizeof f->prices);
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    f->time_ps = high;
    return low;
}

cz_subgroup_bound cz_subgroup_bound_fit(cz_arena *scratch,
                                        const cz_subgroup_problem *problem,
                                        int64_t low_ps)
{
    fit f = {.problem = problem,
             .n_ranks = (int64_t)problem->n_rows * problem->width};
    int64_t prices[N_PRICED] = {0};
    cz_subgroup_bound bound = {.of = -1};
    f.items = list_items(scratch, problem, &f.n);
    if (f.n == 0 || !is_possible(problem, f.items, f.n))
        return bound;
    bound.time_ps = least_time(&f, low_ps, prices);
    bound.of = witness_of(scratch, &f, prices);
    bound.price = prices[BYTES];
    return bound;
}
