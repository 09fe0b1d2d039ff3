/* Micro-groups of shared matrices, by falling cost. */
#include "passes/schedule/micro_group_subgroups.h"

#include <stdbool.h>
#include <stdlib.h>

typedef struct place {
    int item, owner;
    int64_t cost;
} place;

static int by_owner_and_cost(const void *left, const void *right)
{
    const place *a = left, *b = right;
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    if (a->cost != b->cost)
        return a->cost > b->cost ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

static int count_run(const place *places, int first, int n)
{
    int end = first;
    while (end < n && places[end].owner == places[first].owner)
        end++;
    return end - first;
}

static int count_most(const place *places, int n)
{
    int most = 0;
    for (int i = 0; i < n;) {
        const int run = count_run(places, i, n);
        most = run > most ? run : most;
        i += run;
    }
    return most;
}

/* The k-th of an owner's `run` items. */
static int group_of(int k, int run, int n_micro_groups)
{
    return run <= n_micro_groups ? k : (int)((int64_t)k * n_micro_groups / run);
}

/* Items of one owner; false when a group of several is beyond the cap. */
static bool put_run(const cz_micro_group_problem *problem, const place *places,
                    int run, int n_micro_groups, int *micro_groups)
{
    int64_t bytes = 0;
    for (int k = 0; k < run; k++) {
        const int micro_group = group_of(k, run, n_micro_groups);
        const bool is_new =
            k == 0 || micro_groups[places[k - 1].item] != micro_group;
        bytes = (is_new ? 0 : bytes) + problem->items[places[k].item].bytes;
        if (!is_new && bytes > problem->cap_bytes)
            return false;
        micro_groups[places[k].item] = micro_group;
    }
    return true;
}

static bool put_all(const cz_micro_group_problem *problem, const place *places,
                    int n_micro_groups, int *micro_groups)
{
    for (int i = 0; i < problem->n_items;) {
        const int run = count_run(places, i, problem->n_items);
        if (!put_run(problem, places + i, run, n_micro_groups, micro_groups))
            return false;
        i += run;
    }
    return true;
}

int cz_micro_group_subgroups(cz_arena *scratch,
                             const cz_micro_group_problem *problem,
                             int *micro_groups)
{
    const int n_items = problem->n_items;
    place *places = CZ_NEW(scratch, place, n_items + 1);
    for (int i = 0; i < n_items; i++)
        places[i] = (place){i, problem->items[i].owner, problem->items[i].cost};
    if (n_items > 0)
        qsort(places, (size_t)n_items, sizeof *places, by_owner_and_cost);
    const int most = count_most(places, n_items);
    int n = problem->n_micro_groups < most ? problem->n_micro_groups : most;
    while (n < most && !put_all(problem, places, n, micro_groups))
        n++;
    if (n == most)
        put_all(problem, places, n, micro_groups);
    return n;
}
