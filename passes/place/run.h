/* Stored tensors of several matrices that lie in a bucket in one run, as the
 * trainer has them: one piece behind the other, in one slice. */
#ifndef CZ_PASSES_PLACE_RUN_H
#define CZ_PASSES_PLACE_RUN_H

#include "dsl/base/arena.h"
#include "dsl/plan/plan.h"

typedef struct cz_place_runs {
    const int *next;       /* [patterns] the piece directly behind; -1: none */
    const bool *is_behind; /* [patterns] it lies behind another piece */
} cz_place_runs;

/* Those of which every shard has each piece as one part, and that either have
 * owners or are cut anywhere, all pieces alike.  NULL unless the trainer has
 * the buffers (`layout trainer`), of equal slices (`geometry padded`). */
const cz_place_runs *cz_place_runs_find(cz_arena *arena,
                                        const cz_plan_view *view);

/* The parameter behind one in its run; -1: none.  runs may be NULL. */
int cz_place_next(const cz_place_runs *runs, const cz_plan_view *view,
                  int param);

#endif
