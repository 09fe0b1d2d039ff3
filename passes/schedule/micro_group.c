/* Micro-groups by shares of each owner's cost, under a byte cap. */
#include "passes/schedule/micro_group.h"

#include <stdbool.h>
#include <string.h>

/* Sums of costs, and their products with counts. */
__extension__ typedef __int128 wide;

typedef struct owner {
    int n_items, n_left; /* of all its items, those not placed yet */
    wide cost, cost_before;
    int micro_group; /* of its last item; -1: none */
    int64_t micro_group_bytes;
} owner;

/* The group in whose share of the owner's cost the item's middle falls, that
 * is floor(n x) with x = (before + cost / 2) / total. */
static int group_by_share(const owner *o, const cz_micro_group_item *item,
                          int n_micro_groups)
{
    const wide middle = 2 * o->cost_before + item->cost;
    const wide total = 2 * (o->cost > 0 ? o->cost : 1);
    const int micro_group = (int)(n_micro_groups * middle / total);
    return micro_group < n_micro_groups ? micro_group : n_micro_groups - 1;
}

/* The last group an item may go to: where there is a group for every item of
 * the owner, one is left for each item behind this one. */
static int last_group(const owner *o, int n_micro_groups)
{
    return o->n_items <= n_micro_groups ? n_micro_groups - o->n_left
                                        : n_micro_groups - 1;
}

static int choose_group(const cz_micro_group_problem *problem, const owner *o,
                        const cz_micro_group_item *item, int n_micro_groups)
{
    int micro_group = group_by_share(o, item, n_micro_groups);
    if (micro_group > last_group(o, n_micro_groups))
        micro_group = last_group(o, n_micro_groups);
    if (micro_group > o->micro_group)
        return micro_group;
    return o->micro_group_bytes + item->bytes > problem->cap_bytes
               ? o->micro_group + 1
               : o->micro_group;
}

static void put(owner *o, const cz_micro_group_item *item, int micro_group)
{
    o->micro_group_bytes =
        (micro_group == o->micro_group ? o->micro_group_bytes : 0) +
        item->bytes;
    o->micro_group = micro_group;
    o->cost_before += item->cost;
    o->n_left--;
}

/* False when some owner needs more groups. */
static bool try_groups(const cz_micro_group_problem *problem,
                       const owner *owners, owner *work, int n_micro_groups,
                       int *micro_groups)
{
    memcpy(work, owners, sizeof *work * (size_t)problem->n_owners);
    for (int i = 0; i < problem->n_items; i++) {
        const cz_micro_group_item *item = &problem->items[i];
        owner *o = &work[item->owner];
        micro_groups[i] = choose_group(problem, o, item, n_micro_groups);
        if (micro_groups[i] >= n_micro_groups)
            return false;
        put(o, item, micro_groups[i]);
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

/* Groups that some owner needs whatever goes where: what is within the cap is
 * with no more than fits, and what is beyond it alone. */
static int fewest_groups(cz_arena *scratch,
                         const cz_micro_group_problem *problem)
{
    wide *bytes = CZ_NEW(scratch, wide, problem->n_owners), most = 0;
    const int64_t cap = problem->cap_bytes;
    for (int i = 0; i < problem->n_items; i++) {
        const cz_micro_group_item *item = &problem->items[i];
        bytes[item->owner] += item->bytes < cap ? item->bytes : cap;
    }
    for (int o = 0; o < problem->n_owners; o++)
        most = bytes[o] > most ? bytes[o] : most;
    return cap > 0 ? (int)((most + cap - 1) / cap) : 0;
}

/* Renumber so that no group is empty. */
static int close_gaps(cz_arena *scratch, int *micro_groups, int n_items,
                      int n_micro_groups)
{
    int *number = CZ_NEW(scratch, int, n_micro_groups + 1), n = 0;
    for (int i = 0; i < n_items; i++)
        number[micro_groups[i]] = 1;
    for (int g = 0; g < n_micro_groups; g++)
        number[g] = number[g] ? n++ : -1;
    for (int i = 0; i < n_items; i++)
        micro_groups[i] = number[micro_groups[i]];
    return n;
}

int cz_micro_group_solve(cz_arena *scratch,
                         const cz_micro_group_problem *problem,
                         int *micro_groups)
{
    owner *owners = CZ_NEW(scratch, owner, problem->n_owners);
    owner *work = CZ_NEW(scratch, owner, problem->n_owners);
    for (int o = 0; o < problem->n_owners; o++)
        owners[o].micro_group = -1;
    for (int i = 0; i < problem->n_items; i++) {
        owner *o = &owners[problem->items[i].owner];
        o->n_items++;
        o->n_left++;
        o->cost += problem->items[i].cost;
    }
    /* With as many groups as the fullest owner has items, item i of an owner
     * lies in group i at the latest: that always fits. */
    const int most = most_items(owners, problem->n_owners);
    const int fewest = fewest_groups(scratch, problem);
    int n = problem->n_micro_groups;
    n = n < fewest ? fewest : n;
    n = n < most ? n : most;
    while (n < most && !try_groups(problem, owners, work, n, micro_groups))
        n++;
    if (n == most)
        try_groups(problem, owners, work, n, micro_groups);
    return close_gaps(scratch, micro_groups, problem->n_items, n);
}
