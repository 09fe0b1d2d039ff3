/* One row: blocks for its jobs, longest processing time first, and the time
 * they take, by list scheduling of chains on two streams per rank.  A chain is
 * gather, parts of compute and exchange, scatter. */
#include "passes/solve/subgroup/internal.h"

#include "dsl/base/checked.h"

#include "passes/timeline/streams.h"

#include <stdlib.h>
#include <string.h>

/* What can be under way in a row, for each of its ranks. */
enum { DEPTH = 2 };

typedef struct ranked {
    int g;
    int64_t work_ps, alone_ps;
    cz_subgroup_job job;
} ranked;

typedef struct chain {
    const cz_subgroup_candidate *candidate;
    int first;
    int step;         /* gather, compute, exchange, compute, ..., scatter */
    int64_t ready_ps; /* the end of its last step, on all ranks */
    int64_t rest_ps;  /* of steps to come */
} chain;

struct cz_subgroup_workspace {
    const cz_subgroup_problem *problem;
    ranked *ranked;   /* [max_jobs] */
    chain *under_way; /* [DEPTH * width] */
    cz_timeline_streams streams;
    /* On each rank: bytes of chains under way, at most so far, of all so far,
     * and when the last of those that are done has ended. */
    int64_t live[CZ_SUBGROUP_MAX_WIDTH], peak[CZ_SUBGROUP_MAX_WIDTH];
    int64_t begun[CZ_SUBGROUP_MAX_WIDTH], ended_ps[CZ_SUBGROUP_MAX_WIDTH];
};

typedef cz_subgroup_workspace workspace;

workspace *cz_subgroup_workspace_make(cz_arena *arena,
                                      const cz_subgroup_problem *problem,
                                      int max_jobs)
{
    workspace *r = CZ_NEW(arena, workspace, 1);
    r->problem = problem;
    r->ranked = CZ_NEW(arena, ranked, max_jobs);
    r->under_way = CZ_NEW(arena, chain, DEPTH * problem->width);
    r->streams.n_ranks = problem->width;
    r->streams.free_ps =
        CZ_NEW(arena, int64_t, CZ_TIMELINE_N_STREAMS * problem->width);
    return r;
}

/* ---- blocks ---- */

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

void cz_subgroup_place(workspace *r, cz_subgroup_job *jobs, int n,
                       cz_subgroup_order order)
{
    int64_t load[CZ_SUBGROUP_MAX_WIDTH] = {0};
    for (int i = 0; i < n; i++) {
        const cz_subgroup_candidate *candidate =
            cz_subgroup_candidate_of(r->problem, &jobs[i]);
        r->ranked[i] = (ranked){
            candidate->g, cz_subgroup_work_ps(candidate),
            cz_subgroup_alone_ps(candidate, r->problem->latency_ps), jobs[i]};
    }
    qsort(r->ranked, (size_t)n, sizeof *r->ranked,
          order == CZ_SUBGROUP_BY_SIZE ? by_falling_size : by_falling_length);
    for (int i = 0; i < n; i++) {
        const ranked *next = &r->ranked[i];
        jobs[i] = next->job;
        jobs[i].first = take_block(load, r->problem->width, next->g,
                                   next->work_ps / next->g);
    }
}

/* ---- time ---- */

static int n_steps(const chain *c)
{
    return 2 * c->candidate->n_segments + 2;
}

static int64_t step_ps(const workspace *r, const chain *c)
{
    const cz_subgroup_candidate *candidate = c->candidate;
    const bool is_gather = c->step == 0;
    if (!is_gather && c->step < n_steps(c) - 1) {
        const cz_subgroup_segment *part =
            &candidate->segments[(c->step - 1) / 2];
        return c->step % 2 == 1 ? part->compute_ps : part->exchange_ps;
    }
    const int64_t ps = is_gather ? candidate->gather_ps : candidate->scatter_ps;
    return ps > 0 ? ps + r->problem->latency_ps : 0;
}

static cz_timeline_stream stream_of(const chain *c)
{
    return c->step % 2 == 1 && c->step < n_steps(c) - 1 ? CZ_TIMELINE_COMPUTE
                                                        : CZ_TIMELINE_LINK;
}

/* Whether its ranks have room for what it gathers; then it is under way.  Of
 * more than the cap in all it waits for the bytes of those that are done. */
static bool begin(workspace *r, const cz_subgroup_job *job, int n_under_way)
{
    const cz_subgroup_candidate *candidate =
        cz_subgroup_candidate_of(r->problem, job);
    if (n_under_way == DEPTH * r->problem->width)
        return false;
    for (int k = job->first; k < job->first + candidate->g; k++)
        if (r->live[k] + candidate->staging_bytes >
            r->problem->staging_cap_bytes)
            return false;
    chain c = {.candidate = candidate,
               .first = job->first,
               .rest_ps =
                   cz_subgroup_alone_ps(candidate, r->problem->latency_ps)};
    for (int k = job->first; k < job->first + candidate->g; k++) {
        r->live[k] += candidate->staging_bytes;
        r->peak[k] = cz_solve_max(r->peak[k], r->live[k]);
        r->begun[k] += candidate->staging_bytes;
        if (r->begun[k] > r->problem->staging_cap_bytes)
            c.ready_ps = cz_solve_max(c.ready_ps, r->ended_ps[k]);
    }
    r->under_way[n_under_way] = c;
    return true;
}

static int find_next(const workspace *r, int n)
{
    int best = 0;
    int64_t best_start = INT64_MAX;
    for (int i = 0; i < n; i++) {
        const chain *c = &r->under_way[i];
        const int64_t start = cz_timeline_start(
            &r->streams, stream_of(c), c->first, c->candidate->g, c->ready_ps);
        if (start > best_start ||
            (start == best_start && c->rest_ps <= r->under_way[best].rest_ps))
            continue;
        best = i;
        best_start = start;
    }
    return best;
}

/* The chain's next step, and after it those that take no time.  Every rank
 * computes as soon as it can; they gather, exchange and scatter together. */
static void put(workspace *r, chain *c)
{
    const cz_timeline_stream stream = stream_of(c);
    const int64_t ps = step_ps(r, c), ready = c->ready_ps;
    const int64_t joint = cz_timeline_start(&r->streams, stream, c->first,
                                            c->candidate->g, ready);
    for (int k = c->first; k < c->first + c->candidate->g && ps > 0; k++) {
        const int64_t start =
            stream == CZ_TIMELINE_LINK
                ? joint
                : cz_timeline_start(&r->streams, stream, k, 1, ready);
        c->ready_ps = cz_solve_max(
            c->ready_ps, cz_timeline_put(&r->streams, stream, k, start, ps));
    }
    c->rest_ps -= ps;
    do
        c->step++;
    while (c->step < n_steps(c) && step_ps(r, c) == 0);
}

/* When a rank is done counts so little that it decides between rows whose
 * slowest ranks are alike. */
enum { DONE = 32 };

static cz_subgroup_cost cost_of(const workspace *r, const cz_subgroup_job *jobs,
                                int n)
{
    const int width = r->problem->width;
    int64_t load[CZ_SUBGROUP_MAX_WIDTH] = {0}, kernels = 0, ramp = 0, done = 0;
    cz_subgroup_cost cost = {.time_ps = r->streams.makespan};
    for (int i = 0; i < n; i++) {
        const cz_subgroup_candidate *candidate =
            cz_subgroup_candidate_of(r->problem, &jobs[i]);
        for (int k = jobs[i].first; k < jobs[i].first + candidate->g; k++)
            load[k] += cz_subgroup_work_ps(candidate) / candidate->g;
        ramp = cz_solve_max(ramp, candidate->gather_ps + candidate->scatter_ps);
        cost.wire_bytes += candidate->wire_bytes;
    }
    for (int k = 0; k < width; k++) {
        kernels = cz_solve_max(kernels, load[k]);
        done +=
            cz_solve_max(*cz_timeline_free(&r->streams, CZ_TIMELINE_COMPUTE, k),
                         *cz_timeline_free(&r->streams, CZ_TIMELINE_LINK, k));
        cost.staging_bytes = cz_solve_max(cost.staging_bytes, r->peak[k]);
    }
    cost.score_ps = (cost.time_ps + kernels + ramp) / 2 + done / width / DONE;
    return cost;
}

cz_subgroup_cost cz_subgroup_run(workspace *r, const cz_subgroup_job *jobs,
                                 int n)
{
    int n_begun = 0, n_under_way = 0;
    const size_t width = (size_t)r->problem->width;
    memset(r->streams.free_ps, 0,
           CZ_TIMELINE_N_STREAMS * width * sizeof *r->streams.free_ps);
    r->streams.makespan = 0;
    for (size_t k = 0; k < width; k++)
        r->live[k] = r->peak[k] = r->begun[k] = r->ended_ps[k] = 0;
    while (n_begun < n || n_under_way > 0) {
        while (n_begun < n && begin(r, &jobs[n_begun], n_under_way)) {
            n_begun++;
            n_under_way++;
        }
        chain *next = &r->under_way[find_next(r, n_under_way)];
        put(r, next);
        if (next->step < n_steps(next))
            continue;
        for (int k = next->first; k < next->first + next->candidate->g; k++) {
            r->live[k] -= next->candidate->staging_bytes;
            r->ended_ps[k] = cz_solve_max(r->ended_ps[k], next->ready_ps);
        }
        n_under_way--;
        memmove(next, next + 1,
                (size_t)(&r->under_way[n_under_way] - next) * sizeof *next);
    }
    return cost_of(r, jobs, n);
}

/* ---- what ways cost by themselves ---- */

int64_t cz_subgroup_work_ps(const cz_subgroup_candidate *candidate)
{
    int64_t work = 0;
    for (int p = 0; p < candidate->n_segments; p++)
        work += candidate->segments[p].compute_ps;
    return work * candidate->g;
}

int64_t cz_subgroup_alone_ps(const cz_subgroup_candidate *candidate,
                             int64_t latency_ps)
{
    int64_t time = 0;
    for (int p = 0; p < candidate->n_segments; p++)
        time = cz_limited_add(
            time, cz_limited_add(candidate->segments[p].compute_ps,
                                 candidate->segments[p].exchange_ps));
    if (candidate->gather_ps > 0)
        time = cz_limited_add(time,
                              cz_limited_add(candidate->gather_ps, latency_ps));
    if (candidate->scatter_ps > 0)
        time = cz_limited_add(
            time, cz_limited_add(candidate->scatter_ps, latency_ps));
    return time;
}
