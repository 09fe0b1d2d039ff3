/* Longest processing time first over a grid of ranks. */
#include "passes/assign.h"

#include <stdlib.h>

typedef struct state {
    const cz_assign_problem *problem;
    int64_t *loads;  /* [split][shard] */
    int64_t *memory; /* [split] */
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

/* The least loaded column of a row, or the load of its fullest one. */
static int64_t row_load(const state *s, int split, bool fullest, int *column)
{
    const int n = s->problem->n_shard;
    const int64_t *row = s->loads + (size_t)split * (size_t)n;
    int best = 0;
    for (int t = 1; t < n; t++)
        if (fullest ? row[t] > row[best] : row[t] < row[best])
            best = t;
    *column = best;
    return row[best];
}

static cz_assign_place best_place(const state *s, const cz_assign_item *item)
{
    cz_assign_place best = {0, -1};
    int64_t best_load = INT64_MAX;
    for (int d = 0; d < s->problem->n_split; d++) {
        int column;
        const int64_t load = row_load(s, d, item->on_row, &column);
        if (load > best_load ||
            (load == best_load && s->memory[d] >= s->memory[best.split]))
            continue;
        best_load = load;
        best = (cz_assign_place){d, item->on_row ? -1 : column};
    }
    return best;
}

static void put(state *s, const cz_assign_item *item, cz_assign_place place)
{
    const int n = s->problem->n_shard;
    int64_t *row = s->loads + (size_t)place.split * (size_t)n;
    for (int t = 0; t < n; t++)
        row[t] +=
            item->shared + (item->on_row || t == place.shard ? item->cost : 0);
    s->memory[place.split] += item->memory;
}

void cz_assign_solve(cz_arena *scratch, const cz_assign_problem *problem,
                     cz_assign_place *places, int64_t *loads)
{
    const ranked *order = rank_items(scratch, problem);
    state s = {problem, loads, CZ_NEW(scratch, int64_t, problem->n_split)};

    for (int rank = 0; rank < problem->n_split * problem->n_shard; rank++)
        loads[rank] = 0;
    for (int i = 0; i < problem->n_items; i++) {
        const cz_assign_item *item = &problem->items[order[i].item];
        places[order[i].item] = best_place(&s, item);
        put(&s, item, places[order[i].item]);
    }
}
