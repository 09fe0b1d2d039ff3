/* Micro-groups by shares of each owner's cost, under a byte cap. */
#include "passes/schedule/micro_group.h"

#include <string.h>

typedef struct owner {
    int n_items, n_left; /* of all its items, those not placed yet */
    int64_t cost, cost_before;
    int group; /* of its last item; -1: none */
    int64_t group_bytes;
} owner;

__extension__ typedef __int128 wide; /* products of counts and flops */

/* The group in whose share of the owner's cost the item's middle falls, that
 * is x = (before + cost / 2) / total: floor(n x), or with half ends
 * floor((n - 1) x + 1 / 2). */
static int group_by_share(const owner *o, const cz_micro_group_item *item,
                          int n_groups, bool half_ends)
{
    const wide middle = (wide)2 * o->cost_before + item->cost;
    const wide total = (wide)2 * (o->cost > 0 ? o->cost : 1);
    const int group =
        (int)(half_ends
                  ? ((wide)2 * (n_groups - 1) * middle + total) / (2 * total)
                  : n_groups * middle / total);
    return group < n_groups ? group : n_groups - 1;
}

/* The last group an item may go to: where there is a group for every item of
 * the owner, one is left for each item behind this one. */
static int last_group(const owner *o, int n_groups)
{
    return o->n_items <= n_groups ? n_groups - o->n_left : n_groups - 1;
}

static int choose_group(const cz_micro_group_problem *problem, const owner *o,
                        const cz_micro_group_item *item, int n_groups)
{
    int group = group_by_share(o, item, n_groups, problem->request.half_ends);
    if (group > last_group(o, n_groups))
        group = last_group(o, n_groups);
    if (group > o->group)
        return group;
    return o->group_bytes + item->bytes > problem->cap_bytes ? o->group + 1
                                                             : o->group;
}

static void put(owner *o, const cz_micro_group_item *item, int group)
{
    o->group_bytes = (group == o->group ? o->group_bytes : 0) + item->bytes;
    o->group = group;
    o->cost_before += item->cost;
    o->n_left--;
}

/* False when some owner needs more groups. */
static bool try_groups(const cz_micro_group_problem *problem,
                       const owner *owners, owner *work, int n_groups,
                       int *groups)
{
    memcpy(work, owners, sizeof *work * (size_t)problem->n_owners);
    for (int i = 0; i < problem->n_items; i++) {
        const cz_micro_group_item *item = &problem->items[i];
        owner *o = &work[item->owner];
        groups[i] = choose_group(problem, o, item, n_groups);
        if (groups[i] >= n_groups)
            return false;
        put(o, item, groups[i]);
    }
    return true;
}

static int most_items(const owner *owners, int n)
{
    int most = 0;
    for (int o = 0; o < n; o++)
        if (owners[o].n_items > most)
            most = owners[o].n_items;
    return most;
}

/* Renumber so that no group is empty. */
static int close_gaps(cz_arena *scratch, int *groups, int n_items, int n_groups)
{
    int *number = CZ_NEW(scratch, int, n_groups + 1), n = 0;
    for (int i = 0; i < n_items; i++)
        number[groups[i]] = 1;
    for (int g = 0; g < n_groups; g++)
        number[g] = number[g] ? n++ : -1;
    for (int i = 0; i < n_items; i++)
        groups[i] = number[groups[i]];
    return n;
}

int cz_micro_group_solve(cz_arena *scratch,
                         const cz_micro_group_problem *problem, int *groups)
{
    owner *owners = CZ_NEW(scratch, owner, problem->n_owners);
    owner *work = CZ_NEW(scratch, owner, problem->n_owners);
    for (int o = 0; o < problem->n_owners; o++)
        owners[o].group = -1;
    for (int i = 0; i < problem->n_items; i++) {
        owner *o = &owners[problem->items[i].owner];
        o->n_items++;
        o->n_left++;
        o->cost += problem->items[i].cost;
    }
    /* With as many groups as the fullest owner has items, item i of an owner
     * lies in group i at the latest: that always fits. */
    const int most = most_items(owners, problem->n_owners);
    int n = problem->request.n_groups < most ? problem->request.n_groups : most;
    while (n < most && !try_groups(problem, owners, work, n, groups))
        n++;
    if (n == most)
        try_groups(problem, owners, work, n, groups);
    return close_gaps(scratch, groups, problem->n_items, n);
}
