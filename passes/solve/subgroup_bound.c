/* Lower bounds: sums over ranks, and what cannot be divided. */
#include "passes/solve/subgroup_bound.h"

#include "dsl/base/checked.h"
#include "passes/solve/subgroup_internal.h"

#include <stdlib.h>

typedef int64_t measure(const cz_subgroup_class *of);

/* What the ranks of its block at least spend on the link: others may send
 * while they receive something else, so their time is not counted. */
static int64_t link_seconds(const cz_subgroup_class *of)
{
    int64_t least = INT64_MAX;
    for (int w = 0; w < of->n_ways; w++) {
        const cz_subgroup_way *way = &of->ways[w];
        int64_t time = 0;
        for (int p = 0; p < way->n_parts; p++)
            time += way->parts[p].exchange_ps;
        time = (time + way->gather_ps + way->scatter_ps) * way->g /
               cz_subgroup_batch(way);
        if (time < least)
            least = time;
    }
    return least;
}

static cz_subgroup_bound by_sum(const cz_subgroup_problem *problem,
                                measure *least)
{
    cz_subgroup_bound bound = {.of = -1};
    int64_t sum = 0, most = 0;
    for (int c = 0; c < problem->n_classes; c++) {
        const cz_subgroup_class *of = &problem->classes[c];
        const int64_t part = of->count > 0 ? least(of) * of->count : 0;
        sum += part;
        if (part <= most)
            continue;
        most = part;
        bound.of = c;
    }
    bound.time_ps = cz_ceil_div(sum, (int64_t)problem->n_rows * problem->width);
    return bound;
}

static cz_subgroup_bound by_item(const cz_subgroup_problem *problem)
{
    cz_subgroup_bound bound = {.of = -1};
    for (int c = 0; c < problem->n_classes; c++) {
        const cz_subgroup_class *of = &problem->classes[c];
        int64_t least = INT64_MAX;
        for (int w = 0; w < of->n_ways; w++) {
            const int64_t alone =
                cz_subgroup_alone_ps(&of->ways[w], problem->latency_ps);
            if (alone < least)
                least = alone;
        }
        if (of->count > 0 && least > bound.time_ps)
            bound = (cz_subgroup_bound){.time_ps = least, .of = c};
    }
    return bound;
}

/* ---- pigeons ---- */

typedef struct pigeons {
    int64_t work_ps;
    int of, count;
} pigeons;

static int by_falling_work(const void *left, const void *right)
{
    const pigeons *a = left, *b = right;
    if (a->work_ps != b->work_ps)
        return a->work_ps < b->work_ps ? 1 : -1;
    return (a->of > b->of) - (a->of < b->of);
}

static bool is_splittable(const cz_subgroup_class *of)
{
    for (int w = 0; w < of->n_ways; w++)
        if (of->ways[w].g > 1)
            return true;
    return false;
}

static int list_pigeons(const cz_subgroup_problem *problem, pigeons *list)
{
    int n = 0;
    for (int c = 0; c < problem->n_classes; c++) {
        const cz_subgroup_class *of = &problem->classes[c];
        if (of->count > 0 && !is_splittable(of))
            list[n++] = (pigeons){cz_subgroup_least_work_ps(of), c, of->count};
    }
    qsort(list, (size_t)n, sizeof *list, by_falling_work);
    return n;
}

/* Work of items [from, to) in falling order. */
static int64_t work_between(const pigeons *list, int n, int64_t from,
                            int64_t to)
{
    int64_t at = 0, work = 0;
    for (int i = 0; i < n; i++) {
        const int64_t end = at + list[i].count;
        const int64_t low = from > at ? from : at, high = to < end ? to : end;
        if (high > low)
            work += (high - low) * list[i].work_ps;
        at = end;
    }
    return work;
}

static int class_at(const pigeons *list, int n, int64_t item)
{
    for (int i = 0; i < n; i++) {
        if (item < list[i].count)
            return list[i].of;
        item -= list[i].count;
    }
    return -1;
}

/* Of the k n + 1 largest, the k + 1 smallest. */
static cz_subgroup_bound by_pigeons(cz_arena *scratch,
                                    const cz_subgroup_problem *problem)
{
    const int64_t n_ranks = (int64_t)problem->n_rows * problem->width;
    cz_subgroup_bound bound = {.of = -1};
    pigeons *list = CZ_NEW(scratch, pigeons, problem->n_classes);
    const int n = list_pigeons(problem, list);
    int64_t n_items = 0;
    for (int i = 0; i < n; i++)
        n_items += list[i].count;
    for (int64_t k = 1; k * n_ranks < n_items; k++) {
        const int64_t last = k * n_ranks;
        const int64_t work = work_between(list, n, last - k, last + 1);
        if (work > bound.time_ps)
            bound = (cz_subgroup_bound){.time_ps = work,
                                        .of = class_at(list, n, last),
                                        .n = (int)(k + 1)};
    }
    return bound;
}

cz_subgroup_bounds cz_subgroup_find_bounds(cz_arena *scratch,
                                           const cz_subgroup_problem *problem)
{
    cz_subgroup_bounds bounds = {
        {[CZ_SUBGROUP_MEAN] = by_sum(problem, cz_subgroup_least_work_ps),
         [CZ_SUBGROUP_ITEM] = by_item(problem),
         [CZ_SUBGROUP_PIGEON] = by_pigeons(scratch, problem),
         [CZ_SUBGROUP_LINK] = by_sum(problem, link_seconds)},
        CZ_SUBGROUP_MEAN};
    bounds.of_kind[CZ_SUBGROUP_FIT] = cz_subgroup_bound_fit(
        scratch, problem, bounds.of_kind[CZ_SUBGROUP_ITEM].time_ps);
    for (int kind = 0; kind < CZ_SUBGROUP_N_BOUNDS; kind++)
        if (bounds.of_kind[kind].time_ps >
            bounds.of_kind[bounds.binding].time_ps)
            bounds.binding = (cz_subgroup_bound_kind)kind;
    return bounds;
}
