/* Vertex cuts by maximum flow: node v is split into 2v (in) and 2v + 1 (out),
 * joined by an arc of the node's capacity. */
#include "passes/cut/min_cut.h"

#include <string.h>

#define UNLIMITED (INT64_MAX / 4)

typedef struct arc {
    int from, to;
    int64_t left; /* what may still flow; arc a ^ 1 runs the other way */
} arc;

typedef struct network {
    cz_arena *arena;
    int n_nodes, n_arcs;
    arc *arcs;
    int source, sink;
    int *reached_by; /* arc by which a search came, -1 for not at all */
} network;

static void add_arc(network *net, int from, int to, int64_t capacity)
{
    net->arcs[net->n_arcs++] = (arc){from, to, capacity};
    net->arcs[net->n_arcs++] = (arc){to, from, 0};
}

static network build(cz_arena *arena, const cz_min_cut *problem)
{
    network net = {.arena = arena, .n_nodes = 2 * problem->n + 2};

    net.source = 2 * problem->n;
    net.sink = 2 * problem->n + 1;
    net.reached_by = CZ_NEW(arena, int, net.n_nodes);
    net.arcs = CZ_NEW(arena, arc, 2 * (3 * problem->n + problem->n_edges));
    for (int v = 0; v < problem->n; v++) {
        int64_t capacity = problem->capacity[v];
        add_arc(&net, 2 * v, 2 * v + 1,
                capacity == CZ_CUT_NEVER ? UNLIMITED : capacity);
        if (problem->source[v])
            add_arc(&net, net.source, 2 * v, UNLIMITED);
        if (problem->sink[v])
            add_arc(&net, 2 * v + 1, net.sink, UNLIMITED);
    }
    for (int e = 0; e < problem->n_edges; e++)
        add_arc(&net, 2 * problem->edges[e][0] + 1, 2 * problem->edges[e][1],
                UNLIMITED);
    return net;
}

/* Breadth first along arcs with room, or against them from the sink. */
static void search(network *net, int start, bool backward)
{
    int *queue = CZ_NEW(net->arena, int, net->n_nodes);
    int head = 0, tail = 0;

    for (int v = 0; v < net->n_nodes; v++)
        net->reached_by[v] = -1;
    net->reached_by[start] = net->n_arcs;
    queue[tail++] = start;
    while (head < tail) {
        int v = queue[head++];
        for (int a = 0; a < net->n_arcs; a++) {
            const arc *it = &net->arcs[a];
            int next = backward ? it->from : it->to;
            if ((backward ? it->to : it->from) != v || it->left == 0 ||
                net->reached_by[next] >= 0)
                continue;
            net->reached_by[next] = a;
            queue[tail++] = next;
        }
    }
}

/* One shortest path from source to sink, filled.  What flowed: 0 when there
 * is none. */
static int64_t augment(network *net)
{
    int64_t room = UNLIMITED;

    search(net, net->source, false);
    if (net->reached_by[net->sink] < 0)
        return 0;
    for (int v = net->sink; v != net->source;) {
        const arc *it = &net->arcs[net->reached_by[v]];
        room = it->left < room ? it->left : room;
        v = it->from;
    }
    for (int v = net->sink; v != net->source;) {
        int a = net->reached_by[v];
        net->arcs[a].left -= room;
        net->arcs[a ^ 1].left += room;
        v = net->arcs[a].from;
    }
    return room;
}

bool cz_min_cut_solve(cz_arena *arena, const cz_min_cut *problem, bool *cut)
{
    network net = build(arena, problem);

    for (int64_t flow = augment(&net); flow > 0; flow = augment(&net))
        if (flow > UNLIMITED / 2)
            return false;
    if (problem->near_sink)
        search(&net, net.sink, true);
    else
        search(&net, net.source, false);
    for (int v = 0; v < problem->n; v++) {
        const int in = 2 * v, out = 2 * v + 1;
        const bool reaches_in = net.reached_by[in] >= 0;
        const bool reaches_out = net.reached_by[out] >= 0;
        cut[v] = problem->near_sink ? reaches_out && !reaches_in
                                    : reaches_in && !reaches_out;
    }
    return true;
}
