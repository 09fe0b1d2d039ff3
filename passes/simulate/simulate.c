/* A few iterations, until each is like the one before; the last is reported. */
#include "passes/simulate/internal.h"

enum { N_ITERATIONS = 4 };

/* ---- reading ---- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_of(const cz_simulation *s, int op, cz_simulate_part part,
                  int iteration)
{
    return s->marks[op].part == part && s->marks[op].iteration == iteration;
}

/* When the last rank has done all of a part. */
static int64_t end_of(const cz_simulation *s, const cz_timeline_times *times,
                      cz_simulate_part part, int iteration)
{
    const int n = s->document->n_ranks;
    int64_t end = 0;
    for (int i = 0; i < s->list.n_ops; i++)
        for (int r = 0; r < n && is_of(s, i, part, iteration); r++)
            end = larger(end, times->end[(int64_t)i * n + r]);
    return end;
}

/* What a part takes on the busiest rank on one of its streams, or (sum) on all
 * together. */
static int64_t busy_of(const cz_simulation *s, cz_simulate_part part,
                       bool computes, int64_t *sum)
{
    int64_t most = 0;
    *sum = 0;
    for (int r = 0; r < s->document->n_ranks; r++) {
        int64_t busy = 0;
        for (int i = 0; i < s->list.n_ops; i++) {
            const cz_timeline_op *op = &s->list.ops[i];
            if (is_of(s, i, part, N_ITERATIONS - 2) && op->ps[r] > 0 &&
                (op->stream == CZ_TIMELINE_COMPUTE) == computes)
                busy += op->ps[r];
        }
        most = larger(most, busy);
        *sum = cz_time_add(*sum, busy);
    }
    return most;
}

static cz_simulate_times read_times(const cz_simulation *s,
                                    const cz_timeline_times *times)
{
    enum { BEFORE = N_ITERATIONS - 2, LAST = N_ITERATIONS - 1 };
    cz_simulate_times out = {0};
    int64_t sum;
    out.iteration = end_of(s, times, CZ_PART_BACKWARD, LAST) -
                    end_of(s, times, CZ_PART_BACKWARD, BEFORE);
    const int64_t reduced = larger(end_of(s, times, CZ_PART_REDUCE, BEFORE),
                                   end_of(s, times, CZ_PART_DECIDE, BEFORE));
    const int64_t updated = end_of(s, times, CZ_PART_UPDATE, BEFORE);
    out.forward = busy_of(s, CZ_PART_FORWARD, true, &sum);
    out.backward = busy_of(s, CZ_PART_BACKWARD, true, &sum);
    out.reduce = busy_of(s, CZ_PART_REDUCE, false, &sum);
    out.gather = busy_of(s, CZ_PART_GATHER, false, &sum);
    out.update = busy_of(s, CZ_PART_UPDATE, true, &out.update_sum);
    out.step = larger(updated - reduced, 0);
    out.step_gather =
        larger(end_of(s, times, CZ_PART_FORWARD, LAST) - reduced - out.forward,
               out.step);
    return out;
}

/* ---- running ---- */

typedef void (*list_iteration)(cz_simulation *s, void *lister);

void cz_simulate_begin(cz_simulation *s, cz_arena *arena,
                       const cz_document *document,
                       const cz_simulate_options *options, int n_ops)
{
    cz_arena_init(arena);
    *s = (cz_simulation){
        .arena = arena, .document = document, .options = options};
    s->list.n_ranks = document->n_ranks;
    s->cached = CZ_NEW(arena, cz_timeline_comm, 1 << document->n_axes);
    cz_simulate_make_layers(s);
    cz_simulate_pick_stragglers(s);
    s->cap_ps = CZ_MAX_PS / N_ITERATIONS / (n_ops + 2 * s->layers.n + 8);
}

static cz_simulate_times finish(cz_simulation *s, void *lister,
                                list_iteration list)
{
    for (s->iteration = 0; s->iteration < N_ITERATIONS; s->iteration++)
        list(s, lister);
    const cz_timeline_times times = cz_timeline_simulate(s->arena, &s->list);
    const cz_simulate_times out = read_times(s, &times);
    cz_arena_fini(s->arena);
    return out;
}

cz_simulate_times cz_simulate_plan(const cz_document *document,
                                   const cz_simulate_options *options)
{
    cz_arena arena;
    cz_simulation s;
    cz_simulate_begin(&s, &arena, document, options, document->n_ops);
    return finish(&s, cz_simulate_plan_lister(&s), cz_simulate_list_plan);
}

cz_simulate_times cz_simulate_baseline(const cz_document *document,
                                       const cz_simulate_options *options,
                                       int baseline)
{
    cz_arena arena;
    cz_simulation s;
    cz_simulate_begin(&s, &arena, document, options,
                      2 * document->baselines[baseline].n_messages);
    return finish(&s, cz_simulate_baseline_lister(&s, baseline),
                  cz_simulate_list_baseline);
}
