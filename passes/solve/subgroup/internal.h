/* Between the files of the sub-group solver.
 *
 *   subgroup  which row gets which matrices, and the plan of all rows
 *   search    how many matrices of each class are shared by how many ranks
 *   row       on which ranks, in which order, and how long that takes */
#ifndef CZ_PASSES_SOLVE_SUBGROUP_INTERNAL_H
#define CZ_PASSES_SOLVE_SUBGROUP_INTERNAL_H

#include "passes/solve/subgroup/subgroup.h"

static inline const cz_subgroup_candidate *
cz_subgroup_candidate_of(const cz_subgroup_problem *problem,
                         const cz_subgroup_job *job)
{
    return &problem->classes[job->of].candidates[job->candidate];
}

/* Memory for rows of at most so many jobs. */
typedef struct cz_subgroup_workspace cz_subgroup_workspace;
cz_subgroup_workspace *
cz_subgroup_workspace_make(cz_arena *arena, const cz_subgroup_problem *problem,
                           int max_jobs);

typedef enum cz_subgroup_order {
    CZ_SUBGROUP_BY_SIZE,   /* largest g first, then most work */
    CZ_SUBGROUP_BY_LENGTH, /* what takes longest alone first */
    CZ_SUBGROUP_N_ORDERS
} cz_subgroup_order;

/* Orders the jobs and gives each, one after the other, the aligned block that
 * is least loaded. */
void cz_subgroup_place(cz_subgroup_workspace *workspace, cz_subgroup_job *jobs,
                       int n, cz_subgroup_order order);
/* List scheduling: the operation that can start first goes first, among those
 * the one with the longest rest behind it; matrices begin in the order of jobs.
 * Each matrix alone keeps the cap of staging. */
cz_subgroup_cost cz_subgroup_run(cz_subgroup_workspace *workspace,
                                 const cz_subgroup_job *jobs, int n);

/* Plans of one row of which none is better than another both by score and in
 * bytes: by rising score, falling bytes. */
typedef struct cz_subgroup_front {
    int n;
    cz_subgroup_row *rows;
} cz_subgroup_front;

/* Of a row with counts[class] matrices, each of which has a way within the cap
 * of staging. */
cz_subgroup_front cz_subgroup_search(cz_arena *arena,
                                     const cz_subgroup_problem *problem,
                                     const int *counts);

#endif
