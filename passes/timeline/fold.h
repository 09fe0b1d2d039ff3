/* A list as its different ranks see it: ranks that have equal times in all
 * operations, and wait for equal others in each, are one.  What is simulated on
 * the folded list ends when the list does, and costs less. */
#ifndef CZ_PASSES_TIMELINE_FOLD_H
#define CZ_PASSES_TIMELINE_FOLD_H

#include "passes/timeline/timeline.h"

/* The result lives in `arena`, and n_alike, unless it is NULL: for each rank of
 * the folded list, how many it stands for.  O(operations * ranks), a few times;
 * operations that share arrays of times and communicators are looked at
 * once. */
cz_timeline_list cz_timeline_fold(cz_arena *arena, const cz_timeline_list *list,
                                  const int **n_alike);

#endif
