/* Batches in the books of counts and plans. */
#include "passes/solve/batch.h"

#include "dsl/base/arithmetic.h"

#include <string.h>

enum {
    MOST_TRIES = 1 << 17,
    BITS = 27 /* of loads: fourth powers of a rank's fit */
};

bool cz_solve_has_batches(const cz_solve_problem *problem)
{
    for (int c = 0; c < problem->n_classes; c++)
        if (problem->classes[c].n_batches > 0)
            return true;
    return false;
}

int64_t cz_solve_batch_extra(const cz_solve_class *c, int n)
{
    const int most = c->n_batches;
    if (most == 0)
        return 0;
    return n / most * c->batch_ps[most - 1] +
           (n % most > 0 ? c->batch_ps[n % most - 1] : 0) - n * c->matrix_ps;
}

/* What all hosts of a rank compute alike counts as the first one's. */
static int computed_at(const cz_solve_problem *problem, const cz_solve_class *c,
                       int slot)
{
    return c->cost_ps > 0 ? slot : slot / problem->n_hosts * problem->n_hosts;
}

static int slots_of(const cz_solve_problem *problem, const cz_solve_class *c)
{
    return c->cost_ps > 0 ? 1 : problem->n_hosts;
}

static void add_extra(const cz_solve_problem *problem, const cz_solve_class *c,
                      int slot, int64_t ps, int64_t *load_ps)
{
    const int first = computed_at(problem, c, slot);
    for (int h = 0; h < slots_of(problem, c); h++)
        load_ps[first + h] += ps;
}

void cz_solve_batch_add(cz_arena *scratch, const cz_solve_problem *problem,
                        const int *slot_of, int64_t *load_ps)
{
    const size_t n_classes = (size_t)problem->n_classes;
    const size_t n = (size_t)problem->n_ranks * (size_t)problem->n_hosts;
    if (!cz_solve_has_batches(problem))
        return;
    int *count = CZ_NEW(scratch, int, n *n_classes + 1);
    for (int b = 0; b < problem->n_buckets; b++) {
        for (int i = problem->bucket_start[b]; i < problem->bucket_start[b + 1];
             i++) {
            const int c = problem->class_of[i];
            if (slot_of[i] >= 0)
                count[(size_t)computed_at(problem, &problem->classes[c],
                                          slot_of[i]) *
                          n_classes +
                      (size_t)c]++;
        }
        if (problem->is_joined && b + 1 < problem->n_buckets)
            continue;
        for (size_t at = 0; at < n * n_classes; at++) {
            const cz_solve_class *c = &problem->classes[at % n_classes];
            if (count[at] > 0)
                add_extra(problem, c, (int)(at / n_classes),
                          cz_solve_batch_extra(c, count[at]), load_ps);
        }
        memset(count, 0, n * n_classes * sizeof *count);
    }
}

/* ---- descent ---- */

typedef struct descent {
    cz_counts *counts;
    int shift;       /* by which the largest load has few enough bits */
    int tries;       /* that are left */
    bool by_fullest; /* the fuller of two is what counts */
} descent;

/* Of a kind, in one batch with one that the slot has. */
static int count_at(const cz_counts *counts, int layer, int slot, int kind)
{
    const cz_solve_class *c = cz_counts_class(counts, kind);
    const int first = computed_at(counts->problem, c, slot);
    int n = 0;
    for (int h = 0; h < slots_of(counts->problem, c); h++)
        n += *cz_counts_at(counts, layer, first + h, kind);
    return n;
}

static void put(cz_counts *counts, int layer, int slot, int kind, int n)
{
    const cz_solve_class *c = cz_counts_class(counts, kind);
    const int had = count_at(counts, layer, slot, kind);
    cz_counts_put(counts, layer, slot, kind, n);
    add_extra(counts->problem, c, slot,
              cz_solve_batch_extra(c, had + n) - cz_solve_batch_extra(c, had),
              counts->load_ps);
}

/* Matrices of one kind go from slot a to b, and of another back. */
typedef struct exchange {
    int layer, a, b;
    int given, n_given;
    int taken, n_taken;
} exchange;

static void apply(cz_counts *counts, const exchange *e)
{
    put(counts, e->layer, e->a, e->given, -e->n_given);
    put(counts, e->layer, e->b, e->given, e->n_given);
    put(counts, e->layer, e->b, e->taken, -e->n_taken);
    put(counts, e->layer, e->a, e->taken, e->n_taken);
}

/* What is above caps on the two ranks, and the sum of fourth powers of their
 * loads: the fullest counts most, and of the others what they have together. */
typedef struct level {
    int64_t excess, fullest;
    cz_wide powers;
} level;

static void add_rank(const descent *d, int layer, int rank, level *sum)
{
    const cz_counts *counts = d->counts;
    const int hosts = counts->problem->n_hosts;
    sum->excess += cz_solve_max(0, counts->state[rank] - counts->state_cap) +
                   cz_solve_max(0, *cz_counts_elements(counts, layer, rank) -
                                       counts->most[layer]);
    for (int s = rank * hosts; s < (rank + 1) * hosts; s++) {
        const cz_wide load = counts->load_ps[s] >> d->shift;
        sum->powers += load * load * load * load;
        sum->fullest = cz_solve_max(sum->fullest, counts->load_ps[s]);
    }
}

static level level_of(const descent *d, const exchange *e)
{
    const int hosts = d->counts->problem->n_hosts;
    level sum = {0};
    add_rank(d, e->layer, e->a / hosts, &sum);
    if (e->a / hosts != e->b / hosts)
        add_rank(d, e->layer, e->b / hosts, &sum);
    return sum;
}

static bool try_exchange(descent *d, const exchange *e)
{
    const exchange back = {e->layer,   e->b,     e->a,      e->given,
                           e->n_given, e->taken, e->n_taken};
    const level before = level_of(d, e);
    apply(d->counts, e);
    const level after = level_of(d, e);
    d->tries--;
    if (after.excess <= before.excess &&
        (d->by_fullest ? after.fullest < before.fullest
                       : after.powers < before.powers))
        return true;
    apply(d->counts, &back);
    return false;
}

/* One or all of a kind go to the other slot; one, all or none of another come
 * back. */
static bool try_kinds(descent *d, exchange e)
{
    const bool is_one_way = e.given == e.taken;
    bool any = false;
    for (int all = 0; all < (is_one_way ? 2 : 4); all++) {
        const int n = *cz_counts_at(d->counts, e.layer, e.a, e.given);
        const int m = *cz_counts_at(d->counts, e.layer, e.b, e.taken);
        e.n_given = all & 1 ? n : 1;
        e.n_taken = is_one_way ? 0 : all & 2 ? m : 1;
        if (n >= e.n_given && m >= e.n_taken && d->tries > 0)
            any |= try_exchange(d, &e);
    }
    return any;
}

/* All exchanges of two slots in a layer, one after the other. */
static bool try_slots(descent *d, int layer, int a, int b)
{
    bool any = false;
    for (int given = 0; given < d->counts->n_kinds; given++)
        for (int taken = 0; taken < d->counts->n_kinds; taken++)
            any |= try_kinds(d, (exchange){.layer = layer,
                                           .a = a,
                                           .b = b,
                                           .given = given,
                                           .taken = taken});
    return any;
}

static void begin(cz_counts *counts)
{
    const cz_solve_problem *problem = counts->problem;
    for (int layer = 0; layer < counts->n_layers; layer++)
        for (int s = 0; s < counts->n_slots; s++)
            for (int k = 0; k < counts->n_kinds; k++) {
                const cz_solve_class *c = cz_counts_class(counts, k);
                const int n = count_at(counts, layer, s, k);
                if (s == computed_at(problem, c, s))
                    add_extra(problem, c, s, cz_solve_batch_extra(c, n),
                              counts->load_ps);
            }
}

static void descend(descent *d)
{
    const cz_counts *counts = d->counts;
    for (bool any = true; any && d->tries > 0;) {
        any = false;
        for (int layer = 0; layer < counts->n_layers; layer++)
            for (int a = 0; a < counts->n_slots; a++)
                for (int b = 0; b < counts->n_slots; b++)
                    any |= a != b && try_slots(d, layer, a, b);
    }
}

/* A second batch of a kind costs powers, and may yet leave the fullest less. */
void cz_counts_batch(cz_counts *counts)
{
    descent d = {.counts = counts, .tries = MOST_TRIES};
    begin(counts);
    while (cz_counts_max(counts) >> d.shift >= 1 << BITS)
        d.shift++;
    descend(&d);
    d.by_fullest = true;
    descend(&d);
}
