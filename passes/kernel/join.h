/* Which element-wise operations share one loop.  Knows only numbers. */
#ifndef CZ_PASSES_KERNEL_JOIN_H
#define CZ_PASSES_KERNEL_JOIN_H

#include "dsl/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    CZ_KERNEL_GIVEN = -1, /* an argument, or nothing at all */
    CZ_KERNEL_ALONE = -2  /* a step of its own: a product */
};

typedef struct cz_kernel_node {
    int space;     /* CZ_UNIT_*, or units that may share a loop have equal
                    * spaces from 0 */
    int64_t bytes; /* of its result in memory */
    bool stored;   /* its result is stored however units are grouped */
    int n_in;
    const int *in;   /* units; the graph has no cycle */
    const bool *far; /* [n_in] that operand must be complete before: it cannot
                      * come from the same loop */
} cz_kernel_node;

/* Groups units into steps: the pair of groups whose union saves most bytes of
 * loads and stores is joined (ties: lowest unit numbers), as long as one
 * saves anything and no cycle comes of it.  step[n] gets each unit's step, in
 * an order that they can run in, -1 for what is given.  Returns the number of
 * steps. */
int cz_kernel_join(cz_arena *arena, const cz_kernel_node *nodes, int n,
                   int *step);

#endif
