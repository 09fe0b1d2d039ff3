/* Grouping by greedy contraction: largest saving first. */
#include "passes/kernel_group.h"

#include <assert.h>

typedef struct grouper {
    cz_arena *arena;
    const cz_kernel_unit *units;
    int n;
    int *group;   /* of each unit: the lowest unit in it */
    bool *marked; /* scratch of reaches() */
} grouper;

static bool reads(const grouper *g, int unit, int source)
{
    for (int i = 0; i < g->units[unit].n_in; i++)
        if (g->units[unit].in[i] == source)
            return true;
    return false;
}

/* Does some unit of a group, other than the source's own, read it? */
static bool group_reads(const grouper *g, int group, int source)
{
    if (g->group[source] == group)
        return false;
    for (int i = 0; i < g->n; i++)
        if (g->group[i] == group && reads(g, i, source))
            return true;
    return false;
}

/* Only groups a and b read the source, each perhaps. */
static bool read_within(const grouper *g, int source, int a, int b)
{
    for (int i = 0; i < g->n; i++)
        if (g->group[i] != a && g->group[i] != b && reads(g, i, source))
            return false;
    return true;
}

/* Bytes that need not be stored or loaded when groups a and b are one. */
static int64_t saving(const grouper *g, int a, int b)
{
    int64_t bytes = 0;

    for (int s = 0; s < g->n; s++) {
        const cz_kernel_unit *unit = &g->units[s];
        const bool inside = g->group[s] == a || g->group[s] == b;
        const bool by_a = group_reads(g, a, s), by_b = group_reads(g, b, s);
        if (inside && (by_a || by_b))
            bytes += unit->bytes;
        if (inside && (by_a || by_b) && !unit->stored &&
            read_within(g, s, a, b))
            bytes += unit->bytes;
        if (!inside && by_a && by_b)
            bytes += unit->bytes;
    }
    return bytes;
}

static bool far_between(const grouper *g, int a, int b)
{
    for (int u = 0; u < g->n; u++)
        for (int i = 0; i < g->units[u].n_in; i++) {
            int from = g->group[g->units[u].in[i]], to = g->group[u];
            if (g->units[u].far[i] &&
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
            for (int i = 0; i < g->units[u].n_in; i++) {
                int source = g->group[g->units[u].in[i]];
                int group = g->group[u];
                if (group == to)
                    found = found || g->marked[source];
                else if (!g->marked[group] && group != from &&
                         (source == from || g->marked[source]))
                    changed = g->marked[group] = true;
            }
    }
    for (int u = 0; u < g->n && !found; u++)
        for (int i = 0; g->group[u] == to && i < g->units[u].n_in; i++)
            found = found || g->marked[g->group[g->units[u].in[i]]];
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

    if (g->units[u].space < 0 || g->units[u].space != g->units[v].space ||
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

    for (int u = 0; u < g->n; u++) {
        for (int i = 0; i < g->units[u].n_in; i++)
            consider(g, &best, g->units[u].in[i], u);
        for (int s = 0; s < g->n; s++)
            for (int v = 0; v < u && reads(g, u, s); v++)
                if (reads(g, v, s))
                    consider(g, &best, v, u);
    }
    return best;
}

static void join_all(grouper *g)
{
    for (pair best = best_pair(g); best.saving > 0; best = best_pair(g))
        for (int i = 0; i < g->n; i++)
            if (g->group[i] == best.b)
                g->group[i] = best.a;
}

static bool is_ready(const grouper *g, int group, const int *step)
{
    for (int u = 0; u < g->n; u++)
        for (int i = 0; g->group[u] == group && i < g->units[u].n_in; i++) {
            int source = g->units[u].in[i];
            if (g->group[source] != group && step[source] < 0 &&
                g->units[source].space != CZ_UNIT_GIVEN)
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
        if (g->group[u] == u && g->units[u].space != CZ_UNIT_GIVEN &&
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
        assert(step[i] >= 0 || g->units[i].space == CZ_UNIT_GIVEN);
    return n_steps;
}

int cz_kernel_group(cz_arena *arena, const cz_kernel_unit *units, int n,
                    int *step)
{
    grouper g = {arena, units, n, CZ_NEW(arena, int, n),
                 CZ_NEW(arena, bool, n)};

    for (int i = 0; i < n; i++)
        g.group[i] = i;
    join_all(&g);
    return order(&g, step);
}
