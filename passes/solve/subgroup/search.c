/* Plans of one row: thresholds to start from, then threshold accepting from
 * the best so far or from new ones, over ways, blocks and order, or over ways
 * with blocks that follow from them.  What is kept is the front of time and
 * bytes. */
#include "passes/solve/subgroup/internal.h"

#include <stdlib.h>
#include <string.h>

#include "dsl/base/arithmetic.h"

enum {
    N_THRESHOLDS = 6, /* least time of the row times 8/8, 9/8, ... */
    N_PRICES = 4,     /* of a byte: none, then halves of what the bound found */
    WALK = 500,       /* tries from one plan at least; or a */
    N_WALKS = 80,     /* part of all there are */
    N_AFRESH = 50,    /* new plans, of which one begins a walk */
    FULL_EFFORT = 32, /* jobs; of more, fewer plans are tried */
    ALIKE = 16,       /* part of the effort to start with */
    NEAR = 4          /* worse by more than this part is not looked at */
};

struct cz_subgroup_search {
    const cz_subgroup_problem *problem;
    cz_arena *arena;
    cz_subgroup_front front;
    cz_subgroup_draft draft;
    cz_subgroup_job *old, *best, *singles;
    int n_singles;
    const int *counts; /* [class] */
    cz_subgroup_room *room;
    int64_t least_ps, least_bytes; /* of all matrices: rank-seconds; wire */
    int64_t free_bytes;            /* that have no price */
    int64_t target_ps;             /* faster is no better */
    int64_t price, fit_price;      /* of a byte, in 2^-20 rank-picoseconds */
};

typedef cz_subgroup_search search;

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
    cz_subgroup_job *jobs = CZ_NEW(s->arena, cz_subgroup_job, s->draft.n);
    int n = 0, i = 0;
    memcpy(jobs, s->draft.jobs, sizeof *jobs * (size_t)s->draft.n);
    while (i < front->n && front->rows[i].cost.time_ps < cost->time_ps)
        rows[n++] = front->rows[i++];
    rows[n++] = (cz_subgroup_row){s->draft.n, jobs, *cost};
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
           (int64_t)(((cz_wide)cz_solve_max(wire_bytes - s->free_bytes, 0) *
                          s->price >>
                      CZ_SUBGROUP_PRICE_BITS) /
                     s->problem->width);
}

/* What the score cannot be below, when time is left out: no rank is done
 * before it has computed.  *most_ps gets the fullest rank's compute. */
static int64_t timeless_score(const search *s, int64_t *most_ps)
{
    int64_t load[CZ_SUBGROUP_MAX_WIDTH] = {0}, sum = 0, wire = 0;
    for (int i = 0; i < s->draft.n; i++) {
        const cz_subgroup_way *way =
            cz_subgroup_way_of(s->problem, &s->draft.jobs[i]);
        const int64_t part = cz_subgroup_work_ps(way) / way->g;
        for (int k = 0; k < way->g; k++)
            load[s->draft.jobs[i].first + k] += part;
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
    const bool runs = cz_subgroup_run_within(s->room, s->problem, s->draft.jobs,
                                             s->draft.n, limit, &cost);
    if (!runs || cost.state_bytes > s->problem->state_cap_bytes)
        return INT64_MAX;
    if (!is_beaten(&s->front, &cost))
        keep(s, &cost);
    return score_of(s, cost.time_ps, cost.done_ps, cost.wire_bytes);
}

static void put_jobs(search *s, const cz_subgroup_job *jobs, int n)
{
    memcpy(s->draft.jobs, jobs, sizeof *jobs * (size_t)n);
    s->draft.n = n;
}

/* ---- where to start ---- */

/* What a first plan asks of the ways of its matrices. */
typedef struct wish {
    int64_t threshold_ps; /* the smallest g whose time alone meets it, of those
                           * the least rank-seconds */
    int g; /* or, unless 0, this g, or the next smaller there is */
} wish;

static bool is_nearer(const cz_subgroup_problem *problem, const wish *want,
                      const cz_subgroup_way *a, const cz_subgroup_way *b)
{
    const int64_t alone_a = cz_subgroup_alone_ps(a, problem->latency_ps);
    const int64_t alone_b = cz_subgroup_alone_ps(b, problem->latency_ps);
    const bool meets_a = alone_a <= want->threshold_ps;
    const bool meets_b = alone_b <= want->threshold_ps;
    if (want->g > 0)
        return a->g != b->g ? a->g <= want->g && (a->g > b->g || b->g > want->g)
                            : alone_a < alone_b;
    if (!meets_a || !meets_b)
        return meets_a || (!meets_b && alone_a < alone_b);
    return a->g != b->g ? a->g < b->g
                        : cz_subgroup_work_ps(a) < cz_subgroup_work_ps(b);
}

/* Of one matrix. */
static int choose_way(const cz_subgroup_problem *problem,
                      const cz_subgroup_class *of, const wish *want)
{
    int best = -1;
    for (int w = 0; w < of->n_ways; w++)
        if (cz_subgroup_batch(&of->ways[w]) == 1 &&
            (best < 0 ||
             is_nearer(problem, want, &of->ways[w], &of->ways[best])))
            best = w;
    return best;
}

static void choose_ways(search *s, const wish *want)
{
    for (int i = 0; i < s->draft.n; i++) {
        cz_subgroup_job *job = &s->draft.jobs[i];
        job->way = choose_way(s->problem, &s->problem->classes[job->of], want);
    }
}

/* The best of all wishes; s->draft.jobs holds it. */
static void start(search *s)
{
    const size_t bytes = sizeof *s->draft.jobs * (size_t)s->draft.n;
    cz_subgroup_job *best = CZ_NEW(s->arena, cz_subgroup_job, s->draft.n);
    const int64_t least = s->least_ps / s->problem->width;
    int64_t best_score = INT64_MAX;
    int g = 1;
    memcpy(best, s->draft.jobs, bytes);
    for (int t = 0; t < N_THRESHOLDS || g <= s->problem->width; t++) {
        const bool by_time = t < N_THRESHOLDS;
        choose_ways(s, &(wish){least / 8 * (8 + t), by_time ? 0 : g});
        cz_subgroup_place(&s->draft, CZ_SUBGROUP_BY_SIZE);
        const int64_t now = score(s, INT64_MAX);
        if (now < best_score) {
            best_score = now;
            memcpy(best, s->draft.jobs, bytes);
        }
        g *= by_time ? 1 : 2;
    }
    memcpy(s->draft.jobs, best, bytes);
}

/* ways[class] one on, of those for one matrix; false: all have been. */
static bool count_on(const search *s, int *ways)
{
    for (int c = 0; c < s->problem->n_classes; c++) {
        const cz_subgroup_class *of = &s->problem->classes[c];
        if (s->counts[c] == 0)
            continue;
        do
            ways[c]++;
        while (ways[c] < of->n_ways &&
               cz_subgroup_batch(&of->ways[ways[c]]) > 1);
        if (ways[c] < of->n_ways)
            return true;
        ways[c] = 0;
    }
    return false;
}

static int64_t place_and_score(search *s, int64_t best)
{
    const cz_subgroup_order orders[] = {CZ_SUBGROUP_BY_SIZE,
                                        CZ_SUBGROUP_BY_LENGTH};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        cz_subgroup_place(&s->draft, orders[i]);
        const int64_t most = best < INT64_MAX ? best + best / NEAR : best;
        best = cz_solve_min(best, score(s, most));
    }
    return best;
}

/* All matrices of a class in one way: such plans one after the other, and then
 * some at random, with batches. */
static void start_alike(search *s, int n_tries)
{
    int *ways = CZ_NEW(s->arena, int, s->problem->n_classes);
    int64_t best = INT64_MAX;
    int n = 0;
    do {
        s->draft.n = 0;
        for (int c = 0; c < s->problem->n_classes; c++)
            cz_subgroup_put_alike(&s->draft, c, s->counts[c], ways[c]);
        best = place_and_score(s, best);
    } while (++n < n_tries && count_on(s, ways));
    for (n = 0; n < n_tries; n++) {
        cz_subgroup_redraw_alike(&s->draft, s->counts);
        best = place_and_score(s, best);
    }
    put_jobs(s, s->singles, s->n_singles);
}

/* ---- the search ---- */

static void place_at_random(search *s)
{
    cz_subgroup_place(&s->draft, (cz_subgroup_order)cz_subgroup_draw(
                                     &s->draft, CZ_SUBGROUP_N_ORDERS));
}

/* Blocks and order are changed like ways, or anew after each change of ways. */
typedef enum changes { CHANGE_ALL, CHANGE_WAYS } changes;

static void change(search *s, changes what)
{
    for (uint64_t more = 1 + cz_subgroup_draw(&s->draft, 2); more > 0; more--)
        if (what == CHANGE_WAYS)
            cz_subgroup_move_way(&s->draft);
        else
            cz_subgroup_move(&s->draft);
    if (what == CHANGE_WAYS)
        place_at_random(s);
}

/* Threshold accepting: worse by less than the threshold is taken; it falls
 * evenly from `widest` to nothing. */
static void improve(search *s, int64_t now, int64_t widest, int n_tries,
                    changes what)
{
    for (int i = 0; i < n_tries; i++) {
        const int64_t threshold = widest / n_tries * (n_tries - i);
        const int n = s->draft.n;
        memcpy(s->old, s->draft.jobs, sizeof *s->old * (size_t)n);
        change(s, what);
        const int64_t most = now < INT64_MAX ? now + threshold : INT64_MAX;
        const int64_t next = score(s, most);
        if (next < INT64_MAX && next <= most)
            now = next;
        else if (now < INT64_MAX)
            put_jobs(s, s->old, n);
    }
}

static int64_t least_bytes(const cz_subgroup_class *of)
{
    int64_t least = INT64_MAX;
    for (int w = 0; w < of->n_ways; w++) {
        const cz_subgroup_way *way = &of->ways[w];
        const int64_t bytes = way->wire_bytes / cz_subgroup_batch(way);
        if (bytes < least)
            least = bytes;
    }
    return least;
}

/* So many halves of the price that the bound found; or dearer, but only above
 * the row's share of the cap. */
static void set_price(search *s, int halves)
{
    const bool is_price_of_all = halves < N_PRICES;
    const int64_t share = s->problem->wire_cap_bytes / s->problem->n_rows;
    s->free_bytes = is_price_of_all ? 0 : share;
    s->price = is_price_of_all ? s->fit_price * halves / 2 : s->fit_price * 4;
}

/* Ways and batches anew, at random, or ways alone and alike for each class; of
 * several such plans the best. */
static int64_t start_afresh(search *s)
{
    const bool are_alike = cz_subgroup_draw(&s->draft, 2) == 0;
    int64_t best = INT64_MAX;
    int n_best = 0;
    for (int i = 0; i < N_AFRESH; i++) {
        put_jobs(s, s->singles, s->n_singles);
        if (are_alike)
            cz_subgroup_redraw_alike(&s->draft, s->counts);
        else
            cz_subgroup_redraw(&s->draft);
        place_at_random(s);
        const int64_t now = score(s, best);
        if (now >= best)
            continue;
        best = now;
        n_best = s->draft.n;
        memcpy(s->best, s->draft.jobs, sizeof *s->best * (size_t)n_best);
    }
    put_jobs(s, s->best, n_best);
    return best;
}

/* From a plan of the front that is about as fast as is wanted. */
static void walk(search *s, int n_tries)
{
    int at = 0;
    while (at + 1 < s->front.n && s->front.rows[at].cost.time_ps < s->target_ps)
        at++;
    at += (int)cz_subgroup_draw(&s->draft, 5) - 2;
    at = at < 0 ? 0 : at >= s->front.n ? s->front.n - 1 : at;
    set_price(s, (int)cz_subgroup_draw(&s->draft, 2 * N_PRICES));
    int64_t now = INT64_MAX;
    if (cz_subgroup_draw(&s->draft, 2) == 0)
        now = start_afresh(s);
    if (now == INT64_MAX) {
        put_jobs(s, s->front.rows[at].jobs, s->front.rows[at].n_jobs);
        now = score(s, INT64_MAX);
    }
    const changes what =
        cz_subgroup_draw(&s->draft, 2) ? CHANGE_WAYS : CHANGE_ALL;
    improve(s, now,
            s->front.rows[at].cost.time_ps >>
                (2 + cz_subgroup_draw(&s->draft, 4)),
            n_tries, what);
}

const cz_subgroup_front *cz_subgroup_search_front(const cz_subgroup_search *s)
{
    return &s->front;
}

/* Of more jobs each plan takes longer, quadratically. */
static int fewer(const search *s, int n_tries)
{
    const int64_t n = cz_solve_max(s->n_singles, FULL_EFFORT);
    return (int)((int64_t)n_tries * FULL_EFFORT / n * FULL_EFFORT / n);
}

void cz_subgroup_search_on(cz_subgroup_search *s, int64_t target_ps,
                           int n_tries)
{
    s->target_ps = target_ps;
    n_tries = fewer(s, n_tries);
    while (n_tries > 0 && s->n_singles > 0) {
        const int tries = (int)cz_solve_max(WALK, s->problem->effort / N_WALKS);
        if (s->front.n > 0)
            walk(s, tries);
        else
            improve(s, INT64_MAX, 0, tries, CHANGE_ALL);
        n_tries -= tries;
    }
}

cz_subgroup_search *cz_subgroup_search_make(cz_arena *arena,
                                            const cz_subgroup_problem *problem,
                                            int64_t price, const int *counts)
{
    search *s = CZ_NEW(arena, search, 1);
    int n = 0;
    for (int c = 0; c < problem->n_classes; c++)
        n += counts[c];
    *s = (search){.problem = problem,
                  .arena = arena,
                  .fit_price = price,
                  .counts = counts,
                  .draft = cz_subgroup_draft_make(arena, problem, n)};
    if (n == 0) {
        *CZ_PUSH(arena, s->front.rows, s->front.n) = (cz_subgroup_row){0};
        return s;
    }
    for (int c = 0; c < problem->n_classes; c++) {
        const cz_subgroup_class *of = &problem->classes[c];
        for (int i = 0; i < counts[c]; i++)
            s->draft.jobs[s->draft.n++].of = c;
        s->least_ps += counts[c] * cz_subgroup_least_work_ps(of);
        s->least_bytes += counts[c] > 0 ? counts[c] * least_bytes(of) : 0;
    }
    s->old = CZ_NEW(arena, cz_subgroup_job, n);
    s->best = CZ_NEW(arena, cz_subgroup_job, n);
    s->singles = CZ_NEW(arena, cz_subgroup_job, n);
    s->n_singles = n;
    memcpy(s->singles, s->draft.jobs, sizeof *s->singles * (size_t)n);
    s->room = cz_subgroup_room_make(arena, problem->width, n);
    for (int part = 0; part < N_PRICES; part++) {
        set_price(s, part);
        start(s);
    }
    start_alike(s, fewer(s, cz_subgroup_effort(problem) / ALIKE));
    return s;
}
