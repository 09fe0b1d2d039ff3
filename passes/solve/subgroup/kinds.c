/* Rows of equal content are planned once. */
#include "passes/solve/subgroup/kinds.h"

#include <limits.h>
#include <string.h>

static const int *row_of(const int *counts, int row, int n_classes)
{
    return counts + (size_t)row * (size_t)n_classes;
}

cz_subgroup_kinds cz_subgroup_kinds_make(cz_arena *arena,
                                         const cz_subgroup_problem *problem,
                                         const int *counts)
{
    cz_subgroup_kinds k = {.arena = arena,
                           .problem = problem,
                           .price =
                               cz_subgroup_bound_fit(arena, problem, 0).price,
                           .of_row = CZ_NEW(arena, int, problem->n_rows)};
    for (int row = 0; row < problem->n_rows; row++) {
        k.of_row[row] = cz_subgroup_kinds_find(
            &k, row_of(counts, row, problem->n_classes), INT_MAX);
        k.kinds[k.of_row[row]].n_rows++;
    }
    return k;
}

int cz_subgroup_kinds_find(cz_subgroup_kinds *k, const int *counts, int most)
{
    const int n = k->problem->n_classes;
    const size_t bytes = sizeof *counts * (size_t)n;
    int kind = 0;
    while (kind < k->n && memcmp(k->kinds[kind].counts, counts, bytes) != 0)
        kind++;
    if (kind < k->n || k->n >= most)
        return kind < k->n ? kind : -1;
    int *own = CZ_NEW(k->arena, int, n);
    memcpy(own, counts, bytes);
    *CZ_PUSH(k->arena, k->kinds, k->n) = (cz_subgroup_kind){
        .counts = own,
        .search = cz_subgroup_search_make(k->arena, k->problem, k->price, own)};
    return kind;
}

void cz_subgroup_kinds_put(cz_subgroup_kinds *k, int row, int kind)
{
    k->kinds[k->of_row[row]].n_rows--;
    k->kinds[kind].n_rows++;
    k->of_row[row] = kind;
}

static const cz_subgroup_front *front_of(const cz_subgroup_kinds *k, int kind)
{
    return cz_subgroup_search_front(k->kinds[kind].search);
}

const cz_subgroup_row *cz_subgroup_kinds_row(const cz_subgroup_kinds *k,
                                             int kind,
                                             const cz_subgroup_aim *aim)
{
    const cz_subgroup_front *front = front_of(k, kind);
    for (int i = front->n - 1; i >= 0; i--) {
        const cz_subgroup_row *row = &front->rows[i];
        if (row->cost.time_ps <= aim->time_ps &&
            (aim->kernels_ps == INT64_MAX ||
             cz_subgroup_kernels_ps(k->problem, row) <= aim->kernels_ps))
            return row;
    }
    return NULL;
}

/* Bytes of all rows when each takes its lightest plan within the time; -1
 * where one has none. */
static int64_t bytes_within(const cz_subgroup_kinds *k, int64_t time_ps)
{
    const cz_subgroup_aim aim = {time_ps, INT64_MAX};
    int64_t bytes = 0;
    for (int kind = 0; kind < k->n; kind++) {
        if (k->kinds[kind].n_rows == 0)
            continue;
        const cz_subgroup_row *row = cz_subgroup_kinds_row(k, kind, &aim);
        if (!row)
            return -1;
        bytes += k->kinds[kind].n_rows * row->cost.wire_bytes;
    }
    return bytes;
}

int64_t cz_subgroup_kinds_time(const cz_subgroup_kinds *k, bool *is_feasible)
{
    int64_t best = -1, lightest_at = -1, least = INT64_MAX;
    for (int kind = 0; kind < k->n; kind++) {
        const cz_subgroup_front *front = front_of(k, kind);
        for (int i = 0; i < front->n; i++) {
            const int64_t time = front->rows[i].cost.time_ps;
            const int64_t bytes = bytes_within(k, time);
            if (bytes < 0)
                continue;
            if (bytes <= k->problem->wire_cap_bytes &&
                (best < 0 || time < best))
                best = time;
            if (bytes < least || (bytes == least && time < lightest_at)) {
                least = bytes;
                lightest_at = time;
            }
        }
    }
    *is_feasible = best >= 0;
    return best >= 0 ? best : lightest_at;
}
