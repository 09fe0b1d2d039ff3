/* Micro-groups of our own: owners even in compute, groups of equal shares of
 * it, the first and the last small, so that the pipeline fills and drains
 * quickly.  Several counts are tried; the simulated executor decides. */
#include "passes/solve/pipeline_group.h"

#include <stdlib.h>

#include "passes/solve/arithmetic.h"

enum { N_ORDERS = 2, SLOTS_TRIED = 6 };

typedef struct ranked {
    int64_t compute_ps;
    int item;
} ranked;

typedef struct chooser {
    cz_arena *arena;
    const cz_pipeline_problem *problem;
    const int *owner;    /* [n_items] even in compute */
    const ranked *order; /* [n_items] largest first */
    int most;            /* items of the owner that has most of them */
    cz_pipeline_groups best;
    cz_pipeline_cost cost;
} chooser;

static int by_falling_compute(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->compute_ps != b->compute_ps)
        return a->compute_ps < b->compute_ps ? 1 : -1;
    return a->item - b->item;
}

/* Longest first, each to the least loaded rank. */
static void choose_owners(chooser *c)
{
    const int n = c->problem->n_items, n_ranks = c->problem->n_ranks;
    int64_t *load = CZ_NEW(c->arena, int64_t, n_ranks);
    ranked *order = CZ_NEW(c->arena, ranked, n);
    int *owner = CZ_NEW(c->arena, int, n), *count;
    count = CZ_NEW(c->arena, int, n_ranks);
    for (int i = 0; i < n; i++)
        order[i] = (ranked){c->problem->items[i].compute_ps, i};
    qsort(order, (size_t)n, sizeof *order, by_falling_compute);
    for (int i = 0; i < n; i++) {
        int best = 0;
        for (int r = 1; r < n_ranks; r++)
            if (load[r] < load[best])
                best = r;
        owner[order[i].item] = best;
        load[best] += order[i].compute_ps;
        if (++count[best] > c->most)
            c->most = count[best];
    }
    c->owner = owner;
    c->order = order;
}

/* Of two that keep the cap the faster, else the one that needs less. */
static bool is_better(const chooser *c, const cz_pipeline_cost *cost)
{
    const int64_t cap = c->problem->staging_cap_bytes;
    const bool fits = cost->staging_bytes <= cap;
    if (!c->best.group || fits != (c->cost.staging_bytes <= cap))
        return !c->best.group || fits;
    return fits ? cost->time_ps < c->cost.time_ps
                : cost->staging_bytes < c->cost.staging_bytes;
}

static void try(chooser *c, const cz_pipeline_groups *groups)
{
    cz_arena scratch;
    cz_arena_init(&scratch);
    const cz_pipeline_cost cost =
        cz_pipeline_evaluate(&scratch, c->problem, groups, NULL);
    cz_arena_fini(&scratch);
    if (!is_better(c, &cost))
        return;
    c->best = *groups;
    c->cost = cost;
}

/* One owner's items in the order in which it computes them: largest first;
 * or the smallest first and the second smallest last. */
static int list_of(const chooser *c, int owner, bool small_ends, int *list)
{
    int n = 0;
    for (int i = 0; i < c->problem->n_items; i++)
        if (c->owner[c->order[i].item] == owner)
            list[n++] = c->order[i].item;
    if (!small_ends || n < 2)
        return n;
    const int smallest = list[n - 1];
    for (int i = n - 1; i > 0; i--)
        list[i] = list[i - 1];
    list[0] = smallest;
    return n;
}

/* Groups of equal shares of the owner's compute: the one in whose share the
 * item's middle falls. */
static void share_out(const chooser *c, const int *list, int n, int n_groups,
                      int first_group, int *group)
{
    int64_t total = 0, before = 0;
    for (int i = 0; i < n; i++)
        total += c->problem->items[list[i]].compute_ps;
    for (int i = 0; i < n; i++) {
        const int64_t ps = c->problem->items[list[i]].compute_ps;
        int64_t at =
            total > 0 ? cz_solve_part(n_groups, 2 * before + ps, 2 * total) : 0;
        at = at < n_groups ? at : n_groups - 1;
        group[list[i]] = first_group + (int)at;
        before += ps;
    }
}

static void group_owner(const chooser *c, int owner, bool small_ends,
                        int n_groups, int *group)
{
    int *list = CZ_NEW(c->arena, int, c->problem->n_items);
    const int n = list_of(c, owner, small_ends, list);
    if (!small_ends || n_groups < 3 || n < 3) {
        share_out(c, list, n, n_groups, 0, group);
        return;
    }
    group[list[0]] = 0;
    group[list[n - 1]] = n_groups - 1;
    share_out(c, list + 1, n - 2, n_groups - 2, 1, group);
}

static void try_shares(chooser *c, int n_groups, bool small_ends)
{
    cz_pipeline_groups groups = {small_ends ? "shares, small ends" : "shares",
                                 CZ_PIPELINE_DOUBLE, n_groups,
                                 CZ_NEW(c->arena, int, c->problem->n_items),
                                 CZ_NEW(c->arena, int, c->problem->n_items)};
    for (int i = 0; i < c->problem->n_items; i++)
        groups.owner[i] = c->owner[i];
    for (int r = 0; r < c->problem->n_ranks; r++)
        group_owner(c, r, small_ends, n_groups, groups.group);
    for (int overlap = 0; overlap < 2; overlap++) {
        groups.overlap = (cz_pipeline_overlap)overlap;
        try(c, &groups);
    }
}

/* Slots from the largest matrix up, doubled each time. */
static void try_public(chooser *c)
{
    int64_t slot = 1;
    for (int i = 0; i < c->problem->n_items; i++)
        slot = cz_solve_max(slot, c->problem->items[i].elements);
    for (int tries = 0; tries < SLOTS_TRIED; tries++, slot *= 2)
        for (int kind = 0; kind < CZ_PIPELINE_N_PUBLIC; kind++)
            for (int overlap = 0; overlap < 2; overlap++) {
                const cz_pipeline_groups groups = cz_pipeline_publish(
                    c->arena, c->problem, (cz_pipeline_public)kind, slot,
                    (cz_pipeline_overlap)overlap);
                try(c, &groups);
            }
}

cz_pipeline_groups cz_pipeline_choose(cz_arena *arena,
                                      const cz_pipeline_problem *problem,
                                      cz_pipeline_cost *cost)
{
    chooser c = {.arena = arena, .problem = problem};
    choose_owners(&c);
    for (int n = 1; n <= c.most; n += n < 8 ? 1 : n / 4)
        for (int order = 0; order < N_ORDERS; order++)
            try_shares(&c, n, order == 1);
    try_public(&c);
    *cost = c.cost;
    return c.best;
}
