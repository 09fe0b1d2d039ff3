/* One row's list: list scheduling of chains on two streams per rank.  A chain
 * is gather, parts of compute and exchange, scatter. */
#include "passes/solve/subgroup/internal.h"

#include <string.h>

#include "dsl/base/arithmetic.h"

typedef enum next { GATHER, COMPUTE, EXCHANGE, SCATTER, FINISHED } next;

typedef struct chain {
    const cz_subgroup_way *way;
    int first;
    int wave; /* of its gather */
    next next;
    int part;
    int64_t rest_ps; /* of what is not listed yet */
    int64_t *ready;  /* [width] end of its last operation on each rank */
    int last_op;     /* in the list */
    bool travels;    /* in the transfer that is made up */
    bool holds;      /* its buffers */
    uint64_t taken;  /* ranks where others have them, after it ended */
} chain;

typedef struct run {
    const cz_subgroup_problem *problem;
    int n, width;
    chain *chains;
    int wave, n_waves; /* the next to gather, of how many */
    int64_t stream_free[CZ_PIPELINE_N_STREAMS][CZ_SUBGROUP_MAX_WIDTH];
    /* Buffers of chains under way; of ended ones whose bytes nobody has taken
     * over, and when the last of those ended. */
    int64_t live[CZ_SUBGROUP_MAX_WIDTH], ended[CZ_SUBGROUP_MAX_WIDTH];
    int64_t ended_at[CZ_SUBGROUP_MAX_WIDTH];
    int64_t taken_at[CZ_SUBGROUP_MAX_WIDTH]; /* of those whose bytes others
                                              * have, the last end */
    int64_t peak_bytes, makespan;
    int64_t limit_ps; /* what would end later is given up */
    cz_arena *arena;
    cz_pipeline_list *list; /* NULL: not wanted */
} run;

static bool is_on(const chain *c, int rank)
{
    return rank >= c->first && rank < c->first + c->way->g;
}

/* Chains gather in waves: a wave has at most one chain of each rank. */
static void number_waves(run *r)
{
    int next_wave[CZ_SUBGROUP_MAX_WIDTH] = {0};
    for (int i = 0; i < r->n; i++) {
        chain *c = &r->chains[i];
        if (c->way->gather_ps == 0)
            continue;
        for (int k = c->first; k < c->first + c->way->g; k++)
            if (next_wave[k] > c->wave)
                c->wave = next_wave[k];
        for (int k = c->first; k < c->first + c->way->g; k++)
            next_wave[k] = c->wave + 1;
        if (c->wave + 1 > r->n_waves)
            r->n_waves = c->wave + 1;
    }
}

struct cz_subgroup_room {
    chain *chains;
    int64_t *ready; /* [job][width] */
};

cz_subgroup_room *cz_subgroup_room_make(cz_arena *arena, int width,
                                        int max_jobs)
{
    cz_subgroup_room *room = CZ_NEW(arena, cz_subgroup_room, 1);
    room->chains = CZ_NEW(arena, chain, max_jobs);
    room->ready = CZ_NEW(arena, int64_t, max_jobs * width);
    return room;
}

static void init(run *r, const cz_subgroup_room *room,
                 const cz_subgroup_job *jobs)
{
    const size_t width = (size_t)r->width;
    memset(room->ready, 0, sizeof *room->ready * width * (size_t)r->n);
    r->chains = room->chains;
    for (int i = 0; i < r->n; i++) {
        const cz_subgroup_class *of = &r->problem->classes[jobs[i].of];
        const cz_subgroup_way *way = &of->ways[jobs[i].way];
        r->chains[i] = (chain){
            .way = way,
            .first = jobs[i].first,
            .next = way->gather_ps > 0 ? GATHER : COMPUTE,
            .rest_ps = cz_subgroup_alone_ps(way, r->problem->latency_ps),
            .ready = room->ready + (size_t)i * width,
            .last_op = -1};
    }
    number_waves(r);
}

/* ---- buffers ---- */

static bool lacks_room(const run *r, const chain *c, int rank)
{
    return r->live[rank] + r->ended[rank] + c->way->staging_bytes >
           r->problem->staging_cap_bytes;
}

/* When the chain's buffers can be had; -1: not before another one ends. */
static int64_t room_at(const run *r, const chain *c)
{
    int64_t at = 0;
    if (c->holds)
        return 0;
    for (int k = c->first; k < c->first + c->way->g; k++) {
        at = cz_solve_max(at, r->taken_at[k]);
        if (!lacks_room(r, c, k))
            continue;
        if (r->live[k] + c->way->staging_bytes > r->problem->staging_cap_bytes)
            return -1;
        at = cz_solve_max(at, r->ended_at[k]);
    }
    return at;
}

/* Whether the chain has ended and its buffers on the rank are still its own. */
static bool has_left(const chain *c, int rank)
{
    return c->next == FINISHED && is_on(c, rank) && !(c->taken >> rank & 1);
}

static int add_wait(int *waits, int n, int op)
{
    for (int i = 0; i < n; i++)
        if (waits[i] == op)
            return n;
    waits[n] = op;
    return n + 1;
}

/* Take buffers; on ranks where room is lacking those of ended chains are given
 * up, and from then on everyone waits for their end.  Returns how many
 * operations, in `waits`, must have ended before. */
static int take_room(run *r, chain *c, int *waits)
{
    int n = 0;
    for (int k = c->first; k < c->first + c->way->g; k++)
        for (int i = 0; i < r->n && lacks_room(r, c, k); i++) {
            chain *e = &r->chains[i];
            if (!has_left(e, k))
                continue;
            r->ended[k] -= e->way->staging_bytes;
            r->taken_at[k] = cz_solve_max(r->taken_at[k], e->ready[k]);
            e->taken |= (uint64_t)1 << k;
        }
    for (int k = c->first; k < c->first + c->way->g && waits; k++)
        for (int i = 0; i < r->n; i++)
            if (r->chains[i].taken >> k & 1)
                n = add_wait(waits, n, r->chains[i].last_op);
    for (int k = c->first; k < c->first + c->way->g; k++) {
        r->live[k] += c->way->staging_bytes;
        r->peak_bytes = cz_solve_max(r->peak_bytes, r->live[k] + r->ended[k]);
    }
    c->holds = true;
    return n;
}

static void leave_room(run *r, chain *c)
{
    for (int k = c->first; k < c->first + c->way->g; k++) {
        r->live[k] -= c->way->staging_bytes;
        r->ended[k] += c->way->staging_bytes;
        r->ended_at[k] = cz_solve_max(r->ended_at[k], c->ready[k]);
    }
}

/* ---- when could it start ---- */

/* The latest rank's start, of ranks [first, first + n). */
static int64_t start_of(const run *r, const chain *c, cz_pipeline_stream stream,
                        int first, int n)
{
    int64_t start = room_at(r, c);
    if (start < 0)
        return -1;
    for (int k = first; k < first + n; k++)
        start = cz_solve_max(
            start, cz_solve_max(r->stream_free[stream][k], c->ready[k]));
    return start;
}

static int64_t chain_start(const run *r, const chain *c)
{
    switch (c->next) {
    case COMPUTE:
        return start_of(r, c, CZ_PIPELINE_COMPUTE, c->first, c->way->g);
    case EXCHANGE:
        return start_of(r, c, CZ_PIPELINE_LINK, c->first, c->way->g);
    case SCATTER:
        return start_of(r, c, CZ_PIPELINE_LINK, 0, r->width);
    case GATHER:
    case FINISHED:
        break;
    }
    return -1;
}

static bool in_wave(const run *r, const chain *c)
{
    return c->next == GATHER && c->wave == r->wave;
}

/* Also the longest rest of the wave's chains. */
static int64_t wave_start(const run *r, int64_t *rest_ps)
{
    int64_t start = 0;
    *rest_ps = 0;
    for (int i = 0; i < r->n; i++) {
        const chain *c = &r->chains[i];
        if (!in_wave(r, c))
            continue;
        const int64_t s = start_of(r, c, CZ_PIPELINE_LINK, 0, r->width);
        if (s < 0)
            return -1;
        start = cz_solve_max(start, s);
        *rest_ps = cz_solve_max(*rest_ps, c->rest_ps);
    }
    return start;
}

/* ---- put it into the list ---- */

/* NULL when no list is wanted. */
static cz_pipeline_op *append(run *r, cz_pipeline_stream stream, bool is_joint,
                              int first, int n, const int64_t *ps)
{
    if (!r->list)
        return NULL;
    int64_t *own = CZ_NEW(r->arena, int64_t, n);
    memcpy(own, ps, sizeof *own * (size_t)n);
    cz_pipeline_op *op = CZ_PUSH(r->arena, r->list->ops, r->list->n_ops);
    *op = (cz_pipeline_op){stream, -1, is_joint, first, n, own, NULL, 0};
    return op;
}

/* The operation follows the chain's last one, and what its buffers wait for. */
static void link_to(run *r, cz_pipeline_op *op, chain *c)
{
    const int n_old = op ? op->n_waits : 0;
    int *waits = op ? CZ_NEW(r->arena, int, n_old + r->n + 1) : NULL;
    int n = n_old;
    if (op && n_old > 0)
        memcpy(waits, op->waits, sizeof *waits * (size_t)n_old);
    if (op && c->last_op >= 0)
        waits[n++] = c->last_op;
    if (!c->holds)
        n += take_room(r, c, op ? waits + n : NULL);
    if (!op)
        return;
    op->waits = waits;
    op->n_waits = n;
    op->of = (int)(c - r->chains);
    c->last_op = r->list->n_ops - 1;
}

static void occupy(run *r, cz_pipeline_stream stream, int rank, int64_t end)
{
    r->stream_free[stream][rank] = end;
    r->makespan = cz_solve_max(r->makespan, end);
}

/* A transfer of the whole row: [width] times, -1 where nothing travels. */
static cz_pipeline_op *transfer(run *r, int64_t start, const int64_t *ps)
{
    for (int k = 0; k < r->width; k++)
        if (ps[k] >= 0)
            occupy(r, CZ_PIPELINE_LINK, k, start + ps[k]);
    return append(r, CZ_PIPELINE_LINK, true, 0, r->width, ps);
}

static void finish(run *r, chain *c)
{
    c->next = FINISHED;
    leave_room(r, c);
}

/* Ranks of a block receive what others send, and send back what these get:
 * both ways at once. */
static void find_link_times(const run *r, int64_t *ps)
{
    int64_t on[CZ_SUBGROUP_MAX_WIDTH] = {0};
    int64_t others[CZ_SUBGROUP_MAX_WIDTH] = {0};
    for (int i = 0; i < r->n; i++) {
        const chain *c = &r->chains[i];
        const cz_subgroup_way *way = c->way;
        const bool back = c->next == SCATTER;
        for (int k = 0; c->travels && k < r->width; k++)
            if (is_on(c, k))
                on[k] += back ? way->scatter_ps : way->gather_ps;
            else
                others[k] +=
                    back ? way->scatter_other_ps : way->gather_other_ps;
    }
    for (int k = 0; k < r->width; k++) {
        const int64_t most = cz_solve_max(on[k], others[k]);
        ps[k] = most > 0 ? most + r->problem->latency_ps : -1;
    }
}

/* The gathers, or the scatters, of all chains that travel: one transfer. */
static void travel(run *r, int64_t start)
{
    int64_t ps[CZ_SUBGROUP_MAX_WIDTH];
    int n = 0;
    find_link_times(r, ps);
    cz_pipeline_op *op = transfer(r, start, ps);
    for (int i = 0; i < r->n; i++) {
        chain *c = &r->chains[i];
        if (!c->travels)
            continue;
        link_to(r, op, c);
        n++;
        for (int k = c->first; k < c->first + c->way->g; k++)
            c->ready[k] = start + ps[k];
        c->travels = false;
        if (c->next == SCATTER) {
            finish(r, c);
            continue;
        }
        c->rest_ps -= c->way->gather_ps + r->problem->latency_ps;
        c->next = COMPUTE;
    }
    if (op && n > 1)
        op->of = -1;
}

static void gather_wave(run *r, int64_t start)
{
    for (int i = 0; i < r->n; i++)
        r->chains[i].travels = in_wave(r, &r->chains[i]);
    travel(r, start);
    r->wave++;
}

/* What follows the part just done, or its exchange. */
static void advance(run *r, chain *c)
{
    if (c->next == COMPUTE && c->way->parts[c->part].exchange_ps > 0) {
        c->next = EXCHANGE;
        return;
    }
    c->next = COMPUTE;
    if (++c->part < c->way->n_parts)
        return;
    if (c->way->scatter_ps > 0)
        c->next = SCATTER;
    else
        finish(r, c);
}

/* On every rank as soon as it can. */
static void compute(run *r, chain *c)
{
    const int64_t ps = c->way->parts[c->part].compute_ps;
    const int64_t room = room_at(r, c);
    int64_t each[CZ_SUBGROUP_MAX_WIDTH];
    for (int i = 0; i < c->way->g; i++) {
        const int k = c->first + i;
        const int64_t start = cz_solve_max(
            room,
            cz_solve_max(r->stream_free[CZ_PIPELINE_COMPUTE][k], c->ready[k]));
        each[i] = ps;
        occupy(r, CZ_PIPELINE_COMPUTE, k, c->ready[k] = start + ps);
    }
    link_to(r, append(r, CZ_PIPELINE_COMPUTE, false, c->first, c->way->g, each),
            c);
    c->rest_ps -= ps;
    advance(r, c);
}

static void exchange(run *r, chain *c, int64_t start)
{
    const int64_t ps = c->way->parts[c->part].exchange_ps;
    int64_t each[CZ_SUBGROUP_MAX_WIDTH];
    for (int i = 0; i < c->way->g; i++) {
        each[i] = ps;
        occupy(r, CZ_PIPELINE_LINK, c->first + i, start + ps);
        c->ready[c->first + i] = start + ps;
    }
    link_to(r, append(r, CZ_PIPELINE_LINK, true, c->first, c->way->g, each), c);
    c->rest_ps -= ps;
    advance(r, c);
}

/* With it goes what can be scattered by the time it would be done: it waits
 * for that. */
static void scatter(run *r, const chain *first, int64_t start)
{
    const int64_t done = start + first->way->scatter_ps;
    for (int i = 0; i < r->n; i++) {
        chain *c = &r->chains[i];
        const int64_t own = c->next == SCATTER ? chain_start(r, c) : INT64_MAX;
        c->travels = own <= done;
        if (c->travels)
            start = cz_solve_max(start, own);
    }
    travel(r, start);
}

static void put(run *r, chain *c, int64_t start)
{
    if (c->next == COMPUTE)
        compute(r, c);
    else if (c->next == EXCHANGE)
        exchange(r, c, start);
    else
        scatter(r, c, start);
}

/* False when nothing is left that can be put. */
static bool put_next(run *r)
{
    int64_t start = INT64_MAX, rest = 0;
    chain *best = NULL;
    if (r->wave < r->n_waves) {
        const int64_t s = wave_start(r, &rest);
        start = s < 0 ? INT64_MAX : s;
    }
    const bool is_wave_possible = start < INT64_MAX;
    for (int i = 0; i < r->n; i++) {
        chain *c = &r->chains[i];
        const int64_t s = chain_start(r, c);
        if (s < 0 || s > start || (s == start && c->rest_ps <= rest))
            continue;
        start = s;
        rest = c->rest_ps;
        best = c;
    }
    if (best && rest > r->limit_ps - start)
        return false;
    if (best)
        put(r, best, start);
    else if (is_wave_possible)
        gather_wave(r, start);
    return best || is_wave_possible;
}

static void find_cost(const run *r, const cz_subgroup_job *jobs,
                      cz_subgroup_cost *cost)
{
    *cost = (cz_subgroup_cost){
        .time_ps = r->makespan,
        .staging_bytes = r->peak_bytes,
        .state_bytes = cz_subgroup_state_bytes(r->problem, jobs, r->n)};
    for (int k = 0; k < r->width; k++)
        cost->done_ps += cz_solve_max(r->stream_free[CZ_PIPELINE_COMPUTE][k],
                                      r->stream_free[CZ_PIPELINE_LINK][k]);
    for (int i = 0; i < r->n; i++)
        cost->wire_bytes += r->chains[i].way->wire_bytes;
}

static bool run_all(run *r, const cz_subgroup_room *room,
                    const cz_subgroup_job *jobs, cz_subgroup_cost *cost)
{
    init(r, room, jobs);
    while (put_next(r)) {
    }
    find_cost(r, jobs, cost);
    for (int i = 0; i < r->n; i++)
        if (r->chains[i].next != FINISHED)
            return false;
    return true;
}

bool cz_subgroup_run_within(cz_subgroup_room *room,
                            const cz_subgroup_problem *problem,
                            const cz_subgroup_job *jobs, int n_jobs,
                            int64_t limit_ps, cz_subgroup_cost *cost)
{
    run r = {.problem = problem,
             .n = n_jobs,
             .width = problem->width,
             .limit_ps = limit_ps};
    return run_all(&r, room, jobs, cost);
}

bool cz_subgroup_run(cz_arena *arena, const cz_subgroup_problem *problem,
                     const cz_subgroup_job *jobs, int n_jobs,
                     cz_subgroup_cost *cost, cz_pipeline_list *list)
{
    run r = {.problem = problem,
             .n = n_jobs,
             .width = problem->width,
             .limit_ps = INT64_MAX,
             .arena = arena,
             .list = list};
    if (list)
        *list = (cz_pipeline_list){problem->width, 0, NULL};
    return run_all(&r, cz_subgroup_room_make(arena, problem->width, n_jobs),
                   jobs, cost);
}
