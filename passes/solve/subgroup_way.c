/* What a way costs by itself. */
#include "passes/solve/subgroup_internal.h"

int64_t cz_subgroup_work_ps(const cz_subgroup_way *way)
{
    int64_t work = 0;
    for (int p = 0; p < way->n_parts; p++)
        work += way->parts[p].compute_ps;
    return work * way->g;
}

int64_t cz_subgroup_alone_ps(const cz_subgroup_way *way, int64_t latency_ps)
{
    int64_t time = 0;
    for (int p = 0; p < way->n_parts; p++)
        time += way->parts[p].compute_ps + way->parts[p].exchange_ps;
    if (way->gather_ps > 0)
        time += way->gather_ps + latency_ps;
    if (way->scatter_ps > 0)
        time += way->scatter_ps + latency_ps;
    return time;
}

int64_t cz_subgroup_least_work_ps(const cz_subgroup_class *of)
{
    int64_t least = INT64_MAX;
    if (of->least_work_ps > 0)
        return of->least_work_ps;
    for (int w = 0; w < of->n_ways; w++) {
        const cz_subgroup_way *way = &of->ways[w];
        const int64_t work = cz_subgroup_work_ps(way) / cz_subgroup_batch(way);
        if (work < least)
            least = work;
    }
    return least;
}
