/* One step of the optimizer by itself: when each operation runs on each rank.
 */
#include "passes/simulate/internal.h"

static void list_op(cz_simulation *s, int number)
{
    const cz_document_op *op = &s->document->ops[number];
    int *waits = CZ_NEW(s->arena, int, op->n_waits + 1);
    for (int i = 0; i < op->n_waits; i++)
        waits[i] = (int)op->waits[i];
    cz_simulate_append_op(s, CZ_PART_UPDATE, op, cz_simulate_op_ps(s, number),
                          waits, op->n_waits);
}

static cz_simulate_timeline copy(cz_arena *arena, const cz_simulation *s,
                                 const cz_timeline_times *times)
{
    const int64_t n = s->document->n_ranks, n_all = n * s->list.n_ops;
    int64_t *start = CZ_NEW(arena, int64_t, n_all);
    int64_t *end = CZ_NEW(arena, int64_t, n_all);
    for (int64_t i = 0; i < n_all; i++) {
        const int64_t ps = s->list.ops[i / n].ps[i % n];
        end[i] = ps < 0 ? -1 : times->end[i];
        start[i] = ps < 0 ? -1 : times->end[i] - ps;
    }
    return (cz_simulate_timeline){times->makespan, start, end};
}

cz_simulate_timeline cz_simulate_step(cz_arena *arena,
                                      const cz_document *document,
                                      const cz_simulate_options *options)
{
    cz_arena scratch;
    cz_simulation s;
    cz_simulate_begin(&s, &scratch, document, options, document->n_ops);
    for (int i = 0; i < document->n_ops; i++)
        list_op(&s, i);
    const cz_timeline_times times = cz_timeline_simulate(s.arena, &s.list);
    const cz_simulate_timeline out = copy(arena, &s, &times);
    cz_arena_fini(&scratch);
    return out;
}
