/* Lower bounds: sums over ranks, and what cannot be divided. */
#include "passes/solve/subgroup/bound.h"

#include "dsl/base/checked.h"
#include "passes/solve/bound/pigeonhole.h"
#include "passes/solve/subgroup/internal.h"

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

static bool is_splittable(const cz_subgroup_class *of)
{
    for (int w = 0; w < of->n_ways; w++)
        if (of->ways[w].g > 1)
            return true;
    return false;
}

static cz_subgroup_bound by_pigeons(cz_arena *scratch,
                                    const cz_subgroup_problem *problem)
{
    cz_pile *piles = CZ_NEW(scratch, cz_pile, problem->n_classes);
    int n = 0;
    for (int c = 0; c < problem->n_classes; c++) {
        const cz_subgroup_class *of = &problem->classes[c];
        if (of->count > 0 && !is_splittable(of))
            piles[n++] = (cz_pile){cz_subgroup_least_work_ps(of), of->count, c};
    }
    const cz_pigeons found =
        cz_pigeonhole_find(piles, n, (int64_t)problem->n_rows * problem->width);
    return (cz_subgroup_bound){.time_ps = found.time_ps,
                               .of = found.of,
                               .n = found.k > 0 ? (int)found.k + 1 : 0};
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
