/* How long the longest update takes: with `every`, updates differ. */
#ifndef CZ_PASSES_COST_UPDATE_TIME_H
#define CZ_PASSES_COST_UPDATE_TIME_H

#include "passes/cost/plan_time.h"

/* No more updates are looked at. */
enum { CZ_TIMED_UPDATES = 256 };

/* Of the whole stages of a plan: what a rank computes of its matrices at an
 * update, the most over ranks and over updates [first, first + n), which repeat
 * if n is below CZ_TIMED_UPDATES. */
typedef struct cz_update_time {
    int64_t first, n;
    int64_t most_ps;
    int64_t together_ps; /* if all parameters had one turn */
} cz_update_time;

/* False where no whole stage has phases.  The plan is scheduled. */
bool cz_update_time_find(cz_arena *arena, const cz_plan_view *view,
                         const cz_stage_time *times, cz_update_time *out);

#endif
