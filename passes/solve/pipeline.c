/* The executor, simulated: one pass over the list, for it is in an order that
 * every stream of every rank keeps. */
#include "passes/solve/pipeline.h"

#include <assert.h>

#include "passes/solve/arithmetic.h"

typedef struct state {
    const cz_pipeline_list *list;
    cz_pipeline_times times;
    int64_t *stream_free; /* [stream][rank] */
} state;

static int64_t start_on(const state *s, const cz_pipeline_op *op, int rank)
{
    const int n_ranks = s->list->n_ranks;
    int64_t start = s->stream_free[(int)op->stream * n_ranks + rank];
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
    const int64_t end = start + ps;
    s->times.end[index * n_ranks + rank] = end;
    s->times.busy[(int)op->stream * n_ranks + rank] += ps;
    s->stream_free[(int)op->stream * n_ranks + rank] = end;
    s->times.makespan = cz_solve_max(s->times.makespan, end);
}

static void run(state *s, int index)
{
    const cz_pipeline_op *op = &s->list->ops[index];
    int64_t last_start = 0;
    assert(op->first >= 0 && op->first + op->n <= s->list->n_ranks);
    for (int i = 0; i < op->n && op->is_joint; i++)
        if (op->ps[i] >= 0)
            last_start =
                cz_solve_max(last_start, start_on(s, op, op->first + i));
    for (int i = 0; i < op->n; i++)
        if (op->ps[i] >= 0)
            run_on(s, index, op->first + i,
                   op->is_joint ? last_start : start_on(s, op, op->first + i));
}

cz_pipeline_times cz_pipeline_simulate(cz_arena *arena,
                                       const cz_pipeline_list *list)
{
    const int n = list->n_ranks;
    state s = {list,
               {0, CZ_NEW(arena, int64_t, list->n_ops * n),
                CZ_NEW(arena, int64_t, CZ_PIPELINE_N_STREAMS * n)},
               CZ_NEW(arena, int64_t, CZ_PIPELINE_N_STREAMS * n)};
    for (int i = 0; i < list->n_ops; i++)
        run(&s, i);
    return s.times;
}
