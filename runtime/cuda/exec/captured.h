/* Steps of a rank_group captured as graphs: one for each reduction of a bucket,
 * and one for what follows, for each choice of phases.  What was put on all
 * streams is launched again by one call.  Run-time values lie in the device's
 * memory, where each step writes them before. */
#ifndef CZR_CUDA_EXEC_CAPTURED_H
#define CZR_CUDA_EXEC_CAPTURED_H

#include "runtime/cuda/driver/graph.h"
#include "runtime/cuda/exec/rank_group.h"

/* More choices of phases than this are put anew in every step. */
enum { CZR_CUDA_CAPTURED = 32 };

typedef struct czr_cuda_captured {
    czr_graph graph;
    uint8_t *phases;   /* [n_params]; NULL: of a reduction */
    int64_t *counts;   /* what it adds to the counters of all members */
    int64_t decisions; /* and to their decisions */
} czr_cuda_captured;

/* Memory for all of them. */
czr_status czr_cuda_captured_open(czr_cuda_rank_group *rank_group);
/* Graphs before what they use, streams and communicators; NULL members are
 * allowed. */
void czr_cuda_captured_close(czr_cuda_rank_group *rank_group);
/* Behind the first step, collective: whether all ranks can capture, so that all
 * do or none: no tensor is copied in or out, no stage waits for its stream. */
czr_status czr_cuda_captured_agree(czr_cuda_rank_group *rank_group);
/* Whether steps are captured: that was agreed on, and what was put eagerly left
 * nothing to load. */
bool czr_cuda_captured_are_used(const czr_cuda_rank_group *rank_group);

/* Graphs so far. */
int czr_cuda_captured_count(const czr_cuda_rank_group *rank_group);

/* What `put` puts on the members' main streams and on streams that fork from
 * them and join them, by a graph that is captured when it comes first: of
 * reduction `op`; of what follows, in the phases of the update under way, which
 * is put as it is where there is no room. */
czr_status
czr_cuda_captured_reduce(czr_cuda_rank_group *rank_group, int op,
                         czr_status (*put)(czr_cuda_rank_group *rank_group));
czr_status
czr_cuda_captured_follow(czr_cuda_rank_group *rank_group,
                         czr_status (*put)(czr_cuda_rank_group *rank_group));

#endif
