/* Micro-groups of baselines, by elements, and on the simulated executor. */
#include "passes/timeline/micro_group.h"

#include "dsl/base/arithmetic.h"

#include <stdlib.h>
#include <string.h>

typedef struct ranked {
    int64_t elements;
    int item;
} ranked;

/* Ties: `later` is 1 where the baseline's code puts the later one first. */
static int by_falling_size(const void *left, const void *right, int later)
{
    const ranked *a = left, *b = right;
    if (a->elements != b->elements)
        return a->elements < b->elements ? 1 : -1;
    return later ? b->item - a->item : a->item - b->item;
}

static int earlier_first(const void *left, const void *right)
{
    return by_falling_size(left, right, 0);
}

static int later_first(const void *left, const void *right)
{
    return by_falling_size(left, right, 1);
}

static int least_loaded(const int64_t *load, int n)
{
    int best = 0;
    for (int r = 1; r < n; r++)
        if (load[r] < load[best])
            best = r;
    return best;
}

/* The loads of ranks in the group that is being filled decide: `slot` closes it
 * behind the item with which a rank is full, `global` before the one with which
 * it would be too full, so that an item beyond the slot is alone. */
static void fill(cz_arena *arena, const cz_timeline_problem *problem,
                 const ranked *order, cz_timeline_baseline kind,
                 int64_t slot_elements, cz_timeline_micro_groups *micro_groups)
{
    const int n_ranks = problem->n_ranks;
    const size_t bytes = (size_t)n_ranks * sizeof(int64_t);
    int64_t *load = CZ_NEW(arena, int64_t, n_ranks);
    int n_inside = 0;
    if (kind == CZ_TIMELINE_SLOT && problem->n_items > 0 &&
        slot_elements < order[0].elements)
        slot_elements = order[0].elements;
    for (int i = 0; i < problem->n_items; i++) {
        int r = kind == CZ_TIMELINE_SLOT || kind == CZ_TIMELINE_GLOBAL
                    ? least_loaded(load, n_ranks)
                    : i % n_ranks;
        const bool is_over = load[r] + order[i].elements > slot_elements;
        if (kind == CZ_TIMELINE_GLOBAL && n_inside > 0 && is_over) {
            micro_groups->n++;
            n_inside = r = 0;
            memset(load, 0, bytes);
        }
        micro_groups->of[order[i].item] = micro_groups->n;
        micro_groups->owner[order[i].item] = r;
        load[r] += order[i].elements;
        n_inside++;
        if (kind == CZ_TIMELINE_GLOBAL)
            continue;
        if (kind == CZ_TIMELINE_SLOT ? load[r] >= slot_elements
                                     : r == n_ranks - 1) {
            micro_groups->n++;
            n_inside = 0;
            memset(load, 0, bytes);
        }
    }
    micro_groups->n += n_inside > 0;
}

cz_timeline_micro_groups
cz_timeline_micro_groups_make(cz_arena *arena,
                              const cz_timeline_problem *problem,
                              cz_timeline_baseline kind, int64_t slot_elements)
{
    static const char *const names[CZ_TIMELINE_N_BASELINES] = {
        "no", "single", "slot", "global"};
    ranked *order = CZ_NEW(arena, ranked, problem->n_items);
    cz_timeline_micro_groups micro_groups = {
        names[kind], 0, CZ_NEW(arena, int, problem->n_items),
        CZ_NEW(arena, int, problem->n_items)};
    for (int i = 0; i < problem->n_items; i++)
        order[i] = (ranked){problem->items[i].elements, i};
    if (kind != CZ_TIMELINE_NO)
        qsort(order, (size_t)problem->n_items, sizeof *order,
              kind == CZ_TIMELINE_GLOBAL ? later_first : earlier_first);
    fill(arena, problem, order, kind, slot_elements, &micro_groups);
    return micro_groups;
}

/* ---- operations ---- */

typedef struct builder {
    cz_arena *arena;
    const cz_timeline_problem *problem;
    const cz_timeline_micro_groups *micro_groups;
    int *items; /* by group, as numbered */
    int *first; /* [n + 1] of each group among them */
    cz_timeline_list list;
} builder;

static void sort_items(builder *b)
{
    const int n = b->problem->n_items, *of = b->micro_groups->of;
    b->items = CZ_NEW(b->arena, int, n);
    b->first = CZ_NEW(b->arena, int, b->micro_groups->n + 2);
    for (int i = 0; i < n; i++)
        b->first[of[i] + 2]++;
    for (int g = 0; g < b->micro_groups->n; g++)
        b->first[g + 2] += b->first[g + 1];
    for (int i = 0; i < n; i++)
        b->items[b->first[of[i] + 1]++] = i;
}

/* Of a group, with at most one wait; -1: none. */
static int append(builder *b, cz_timeline_stream stream, int micro_group,
                  const int64_t *ps, int wait)
{
    int *waits = CZ_NEW(b->arena, int, 1);
    waits[0] = wait;
    *CZ_PUSH(b->arena, b->list.ops, b->list.n_ops) = (cz_timeline_op){
        stream, micro_group, {stream == CZ_TIMELINE_LINK, NULL},
        ps,     waits,       wait >= 0};
    return b->list.n_ops - 1;
}

static void add(int64_t *sum_ps, int64_t ps)
{
    *sum_ps = cz_solve_end(*sum_ps, ps);
}

static int append_compute(builder *b, int micro_group, int wait)
{
    int64_t *ps = CZ_NEW(b->arena, int64_t, b->problem->n_ranks);
    for (int k = b->first[micro_group]; k < b->first[micro_group + 1]; k++)
        add(&ps[b->micro_groups->owner[b->items[k]]],
            b->problem->items[b->items[k]].compute_ps);
    return append(b, CZ_TIMELINE_COMPUTE, micro_group, ps, wait);
}

/* Who sends and receives at once needs the longer of the two. */
static int append_transfer(builder *b, int micro_group, bool is_gather,
                           int wait)
{
    const int n = b->problem->n_ranks;
    int64_t *own = CZ_NEW(b->arena, int64_t, n);
    int64_t *other = CZ_NEW(b->arena, int64_t, n);
    for (int k = b->first[micro_group]; k < b->first[micro_group + 1]; k++) {
        const cz_timeline_item *item = &b->problem->items[b->items[k]];
        for (int r = 0; r < n; r++)
            if (r == b->micro_groups->owner[b->items[k]])
                add(&own[r], is_gather ? item->gather_ps : item->scatter_ps);
            else
                add(&other[r],
                    is_gather ? item->gather_other_ps : item->scatter_other_ps);
    }
    for (int r = 0; r < n; r++) {
        const int64_t most = cz_solve_max(own[r], other[r]);
        own[r] = most > 0 ? cz_solve_end(most, b->problem->latency_ps) : -1;
    }
    return append(b, CZ_TIMELINE_LINK, micro_group, own, wait);
}

/* The link does G0 G1 S0 G2 S1 ...: a gather follows the scatter of the group
 * before the last, whose buffer it takes. */
cz_timeline_list
cz_timeline_micro_groups_list(cz_arena *arena,
                              const cz_timeline_problem *problem,
                              const cz_timeline_micro_groups *micro_groups)
{
    builder b = {.arena = arena,
                 .problem = problem,
                 .micro_groups = micro_groups,
                 .list = {problem->n_ranks, 0, NULL}};
    int scattered = -1;
    sort_items(&b);
    int gathered = micro_groups->n > 0 ? append_transfer(&b, 0, true, -1) : -1;
    for (int g = 0; g < micro_groups->n; g++) {
        const int next = g + 1 < micro_groups->n
                             ? append_transfer(&b, g + 1, true, scattered)
                             : -1;
        scattered =
            append_transfer(&b, g, false, append_compute(&b, g, gathered));
        gathered = next;
    }
    return b.list;
}

cz_timeline_cost
cz_timeline_micro_groups_run(cz_arena *arena,
                             const cz_timeline_problem *problem,
                             const cz_timeline_micro_groups *micro_groups)
{
    const int n = problem->n_ranks;
    const cz_timeline_list list =
        cz_timeline_micro_groups_list(arena, problem, micro_groups);
    int64_t *bytes =
        CZ_NEW(arena, int64_t, (size_t)(micro_groups->n + 1) * (size_t)n);
    cz_timeline_cost cost = {cz_timeline_simulate(arena, &list).makespan, 0};
    for (int i = 0; i < problem->n_items; i++)
        bytes[micro_groups->of[i] * n + micro_groups->owner[i]] +=
            problem->items[i].staging_bytes;
    for (int k = 0; k < micro_groups->n * n; k++)
        cost.staging_bytes = cz_solve_max(
            cost.staging_bytes, bytes[k] + (k >= n ? bytes[k - n] : 0));
    return cost;
}
