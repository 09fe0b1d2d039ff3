/* Ranks as processes, on the machine's GPUs, or each with a double of its own:
 * what they are asked is in memory that they inherit, what they leave in
 * memory that they share. */
#ifndef TESTS_CUDA_PROCESSES_H
#define TESTS_CUDA_PROCESSES_H

#include "tests/gpu/world/nccl_rank.h"

typedef struct processes {
    const char *driver,
        *nccl; /* libraries; NULL: those that the loader finds */
    const char *nvrtc;
    int n_gpus; /* fewer than ranks: they share them, each as a host of its own,
                 * and NCCL moves bytes by sockets */
    unsigned seconds;                         /* for all of a run */
    void (*prepare)(const wish *w, int size); /* a child's double; or NULL */
} processes;

/* GPUs that there are, none without NCCL: why is printed.  In a process of its
 * own, so that no other has begun to use CUDA. */
int processes_count(const processes *p);
/* All ranks to their ends.  Of each its status, its words and what it noted are
 * in ranks[i] and *w, as after ranks_run; CZR_ERR_ABORTED is the status of one
 * that ended in another way. */
void processes_run(const processes *p, test_rank *ranks, int size, wish *w);

#endif
