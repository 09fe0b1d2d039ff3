/* Plans of one row: thresholds to start from, then threshold accepting over
 * ways, blocks and order.  What is kept is the front of time and bytes. */
#include "passes/solve/subgroup_internal.h"

#include <stdlib.h>
#include <string.h>

#include "passes/solve/arithmetic.h"

enum {
    N_THRESHOLDS = 6, /* least time of the row times 8/8, 9/8, ... */
    N_PRICES = 4,     /* of a byte on the wire: free, then dearer */
    WALK = 500        /* tries from one plan of the front */
};

struct cz_subgroup_search {
    const cz_subgroup_problem *problem;
    cz_arena *arena;
    cz_subgroup_front front;
    int n;
    cz_subgroup_job *jobs, *old;
    cz_subgroup_room *room;
    uint64_t random;
    int64_t target_ps;            /* faster is no better */
    int64_t price_num, price_den; /* picoseconds per byte */
};

typedef cz_subgroup_search search;

static uint64_t draw(search *s, int n)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (s->random >> 33) % (uint64_t)n;
}

static const cz_subgroup_way *way_of(const search *s, const cz_subgroup_job *j)
{
    return &s->problem->classes[j->of].ways[j->way];
}

/* ---- the front ---- */

static bool is_beaten(const cz_subgroup_front *front,
                      const cz_subgroup_cost *cost)
{
    for (int i = 0; i < front->n; i++)
        if (front->rows[i].cost.time_ps <= cost->time_ps &&
            front->rows[i].cost.wire_bytes <= cost->wire_bytes)
            return true;
    return false;
}

static void keep(search *s, const cz_subgroup_cost *cost)
{
    cz_subgroup_front *front = &s->front;
    cz_subgroup_row *rows = CZ_NEW(s->arena, cz_subgroup_row, front->n + 1);
    cz_subgroup_job *jobs = CZ_NEW(s->arena, cz_subgroup_job, s->n);
    int n = 0, i = 0;
    memcpy(jobs, s->jobs, sizeof *jobs * (size_t)s->n);
    while (i < front->n && front->rows[i].cost.time_ps < cost->time_ps)
        rows[n++] = front->rows[i++];
    rows[n++] = (cz_subgroup_row){s->n, jobs, *cost};
    for (; i < front->n; i++)
        if (front->rows[i].cost.wire_bytes < cost->wire_bytes)
            rows[n++] = front->rows[i];
    *front = (cz_subgroup_front){n, rows};
}

static int64_t score_of(const search *s, int64_t time_ps, int64_t done_ps,
                        int64_t wire_bytes)
{
    const int64_t over = cz_solve_max(time_ps - s->target_ps, 0);
    return over + done_ps / s->problem->width / 8 +
           wire_bytes / s->price_den * s->price_num;
}

/* What the score cannot be below, when time is left out: no rank is done
 * before it has computed.  *most_ps gets the fullest rank's compute. */
static int64_t timeless_score(const search *s, int64_t *most_ps)
{
    int64_t load[CZ_SUBGROUP_MAX_WIDTH] = {0}, sum = 0, wire = 0;
    for (int i = 0; i < s->n; i++) {
        const cz_subgroup_way *way = way_of(s, &s->jobs[i]);
        const int64_t part = cz_subgroup_work_ps(way) / way->g;
        for (int k = 0; k < way->g; k++)
            load[s->jobs[i].first + k] += part;
        wire += way->wire_bytes;
    }
    *most_ps = 0;
    for (int k = 0; k < s->problem->width; k++) {
        *most_ps = cz_solve_max(*most_ps, load[k]);
        sum += load[k];
    }
    return score_of(s, 0, sum, wire);
}

/* Time and priced bytes; INT64_MAX beyond a cap, or when it is more than
 * `most`. */
static int64_t score(search *s, int64_t most)
{
    cz_subgroup_cost cost;
    int64_t limit = INT64_MAX, compute;
    if (most < INT64_MAX) {
        limit = most - timeless_score(s, &compute);
        if (limit < 0)
            return INT64_MAX;
        limit += s->target_ps;
        if (compute > limit)
            return INT64_MAX;
    }
    const bool runs = cz_subgroup_run_within(s->room, s->problem, s->jobs, s->n,
                                             limit, &cost);
    if (!runs || cost.state_bytes > s->problem->state_cap_bytes)
        return INT64_MAX;
    if (!is_beaten(&s->front, &cost))
        keep(s, &cost);
    return score_of(s, cost.time_ps, cost.done_ps, cost.wire_bytes);
}

/* ---- where to start ---- */

/* The smallest g whose time alone meets the threshold, of those the least
 * rank-seconds; else the fastest. */
static int choose_way(const cz_subgroup_problem *problem,
                      const cz_subgroup_class *of, int64_t threshold_ps)
{
    int best = -1, fastest = 0;
    for (int w = 0; w < of->n_ways; w++) {
        const cz_subgroup_way *way = &of->ways[w];
        const int64_t alone = cz_subgroup_alone_ps(way, problem->latency_ps);
        if (alone <
            cz_subgroup_alone_ps(&of->ways[fastest], problem->latency_ps))
            fastest = w;
        if (alone > threshold_ps)
            continue;
        if (best < 0 || way->g < of->ways[best].g ||
            (way->g == of->ways[best].g &&
             cz_subgroup_work_ps(way) < cz_subgroup_work_ps(&of->ways[best])))
            best = w;
    }
    return best < 0 ? fastest : best;
}

typedef struct ranked {
    int g;
    int64_t work_ps;
    cz_subgroup_job job;
} ranked;

static int by_falling_size(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->g != b->g)
        return a->g < b->g ? 1 : -1;
    if (a->work_ps != b->work_ps)
        return a->work_ps < b->work_ps ? 1 : -1;
    return (a->job.of > b->job.of) - (a->job.of < b->job.of);
}

/* Largest g first, each on the aligned block that is least loaded. */
static void place(search *s, int64_t threshold_ps)
{
    int64_t load[CZ_SUBGROUP_MAX_WIDTH] = {0};
    ranked *order = CZ_NEW(s->arena, ranked, s->n);
    for (int i = 0; i < s->n; i++) {
        cz_subgroup_job job = s->jobs[i];
        job.way =
            choose_way(s->problem, &s->problem->classes[job.of], threshold_ps);
        const cz_subgroup_way *way = way_of(s, &job);
        order[i] = (ranked){way->g, cz_subgroup_work_ps(way), job};
    }
    qsort(order, (size_t)s->n, sizeof *order, by_falling_size);
    for (int i = 0; i < s->n; i++) {
        const int g = order[i].g;
        int best = 0;
        for (int first = g; first < s->problem->width; first += g)
            if (load[first] < load[best])
                best = first;
        for (int k = best; k < best + g; k++)
            load[k] += order[i].work_ps / g;
        s->jobs[i] = order[i].job;
        s->jobs[i].first = best;
    }
}

/* The best of all thresholds; s->jobs holds it. */
static void start(search *s)
{
    const size_t bytes = sizeof *s->jobs * (size_t)s->n;
    cz_subgroup_job *best = CZ_NEW(s->arena, cz_subgroup_job, s->n);
    int64_t best_score = INT64_MAX, least = 0;
    for (int i = 0; i < s->n; i++)
        least += cz_subgroup_least_work_ps(&s->problem->classes[s->jobs[i].of]);
    least /= s->problem->width;
    memcpy(best, s->jobs, bytes);
    for (int t = 0; t < N_THRESHOLDS; t++) {
        place(s, least / 8 * (8 + t));
        const int64_t now = score(s, INT64_MAX);
        if (now < best_score) {
            best_score = now;
            memcpy(best, s->jobs, bytes);
        }
    }
    memcpy(s->jobs, best, bytes);
}

/* ---- moves ---- */

static void redraw_block(search *s, cz_subgroup_job *job)
{
    const int g = way_of(s, job)->g;
    job->first = g * (int)draw(s, s->problem->width / g);
}

static void exchange_blocks(const search *s, cz_subgroup_job *a,
                            cz_subgroup_job *b)
{
    const int first = a->first;
    a->first = b->first - b->first % way_of(s, a)->g;
    b->first = first - first % way_of(s, b)->g;
}

static void exchange_places(cz_subgroup_job *a, cz_subgroup_job *b)
{
    const cz_subgroup_job job = *a;
    *a = *b;
    *b = job;
}

static void move(search *s)
{
    cz_subgroup_job *job = &s->jobs[draw(s, s->n)];
    cz_subgroup_job *other = &s->jobs[draw(s, s->n)];
    switch (draw(s, 8)) {
    case 0:
    case 1:
    case 2:
        job->way = (int)draw(s, s->problem->classes[job->of].n_ways);
        redraw_block(s, job);
        break;
    case 3:
    case 4:
        redraw_block(s, job);
        break;
    case 5:
    case 6:
        exchange_blocks(s, job, other);
        break;
    default:
        exchange_places(job, other);
    }
}

/* Threshold accepting: worse by less than the threshold is taken; it falls
 * evenly from `widest` to nothing. */
static void improve(search *s, int64_t now, int64_t widest, int n_tries)
{
    const size_t bytes = sizeof *s->jobs * (size_t)s->n;
    for (int i = 0; i < n_tries; i++) {
        const int64_t threshold = widest / n_tries * (n_tries - i);
        memcpy(s->old, s->jobs, bytes);
        for (uint64_t more = 1 + draw(s, 2); more > 0; more--)
            move(s);
        const int64_t most = now < INT64_MAX ? now + threshold : INT64_MAX;
        const int64_t next = score(s, most);
        if (next < INT64_MAX && next <= most)
            now = next;
        else if (now < INT64_MAX)
            memcpy(s->jobs, s->old, bytes);
    }
}

int64_t cz_subgroup_least_work_ps(const cz_subgroup_class *of)
{
    int64_t least = INT64_MAX;
    if (of->least_work_ps > 0)
        return of->least_work_ps;
    for (int w = 0; w < of->n_ways; w++)
        if (cz_subgroup_work_ps(&of->ways[w]) < least)
            least = cz_subgroup_work_ps(&of->ways[w]);
    return least;
}

/* A price at which all matrices' lightest ways cost as much as the least time
 * of the row, times part / (N_PRICES - 1). */
static void set_price(search *s, int part)
{
    int64_t bytes = 1, work = 0;
    for (int i = 0; i < s->n; i++) {
        const cz_subgroup_class *of = &s->problem->classes[s->jobs[i].of];
        int64_t least = INT64_MAX;
        for (int w = 0; w < of->n_ways; w++)
            if (of->ways[w].wire_bytes < least)
                least = of->ways[w].wire_bytes;
        bytes += least;
        work += cz_subgroup_least_work_ps(of);
    }
    s->price_num = work / s->problem->width * part / (N_PRICES - 1);
    s->price_den = bytes;
    /* Small enough that bytes / den * num loses little and fits. */
    const int64_t scale = s->price_num / 1000 > 0 ? s->price_num / 1000 : 1;
    s->price_num /= scale;
    s->price_den = s->price_den / scale > 0 ? s->price_den / scale : 1;
}

/* From a plan of the front that is about as fast as is wanted. */
static void walk(search *s, int n_tries)
{
    int at = 0;
    while (at + 1 < s->front.n && s->front.rows[at].cost.time_ps < s->target_ps)
        at++;
    at += (int)draw(s, 5) - 2;
    at = at < 0 ? 0 : at >= s->front.n ? s->front.n - 1 : at;
    memcpy(s->jobs, s->front.rows[at].jobs, sizeof *s->jobs * (size_t)s->n);
    set_price(s, (int)draw(s, N_PRICES));
    const int64_t now = score(s, INT64_MAX);
    improve(s, now, s->front.rows[at].cost.time_ps >> (2 + draw(s, 4)),
            n_tries);
}

const cz_subgroup_row *cz_subgroup_front_find(const cz_subgroup_front *front,
                                              int64_t time_ps)
{
    int i = front->n - 1;
    while (i >= 0 && front->rows[i].cost.time_ps > time_ps)
        i--;
    return i < 0 ? NULL : &front->rows[i];
}

const cz_subgroup_front *cz_subgroup_search_front(const cz_subgroup_search *s)
{
    return &s->front;
}

void cz_subgroup_search_on(cz_subgroup_search *s, int64_t target_ps,
                           int n_tries)
{
    s->target_ps = target_ps;
    for (; n_tries > 0 && s->n > 0; n_tries -= WALK)
        if (s->front.n > 0)
            walk(s, WALK);
        else
            improve(s, INT64_MAX, 0, WALK);
}

cz_subgroup_search *cz_subgroup_search_make(cz_arena *arena,
                                            const cz_subgroup_problem *problem,
                                            const int *counts)
{
    search *s = CZ_NEW(arena, search, 1);
    *s = (search){.problem = problem, .arena = arena, .random = 1};
    for (int c = 0; c < problem->n_classes; c++)
        for (int i = 0; i < counts[c]; i++)
            CZ_PUSH(arena, s->jobs, s->n)->of = c;
    s->old = CZ_NEW(arena, cz_subgroup_job, s->n);
    s->room = cz_subgroup_room_make(arena, problem->width, s->n);
    if (s->n == 0)
        *CZ_PUSH(arena, s->front.rows, s->front.n) = (cz_subgroup_row){0};
    for (int part = 0; part < N_PRICES && s->n > 0; part++) {
        set_price(s, part);
        start(s);
    }
    return s;
}
