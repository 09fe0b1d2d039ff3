/* The grid: which row gets which matrices, and of each row's plans the lightest
 * that is as good as the slowest row must be.  Rows of equal content are
 * planned once. */
#include "passes/solve/subgroup/internal.h"

#include "dsl/base/arithmetic.h"

#include <stdlib.h>
#include <string.h>

/* Rows that have equally many matrices of each class. */
typedef struct kind {
    int n_rows;
    const int *counts; /* [class] */
    cz_subgroup_front front;
} kind;

struct cz_subgroup_plans {
    cz_arena *arena;
    cz_subgroup_problem problem; /* its classes sorted */
    bool has_ways;               /* each matrix within the cap of staging */
    int n_kinds;
    kind *kinds;
    int *of_row; /* [row] its kind */
};

typedef cz_subgroup_plans plans;

/* ---- classes ---- */

typedef struct sorted {
    cz_subgroup_class class;
    int64_t least_ps; /* rank-seconds of a matrix, in any way */
    int original;
} sorted;

static int64_t least_work_ps(const cz_subgroup_class *of)
{
    int64_t least = INT64_MAX;
    for (int w = 0; w < of->n_candidates; w++)
        least = cz_solve_min(least, cz_subgroup_work_ps(&of->candidates[w]));
    return least;
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_ways(const cz_subgroup_candidate *a,
                        const cz_subgroup_candidate *b)
{
    const int64_t of[][2] = {{a->g, b->g},
                             {a->n_segments, b->n_segments},
                             {a->gather_ps, b->gather_ps},
                             {a->scatter_ps, b->scatter_ps},
                             {a->wire_bytes, b->wire_bytes},
                             {a->staging_bytes, b->staging_bytes}};
    int order = 0;
    for (size_t i = 0; order == 0 && i < sizeof of / sizeof *of; i++)
        order = compare(of[i][0], of[i][1]);
    for (int p = 0; order == 0 && p < a->n_segments; p++) {
        order = compare(a->segments[p].compute_ps, b->segments[p].compute_ps);
        if (order == 0)
            order =
                compare(a->segments[p].exchange_ps, b->segments[p].exchange_ps);
    }
    return order;
}

/* Longest first; of equal work by all that they are, so that their order in the
 * problem decides nothing. */
static int by_falling_work(const void *left, const void *right)
{
    const sorted *a = left, *b = right;
    const int64_t of[][2] = {{b->least_ps, a->least_ps},
                             {a->class.count, b->class.count},
                             {a->class.state_bytes, b->class.state_bytes},
                             {a->class.n_candidates, b->class.n_candidates}};
    int order = 0;
    for (size_t i = 0; order == 0 && i < sizeof of / sizeof *of; i++)
        order = compare(of[i][0], of[i][1]);
    for (int w = 0; order == 0 && w < a->class.n_candidates; w++)
        order = compare_ways(&a->class.candidates[w], &b->class.candidates[w]);
    return order != 0 ? order : compare(a->original, b->original);
}

/* ---- which row gets which matrices ---- */

typedef struct partition {
    int n_rows, n_classes;
    const sorted *classes;
    int *counts;    /* [row][class] */
    int64_t *work;  /* [row] rank-seconds, at least */
    int64_t *state; /* [row] bytes */
} partition;

static void put(partition *d, int row, int of, int n)
{
    d->counts[row * d->n_classes + of] += n;
    d->work[row] += n * d->classes[of].least_ps;
    d->state[row] += n * d->classes[of].class.state_bytes;
}

static int lightest_row(const partition *d)
{
    int best = 0;
    for (int row = 1; row < d->n_rows; row++)
        if (d->work[row] != d->work[best] ? d->work[row] < d->work[best]
                                          : d->state[row] < d->state[best])
            best = row;
    return best;
}

/* Gives one matrix for another, or for none (b = -1), where the work of the two
 * rows then differs least.  False: it differs least as it is. */
static bool exchange(partition *d, int from, int to)
{
    const int64_t gap = d->work[from] - d->work[to];
    int best_a = -1, best_b = -1;
    int64_t best = 0;
    for (int a = 0; a < d->n_classes; a++)
        for (int b = -1; b < d->n_classes; b++) {
            const int64_t moved =
                d->classes[a].least_ps - (b < 0 ? 0 : d->classes[b].least_ps);
            const int64_t gain = cz_solve_min(moved, gap - moved);
            if (gain <= best || d->counts[from * d->n_classes + a] == 0 ||
                (b >= 0 && d->counts[to * d->n_classes + b] == 0))
                continue;
            best = gain;
            best_a = a;
            best_b = b;
        }
    if (best == 0)
        return false;
    put(d, from, best_a, -1);
    put(d, to, best_a, 1);
    if (best_b >= 0) {
        put(d, to, best_b, -1);
        put(d, from, best_b, 1);
    }
    return true;
}

/* Longest first, each to the row with the least work; then exchanges between
 * all pairs of rows, of which each makes the sum of squares of work less. */
static int *deal_out(cz_arena *arena, int n_rows, const sorted *classes,
                     int n_classes)
{
    partition d = {n_rows,
                   n_classes,
                   classes,
                   CZ_NEW(arena, int, n_rows *n_classes),
                   CZ_NEW(arena, int64_t, n_rows),
                   CZ_NEW(arena, int64_t, n_rows)};
    const size_t row_bytes = (size_t)n_classes * sizeof *d.counts;
    bool again = true;
    for (int c = 0; c < n_classes; c++)
        for (int i = 0; i < classes[c].class.count; i++)
            put(&d, lightest_row(&d), c, 1);
    while (again) {
        again = false;
        for (int from = 0; from < n_rows; from++) {
            /* Rows alike refuse alike: most rows of a large mesh are empty. */
            const int *refused = NULL;
            for (int to = 0; to < n_rows && d.work[from] > 0; to++) {
                const int *counts = d.counts + to * n_classes;
                if (refused && memcmp(refused, counts, row_bytes) == 0)
                    continue;
                const bool moved = exchange(&d, from, to);
                refused = moved ? NULL : counts;
                again |= moved;
            }
        }
    }
    return d.counts;
}

/* ---- kinds of rows ---- */

/* Jobs of the problem as it was asked. */
static cz_subgroup_front restore(cz_arena *arena, const sorted *classes,
                                 cz_subgroup_front front, int64_t state_bytes)
{
    for (int i = 0; i < front.n; i++) {
        cz_subgroup_row *row = &front.rows[i];
        cz_subgroup_job *jobs = CZ_NEW(arena, cz_subgroup_job, row->n_jobs);
        for (int k = 0; k < row->n_jobs; k++) {
            jobs[k] = row->jobs[k];
            jobs[k].of = classes[jobs[k].of].original;
        }
        row->jobs = jobs;
        row->state_bytes = state_bytes;
    }
    return front;
}

static int kind_of(plans *p, const sorted *classes, const int *counts)
{
    const int n = p->problem.n_classes;
    int64_t state_bytes = 0;
    int k = 0;
    while (k < p->n_kinds &&
           memcmp(p->kinds[k].counts, counts, sizeof *counts * (size_t)n) != 0)
        k++;
    if (k < p->n_kinds)
        return k;
    for (int c = 0; c < n; c++)
        state_bytes += counts[c] * classes[c].class.state_bytes;
    *CZ_PUSH(p->arena, p->kinds, p->n_kinds) = (kind){
        .counts = counts,
        .front = restore(p->arena, classes,
                         cz_subgroup_search(p->arena, &p->problem, counts),
                         state_bytes)};
    return k;
}

static bool has_way(const cz_subgroup_class *of, int64_t staging_cap_bytes)
{
    int w = 0;
    while (w < of->n_candidates &&
           of->candidates[w].staging_bytes > staging_cap_bytes)
        w++;
    return w < of->n_candidates || of->count == 0;
}

plans *cz_subgroup_solve(cz_arena *arena, const cz_subgroup_problem *problem)
{
    const int n = problem->n_classes;
    sorted *classes = CZ_NEW(arena, sorted, n);
    for (int c = 0; c < n; c++)
        classes[c] = (sorted){problem->classes[c],
                              least_work_ps(&problem->classes[c]), c};
    qsort(classes, (size_t)n, sizeof *classes, by_falling_work);
    cz_subgroup_class *own = CZ_NEW(arena, cz_subgroup_class, n);
    plans *p = CZ_NEW(arena, plans, 1);
    *p = (plans){.arena = arena,
                 .problem = *problem,
                 .has_ways = true,
                 .of_row = CZ_NEW(arena, int, problem->n_rows)};
    for (int c = 0; c < n; c++) {
        own[c] = classes[c].class;
        p->has_ways &= has_way(&own[c], problem->staging_cap_bytes);
    }
    p->problem.classes = own;
    if (!p->has_ways)
        return p;
    const int *counts = deal_out(arena, problem->n_rows, classes, n);
    for (int row = 0; row < problem->n_rows; row++) {
        p->of_row[row] = kind_of(p, classes, counts + row * n);
        p->kinds[p->of_row[row]].n_rows++;
    }
    return p;
}

/* ---- the plan of all rows ---- */

/* The lightest plan of the kind that is as good; NULL: none is. */
static const cz_subgroup_row *row_within(const kind *k, int64_t score_ps)
{
    int i = k->front.n - 1;
    while (i >= 0 && k->front.rows[i].cost.score_ps > score_ps)
        i--;
    return i < 0 ? NULL : &k->front.rows[i];
}

/* Whether all rows have such plans, within so many bytes. */
static bool is_within(const plans *p, int64_t score_ps, int64_t wire_cap_bytes)
{
    int64_t bytes = 0;
    for (int k = 0; k < p->n_kinds; k++) {
        const cz_subgroup_row *row = row_within(&p->kinds[k], score_ps);
        if (!row)
            return false;
        bytes += p->kinds[k].n_rows * row->cost.wire_bytes;
    }
    return bytes <= wire_cap_bytes;
}

/* The least score of any row's plan that is; -1: none. */
static int64_t score_within(const plans *p, int64_t wire_cap_bytes)
{
    int64_t best = -1;
    for (int k = 0; k < p->n_kinds; k++)
        for (int i = 0; i < p->kinds[k].front.n; i++) {
            const int64_t score = p->kinds[k].front.rows[i].cost.score_ps;
            if ((best < 0 || score < best) &&
                is_within(p, score, wire_cap_bytes))
                best = score;
        }
    return best;
}

cz_subgroup_plan cz_subgroup_within(const plans *p, int64_t wire_cap_bytes)
{
    const int64_t score = p->has_ways ? score_within(p, wire_cap_bytes) : -1;
    cz_subgroup_plan plan = {.is_feasible = score >= 0};
    if (!plan.is_feasible)
        return plan;
    plan.rows = CZ_NEW(p->arena, cz_subgroup_row, p->problem.n_rows);
    for (int row = 0; row < p->problem.n_rows; row++) {
        const cz_subgroup_row *it =
            row_within(&p->kinds[p->of_row[row]], score);
        plan.rows[row] = *it;
        plan.time_ps = cz_solve_max(plan.time_ps, it->cost.time_ps);
        plan.score_ps = cz_solve_max(plan.score_ps, it->cost.score_ps);
        plan.wire_bytes += it->cost.wire_bytes;
    }
    return plan;
}
