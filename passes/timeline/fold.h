/* A list as its different ranks see it: ranks that have equal times in all
 * operations, and wait for equal others in each, are one.  What is simulated on
 * the folded list ends when the list does, and costs less. */
#ifndef CZ_PASSES_TIMELINE_FOLD_H
#define CZ_PASSES_TIMELINE_FOLD_H

#include "passes/timeline/pipeline.h"

/* An operation on the ranks that do not skip it, those of one communicator
 * side by side; where it is not joint, the order means nothing. */
typedef struct cz_folded_op {
    cz_pipeline_stream stream;
    bool is_joint;
    int n;
    const int *ranks;  /* [n] of the folded list */
    const int64_t *ps; /* [n] */
    int n_comms;
    const int *ends; /* [n_comms] behind the last of each in `ranks` */
} cz_folded_op;

typedef struct cz_folded_list {
    int n_ranks;
    const int *of_rank; /* [ranks of the list] which folded one each is */
    cz_folded_op *ops;  /* [operations of the list] */
} cz_folded_list;

/* comms as for cz_pipeline_simulate_comms().  The result lives in `arena`.
 * O(operations * ranks * log ranks), a few times. */
cz_folded_list cz_pipeline_fold(cz_arena *arena, const cz_pipeline_list *list,
                                const cz_pipeline_comm *comms);

#endif
