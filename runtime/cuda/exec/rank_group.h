/* The ranks of a device that are stepped together: all walk the list, an
 * operation's turns on each, and behind each turn the world's units.  No step
 * waits for the device unless somebody asks what came of it. */
#ifndef CZR_CUDA_EXEC_RANK_GROUP_H
#define CZR_CUDA_EXEC_RANK_GROUP_H

#include "runtime/cuda/exec/rank.h"

/* One of them, and where it is in an operation. */
typedef struct czr_cuda_member {
    czr_cuda_rank *rank;
    czr_segment segment;
    czr_comm *comm;  /* of the turn's unit */
    bool is_active;  /* the operation is not skipped, and not over */
    bool has_posted; /* and not waited */
} czr_cuda_member;

typedef struct czr_cuda_rank_group {
    czr_cuda_member *members; /* [n] */
    int n;
    struct czr_cuda_captured
        *captured; /* captured.h; NULL: every step is put anew */
    int n_captured;
    struct czr_cuda_captured *reductions; /* [n_reductions], operations of the
                                           * list before all others */
    int n_reductions;
    bool is_capturing; /* what is put on streams runs later, in graphs */
    bool has_agreed, is_captured; /* whether steps are; whether that is known */
    int next_op;  /* of the next step: all before it have been put */
    bool is_open; /* its list has begun */
    /* Where it is not NULL: on member 0's main stream, before the units of a
     * step. */
    czr_status (*begin)(void *user, void *stream);
    void *user;
} czr_cuda_rank_group;

/* When all members have been opened: they are stepped together from now on, and
 * share one lock. */
void czr_cuda_rank_group_join(czr_cuda_rank_group *rank_group);

/* A step of all, whose engines are sealed.  Work that `stream` has comes first,
 * and what is put there later finds the updated parameters; NULL: gradients are
 * there, and parameters wanted when somebody has waited.
 *   With results[n] it waits until all is done, and returns what czr_step says.
 * With NULL it does not wait; what went wrong is said by a later call, which
 * does nothing else then: a failure for good, CZR_ERR_GRADIENT and an update
 * that is undone once.  But where rules have phases it waits for the decision
 * of the step before: which of them are next depends on it; and so it does with
 * results.
 *   A failure of one is a failure of all. */
czr_status czr_cuda_rank_group_step(czr_cuda_rank_group *rank_group,
                                    const czr_hyper *hyper, czr_stream stream,
                                    czr_result *results);

#endif
