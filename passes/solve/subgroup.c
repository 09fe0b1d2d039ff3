/* The grid: rows of equal content are planned once, and of each row's front
 * the lightest plan is taken that is as fast as the slowest row must be. */
#include "passes/solve/subgroup_internal.h"

#include <string.h>

#include "passes/solve/arithmetic.h"

enum {
    N_STAGES = 16,
    AIM_PARTS = 50 /* a fiftieth below */
};

typedef struct kinds {
    int n;
    int *of_row;                   /* [row] */
    int *n_rows;                   /* [kind] */
    cz_subgroup_search **searches; /* [kind] */
} kinds;

static const int *row_of(const int *counts, int row, int n_classes)
{
    return counts + (size_t)row * (size_t)n_classes;
}

static void find_kinds(cz_arena *arena, const cz_subgroup_problem *problem,
                       const int *counts, kinds *k)
{
    const int n = problem->n_classes;
    const size_t bytes = sizeof *counts * (size_t)n;
    int *first = CZ_NEW(arena, int, problem->n_rows);
    *k = (kinds){0, CZ_NEW(arena, int, problem->n_rows),
                 CZ_NEW(arena, int, problem->n_rows),
                 CZ_NEW(arena, cz_subgroup_search *, problem->n_rows)};
    for (int row = 0; row < problem->n_rows; row++) {
        int kind = 0;
        while (kind < k->n && memcmp(row_of(counts, first[kind], n),
                                     row_of(counts, row, n), bytes) != 0)
            kind++;
        if (kind == k->n)
            first[k->n++] = row;
        k->of_row[row] = kind;
        k->n_rows[kind]++;
    }
    const int64_t price = cz_subgroup_bound_fit(arena, problem, 0).price;
    for (int kind = 0; kind < k->n; kind++)
        k->searches[kind] = cz_subgroup_search_make(
            arena, problem, price, row_of(counts, first[kind], n));
}

static const cz_subgroup_front *front_of(const kinds *k, int kind)
{
    return cz_subgroup_search_front(k->searches[kind]);
}

/* Bytes of all rows when each takes its lightest plan within the time; -1
 * where one has none. */
static int64_t bytes_within(const kinds *k, int64_t time_ps)
{
    int64_t bytes = 0;
    for (int kind = 0; kind < k->n; kind++) {
        const cz_subgroup_row *row =
            cz_subgroup_front_find(front_of(k, kind), time_ps);
        if (!row)
            return -1;
        bytes += k->n_rows[kind] * row->cost.wire_bytes;
    }
    return bytes;
}

/* The least time of any kind's plan at which the bytes keep the cap; without
 * one, the time at which bytes are least.  -1: some row has no plan. */
static int64_t choose_time(const cz_subgroup_problem *problem, const kinds *k,
                           bool *is_feasible)
{
    int64_t best = -1, lightest_at = -1, least = INT64_MAX;
    for (int kind = 0; kind < k->n; kind++)
        for (int i = 0; i < front_of(k, kind)->n; i++) {
            const int64_t time = front_of(k, kind)->rows[i].cost.time_ps;
            const int64_t bytes = bytes_within(k, time);
            if (bytes < 0)
                continue;
            if (bytes <= problem->wire_cap_bytes && (best < 0 || time < best))
                best = time;
            if (bytes < least || (bytes == least && time < lightest_at)) {
                least = bytes;
                lightest_at = time;
            }
        }
    *is_feasible = best >= 0;
    return best >= 0 ? best : lightest_at;
}

/* The kind whose fastest plan takes longest, if that is all the time there is;
 * else the bytes of all of them are in the way: each in turn. */
static int kind_in_the_way(const kinds *k, int64_t time_ps, int turn)
{
    for (int kind = 0; kind < k->n; kind++)
        if (front_of(k, kind)->n == 0 ||
            front_of(k, kind)->rows[0].cost.time_ps >= time_ps)
            return kind;
    return turn % k->n;
}

/* All kinds of rows aim a little below what all of them reach together. */
static void search_all(const cz_subgroup_problem *problem, const kinds *k)
{
    const int effort = cz_subgroup_effort(problem);
    for (int turn = 0; turn < N_STAGES * k->n; turn++) {
        bool is_feasible;
        const int64_t time = choose_time(problem, k, &is_feasible);
        const int64_t target = time < 0 ? 0 : time - time / AIM_PARTS;
        const int kind =
            turn < 2 * k->n ? turn % k->n : kind_in_the_way(k, time, turn);
        cz_subgroup_search_on(k->searches[kind], target, effort / N_STAGES);
    }
}

static void take(cz_subgroup_plan *plan, int row, const cz_subgroup_row *from)
{
    plan->rows[row] = *from;
    plan->time_ps = cz_solve_max(plan->time_ps, from->cost.time_ps);
    plan->wire_bytes += from->cost.wire_bytes;
    plan->staging_bytes =
        cz_solve_max(plan->staging_bytes, from->cost.staging_bytes);
    plan->state_bytes = cz_solve_max(plan->state_bytes, from->cost.state_bytes);
}

cz_subgroup_plan cz_subgroup_solve(cz_arena *arena,
                                   const cz_subgroup_problem *problem)
{
    cz_subgroup_plan plan = {0};
    kinds k;
    int *counts = CZ_NEW(arena, int, problem->n_rows * problem->n_classes);
    plan.rows = CZ_NEW(arena, cz_subgroup_row, problem->n_rows);
    cz_subgroup_deal(arena, problem, counts);
    find_kinds(arena, problem, counts, &k);
    search_all(problem, &k);
    const int64_t time = choose_time(problem, &k, &plan.is_feasible);
    for (int row = 0; row < problem->n_rows && time >= 0; row++) {
        const cz_subgroup_front *front = front_of(&k, k.of_row[row]);
        take(&plan, row, cz_subgroup_front_find(front, time));
    }
    return plan;
}
