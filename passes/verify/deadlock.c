/* V4: with zero buffering, every run completes if and only if the graph of
 * starts and completions has no cycle (Kahn's algorithm).  A rank's operations
 * start in list order, each after the one before it completed: the strictest
 * executor, and the order that communication libraries ask for. */
#include "passes/verify/verify_internal.h"

#include <string.h>

typedef struct edge {
    int64_t from, to;
} edge;

typedef struct graph {
    verifier *v;
    int64_t n_events; /* starts and completions, then one hub per collective
                       * and rank 0 of its communicator */
    edge *edges;
    int n_edges;
} graph;

static int64_t start_of(const graph *g, int64_t rank, int op)
{
    return (rank * g->v->view->n_ops + op) * 2;
}

static int64_t hub_of(const graph *g, int64_t rank, int op)
{
    return (g->v->view->n_ranks + rank) * g->v->view->n_ops * 2 + op;
}

static void add_edge(graph *g, int64_t from, int64_t to)
{
    *CZ_PUSH(g->v->arena, g->edges, g->n_edges) = (edge){from, to};
}

static bool meets_others(cz_step_kind kind)
{
    return kind == CZ_STEP_REDUCE_SCATTER || kind == CZ_STEP_ALL_GATHER ||
           kind == CZ_STEP_ALL_REDUCE || kind == CZ_STEP_TRANSFER;
}

/* Operations that meet no other rank have one way in and one out: a cycle
 * through them is one without them. */
static void add_rank(graph *g, int64_t rank)
{
    int previous = -1;

    for (int op = 0; op < g->v->view->n_ops; op++) {
        if (!meets_others(g->v->view->ops[op].kind) ||
            is_skipped(g->v, &g->v->view->ops[op], rank))
            continue;
        add_edge(g, start_of(g, rank, op), start_of(g, rank, op) + 1);
        if (previous >= 0)
            add_edge(g, start_of(g, rank, previous) + 1, start_of(g, rank, op));
        previous = op;
    }
}

/* A collective completes nowhere before it has started everywhere; a
 * communicator skips it as a whole, or not at all (V3). */
static void add_collective(graph *g, int op)
{
    for (int64_t rank = 0; rank < g->v->view->n_ranks; rank++) {
        const int64_t hub =
            hub_of(g,
                   cz_view_rank_at(g->v->view, &g->v->view->ops[op].fact->comm,
                                   0, rank),
                   op);
        if (is_skipped(g->v, &g->v->view->ops[op], rank))
            continue;
        add_edge(g, start_of(g, rank, op), hub);
        add_edge(g, hub, start_of(g, rank, op) + 1);
    }
}

/* Neither side of a transfer completes before both have started.  Pairs over
 * the whole list: where partners are in different operations, which V2 does
 * not allow either, it matters whether they would wait for ever. */
static void add_transfers(graph *g)
{
    int n = 0;
    const transfer_pair *pairs = pair_over_list(g->v, &n);

    for (int i = 0; i < n; i++) {
        const int64_t source = start_of(g, pairs[i].source, pairs[i].sent_in);
        const int64_t target =
            start_of(g, pairs[i].target, pairs[i].received_in);
        add_edge(g, source, target + 1);
        add_edge(g, target, source + 1);
    }
}

/* Targets of all edges, those of one source together: of event e they are
 * first[e] up to first[e + 1]. */
static int64_t *sort_targets(const graph *g, int *first)
{
    int64_t *targets = CZ_NEW(g->v->arena, int64_t, g->n_edges);
    int *next = CZ_NEW(g->v->arena, int, g->n_events + 1);

    for (int i = 0; i < g->n_edges; i++)
        first[g->edges[i].from + 1]++;
    for (int64_t e = 0; e < g->n_events; e++)
        first[e + 1] += first[e];
    memcpy(next, first, ((size_t)g->n_events + 1) * sizeof *next);
    for (int i = 0; i < g->n_edges; i++)
        targets[next[g->edges[i].from]++] = g->edges[i].to;
    return targets;
}

/* Take away events without predecessors until none is left. */
static int64_t drain(graph *g, int *n_before)
{
    int64_t *ready = CZ_NEW(g->v->arena, int64_t, g->n_events);
    int *first = CZ_NEW(g->v->arena, int, g->n_events + 1);
    const int64_t *targets = sort_targets(g, first);
    int64_t n_ready = 0, n_done = 0;

    for (int i = 0; i < g->n_edges; i++)
        n_before[targets[i]]++;
    for (int64_t e = 0; e < g->n_events; e++)
        if (n_before[e] == 0)
            ready[n_ready++] = e;
    while (n_done < n_ready) {
        const int64_t e = ready[n_done++];
        for (int i = first[e]; i < first[e + 1]; i++)
            if (--n_before[targets[i]] == 0)
                ready[n_ready++] = targets[i];
    }
    return n_done;
}

/* The parameter that a stuck operation waits for: of the first row whose
 * partner never starts. */
static place place_of_stuck(const graph *g, const int *n_before, int op,
                            int64_t rank)
{
    place at = place_on(g->v, op, rank);
    int n = 0;
    const transfer_pair *pairs = pair_over_list(g->v, &n);

    for (int i = 0; i < n; i++) {
        const transfer_pair *p = &pairs[i];
        const int64_t source = start_of(g, p->source, p->sent_in);
        const int64_t target = start_of(g, p->target, p->received_in);
        const bool is_here =
            start_of(g, rank, op) == source || start_of(g, rank, op) == target;
        if (is_here && (n_before[source] > 0 || n_before[target] > 0)) {
            at.param = start_of(g, rank, op) == source ? p->send->param
                                                       : p->receive->param;
            break;
        }
    }
    return at;
}

static void report_stuck(graph *g, const int *n_before)
{
    for (int op = 0; op < g->v->view->n_ops; op++) {
        for (int64_t rank = 0; rank < g->v->view->n_ranks; rank++) {
            if (n_before[start_of(g, rank, op) + 1] > 0) {
                reject(g->v, place_of_stuck(g, n_before, op, rank),
                       "never completes unless sends are buffered: it waits, "
                       "through other ranks, for an operation behind it");
                return;
            }
        }
    }
}

void check_deadlock(verifier *v)
{
    graph g = {v, 0, NULL, 0};
    int *n_before;

    if (v->view->n_ops == 0)
        return;
    g.n_events = hub_of(&g, v->view->n_ranks, 0);
    for (int64_t rank = 0; rank < v->view->n_ranks; rank++)
        add_rank(&g, rank);
    for (int op = 0; op < v->view->n_ops; op++) {
        const cz_step_kind kind = v->view->ops[op].kind;
        if (meets_others(kind) && kind != CZ_STEP_TRANSFER)
            add_collective(&g, op);
    }
    add_transfers(&g);
    n_before = CZ_NEW(v->arena, int, g.n_events + 1);
    if (drain(&g, n_before) != g.n_events)
        report_stuck(&g, n_before);
}
