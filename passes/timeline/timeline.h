/* The executor, simulated: a static list of operations on the streams of each
 * rank, as dsl/SCHEDULE.md orders them.  A solver's tool on plain arrays;
 * knows nothing of matrices. */
#ifndef CZ_PASSES_TIMELINE_TIMELINE_H
#define CZ_PASSES_TIMELINE_TIMELINE_H

#include "dsl/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum cz_timeline_stream {
    CZ_TIMELINE_COMPUTE,
    CZ_TIMELINE_LINK,  /* transfers and reductions over the row's axis */
    CZ_TIMELINE_LINK2, /* those over other axes, at the same time */
    CZ_TIMELINE_N_STREAMS
} cz_timeline_stream;

/* Communicators: the ranks of one start together, when the last can. */
typedef struct cz_timeline_comm {
    int n;         /* communicators; 0: every rank starts by itself */
    const int *of; /* [n_ranks] from 0; NULL: all ranks are of one */
} cz_timeline_comm;

/* On a rank it starts when the operation before it in its stream has completed
 * there, and all of `waits`. */
typedef struct cz_timeline_op {
    cz_timeline_stream stream;
    int of; /* what it belongs to, for who reads the list: a group or a job,
             * -1 for several */
    cz_timeline_comm comm;
    const int64_t *ps; /* [n_ranks] time on each rank; -1: the rank skips it,
                        * and who waits for it there does not wait */
    const int *waits;  /* [n_waits] other operations of the list */
    int n_waits;
} cz_timeline_op;

typedef struct cz_timeline_list {
    int n_ranks, n_ops;
    cz_timeline_op *ops;
} cz_timeline_list;

/* Times are in picoseconds. */
typedef struct cz_timeline_times {
    int64_t makespan;
    int64_t *end;     /* [op][rank] completion; 0 where the rank skips it */
    int64_t *free_ps; /* [stream][rank] completion of its last operation */
    /* Of the operation that runs: [rank] when each can start, and
     * [communicators] when the last of the ranks can. */
    int64_t *start_ps, *last_ps;
} cz_timeline_times;

/* Times of no operation; of `arena`. */
cz_timeline_times cz_timeline_times_make(cz_arena *arena,
                                         const cz_timeline_list *list);
/* When everything ends, where every stream of every rank keeps an order of the
 * list, [n_ops] numbers, in which operations come behind those they wait for;
 * NULL: as listed.  O(ranks * (ops + waits)). */
void cz_timeline_run(const cz_timeline_list *list, const int *order,
                     cz_timeline_times *times);
/* One operation behind those that `times` has: their ends, when streams are
 * free and when all ends. */
void cz_timeline_append(const cz_timeline_list *list, int number,
                        cz_timeline_times *times);
/* Both, as listed. */
cz_timeline_times cz_timeline_simulate(cz_arena *arena,
                                       const cz_timeline_list *list);

#endif
