/* What the parts of a run share: one rank while it runs.  Private to
 * cmd_run_ranks.c and cmd_run_collect.c. */
#ifndef CZ_FRONTEND_CMD_RUN_INTERNAL_H
#define CZ_FRONTEND_CMD_RUN_INTERNAL_H

#include "frontend/cmd_run_ranks.h"

#include <pthread.h>

typedef struct run {
    const cz_run_request *request;
    cz_run_result *result;
    pthread_mutex_t lock; /* result->error, mismatches, allocations */
} run;

/* One rank's part of a run. */
typedef struct rank_run {
    run *shared;
    const cz_run_request *request;
    czr_world *world;
    czr_engine *engine;
    int rank;
    czr_layout_info *layouts; /* [n_params] */
    float *row;               /* one row of any shard; an extern */
    float *sum;
} rank_run;

/* A shard as rows: how many, how long, and the element of the whole tensor
 * that each begins with. */
int64_t cz_rank_rows(const czr_layout_info *layout);
int64_t cz_rank_row_length(const czr_layout_info *layout);
int64_t cz_rank_row_start(const czr_layout_info *layout, int64_t row);

/* After the last step: put this rank's shards, states and counters into the
 * result, and compare what other ranks put there.  Collective. */
czr_status cz_rank_collect(rank_run *r);

#endif
