/* Micro-groups: which matrices gather, compute and scatter together.  A
 * solver on plain arrays; knows nothing of parameters or the IR. */
#ifndef CZ_PASSES_SCHEDULE_MICRO_GROUP_H
#define CZ_PASSES_SCHEDULE_MICRO_GROUP_H

#include "dsl/base/arena.h"

#include <stdint.h>

/* One matrix; items of one owner keep their order. */
typedef struct cz_micro_group_item {
    int owner;     /* the rank that holds it whole; from 0 */
    int64_t bytes; /* of its gather and scatter buffers there */
    int64_t cost;  /* time there, in any unit */
} cz_micro_group_item;

typedef struct cz_micro_group_problem {
    int n_items, n_owners;
    const cz_micro_group_item *items;
    int64_t cap_bytes;  /* of the buffers of one group on one owner; an item
                         * beyond it is alone with its owner in its group */
    int n_micro_groups; /* asked for, as far as the cap and the items allow; no
                         * owner gets more groups than items */
} cz_micro_group_problem;

/* The smallest number of groups within the cap, from what is asked for on,
 * and each item's group.  Every owner's items are spread so that groups hold
 * the same shares of the cost of all: then owners finish a group together, and
 * the pipeline has no long wait.  No group is empty.  Returns the number of
 * groups, 0 without items. */
int cz_micro_group_solve(cz_arena *scratch,
                         const cz_micro_group_problem *problem,
                         int *micro_groups);

#endif
