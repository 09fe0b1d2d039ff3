/* The schedule: from owners and buckets to one SPMD list of operations, its
 * tables and its scratch.  Plain C on the plan view; dsl/SCHEDULE.md says what
 * a list means. */
#ifndef CZ_PASSES_SCHEDULE_SCHEDULE_H
#define CZ_PASSES_SCHEDULE_SCHEDULE_H

#include "dsl/base/arena.h"
#include "dsl/base/diag.h"
#include "dsl/plan/plan.h"

#include <stdbool.h>

/* Facts, ready to be written; everything belongs to the arena. */
typedef struct cz_schedule {
    int n_tables, n_ops;
    const cz_fact_table *tables;
    const cz_fact_op *ops;
    cz_fact_arena arena;
    cz_fact_micro_group_choice
        micro_group_choice; /* empty: there was nothing to choose */
} cz_schedule;

/* `view` has stages, assignments and buckets; what it has of a schedule is
 * not looked at.  False after reporting. */
bool cz_schedule_build(cz_arena *arena, const cz_plan_view *view,
                       cz_diags *diags, cz_schedule *out);

#endif
