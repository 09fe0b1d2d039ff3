/* Between the files of the sub-group planner. */
#ifndef CZ_PASSES_SOLVE_SUBGROUP_INTERNAL_H
#define CZ_PASSES_SOLVE_SUBGROUP_INTERNAL_H

#include "passes/solve/subgroup.h"

/* Plans of one row of which none is both faster and lighter on the wire than
 * another: by rising time, falling bytes. */
typedef struct cz_subgroup_front {
    int n;
    cz_subgroup_row *rows;
} cz_subgroup_front;

/* Explore the plans of a row with counts[class] matrices; all in the front
 * keep the caps of staging and state.  It is empty where none was found. */
void cz_subgroup_explore(cz_arena *arena, const cz_subgroup_problem *problem,
                         const int *counts, cz_subgroup_front *front);

/* Which row gets how many of each class: counts [row][class].  Evens out the
 * least rank-seconds, then the state bytes. */
void cz_subgroup_deal(cz_arena *arena, const cz_subgroup_problem *problem,
                      int *counts);

/* Rank-seconds of a matrix of the class at the very least. */
int64_t cz_subgroup_least_work_ps(const cz_subgroup_class *of);

#endif
