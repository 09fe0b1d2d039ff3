/* Grouping by greedy contraction: largest saving first. */
#include "passes/kernel/join.h"

#include <assert.h>

typedef struct grouper {
    cz_arena *arena;
    const cz_kernel_node *nodes;
    int n;
    int *group;     /* of each unit: the lowest unit in it */
    bool *reads;    /* [n * n] group * n + unit: reads it from outside */
    int *n_readers; /* of each unit: groups that do */
    bool *marked;   /* scratch of reaches_around() */
} grouper;

static bool *row(const grouper *g, int group)
{
    return &g->reads[(size_t)group * (size_t)g->n];
}

/* Bytes that need not be stored or loaded when groups a and b are one. */
static int64_t saving(const grouper *g, int a, int b)
{
    const bool *by_a = row(g, a), *by_b = row(g, b);
    int64_t bytes = 0;

    for (int s = 0; s < g->n; s++) {
        const cz_kernel_node *unit = &g->nodes[s];
        const bool inside = g->group[s] == a || g->group[s] == b;
        if (inside ? by_a[s] || by_b[s] : by_a[s] && by_b[s])
            bytes += unit->bytes;
        if (inside && (by_a[s] || by_b[s]) && !unit->stored &&
            g->n_readers[s] == 1)
            bytes += unit->bytes;
    }
    return bytes;
}

static bool far_between(const grouper *g, int a, int b)
{
    for (int u = 0; u < g->n; u++)
        for (int i = 0; i < g->nodes[u].n_in; i++) {
            int from = g->group[g->nodes[u].in[i]], to = g->group[u];
            if (g->nodes[u].far[i] &&
                ((from == a && to == b) || (from == b && to == a)))
                return true;
        }
    return false;
}

/* Mark every group that reads `from`, directly or not, but look neither into
 * `to` nor beyond it.  True when a marked one feeds `to`. */
static bool reaches_around(grouper *g, int from, int to)
{
    bool changed = true, found = false;

    for (int i = 0; i < g->n; i++)
        g->marked[i] = false;
    while (changed) {
        changed = false;
        for (int u = 0; u < g->n; u++)
            for (int i = 0; i < g->nodes[u].n_in; i++) {
                int source = g->group[g->nodes[u].in[i]];
                int group = g->group[u];
                if (group == to)
                    found = found || g->marked[source];
                else if (!g->marked[group] && group != from &&
                         (source == from || g->marked[source]))
                    changed = g->marked[group] = true;
            }
    }
    for (int u = 0; u < g->n && !found; u++)
        for (int i = 0; g->group[u] == to && i < g->nodes[u].n_in; i++)
            found = found || g->marked[g->group[g->nodes[u].in[i]]];
    return found;
}

static bool may_join(grouper *g, int a, int b)
{
    return !far_between(g, a, b) && !reaches_around(g, a, b) &&
           !reaches_around(g, b, a);
}

typedef struct pair {
    int a, b;
    int64_t saving;
} pair;

static void consider(grouper *g, pair *best, int u, int v)
{
    pair it = {g->group[u], g->group[v], 0};

    if (g->nodes[u].space < 0 || g->nodes[u].space != g->nodes[v].space ||
        it.a == it.b)
        return;
    if (it.a > it.b)
        it = (pair){it.b, it.a, 0};
    it.saving = saving(g, it.a, it.b);
    if (it.saving < best->saving ||
        (it.saving == best->saving &&
         (it.a > best->a || (it.a == best->a && it.b >= best->b))))
        return;
    if (it.saving > 0 && may_join(g, it.a, it.b))
        *best = it;
}

/* Pairs that save something: a unit and its operand, or two units with an
 * operand in common. */
static pair best_pair(grouper *g)
{
    pair best = {g->n, g->n, 0};

    for (int u = 0; u < g->n; u++)
        for (int i = 0; i < g->nodes[u].n_in; i++)
            consider(g, &best, g->nodes[u].in[i], u);
    for (int s = 0; s < g->n; s++)
        for (int a = 0; a < g->n && g->n_readers[s] > 1; a++)
            for (int b = a + 1; b < g->n && row(g, a)[s]; b++)
                if (row(g, b)[s])
                    consider(g, &best, a, b);
    return best;
}

static void join(grouper *g, int a, int b)
{
    bool *by_a = row(g, a), *by_b = row(g, b);

    for (int i = 0; i < g->n; i++)
        if (g->group[i] == b)
            g->group[i] = a;
    for (int s = 0; s < g->n; s++) {
        const bool outside = g->group[s] != a;
        g->n_readers[s] -= by_a[s] + by_b[s];
        by_a[s] = outside && (by_a[s] || by_b[s]);
        by_b[s] = false;
        g->n_readers[s] += by_a[s];
    }
}

static bool is_ready(const grouper *g, int group, const int *step)
{
    for (int u = 0; u < g->n; u++)
        for (int i = 0; g->group[u] == group && i < g->nodes[u].n_in; i++) {
            int source = g->nodes[u].in[i];
            if (g->group[source] != group && step[source] < 0 &&
                g->nodes[source].space != CZ_KERNEL_GIVEN)
                return false;
        }
    return true;
}

/* Of the groups that can run, the one whose last unit comes first: as close
 * to the order of the text as groups allow. */
static int next_group(const grouper *g, const int *step)
{
    int *last = CZ_NEW(g->arena, int, g->n);
    int best = -1;

    for (int u = 0; u < g->n; u++)
        last[g->group[u]] = u;
    for (int u = 0; u < g->n; u++)
        if (g->group[u] == u && g->nodes[u].space != CZ_KERNEL_GIVEN &&
            step[u] < 0 && (best < 0 || last[u] < last[best]) &&
            is_ready(g, u, step))
            best = u;
    return best;
}

static int order(const grouper *g, int *step)
{
    int n_steps = 0;

    for (int i = 0; i < g->n; i++)
        step[i] = -1;
    for (int it = next_group(g, step); it >= 0; it = next_group(g, step)) {
        for (int i = 0; i < g->n; i++)
            if (g->group[i] == it)
                step[i] = n_steps;
        n_steps++;
    }
    for (int i = 0; i < g->n; i++)
        assert(step[i] >= 0 || g->nodes[i].space == CZ_KERNEL_GIVEN);
    return n_steps;
}

static grouper begin(cz_arena *arena, const cz_kernel_node *nodes, int n)
{
    grouper g = {.arena = arena,
                 .nodes = nodes,
                 .n = n,
                 .group = CZ_NEW(arena, int, n),
                 .reads = cz_arena_alloc(arena, (size_t)n * (size_t)n, 1),
                 .n_readers = CZ_NEW(arena, int, n),
                 .marked = CZ_NEW(arena, bool, n)};

    for (int u = 0; u < n; u++) {
        g.group[u] = u;
        for (int i = 0; i < nodes[u].n_in; i++)
            row(&g, u)[nodes[u].in[i]] = true;
    }
    for (int u = 0; u < n; u++)
        for (int s = 0; s < n; s++)
            g.n_readers[s] += row(&g, u)[s];
    return g;
}

int cz_kernel_join(cz_arena *arena, const cz_kernel_node *nodes, int n,
                   int *step)
{
    grouper g = begin(arena, nodes, n);

    for (pair best = best_pair(&g); best.saving > 0; best = best_pair(&g))
        join(&g, best.a, best.b);
    return order(&g, step);
}
