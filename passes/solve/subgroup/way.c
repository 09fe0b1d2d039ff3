/* What ways cost by themselves, in whatever order. */
#include "passes/solve/subgroup/internal.h"

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

int64_t cz_subgroup_state_bytes(const cz_subgroup_problem *problem,
                                const cz_subgroup_job *jobs, int n)
{
    int64_t state[CZ_SUBGROUP_MAX_WIDTH] = {0}, most = 0;
    for (int i = 0; i < n; i++) {
        const cz_subgroup_class *of = &problem->classes[jobs[i].of];
        const cz_subgroup_way *way = &of->ways[jobs[i].way];
        const bool on_block = problem->states_on_block;
        const int first = on_block ? jobs[i].first : 0;
        const int n_ranks = on_block ? way->g : problem->width;
        for (int k = first; k < first + n_ranks; k++)
            state[k] += of->state_bytes * cz_subgroup_batch(way) / n_ranks;
    }
    for (int k = 0; k < problem->width; k++)
        most = cz_solve_max(most, state[k]);
    return most;
}

int64_t cz_subgroup_kernels_ps(const cz_subgroup_problem *problem,
                               const cz_subgroup_row *row)
{
    int64_t ranks[CZ_SUBGROUP_MAX_WIDTH] = {0}, most = 0;
    for (int i = 0; i < row->n_jobs; i++) {
        const cz_subgroup_job *job = &row->jobs[i];
        const cz_subgroup_way *way = cz_subgroup_way_of(problem, job);
        for (int rank = job->first; rank < job->first + way->g; rank++)
            ranks[rank] += cz_subgroup_work_ps(way) / way->g;
    }
    for (int rank = 0; rank < problem->width; rank++)
        most = cz_solve_max(most, ranks[rank]);
    return most;
}
