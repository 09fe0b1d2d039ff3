/* What the parts of a run share: one rank while it runs, on a thread of its own
 * or, on a GPU, on one that all ranks have.  Private to frontend/run. */
#ifndef CZ_FRONTEND_RUN_INTERNAL_H
#define CZ_FRONTEND_RUN_INTERNAL_H

#include "frontend/run/run.h"

#include <pthread.h>

typedef struct run {
    const cz_run_request *request;
    cz_run_result *result;
    pthread_mutex_t lock; /* result->error, mismatches, allocations */
} run;

/* One rank's part of a run. */
typedef struct rank_run {
    run *common;
    const cz_run_request *request;
    czr_engine *engine;
    int rank;
    czr_layout_info *layouts; /* [n_params]; param and grad are the GPU's where
                               * there is one */
    float *row;               /* one row of any shard; an extern */
    float *sum;
} rank_run;

/* A shard as rows: how many, how long, and the element of the whole tensor
 * that each begins with. */
int64_t cz_rank_rows(const czr_layout_info *layout);
int64_t cz_rank_row_length(const czr_layout_info *layout);
int64_t cz_rank_row_start(const czr_layout_info *layout, int64_t row);

/* Finds where tensors lie, fills parameters, and seals the engine. */
czr_status cz_rank_prepare(rank_run *r);
/* Gradients and externs of a step. */
czr_status cz_rank_give(rank_run *r, int step);
/* A clock, in seconds. */
double cz_run_now(void);
/* What step 0, 1, ... of the run said, by rank 0. */
void cz_rank_note_step(const run *common, int step, double seconds,
                       const czr_result *result);

/* After the last step: this rank's shards, states and counters into the
 * result; and when all ranks have, compared with what is there. */
czr_status cz_rank_collect(rank_run *r);
czr_status cz_rank_compare(rank_run *r);
/* All but the engine. */
void cz_rank_free(rank_run *r);

/* Of processes: bytes of which all ranks but one have zeros, or 64-bit words
 * that are added up, to all. */
czr_status cz_run_join(czr_world *world, void *data, size_t bytes);
/* What each has collected, to all; then compared. */
czr_status cz_run_join_results(rank_run *r);

/* process.c: the rank that this process is, on request->gpu.  result->error
 * says what failed. */
czr_status cz_run_process(run *common);
/* loopback.c: all ranks on request->gpu.  result->error says what
 * failed. */
czr_status cz_run_loopback(run *common);

#endif
