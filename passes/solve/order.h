/* In which order a list's operations had better stand: any order in which
 * operations come behind those they wait for is a list, but one ends sooner
 * than another, for streams keep the order.  Searched by moving operations one
 * at a time on the simulated executor.  Plain arrays. */
#ifndef CZ_PASSES_SOLVE_ORDER_H
#define CZ_PASSES_SOLVE_ORDER_H

#include "passes/timeline/timeline.h"

typedef struct cz_order_problem {
    const cz_timeline_list *list;
    int n_moved; /* the first may be moved among themselves, others stay */
    int n_micro_groups; /* `of` is below; -1: of none.  A group is open from its
                         * first operation to its last */
    int64_t effort; /* times of one operation on one rank that are looked up,
                     * about; less than one try: the order of need
                     * alone; 0: the list's own */
} cz_order_problem;

typedef struct cz_order {
    /* Whose sum is small: when all is done, and when the last operation of a
     * group is.  Picoseconds. */
    int64_t makespan, micro_groups_end;
    const int *order; /* [n_ops] numbers of the list */
    const int *since; /* [n_ops] the first place in the order whose operation
                       * still runs on some rank when the one at this place
                       * starts there; its own if none does */
} cz_order;

/* Never worse than the list's own order, or that of need, and with no more
 * groups open at a time.  Equal problems have equal answers.  The result lives
 * in `arena`. */
cz_order cz_order_find(cz_arena *arena, const cz_order_problem *problem);

#endif
