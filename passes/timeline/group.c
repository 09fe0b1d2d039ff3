/* Micro-groups on the simulated executor. */
#include "passes/timeline/group.h"

#include <string.h>

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"

typedef struct builder {
    const cz_pipeline_problem *problem;
    const cz_pipeline_groups *groups;
    cz_arena *arena;
    cz_pipeline_list list;
    /* [group][rank]: what owners receive, what others send; and back */
    int64_t *in, *out, *back_in, *back_out, *compute, *bytes;
    int *gather, *scatter; /* [group] their operations */
} builder;

static int64_t *times_of_groups(const builder *b)
{
    return CZ_NEW(b->arena, int64_t, b->groups->n_groups * b->problem->n_ranks);
}

static void add_up(builder *b)
{
    const int n = b->problem->n_ranks;
    for (int i = 0; i < b->problem->n_items; i++) {
        const cz_pipeline_item *item = &b->problem->items[i];
        const int at = b->groups->group[i] * n, owner = b->groups->owner[i];
        for (int r = 0; r < n; r++) {
            b->out[at + r] += r == owner ? 0 : item->gather_other_ps;
            b->back_in[at + r] += r == owner ? 0 : item->scatter_other_ps;
        }
        b->in[at + owner] += item->gather_ps;
        b->back_out[at + owner] += item->scatter_ps;
        b->compute[at + owner] += item->compute_ps;
        b->bytes[at + owner] += item->staging_bytes;
    }
}

static int append(builder *b, cz_pipeline_stream stream, int group,
                  const int64_t *ps, int wait_a, int wait_b)
{
    int *waits = CZ_NEW(b->arena, int, 2), n = 0;
    if (wait_a >= 0)
        waits[n++] = wait_a;
    if (wait_b >= 0)
        waits[n++] = wait_b;
    *CZ_PUSH(b->arena, b->list.ops, b->list.n_ops) = (cz_pipeline_op){
        stream, group, stream == CZ_PIPELINE_LINK, 0, b->problem->n_ranks, ps,
        waits,  n};
    return b->list.n_ops - 1;
}

/* Who sends and receives at once needs the longer of the two. */
static int append_transfer(builder *b, int group, const int64_t *a,
                           const int64_t *c, int wait)
{
    const int n = b->problem->n_ranks;
    int64_t *ps = CZ_NEW(b->arena, int64_t, n);
    for (int r = 0; r < n; r++) {
        const int64_t most = cz_solve_max(a[group * n + r], c[group * n + r]);
        ps[r] = most > 0 ? most + b->problem->latency_ps : -1;
    }
    return append(b, CZ_PIPELINE_LINK, group, ps, wait, -1);
}

/* Whether two groups' buffers fit beside each other on every rank. */
static bool fit_together(const builder *b, int group, int next)
{
    const int n = b->problem->n_ranks;
    for (int r = 0; r < n; r++)
        if (b->bytes[group * n + r] + b->bytes[next * n + r] >
            b->problem->staging_cap_bytes)
            return false;
    return true;
}

/* Whether a group gathers while the one before it is computed. */
static bool is_ahead(const builder *b, int group)
{
    return b->groups->overlap == CZ_PIPELINE_DOUBLE && group > 0 &&
           fit_together(b, group - 1, group);
}

static void append_gather(builder *b, int group, int after)
{
    b->gather[group] = append_transfer(b, group, b->in, b->out,
                                       after >= 0 ? b->scatter[after] : -1);
}

static void append_rest(builder *b, int group)
{
    const int64_t *ps =
        b->compute + (size_t)group * (size_t)b->problem->n_ranks;
    const int computed =
        append(b, CZ_PIPELINE_COMPUTE, group, ps, b->gather[group], -1);
    b->scatter[group] =
        append_transfer(b, group, b->back_in, b->back_out, computed);
}

/* With two buffers the link does G0 G1 S0 G2 S1 ...: a gather follows the
 * scatter of the group before the last, whose buffer it takes; with one, that
 * of the last. */
static void append_all(builder *b)
{
    for (int g = 0; g < b->groups->n_groups; g++) {
        if (g == 0 || !is_ahead(b, g))
            append_gather(b, g, g - 1);
        if (g + 1 < b->groups->n_groups && is_ahead(b, g + 1))
            append_gather(b, g + 1, g - 1);
        append_rest(b, g);
    }
}

static int64_t peak_bytes(const builder *b)
{
    const int n = b->problem->n_ranks;
    int64_t peak = 0;
    for (int g = 0; g < b->groups->n_groups; g++)
        for (int r = 0; r < n; r++)
            peak = cz_solve_max(
                peak, b->bytes[g * n + r] +
                          (is_ahead(b, g) ? b->bytes[(g - 1) * n + r] : 0));
    return peak;
}

cz_pipeline_cost cz_pipeline_evaluate(cz_arena *arena,
                                      const cz_pipeline_problem *problem,
                                      const cz_pipeline_groups *groups,
                                      cz_pipeline_list *list)
{
    builder b = {.problem = problem,
                 .groups = groups,
                 .arena = arena,
                 .list = {problem->n_ranks, 0, NULL}};
    b.in = times_of_groups(&b);
    b.out = times_of_groups(&b);
    b.back_in = times_of_groups(&b);
    b.back_out = times_of_groups(&b);
    b.compute = times_of_groups(&b);
    b.bytes = times_of_groups(&b);
    b.gather = CZ_NEW(arena, int, groups->n_groups);
    b.scatter = CZ_NEW(arena, int, groups->n_groups);
    add_up(&b);
    append_all(&b);
    if (list)
        *list = b.list;
    return (cz_pipeline_cost){cz_pipeline_simulate(arena, &b.list).makespan,
                              peak_bytes(&b)};
}

int64_t cz_pipeline_bound(const cz_pipeline_problem *problem)
{
    int64_t compute = 0, link = 0, slowest = 0;
    for (int i = 0; i < problem->n_items; i++) {
        const cz_pipeline_item *item = &problem->items[i];
        int64_t alone = item->compute_ps + item->gather_ps + item->scatter_ps;
        alone += item->gather_ps > 0 ? problem->latency_ps : 0;
        alone += item->scatter_ps > 0 ? problem->latency_ps : 0;
        compute += item->compute_ps;
        link += item->gather_ps + item->scatter_ps;
        slowest = cz_solve_max(slowest, alone);
    }
    return cz_solve_max(
        slowest, cz_ceil_div(cz_solve_max(compute, link), problem->n_ranks));
}
