/* The executor, simulated: a static list of operations on the streams of each
 * rank, as dsl/SCHEDULE.md orders them.  A solver's tool on plain arrays;
 * knows nothing of matrices. */
#ifndef CZ_PASSES_TIMELINE_PIPELINE_H
#define CZ_PASSES_TIMELINE_PIPELINE_H

#include "dsl/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum cz_pipeline_stream {
    CZ_PIPELINE_COMPUTE,
    CZ_PIPELINE_LINK,  /* transfers and reductions over the row's axis */
    CZ_PIPELINE_LINK2, /* those over other axes, at the same time */
    CZ_PIPELINE_N_STREAMS
} cz_pipeline_stream;

/* An operation of the ranks [first, first + n).  On a rank it starts when the
 * one before it in its stream has completed there, and all of `waits`. */
typedef struct cz_pipeline_op {
    cz_pipeline_stream stream;
    int of; /* what it belongs to, for who reads the list: a group or a job,
             * -1 for several */
    bool is_joint; /* starts on all ranks together, when the last one can */
    int first, n;
    const int64_t *ps; /* [n] time on each rank; -1: the rank skips it, and
                        * who waits for it there does not wait */
    const int *waits;  /* [n_waits] earlier operations of the list */
    int n_waits;
} cz_pipeline_op;

typedef struct cz_pipeline_list {
    int n_ranks, n_ops;
    cz_pipeline_op *ops;
} cz_pipeline_list;

/* Communicators: the ranks of one wait for each other. */
typedef struct cz_pipeline_comm {
    int n;         /* communicators */
    const int *of; /* [n_ranks] from 0 */
} cz_pipeline_comm;

/* Times are in picoseconds. */
typedef struct cz_pipeline_times {
    int64_t makespan;
    int64_t *end;  /* [op][rank] completion; 0 where the rank skips it */
    int64_t *busy; /* [stream][rank] sum of the operations' own times */
} cz_pipeline_times;

/* When everything ends.  The result lives in `arena`.  O(ranks * (ops +
 * waits)). */
cz_pipeline_times cz_pipeline_simulate(cz_arena *arena,
                                       const cz_pipeline_list *list);
/* The same where the ranks of a joint operation i are those of communicators
 * comms[i]; without any (n = 0) they are all one, as above. */
cz_pipeline_times cz_pipeline_simulate_comms(cz_arena *arena,
                                             const cz_pipeline_list *list,
                                             const cz_pipeline_comm *comms);

#endif
