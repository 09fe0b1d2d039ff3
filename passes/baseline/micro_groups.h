/* Public micro-groups of a baseline's matrices: what one row of shards' ranks
 * takes to gather, compute and scatter those that its split coordinate owns. */
#ifndef CZ_PASSES_BASELINE_MICRO_GROUPS_H
#define CZ_PASSES_BASELINE_MICRO_GROUPS_H

#include "passes/cost/machine.h"
#include "passes/cost/plan_time.h"
#include "passes/place/problem.h"
#include "passes/solve/evaluate.h"
#include "passes/timeline/micro_group.h"

typedef struct cz_grouped_rows {
    const char *name;
    int n_micro_groups;    /* of the row with most */
    int64_t staging_bytes; /* of the fullest rank of any row */
    int64_t *row_ps;       /* [n_ranks of the problem] */
} cz_grouped_rows;

/* Whether a parameter of the placement is a matrix with shards to gather, and
 * whether any is. */
bool cz_compare_is_gathered(const cz_plan_view *view,
                            const cz_placement_problem *placement, int item);
bool cz_compare_has_micro_groups(const cz_plan_view *view,
                                 const cz_placement_problem *placement);

/* Between the ranks that shard those matrices; there must be one. */
cz_link cz_compare_link(const cz_plan_view *view, const cz_machine *machine,
                        const cz_placement_problem *placement);
/* A matrix that is gathered, over a link of that rate.  The owner's own shard
 * stays, the least if they differ; each of the others moves an even part of
 * the rest. */
cz_timeline_item cz_compare_item(const cz_plan_view *view,
                                 const cz_placement_problem *placement,
                                 int item, int64_t rate);

/* `plan` says which row has each matrix; the grouping which of its ranks.  What
 * a rank has of a group it computes in batches. */
cz_grouped_rows
cz_compare_micro_groups(cz_arena *arena, const cz_plan_view *view,
                        const cz_machine *machine, const cz_stage_time *times,
                        const cz_placement_problem *placement,
                        const cz_solve_plan *plan, cz_timeline_baseline kind);

/* Takes the kernels of those matrices out of load_ps[slots]. */
void cz_compare_ungroup(const cz_plan_view *view,
                        const cz_placement_problem *placement,
                        const cz_solve_plan *plan, int64_t *load_ps);

#endif
