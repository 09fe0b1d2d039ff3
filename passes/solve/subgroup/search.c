/* How many matrices of each class are shared by how many ranks: local search on
 * the front of score and bytes.  From every plan that no other beats in both
 * all moves are tried, the best plan's first, until no plan is new. */
#include "passes/solve/subgroup/internal.h"

#include "dsl/base/arithmetic.h"

#include <string.h>

/* Jobs in all plans of a row that are timed: rows of many matrices keep what
 * was found by then. */
enum { MAX_TIMED = 1 << 18 };

/* A size of group for a class. */
typedef struct option {
    int of, candidate;
} option;

typedef struct entry {
    cz_subgroup_row row;
    const int *numbers; /* [option] matrices that have it */
    bool is_tried;      /* with all moves from here */
} entry;

typedef struct search {
    cz_arena *arena;
    const cz_subgroup_problem *problem;
    int n_options, n_jobs;
    option *options; /* by class, then by rising g */
    int *numbers;    /* [option] of the plan that is tried */
    cz_subgroup_job *jobs;
    cz_subgroup_workspace *workspace;
    int n;
    entry *front; /* by rising score, falling bytes */
    int64_t n_timed;
} search;

/* ---- the front ---- */

/* The plan of these numbers, in each order. */
static void try_numbers(search *s)
{
    for (int order = 0; order < CZ_SUBGROUP_N_ORDERS; order++) {
        int n = 0;
        for (int o = 0; o < s->n_options; o++)
            for (int i = 0; i < s->numbers[o]; i++)
                s->jobs[n++] =
                    (cz_subgroup_job){.of = s->options[o].of,
                                      .candidate = s->options[o].candidate};
        cz_subgroup_place(s->workspace, s->jobs, n, (cz_subgroup_order)order);
        const cz_subgroup_cost cost = cz_subgroup_run(s->workspace, s->jobs, n);
        s->n_timed += n;
        /* Unless a plan of the front is as good in both; those that are no
         * better in either go. */
        int at = 0, behind;
        while (at < s->n && s->front[at].row.cost.score_ps < cost.score_ps)
            at++;
        const bool is_equal =
            at < s->n && s->front[at].row.cost.score_ps == cost.score_ps;
        const int better = is_equal ? at : at - 1;
        if (better >= 0 &&
            s->front[better].row.cost.wire_bytes <= cost.wire_bytes)
            continue;
        for (behind = at; behind < s->n; behind++)
            if (s->front[behind].row.cost.wire_bytes < cost.wire_bytes)
                break;
        const int n_behind = s->n - behind;
        cz_subgroup_job *jobs = CZ_NEW(s->arena, cz_subgroup_job, s->n_jobs);
        int *numbers = CZ_NEW(s->arena, int, s->n_options);
        memcpy(jobs, s->jobs, sizeof *jobs * (size_t)s->n_jobs);
        memcpy(numbers, s->numbers, sizeof *numbers * (size_t)s->n_options);
        (void)CZ_PUSH(s->arena, s->front, s->n);
        memmove(&s->front[at + 1], &s->front[behind],
                sizeof *s->front * (size_t)n_behind);
        s->front[at] =
            (entry){.row = {.n_jobs = s->n_jobs, .jobs = jobs, .cost = cost},
                    .numbers = numbers};
        s->n = at + 1 + n_behind;
    }
}

/* ---- moves ---- */

/* All matrices of a class that have a size get another, half of them, a
 * quarter, ... and one. */
static void try_moves(search *s)
{
    for (int from = 0; from < s->n_options; from++)
        for (int to = 0; to < s->n_options; to++)
            for (int n = s->numbers[from]; n > 0; n /= 2) {
                if (from == to || s->options[from].of != s->options[to].of)
                    break;
                s->numbers[from] -= n;
                s->numbers[to] += n;
                try_numbers(s);
                s->numbers[from] += n;
                s->numbers[to] -= n;
            }
}

/* The best plan whose moves were not tried; NULL: all were. */
static entry *find_untried(const search *s)
{
    for (int i = 0; i < s->n; i++)
        if (!s->front[i].is_tried)
            return &s->front[i];
    return NULL;
}

/* ---- where to start ---- */

/* All matrices in their largest group of at most g ranks, or in their least. */
static void try_size(search *s, const int *counts, int g)
{
    int last = -1;
    for (int o = 0; o < s->n_options; o++) {
        const option *it = &s->options[o];
        const bool is_first = last < 0 || s->options[last].of != it->of;
        s->numbers[o] = 0;
        if (!is_first &&
            s->problem->classes[it->of].candidates[it->candidate].g > g)
            continue;
        if (!is_first)
            s->numbers[last] = 0;
        s->numbers[o] = counts[it->of];
        last = o;
    }
    try_numbers(s);
}

cz_subgroup_front cz_subgroup_search(cz_arena *arena,
                                     const cz_subgroup_problem *problem,
                                     const int *counts)
{
    search s = {.arena = arena, .problem = problem};
    for (int c = 0; c < problem->n_classes; c++)
        s.n_jobs += counts[c];
    for (int c = 0; c < s.problem->n_classes; c++)
        for (int w = 0; w < s.problem->classes[c].n_candidates && counts[c] > 0;
             w++)
            if (s.problem->classes[c].candidates[w].staging_bytes <=
                s.problem->staging_cap_bytes)
                *CZ_PUSH(s.arena, s.options, s.n_options) = (option){c, w};
    s.numbers = CZ_NEW(arena, int, s.n_options);
    s.jobs = CZ_NEW(arena, cz_subgroup_job, s.n_jobs);
    s.workspace = cz_subgroup_workspace_make(arena, problem, s.n_jobs);
    for (int g = 1; g <= problem->width; g *= 2)
        try_size(&s, counts, g);
    entry *next;
    while (s.n_timed < MAX_TIMED && (next = find_untried(&s)) != NULL) {
        memcpy(s.numbers, next->numbers,
               sizeof *s.numbers * (size_t)s.n_options);
        next->is_tried = true;
        try_moves(&s);
    }
    cz_subgroup_front front = {s.n, CZ_NEW(arena, cz_subgroup_row, s.n)};
    for (int i = 0; i < s.n; i++)
        front.rows[i] = s.front[i].row;
    return front;
}
