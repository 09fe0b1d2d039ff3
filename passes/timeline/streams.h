/* The streams of ranks while operations are put on them one after the other:
 * what the executor counts with, and the search for subgroups. */
#ifndef CZ_PASSES_TIMELINE_STREAMS_H
#define CZ_PASSES_TIMELINE_STREAMS_H

#include "dsl/base/arithmetic.h"
#include "passes/timeline/timeline.h"

typedef struct cz_timeline_streams {
    int n_ranks;
    int64_t *free_ps; /* [CZ_TIMELINE_N_STREAMS][n_ranks] when each is free */
    int64_t makespan;
} cz_timeline_streams;

static inline int64_t *cz_timeline_free(const cz_timeline_streams *streams,
                                        cz_timeline_stream stream, int rank)
{
    return &streams->free_ps[(int)stream * streams->n_ranks + rank];
}

/* When the last of these ranks could start what is ready by then. */
static inline int64_t cz_timeline_start(const cz_timeline_streams *streams,
                                        cz_timeline_stream stream, int first,
                                        int n, int64_t ready_ps)
{
    for (int rank = first; rank < first + n; rank++)
        ready_ps =
            cz_solve_max(ready_ps, *cz_timeline_free(streams, stream, rank));
    return ready_ps;
}

/* The rank's stream is busy from start_ps on.  Returns the end. */
static inline int64_t cz_timeline_put(cz_timeline_streams *streams,
                                      cz_timeline_stream stream, int rank,
                                      int64_t start_ps, int64_t ps)
{
    const int64_t end = cz_solve_end(start_ps, ps);
    *cz_timeline_free(streams, stream, rank) = end;
    streams->makespan = cz_solve_max(streams->makespan, end);
    return end;
}

#endif
