/* The list of a step as a rank_group walks it: reductions as far as gradients
 * are there while the backward pass still runs, and all the rest. */
#ifndef CZR_CUDA_EXEC_RANK_GROUP_LIST_H
#define CZR_CUDA_EXEC_RANK_GROUP_LIST_H

#include "runtime/cuda/exec/rank_group.h"

/* Puts what is left of the step's list, and has main streams wait for all of
 * it. */
czr_status czr_cuda_list_end(czr_cuda_rank_group *rank_group);
/* The gradient of one of the engine's parameters is there behind what
 * `producer` has (NULL: now): the reductions of buckets that are complete on
 * all members begin.  The engines' lock is held. */
czr_status czr_cuda_list_arrive(czr_engine *engine, int param,
                                czr_stream producer);

/* What is put on the rank's main stream comes behind what `stream` has. */
czr_status czr_cuda_list_follow(czr_cuda_rank *rank, void *stream);

#endif
