/* The published greedy, in exact integers: all targets of a bucket are
 * multiples of 1 / (100 R sum d'), where d' = R d. */
#include "passes/solve/baseline.h"

#include "dsl/base/arithmetic.h"

#include <stdlib.h>

typedef struct greedy {
    const cz_solve_problem *problem;
    cz_solve_plan plan;
    int alpha_percent;
    int64_t total; /* elements of all buckets */
    int64_t *load; /* [n_ranks] elements so far */
    int64_t *lack; /* [n_ranks] d' of the bucket at hand */
} greedy;

typedef struct sized {
    int64_t length;
    int bucket;
} sized;

static int by_falling_length(const void *left, const void *right)
{
    const sized *a = left, *b = right;
    if (a->length != b->length)
        return a->length > b->length ? -1 : 1;
    return (a->bucket > b->bucket) - (a->bucket < b->bucket);
}

/* d' of each rank; their sum. */
static int64_t find_shortfall(greedy *g)
{
    int64_t sum = 0;
    for (int r = 0; r < g->problem->n_ranks; r++) {
        const int64_t d = g->total - g->problem->n_ranks * g->load[r];
        g->lack[r] = d > 0 ? d : 0;
        sum += g->lack[r];
    }
    return sum;
}

/* End of the bucket's first `n` items. */
static int64_t end_of(const greedy *g, int bucket, int n)
{
    const int item = g->problem->bucket_start[bucket] + n;
    return item == g->problem->bucket_start[bucket + 1] ? g->plan.length[bucket]
                                                        : g->plan.offset[item];
}

/* How many items end at the place nearest to target / item, at least `from`. */
static int nearest(const greedy *g, int bucket, int from, cz_wide target,
                   cz_wide item)
{
    const int n =
        g->problem->bucket_start[bucket + 1] - g->problem->bucket_start[bucket];
    int at = from;
    while (at < n && end_of(g, bucket, at) * item < target)
        at++;
    if (at > from && target - end_of(g, bucket, at - 1) * item <=
                         end_of(g, bucket, at) * item - target)
        at--;
    return at;
}

static void cut_bucket(greedy *g, int bucket)
{
    const int n_ranks = g->problem->n_ranks;
    const int n =
        g->problem->bucket_start[bucket + 1] - g->problem->bucket_start[bucket];
    const int64_t sum = find_shortfall(g), length = g->plan.length[bucket];
    const int64_t base = sum == 0 ? 1 : sum;
    int64_t so_far = 0;
    int from = 0;
    for (int r = 0; r < n_ranks; r++) {
        so_far += g->lack[r];
        const cz_wide even = (cz_wide)length * (r + 1) * base;
        const cz_wide filling =
            sum == 0 ? even : (cz_wide)length * so_far * n_ranks;
        const cz_wide target =
            even * (100 - g->alpha_percent) + filling * g->alpha_percent;
        const int to = r == n_ranks - 1
                           ? n
                           : nearest(g, bucket, from, target,
                                     (cz_wide)100 * n_ranks * base);
        for (int i = from; i < to; i++)
            g->plan.owner[g->problem->bucket_start[bucket] + i] = r;
        g->load[r] += end_of(g, bucket, to) - end_of(g, bucket, from);
        from = to;
    }
}

cz_solve_plan cz_solve_greedy(cz_arena *arena, const cz_solve_problem *problem,
                              int alpha_percent)
{
    greedy g = {.problem = problem,
                .plan = cz_solve_plan_make(arena, problem),
                .alpha_percent = alpha_percent,
                .load = CZ_NEW(arena, int64_t, problem->n_ranks),
                .lack = CZ_NEW(arena, int64_t, problem->n_ranks)};
    sized *order = CZ_NEW(arena, sized, problem->n_buckets + 1);
    for (int b = 0; b < problem->n_buckets; b++) {
        order[b] = (sized){g.plan.length[b], b};
        g.total += g.plan.length[b];
    }
    qsort(order, (size_t)problem->n_buckets, sizeof *order, by_falling_length);
    for (int b = 0; b < problem->n_buckets; b++)
        cut_bucket(&g, order[b].bucket);
    cz_solve_plan_slice(problem, &g.plan);
    cz_solve_plan_host(arena, problem, &g.plan);
    g.plan.method = "published greedy";
    return g.plan;
}
