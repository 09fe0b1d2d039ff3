/* A list as its different ranks see it: ranks that have equal times in all
 * operations, and wait for equal others in each, are one.  What is simulated on
 * the folded list ends when the list does, and costs less. */
#ifndef CZ_PASSES_TIMELINE_FOLD_H
#define CZ_PASSES_TIMELINE_FOLD_H

#include "passes/timeline/timeline.h"

/* The result lives in `arena`.  O(operations * ranks * log ranks), a few
 * times. */
cz_timeline_list cz_timeline_fold(cz_arena *arena,
                                  const cz_timeline_list *list);

#endif
