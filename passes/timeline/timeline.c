/* The executor, simulated: one pass over the list, for it is in an order that
 * every stream of every rank keeps. */
#include "passes/timeline/timeline.h"

#include "passes/timeline/streams.h"

#include <string.h>

cz_timeline_times cz_timeline_times_make(cz_arena *arena,
                                         const cz_timeline_list *list)
{
    const int n = list->n_ranks;
    int most = 1;
    for (int i = 0; i < list->n_ops; i++)
        most = list->ops[i].comm.n > most ? list->ops[i].comm.n : most;
    return (cz_timeline_times){
        0, CZ_NEW(arena, int64_t, (int64_t)list->n_ops * n + 1),
        CZ_NEW(arena, int64_t, CZ_TIMELINE_N_STREAMS * n + 1),
        CZ_NEW(arena, int64_t, n + 1), CZ_NEW(arena, int64_t, most)};
}

void cz_timeline_append(const cz_timeline_list *list, int number,
                        cz_timeline_times *times)
{
    const int n = list->n_ranks;
    cz_timeline_streams streams = {n, times->free_ps, times->makespan};
    const cz_timeline_op *op = &list->ops[number];
    int64_t *start = times->start_ps, *end = times->end + (int64_t)number * n;
    const int *of = op->comm.n > 1 ? op->comm.of : NULL;
    memcpy(start, cz_timeline_free(&streams, op->stream, 0),
           (size_t)n * sizeof *start);
    for (int w = 0; w < op->n_waits; w++) {
        const int64_t *before = times->end + (int64_t)op->waits[w] * n;
        for (int r = 0; r < n; r++)
            start[r] = cz_solve_max(start[r], before[r]);
    }
    for (int c = 0; c < op->comm.n; c++)
        times->last_ps[c] = 0;
    for (int r = 0; r < n && op->comm.n > 0; r++) {
        int64_t *last = &times->last_ps[of ? of[r] : 0];
        if (op->ps[r] >= 0)
            *last = cz_solve_max(*last, start[r]);
    }
    for (int r = 0; r < n; r++)
        if (op->ps[r] >= 0)
            end[r] = cz_timeline_put(
                &streams, op->stream, r,
                op->comm.n > 0 ? times->last_ps[of ? of[r] : 0] : start[r],
                op->ps[r]);
    times->makespan = streams.makespan;
}

void cz_timeline_run(const cz_timeline_list *list, const int *order,
                     cz_timeline_times *times)
{
    times->makespan = 0;
    memset(times->free_ps, 0,
           CZ_TIMELINE_N_STREAMS * (size_t)list->n_ranks *
               sizeof *times->free_ps);
    for (int i = 0; i < list->n_ops; i++)
        cz_timeline_append(list, order ? order[i] : i, times);
}

cz_timeline_times cz_timeline_simulate(cz_arena *arena,
                                       const cz_timeline_list *list)
{
    cz_timeline_times times = cz_timeline_times_make(arena, list);
    cz_timeline_run(list, NULL, &times);
    return times;
}
