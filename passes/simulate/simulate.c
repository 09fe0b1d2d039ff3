/* A few iterations, until each is like the one before; the last is reported. */
#include "passes/simulate/internal.h"

enum { N_ITERATIONS = 4 };

struct cz_simulate_baselines {
    cz_simulation common; /* without a list */
};

/* ---- what is slower ---- */

/* SplitMix64: a number for each key, with no state. */
static uint64_t mix(uint64_t key)
{
    key += 0x9e3779b97f4a7c15U;
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9U;
    key = (key ^ key >> 27) * 0x94d049bb133111ebU;
    return key ^ key >> 31;
}

static uint64_t draw(const cz_simulation *s, uint64_t op, uint64_t rank)
{
    return mix(mix(mix((uint64_t)s->options->seed) ^ op) ^ rank);
}

/* Stragglers are the ranks with the least draws. */
static void pick_stragglers(cz_simulation *s)
{
    const int n = s->document->n_ranks;
    s->is_slow = CZ_NEW(s->arena, bool, n);
    for (int i = 0; i < s->options->n_stragglers && i < n; i++) {
        int least = -1;
        for (int r = 0; r < n; r++)
            if (!s->is_slow[r] &&
                (least < 0 || draw(s, UINT64_MAX, (uint64_t)r) <
                                  draw(s, UINT64_MAX, (uint64_t)least)))
                least = r;
        s->is_slow[least] = true;
    }
}

/* Between 1 and 1 + jitter times as long, and a straggler slower yet. */
static int64_t slowed(const cz_simulation *s, int op, int rank, int64_t ps)
{
    const uint64_t million = CZ_TIME_MILLION;
    cz_wide longer = ps;
    if (ps < 0)
        return ps;
    if (s->options->jitter > 0) {
        const uint64_t part =
            draw(s, (uint64_t)op, (uint64_t)rank) % (million + 1);
        longer += longer * s->options->jitter / CZ_TIME_MILLION *
                  (int64_t)part / CZ_TIME_MILLION;
    }
    if (s->is_slow[rank])
        longer = longer * s->options->slowdown / CZ_TIME_MILLION;
    return longer < s->prices.most_ps ? (int64_t)longer : s->prices.most_ps;
}

/* ---- lists ---- */

/* The times themselves, unless some of them are more than may be or are
 * slowed. */
static const int64_t *times_of(const cz_simulation *s, const cz_timeline_op *op)
{
    const int n_ranks = s->document->n_ranks;
    const int64_t most = s->prices.most_ps;
    const bool is_slowed =
        op->stream == CZ_TIMELINE_COMPUTE &&
        (s->options->jitter > 0 || s->options->n_stragglers > 0);
    int r = is_slowed ? 0 : n_ranks;
    for (int k = 0; k < n_ranks && r == n_ranks; k++)
        r = op->ps[k] > most ? k : r;
    if (r == n_ranks)
        return op->ps;
    int64_t *ps = CZ_NEW(s->arena, int64_t, n_ranks);
    for (r = 0; r < n_ranks; r++) {
        ps[r] = op->ps[r] < most ? op->ps[r] : most;
        if (is_slowed)
            ps[r] = slowed(s, s->list.n_ops, r, ps[r]);
    }
    return ps;
}

int cz_simulate_append(cz_simulation *s, cz_simulate_role role,
                       cz_timeline_op op)
{
    const int number = s->list.n_ops;
    op.of = -1;
    op.ps = times_of(s, &op);
    *CZ_PUSH(s->arena, s->list.ops, s->list.n_ops) = op;
    *CZ_PUSH(s->arena, s->marks, s->n_marks) =
        (cz_simulate_mark){role, s->iteration};
    return number;
}

cz_simulate_buckets cz_simulate_buckets_make(cz_simulation *s, int n)
{
    cz_simulate_buckets out = {
        n, CZ_NEW(s->arena, bool, (size_t)s->layers.n *(size_t)n),
        CZ_NEW(s->arena, int, n), CZ_NEW(s->arena, int, n)};
    for (int b = 0; b < n; b++) {
        out.first_layer[b] = s->layers.n - 1;
        out.gather_of[b] = -1;
    }
    return out;
}

void cz_simulate_put(const cz_simulation *s, cz_simulate_buckets *buckets,
                     int bucket, int param)
{
    const int layer = s->layers.of_param[param];
    buckets->has[layer * buckets->n + bucket] = true;
    if (layer < buckets->first_layer[bucket])
        buckets->first_layer[bucket] = layer;
}

/* On every rank, where there is a pipeline. */
static void list_bubble(cz_simulation *s, int64_t bubble)
{
    int64_t *ps = CZ_NEW(s->arena, int64_t, s->document->n_ranks);
    for (int r = 0; r < s->document->n_ranks; r++)
        ps[r] = bubble;
    if (bubble > 0)
        cz_simulate_append(s, CZ_SIMULATE_BUBBLE, (cz_timeline_op){.ps = ps});
}

void cz_simulate_list_forward(cz_simulation *s,
                              const cz_simulate_buckets *buckets)
{
    list_bubble(s, s->layers.fill);
    for (int layer = 0; layer < s->layers.n; layer++) {
        int *waits = CZ_NEW(s->arena, int, buckets->n + 1);
        int n = 0;
        for (int b = 0; b < buckets->n; b++)
            if (buckets->has[layer * buckets->n + b] &&
                buckets->gather_of[b] >= 0)
                waits[n++] = buckets->gather_of[b];
        cz_simulate_append(s, CZ_SIMULATE_FORWARD,
                           (cz_timeline_op){.ps = s->layers.forward[layer],
                                            .waits = waits,
                                            .n_waits = n});
    }
}

void cz_simulate_list_backward(cz_simulation *s, int *ops)
{
    for (int layer = s->layers.n - 1; layer >= 0; layer--)
        ops[layer] = cz_simulate_append(
            s, CZ_SIMULATE_BACKWARD,
            (cz_timeline_op){.ps = s->layers.backward[layer]});
    list_bubble(s, s->layers.drain);
}

/* ---- a plan: its schedule, between passes of the model ---- */

typedef struct plan_lister {
    cz_timeline_op *ops; /* [n_ops] of the schedule */
    cz_simulate_buckets buckets;
    int *backward;  /* [n_layers] operations */
    int *number_of; /* [n_ops] in the list */
} plan_lister;

static void *make_lister(cz_simulation *s)
{
    const cz_document *d = s->document;
    const int n = d->n_buckets;
    plan_lister *l = CZ_NEW(s->arena, plan_lister, 1);
    l->ops = CZ_NEW(s->arena, cz_timeline_op, d->n_ops);
    l->buckets = cz_simulate_buckets_make(s, n);
    l->backward = CZ_NEW(s->arena, int, s->layers.n);
    l->number_of = CZ_NEW(s->arena, int, d->n_ops);
    for (int p = 0; p < d->n_params; p++)
        if (d->params[p].bucket >= 0)
            cz_simulate_put(s, &l->buckets, d->params[p].bucket, p);
    /* Buckets of one message wait for the last gradient of any. */
    int *first_layer = l->buckets.first_layer;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            if (d->buckets[a].message == d->buckets[b].message &&
                first_layer[b] < first_layer[a])
                first_layer[a] = first_layer[b];
    for (int i = 0; i < d->n_ops; i++)
        l->ops[i] = cz_op_time(&s->prices, i);
    return l;
}

static cz_simulate_role part_of(const cz_document_op *op)
{
    static const cz_simulate_role parts[] = {
        [CZ_SECTION_REDUCE] = CZ_SIMULATE_REDUCE,
        [CZ_SECTION_DECIDE] = CZ_SIMULATE_DECIDE,
        [CZ_SECTION_UPDATE] = CZ_SIMULATE_UPDATE,
        [CZ_SECTION_RECOVER] = CZ_SIMULATE_DECIDE};
    return op->kind == CZ_STEP_ALL_GATHER ? CZ_SIMULATE_GATHER
                                          : parts[op->section];
}

static void list_plan(cz_simulation *s, void *kept)
{
    const cz_document *d = s->document;
    plan_lister *l = kept;
    cz_simulate_list_forward(s, &l->buckets);
    cz_simulate_list_backward(s, l->backward);
    for (int i = 0; i < d->n_ops; i++) {
        const cz_document_op *op = &d->ops[i];
        int *waits = CZ_NEW(s->arena, int, op->n_waits + 1);
        int n = 0;
        for (; n < op->n_waits; n++)
            waits[n] = l->number_of[op->waits[n]];
        if (op->kind == CZ_STEP_REDUCE_SCATTER)
            waits[n++] = l->backward[l->buckets.first_layer[op->bucket]];
        l->ops[i].waits = waits;
        l->ops[i].n_waits = n;
        l->number_of[i] = cz_simulate_append(s, part_of(op), l->ops[i]);
        if (op->kind == CZ_STEP_ALL_GATHER)
            l->buckets.gather_of[op->bucket] = l->number_of[i];
    }
}

/* ---- reading ---- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_of(const cz_simulation *s, int op, cz_simulate_role role,
                  int iteration)
{
    return s->marks[op].role == role && s->marks[op].iteration == iteration;
}

/* When the last rank has done all of a part. */
static int64_t end_of(const cz_simulation *s, const cz_timeline_times *times,
                      cz_simulate_role role, int iteration)
{
    const int n = s->list.n_ranks;
    int64_t end = 0;
    for (int i = 0; i < s->list.n_ops; i++)
        for (int r = 0; r < n && is_of(s, i, role, iteration); r++)
            end = larger(end, times->end[(int64_t)i * n + r]);
    return end;
}

/* What a part takes on the busiest rank on one of its streams, or (sum) on all
 * together. */
static int64_t busy_of(const cz_simulation *s, cz_simulate_role role,
                       bool computes, int64_t *sum)
{
    const int n_ranks = s->list.n_ranks;
    int64_t *busy = CZ_NEW(s->arena, int64_t, n_ranks), most = 0;
    *sum = 0;
    for (int i = 0; i < s->list.n_ops; i++) {
        const cz_timeline_op *op = &s->list.ops[i];
        if (is_of(s, i, role, N_ITERATIONS - 2) &&
            (op->stream == CZ_TIMELINE_COMPUTE) == computes)
            for (int r = 0; r < n_ranks; r++)
                busy[r] += op->ps[r] > 0 ? op->ps[r] : 0;
    }
    for (int r = 0; r < n_ranks; r++) {
        most = larger(most, busy[r]);
        *sum =
            cz_time_add(*sum, cz_time_limit((cz_wide)busy[r] * s->n_alike[r]));
    }
    return most;
}

static cz_simulate_times read_times(const cz_simulation *s,
                                    const cz_timeline_times *times)
{
    enum { BEFORE = N_ITERATIONS - 2, LAST = N_ITERATIONS - 1 };
    cz_simulate_times out = {0};
    int64_t sum;
    out.iteration = end_of(s, times, CZ_SIMULATE_BACKWARD, LAST) -
                    end_of(s, times, CZ_SIMULATE_BACKWARD, BEFORE);
    const int64_t reduced =
        larger(end_of(s, times, CZ_SIMULATE_REDUCE, BEFORE),
               end_of(s, times, CZ_SIMULATE_DECIDE, BEFORE));
    const int64_t updated = end_of(s, times, CZ_SIMULATE_UPDATE, BEFORE);
    out.forward = busy_of(s, CZ_SIMULATE_FORWARD, true, &sum);
    out.backward = busy_of(s, CZ_SIMULATE_BACKWARD, true, &sum);
    out.bubble = busy_of(s, CZ_SIMULATE_BUBBLE, true, &sum);
    for (int r = 0; r < s->document->n_ranks; r++)
        out.links = larger(out.links, s->layers.links[r]);
    out.reduce = busy_of(s, CZ_SIMULATE_REDUCE, false, &sum);
    out.gather = busy_of(s, CZ_SIMULATE_GATHER, false, &sum);
    out.update = busy_of(s, CZ_SIMULATE_UPDATE, true, &out.update_sum);
    out.step = larger(updated - reduced, 0);
    out.step_gather = larger(end_of(s, times, CZ_SIMULATE_FORWARD, LAST) -
                                 reduced - out.forward - s->layers.fill,
                             out.step);
    return out;
}

/* ---- running ---- */

static int64_t all_of(const cz_document *document)
{
    return ((int64_t)1 << document->n_axes) - 1;
}

/* Of an iteration that has so many operations besides the model's. */
static void limit_times(cz_simulation *s, int n_ops)
{
    s->prices.most_ps =
        CZ_MAX_PS / N_ITERATIONS / (n_ops + 2 * s->layers.n + 10);
}

/* A list without operations, of which an iteration will have n_ops, on ranks
 * that differ along `apart`. */
static void begin(cz_simulation *s, cz_arena *arena,
                  const cz_document *document,
                  const cz_simulate_options *options, int n_ops, int64_t apart)
{
    *s = (cz_simulation){
        .arena = arena, .document = document, .options = options};
    s->prices = cz_op_prices_make(arena, document, options->machine, apart);
    s->prices.is_plans_machine = options->is_plans_machine;
    s->prices.uneven = options->uneven;
    s->list.n_ranks = document->n_ranks;
    cz_simulate_make_layers(s);
    pick_stragglers(s);
    limit_times(s, n_ops);
}

static cz_simulate_times finish(cz_simulation *s, void *lister,
                                void (*list)(cz_simulation *, void *))
{
    for (s->iteration = 0; s->iteration < N_ITERATIONS; s->iteration++)
        list(s, lister);
    s->list = cz_timeline_fold(s->arena, &s->list, &s->n_alike);
    const cz_timeline_times times = cz_simulate_contention(s);
    return read_times(s, &times);
}

cz_simulate_model cz_simulate_passes(const cz_document *document,
                                     const cz_simulate_options *options)
{
    cz_arena arena;
    cz_simulation s;
    cz_simulate_model out = {0};
    int64_t apart = 0;
    for (int p = 0; p < document->n_params; p++)
        apart |= document->params[p].residents.set;
    cz_arena_init(&arena);
    begin(&s, &arena, document, options, 0, apart);
    const cz_simulate_layers *l = &s.layers;
    for (int r = 0; r < s.prices.n_ranks; r++) {
        int64_t forward = 0, backward = 0;
        for (int layer = 0; layer < l->n; layer++) {
            forward = cz_time_add(forward, larger(l->forward[layer][r], 0));
            backward = cz_time_add(backward, larger(l->backward[layer][r], 0));
        }
        out.forward = larger(out.forward, forward);
        out.backward = larger(out.backward, backward);
        out.links = larger(out.links, l->links[r]);
    }
    out.bubble = cz_time_add(l->fill, l->drain);
    out.activation_bytes = l->activation_bytes;
    out.microbatches = l->microbatches;
    cz_arena_fini(&arena);
    return out;
}

cz_simulate_times cz_simulate_plan(const cz_document *document,
                                   const cz_simulate_options *options)
{
    cz_arena arena;
    cz_simulation s;
    cz_arena_init(&arena);
    begin(&s, &arena, document, options, document->n_ops, all_of(document));
    const cz_simulate_times times = finish(&s, make_lister(&s), list_plan);
    cz_arena_fini(&arena);
    return times;
}

cz_simulate_baselines *
cz_simulate_baselines_make(cz_arena *arena, const cz_document *document,
                           const cz_simulate_options *options)
{
    cz_simulate_baselines *of = CZ_NEW(arena, cz_simulate_baselines, 1);
    begin(&of->common, arena, document, options, 0, all_of(document));
    return of;
}

bool cz_simulate_baseline(const cz_simulate_baselines *of, int number,
                          int64_t most, cz_simulate_times *out)
{
    cz_arena arena;
    cz_simulation s = of->common;
    cz_arena_init(&arena);
    s.arena = &arena;
    limit_times(&s, 3 * s.document->baselines[number].n_messages);
    void *lister = cz_simulate_baseline_lister(&s, number);
    const bool may_be = cz_simulate_may_be_shorter(&s, lister, most);
    if (may_be) {
        cz_simulate_make_ops(&s, lister);
        *out = finish(&s, lister, cz_simulate_list_baseline);
    }
    cz_arena_fini(&arena);
    return may_be && out->iteration < most;
}

int64_t cz_simulate_best_baseline(const cz_document *document,
                                  const cz_simulate_options *options,
                                  int64_t most)
{
    cz_arena arena;
    cz_simulate_times times;
    cz_arena_init(&arena);
    const cz_simulate_baselines *of =
        cz_simulate_baselines_make(&arena, document, options);
    for (int i = 0; i < document->n_baselines; i++)
        if (!document->baselines[i].is_grouped &&
            cz_simulate_baseline(of, i, most, &times))
            most = times.iteration;
    cz_arena_fini(&arena);
    return most;
}

cz_simulate_timeline cz_simulate_step(cz_arena *arena,
                                      const cz_document *document,
                                      const cz_simulate_options *options)
{
    const int64_t n = document->n_ranks, n_all = n * document->n_ops;
    int64_t *start = CZ_NEW(arena, int64_t, n_all);
    int64_t *end = CZ_NEW(arena, int64_t, n_all);
    cz_arena scratch;
    cz_simulation s;
    cz_arena_init(&scratch);
    begin(&s, &scratch, document, options, document->n_ops, all_of(document));
    for (int i = 0; i < document->n_ops; i++) {
        const cz_document_op *op = &document->ops[i];
        cz_timeline_op timed = cz_op_time(&s.prices, i);
        int *waits = CZ_NEW(&scratch, int, op->n_waits + 1);
        for (int w = 0; w < op->n_waits; w++)
            waits[w] = (int)op->waits[w];
        timed.waits = waits;
        timed.n_waits = op->n_waits;
        cz_simulate_append(&s, CZ_SIMULATE_UPDATE, timed);
    }
    const cz_timeline_times times = cz_timeline_simulate(&scratch, &s.list);
    for (int64_t i = 0; i < n_all; i++) {
        const int64_t ps = s.list.ops[i / n].ps[i % n];
        end[i] = ps < 0 ? -1 : times.end[i];
        start[i] = ps < 0 ? -1 : times.end[i] - ps;
    }
    cz_arena_fini(&scratch);
    return (cz_simulate_timeline){times.makespan, start, end};
}

cz_simulate_least cz_simulate_least_of(const cz_simulate_times *times,
                                       int n_ranks)
{
    return (cz_simulate_least){times->forward + times->backward +
                                   times->bubble + times->update_sum / n_ranks,
                               times->reduce + times->gather};
}
