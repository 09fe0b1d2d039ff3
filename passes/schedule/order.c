/* The update's operations in the order in which the simulated executor is done
 * soonest.  Scratch and waits come later, and hold for any order. */
#include "dsl/base/checked.h"
#include "passes/schedule/internal.h"
#include "passes/solve/order.h"

#include <assert.h>
#include <string.h>

/* The first operation that may be moved, of those that take time: buckets are
 * reduced in the order of the backward pass. */
static int first_moved(const cz_scheduler *s, const cz_timed_list *timed)
{
    int first = 0;
    for (int i = 0; i < s->n_ops; i++)
        if (timed->number_of[i] >= 0 && s->ops[i].role == CZ_ROLE_REDUCE)
            first = timed->number_of[i] + 1;
    return first;
}

/* Between the prologue and undo, which stay, everything takes time. */
static void reorder(cz_scheduler *s, const cz_timed_list *timed, int first,
                    const cz_order *found)
{
    const int n = timed->n_timed - first, n_head = s->n_ops - n - 1;
    cz_planned_op *moved = CZ_NEW(s->arena, cz_planned_op, n + 1);
    int *op_of = CZ_NEW(s->arena, int, timed->n_timed + 1);
    s->since = CZ_NEW(s->arena, int, s->n_ops + 1);
    assert(s->ops[s->n_ops - 1].role == CZ_ROLE_UNDO);
    for (int i = 0; i < s->n_ops; i++) {
        s->since[i] = i;
        if (timed->number_of[i] >= 0)
            op_of[timed->number_of[i]] = i;
    }
    for (int i = 0; i < n; i++) {
        const int since = found->since[first + i] - first;
        moved[i] = s->ops[op_of[found->order[first + i]]];
        s->since[n_head + i] = n_head + (since > 0 ? since : 0);
    }
    memcpy(s->ops + n_head, moved, (size_t)n * sizeof *moved);
}

int64_t cz_schedule_order(cz_scheduler *s, int64_t effort)
{
    const cz_timed_list timed = cz_schedule_timed_list(s);
    const int first = first_moved(s, &timed);
    const cz_order_problem problem = {.list = &timed.list,
                                      .first_moved = first,
                                      .end_moved = timed.n_timed,
                                      .n_groups = s->sharded.n_groups,
                                      .effort = s->keeps_order ? 0 : effort};
    const cz_order found = cz_order_find(s->arena, &problem);
    if (!s->keeps_order)
        reorder(s, &timed, first, &found);
    return cz_ceil_div(found.makespan + found.groups_end, 2);
}
