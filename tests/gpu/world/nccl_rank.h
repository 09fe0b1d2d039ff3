/* One rank of a plan over NCCL, as tests run it: a thread with a GPU of the
 * double's, or a process with one of the machine's. */
#ifndef TESTS_CUDA_NCCL_RANK_H
#define TESTS_CUDA_NCCL_RANK_H

#include "tests/gpu/plan/loopback_rank.h"
#include "tests/gpu/driver/ranks.h"

#include "runtime/cuda/world/process.h"

enum { NCCL_RANK_STEPS = 6, NCCL_RANK_LAST_STEP = 2 /* of one that leaves */ };

extern const czr_cuda_program *nccl_rank_program; /* set by who runs it */

/* A call of the engine's behind the second step, or none. */
typedef enum rank_call {
    CALL_NONE,
    CALL_STEP,
    CALL_STEP_SET,
    CALL_PARAM_WAIT,
    N_CALLS
} rank_call;

/* What one run is to be, and what came of it. */
typedef struct wish {
    bool has_bad_step, is_late, is_early;
    int steps;       /* 0: NCCL_RANK_STEPS */
    bool is_reading; /* parameters of the last step, which nobody waits for */
    bool is_failing, undoes; /* rules in three steps, which are undone */
    bool is_captured;
    bool is_constant; /* gradients are given before the first step alone */
    bool is_odd_loose, is_odd_eager; /* the last rank has tensors that are
                                      * copied, or asks for no graphs */
    bool is_odd_rated;               /* or has another rate in one step */
    bool is_alike, is_odd_drifted; /* copies are, and compared in each step; or
                                    * but for its */
    rank_call odd_fails; /* the driver does, where the last rank calls it */
    bool has_copier; /* memory of the device is read and written by a stream */
    _Atomic int n_graphs;  /* of all that stay */
    _Atomic int n_ahead;   /* of all ranks, by rank_read */
    _Atomic int n_refused; /* of all ranks: a gradient of a step was */
    int leaver;            /* a rank that stops behind its second step, -1:
                            * none */
    void (*leave)(void);   /* how; NULL: it returns */
    int slow_ms;           /* not 0: the leaver stays, but comes so late */
    int64_t fail_at;       /* a call, 0: none */
    int64_t deadline_ms;
    czr_nccl_id id;
    czr_nvrtc *nvrtc;
    outcome out;
    char said[RANKS_MOST][CZR_DRIVER_MESSAGE];
    double seconds[RANKS_MOST]; /* from the step that the leaver does not take
                                 * until the rank knows */
} wish;

/* With a wish: all of the run's steps.  A rank that goes on where another has
 * left has a status, and what it said. */
void nccl_rank_run(test_rank *self, void *user);

#endif
