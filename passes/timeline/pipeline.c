/* The executor, simulated: one pass over the list, for it is in an order that
 * every stream of every rank keeps. */
#include "passes/timeline/pipeline.h"

#include <assert.h>

#include "passes/timeline/streams.h"

typedef struct state {
    const cz_pipeline_list *list;
    cz_pipeline_times times;
    cz_streams streams;
    int64_t *last_start; /* [communicator] of the operation that runs */
} state;

static int64_t start_on(const state *s, const cz_pipeline_op *op, int rank)
{
    const int n_ranks = s->list->n_ranks;
    int64_t start = *cz_streams_free(&s->streams, op->stream, rank);
    for (int w = 0; w < op->n_waits; w++)
        start =
            cz_solve_max(start, s->times.end[op->waits[w] * n_ranks + rank]);
    return start;
}

static void run_on(state *s, int index, int rank, int64_t start)
{
    const cz_pipeline_op *op = &s->list->ops[index];
    const int n_ranks = s->list->n_ranks;
    const int64_t ps = op->ps[rank - op->first];
    int64_t *busy = &s->times.busy[(int)op->stream * n_ranks + rank];
    s->times.end[index * n_ranks + rank] =
        cz_streams_put(&s->streams, op->stream, rank, start, ps);
    *busy = cz_solve_end(*busy, ps);
}

/* When the last rank of each communicator can start. */
static void join(state *s, const cz_pipeline_op *op,
                 const cz_pipeline_comm *comm)
{
    for (int i = 0; i < op->n; i++)
        s->last_start[comm->n > 0 ? comm->of[op->first + i] : 0] = 0;
    for (int i = 0; i < op->n; i++) {
        int64_t *last =
            &s->last_start[comm->n > 0 ? comm->of[op->first + i] : 0];
        if (op->ps[i] >= 0)
            *last = cz_solve_max(*last, start_on(s, op, op->first + i));
    }
}

static void run(state *s, int index, const cz_pipeline_comm *comm)
{
    const cz_pipeline_op *op = &s->list->ops[index];
    assert(op->first >= 0 && op->first + op->n <= s->list->n_ranks);
    if (op->is_joint)
        join(s, op, comm);
    for (int i = 0; i < op->n; i++) {
        const int rank = op->first + i;
        if (op->ps[i] >= 0)
            run_on(s, index, rank,
                   op->is_joint
                       ? s->last_start[comm->n > 0 ? comm->of[rank] : 0]
                       : start_on(s, op, rank));
    }
}

cz_pipeline_times cz_pipeline_simulate_comms(cz_arena *arena,
                                             const cz_pipeline_list *list,
                                             const cz_pipeline_comm *comms)
{
    static const cz_pipeline_comm all = {0, NULL};
    const int n = list->n_ranks;
    state s = {list,
               {0, CZ_NEW(arena, int64_t, list->n_ops * n),
                CZ_NEW(arena, int64_t, CZ_PIPELINE_N_STREAMS * n)},
               {n, CZ_NEW(arena, int64_t, CZ_PIPELINE_N_STREAMS * n), 0},
               CZ_NEW(arena, int64_t, n)};
    for (int i = 0; i < list->n_ops; i++)
        run(&s, i, comms ? &comms[i] : &all);
    s.times.makespan = s.streams.makespan;
    return s.times;
}

cz_pipeline_times cz_pipeline_simulate(cz_arena *arena,
                                       const cz_pipeline_list *list)
{
    return cz_pipeline_simulate_comms(arena, list, NULL);
}
