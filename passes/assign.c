/* Longest processing time first over a grid of ranks. */
#include "passes/assign.h"

#include <stdlib.h>

typedef struct state {
    const cz_assign_problem *problem;
    int64_t *loads;  /* [row][shard] */
    int64_t *memory; /* [row] */
} state;

typedef struct ranked {
    int64_t cost;
    int item;
} ranked;

static int by_falling_cost(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->cost != b->cost)
        return a->cost < b->cost ? 1 : -1;
    return (a->item > b->item) - (a->item < b->item);
}

static ranked *rank_items(cz_arena *scratch, const cz_assign_problem *problem)
{
    ranked *order = CZ_NEW(scratch, ranked, problem->n_items);
    for (int i = 0; i < problem->n_items; i++) {
        const cz_assign_item *item = &problem->items[i];
        order[i] = (ranked){item->cost + item->shared, i};
    }
    qsort(order, (size_t)problem->n_items, sizeof *order, by_falling_cost);
    return order;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool has_rank(const cz_assign_problem *problem, int row, int column)
{
    return !problem->has_rank ||
           problem->has_rank[row * problem->n_shard + column];
}

static int shard_of(const cz_assign_item *item, int column)
{
    return item->shard_of_column ? item->shard_of_column[column] : column;
}

/* For each place that an item could have: the fullest rank there.  Of each
 * split coordinate, also the memory of its fullest row. */
typedef struct fullness {
    int64_t *loads;  /* [split][shard] */
    int64_t *memory; /* [split] */
} fullness;

static void find_fullness(const state *s, const cz_assign_item *item,
                          fullness *f)
{
    const int n = s->problem->n_shard;
    for (int i = 0; i < item->n_splits * n; i++)
        f->loads[i] = 0;
    for (int d = 0; d < item->n_splits; d++)
        f->memory[d] = 0;
    for (int row = 0; row < s->problem->n_rows; row++) {
        const int d = item->split_of_row[row];
        if (d < 0)
            continue;
        f->memory[d] = larger(f->memory[d], s->memory[row]);
        for (int t = 0; t < n; t++) {
            int64_t *load = &f->loads[d * n + shard_of(item, t)];
            if (has_rank(s->problem, row, t))
                *load = larger(*load, s->loads[row * n + t]);
        }
    }
}

/* The least loaded shard coordinate of a split coordinate, or its fullest
 * one. */
static int64_t split_load(const state *s, const fullness *f,
                          const cz_assign_item *item, int split, int *shard)
{
    const int n = s->problem->n_shard;
    const int64_t *row = f->loads + (size_t)split * (size_t)n;
    const int n_shards = item->shard_of_column ? item->n_shards : n;
    int best = 0;
    for (int t = 1; t < n_shards; t++)
        if (item->on_row ? row[t] > row[best] : row[t] < row[best])
            best = t;
    *shard = best;
    return row[best];
}

static cz_assign_place best_place(const state *s, const cz_assign_item *item,
                                  fullness *f)
{
    cz_assign_place best = {0, -1};
    int64_t best_load = INT64_MAX;
    find_fullness(s, item, f);
    for (int d = 0; d < item->n_splits; d++) {
        int shard;
        const int64_t load = split_load(s, f, item, d, &shard);
        if (load > best_load ||
            (load == best_load && f->memory[d] >= f->memory[best.split]))
            continue;
        best_load = load;
        best = (cz_assign_place){d, item->on_row ? -1 : shard};
    }
    return best;
}

static void put(state *s, const cz_assign_item *item, cz_assign_place place)
{
    const int n = s->problem->n_shard;
    for (int row = 0; row < s->problem->n_rows; row++) {
        if (item->split_of_row[row] != place.split)
            continue;
        for (int t = 0; t < n; t++)
            s->loads[row * n + t] +=
                item->shared + (item->on_row || shard_of(item, t) == place.shard
                                    ? item->cost
                                    : 0);
        s->memory[row] += item->memory;
    }
}

void cz_assign_solve(cz_arena *scratch, const cz_assign_problem *problem,
                     cz_assign_place *places, int64_t *loads)
{
    const ranked *order = rank_items(scratch, problem);
    const int n_ranks = problem->n_rows * problem->n_shard;
    state s = {problem, loads, CZ_NEW(scratch, int64_t, problem->n_rows)};
    fullness f = {CZ_NEW(scratch, int64_t, n_ranks),
                  CZ_NEW(scratch, int64_t, problem->n_rows)};

    for (int rank = 0; rank < n_ranks; rank++)
        loads[rank] = 0;
    for (int i = 0; i < problem->n_items; i++) {
        const cz_assign_item *item = &problem->items[order[i].item];
        places[order[i].item] = best_place(&s, item, &f);
        put(&s, item, places[order[i].item]);
    }
}
