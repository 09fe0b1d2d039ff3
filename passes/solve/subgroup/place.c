/* Blocks of a row's jobs from their ways, one job after the other. */
#include "passes/solve/subgroup/internal.h"

#include <stdlib.h>

typedef struct cz_subgroup_ranked {
    int g;
    int64_t work_ps, alone_ps;
    cz_subgroup_job job;
} ranked;

cz_subgroup_draft cz_subgroup_draft_make(cz_arena *arena,
                                         const cz_subgroup_problem *problem,
                                         int n)
{
    return (cz_subgroup_draft){.problem = problem,
                               .jobs = CZ_NEW(arena, cz_subgroup_job, n),
                               .ranked = CZ_NEW(arena, ranked, n),
                               .random = 1};
}

static int by_falling_size(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->g != b->g)
        return a->g < b->g ? 1 : -1;
    if (a->work_ps != b->work_ps)
        return a->work_ps < b->work_ps ? 1 : -1;
    return (a->job.of > b->job.of) - (a->job.of < b->job.of);
}

static int by_falling_length(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->alone_ps != b->alone_ps)
        return a->alone_ps < b->alone_ps ? 1 : -1;
    return by_falling_size(left, right);
}

static void shuffle(cz_subgroup_draft *d)
{
    for (int i = d->n - 1; i > 0; i--) {
        const int k = (int)cz_subgroup_draw(d, i + 1);
        const ranked other = d->ranked[i];
        d->ranked[i] = d->ranked[k];
        d->ranked[k] = other;
    }
}

/* The first rank of the aligned block whose fullest rank has least; it gets
 * `more`. */
static int take_block(int64_t *load, int width, int g, int64_t more)
{
    int64_t lowest = INT64_MAX;
    int best = 0;
    for (int first = 0; first < width; first += g) {
        int64_t most = 0;
        for (int k = first; k < first + g; k++)
            most = cz_solve_max(most, load[k]);
        if (most < lowest) {
            lowest = most;
            best = first;
        }
    }
    for (int k = best; k < best + g; k++)
        load[k] = lowest + more;
    return best;
}

static void rank(cz_subgroup_draft *d)
{
    for (int i = 0; i < d->n; i++) {
        const cz_subgroup_way *way =
            cz_subgroup_way_of(d->problem, &d->jobs[i]);
        d->ranked[i] = (ranked){
            way->g, cz_subgroup_work_ps(way),
            cz_subgroup_alone_ps(way, d->problem->latency_ps), d->jobs[i]};
    }
}

void cz_subgroup_place(cz_subgroup_draft *d, cz_subgroup_order order)
{
    int64_t load[CZ_SUBGROUP_MAX_WIDTH] = {0};
    rank(d);
    if (order == CZ_SUBGROUP_SHUFFLED)
        shuffle(d);
    else
        qsort(d->ranked, (size_t)d->n, sizeof *d->ranked,
              order == CZ_SUBGROUP_BY_SIZE ? by_falling_size
                                           : by_falling_length);
    for (int i = 0; i < d->n; i++) {
        const ranked *next = &d->ranked[i];
        d->jobs[i] = next->job;
        d->jobs[i].first = take_block(load, d->problem->width, next->g,
                                      next->work_ps / next->g);
    }
}
