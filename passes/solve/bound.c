/* Lower bounds, each a few lines of arithmetic on its own. */
#include "passes/solve/bound.h"

#include "dsl/base/checked.h"
#include "passes/solve/arithmetic.h"

#include <stdlib.h>

typedef struct timed {
    int64_t ps;
    int item;
} timed;

static int by_falling_time(const void *left, const void *right)
{
    const timed *a = left, *b = right;
    if (a->ps != b->ps)
        return a->ps > b->ps ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

/* Initial loads: their sum, and the least of them. */
static int64_t initial_sum(const cz_solve_problem *problem, int64_t *least)
{
    int64_t sum = 0;
    *least = problem->initial_ps ? INT64_MAX : 0;
    for (int s = 0;
         problem->initial_ps && s < problem->n_ranks * problem->n_hosts; s++) {
        sum += problem->initial_ps[s];
        *least = cz_solve_min(*least, problem->initial_ps[s]);
    }
    return sum;
}

/* Whole items by falling time on their owner; `total_ps` gets what all ranks
 * together have to do. */
static timed *list_items(cz_arena *scratch, const cz_solve_problem *problem,
                         int *n, int64_t *total_ps)
{
    timed *list = CZ_NEW(scratch, timed, problem->n_items + 1);
    *n = 0;
    for (int i = 0; i < problem->n_items; i++) {
        const cz_solve_class *c = &problem->classes[problem->class_of[i]];
        if (!c->divisible)
            list[(*n)++] = (timed){c->cost_ps + c->shared_ps, i};
        *total_ps += c->divisible
                         ? problem->n_hosts * c->cost_ps
                         : c->cost_ps + problem->n_hosts * c->shared_ps;
    }
    qsort(list, (size_t)*n, sizeof *list, by_falling_time);
    return list;
}

/* c[k S - k .. k S], the largest over k, where c falls. */
static int64_t pigeonhole(const timed *list, int n, int n_slots, int *n_longest)
{
    int64_t most = 0;
    *n_longest = 0;
    for (int k = 1; (int64_t)k * n_slots < n; k++) {
        int64_t sum = 0;
        for (int i = k * n_slots - k; i <= k * n_slots; i++)
            sum += list[i].ps;
        if (sum > most) {
            most = sum;
            *n_longest = k * n_slots + 1;
        }
    }
    return most;
}

cz_solve_bound cz_solve_bound_find(cz_arena *scratch,
                                   const cz_solve_problem *problem)
{
    const int n_slots = problem->n_ranks * problem->n_hosts;
    cz_solve_bound bound = {.item = -1};
    int n;
    int64_t least, total = initial_sum(problem, &least);
    const timed *list = list_items(scratch, problem, &n, &total);

    bound.mean_ps = bound.max_ps = cz_ceil_div(total, n_slots);
    if (n > 0) {
        bound.item = list[0].item;
        bound.item_ps = least + list[0].ps;
        bound.pigeonhole_ps = pigeonhole(list, n, n_slots, &bound.n_longest);
        bound.pigeonhole_ps += bound.n_longest > 0 ? least : 0;
    }
    if (bound.item_ps > bound.max_ps) {
        bound.max_ps = bound.item_ps;
        bound.binding = CZ_BOUND_ITEM;
    }
    if (bound.pigeonhole_ps > bound.max_ps) {
        bound.max_ps = bound.pigeonhole_ps;
        bound.binding = CZ_BOUND_PIGEONHOLE;
    }
    return bound;
}

int64_t cz_solve_bound_padded(const cz_solve_problem *problem)
{
    int64_t sum = 0;
    for (int b = 0; b < problem->n_buckets; b++)
        sum += problem->n_ranks * cz_solve_least_share(problem, b);
    return sum;
}
