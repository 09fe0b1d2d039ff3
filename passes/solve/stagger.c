/* Turns of equal items dealt out over their places. */
#include "passes/solve/stagger.h"

#include <stdlib.h>
#include <string.h>

/* Loads are kept of every rank and turn: with more of both, plans stay. */
enum { MAX_LOADS = 1 << 24, MAX_TRIES = 1 << 24 };

typedef struct due {
    int64_t stagger_offset;
    int item;
} due;

typedef struct dealer {
    const cz_solve_problem *problem;
    const cz_solve_offsets *offsets;
    const cz_solve_plan *from;
    cz_solve_plan *to;
    int64_t period;    /* of the classes that are dealt out now */
    int64_t *load;     /* [slots][period] extra time */
    int *left;         /* [slots] places of those dealt out that are free */
    int *next;         /* [slots] the first of them, in `chain` */
    int *chain;        /* [items] the next place of the same slot, by item */
    const int *was_at; /* [items] in the order of the plan that was */
    int *at;           /* [items] and of that which will be */
    int64_t tries;     /* exchanges that may still be looked at */
    due *dues;         /* [n] those dealt out */
    int n;
} dealer;

static int n_slots(const cz_solve_problem *problem)
{
    return problem->n_ranks * problem->n_hosts;
}

/* What all hosts of a rank compute alike counts as the first one's. */
static int slot_of(const cz_solve_problem *problem, const cz_solve_plan *plan,
                   int item)
{
    const bool is_shared =
        problem->classes[problem->class_of[item]].cost_ps == 0;
    return plan->owner[item] * problem->n_hosts +
           (is_shared ? 0 : plan->host[item]);
}

static int64_t turn_of(const dealer *d, int item)
{
    return d->offsets->stagger_offset[item] % d->period;
}

static int64_t *load_at(const dealer *d, int slot, int item)
{
    return &d->load[slot * d->period + turn_of(d, item)];
}

/* ---- one class in one bucket ---- */

static int by_turn(const void *left, const void *right)
{
    const due *a = left, *b = right;
    if (a->stagger_offset != b->stagger_offset)
        return a->stagger_offset < b->stagger_offset ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

/* Its items in order of their turns, and the places that they have now. */
static void collect(dealer *d, int class_number, int bucket)
{
    const int *start = &d->problem->bucket_start[bucket];
    d->n = 0;
    for (int i = start[0]; i < start[1]; i++)
        if (d->problem->class_of[i] == class_number && d->from->owner[i] >= 0)
            d->dues[d->n++] = (due){turn_of(d, i), i};
    if (d->n > 0)
        qsort(d->dues, (size_t)d->n, sizeof *d->dues, by_turn);
    memset(d->left, 0, (size_t)n_slots(d->problem) * sizeof *d->left);
    for (int k = d->n - 1; k >= 0; k--) {
        const int item = d->dues[k].item;
        const int slot = slot_of(d->problem, d->from, item);
        d->chain[item] = d->left[slot] ? d->next[slot] : -1;
        d->next[slot] = item;
        d->left[slot]++;
    }
}

static int choose_slot(const dealer *d, int item)
{
    int best = -1;
    for (int s = 0; s < n_slots(d->problem); s++) {
        if (d->left[s] == 0)
            continue;
        const int64_t load = *load_at(d, s, item);
        const int64_t least = best < 0 ? load : *load_at(d, best, item);
        if (best < 0 || load < least ||
            (load == least && d->left[s] > d->left[best]))
            best = s;
    }
    return best;
}

/* A place, with all that comes with it. */
typedef struct place {
    int owner, host, at; /* in the order */
    int64_t offset;
} place;

static place place_of(const cz_solve_plan *plan, const int *at, int item)
{
    return (place){plan->owner[item], plan->host[item], at[item],
                   plan->offset[item]};
}

static void put(const dealer *d, int item, place to)
{
    d->to->owner[item] = to.owner;
    d->to->host[item] = to.host;
    d->to->offset[item] = to.offset;
    d->to->order[to.at] = item;
    d->at[item] = to.at;
}

static void partition(dealer *d, int class_number)
{
    for (int k = 0; k < d->n; k++) {
        const int item = d->dues[k].item, slot = choose_slot(d, item);
        const int other = d->next[slot];
        d->next[slot] = d->chain[other];
        d->left[slot]--;
        *load_at(d, slot, item) += d->offsets->extra_ps[class_number];
        put(d, item, place_of(d->from, d->was_at, other));
    }
}

/* ---- exchange ---- */

/* Whether loads are more even, by the sum of their squares, once two items of
 * this extra time have changed places. */
static bool is_better(const dealer *d, int a, int b, int64_t extra)
{
    const int s = slot_of(d->problem, d->to, a);
    const int r = slot_of(d->problem, d->to, b);
    return s != r && turn_of(d, a) != turn_of(d, b) &&
           *load_at(d, s, b) + *load_at(d, r, a) + 2 * extra <
               *load_at(d, s, a) + *load_at(d, r, b);
}

static void exchange(const dealer *d, int a, int b, int64_t extra)
{
    const place of_a = place_of(d->to, d->at, a);
    const place of_b = place_of(d->to, d->at, b);
    *load_at(d, slot_of(d->problem, d->to, a), a) -= extra;
    *load_at(d, slot_of(d->problem, d->to, b), b) -= extra;
    put(d, a, of_b);
    put(d, b, of_a);
    *load_at(d, slot_of(d->problem, d->to, a), a) += extra;
    *load_at(d, slot_of(d->problem, d->to, b), b) += extra;
}

/* Items that are not alone in their turn change places as long as that helps;
 * false once it does not. */
static bool improve(dealer *d, int class_number)
{
    const int64_t extra = d->offsets->extra_ps[class_number];
    bool done = false;
    for (int k = 0; k < d->n; k++) {
        const int a = d->dues[k].item;
        for (int i = 0; i < d->n && d->tries > 0 &&
                        *load_at(d, slot_of(d->problem, d->to, a), a) > extra;
             i++, d->tries--)
            if (is_better(d, a, d->dues[i].item, extra)) {
                exchange(d, a, d->dues[i].item, extra);
                done = true;
            }
    }
    return done;
}

/* ---- all classes ---- */

/* The longest class of the period behind the one dealt out before; or -1. */
static int next_class(const dealer *d, int before)
{
    const int64_t *extra = d->offsets->extra_ps;
    int best = -1;
    for (int c = 0; c < d->problem->n_classes; c++) {
        const bool is_later = before < 0 || extra[c] < extra[before] ||
                              (c > before && extra[c] == extra[before]);
        if (d->offsets->period[c] == d->period && is_later &&
            (best < 0 || extra[c] > extra[best]))
            best = c;
    }
    return best;
}

/* The least period above; or 0. */
static int64_t next_period(const dealer *d)
{
    int64_t next = 0;
    for (int c = 0; c < d->problem->n_classes; c++) {
        const int64_t period = d->offsets->period[c];
        if (period > d->period && (next == 0 || period < next))
            next = period;
    }
    return next;
}

static cz_solve_plan copy(cz_arena *arena, const cz_solve_problem *problem,
                          const cz_solve_plan *plan)
{
    const size_t n = (size_t)problem->n_items;
    cz_solve_plan made = *plan;
    made.owner = CZ_NEW(arena, int, n + 1);
    made.host = CZ_NEW(arena, int, n + 1);
    made.order = CZ_NEW(arena, int, n + 1);
    made.offset = CZ_NEW(arena, int64_t, n + 1);
    memcpy(made.owner, plan->owner, n * sizeof *made.owner);
    memcpy(made.host, plan->host, n * sizeof *made.host);
    memcpy(made.order, plan->order, n * sizeof *made.order);
    memcpy(made.offset, plan->offset, n * sizeof *made.offset);
    return made;
}

static int *places_of(cz_arena *arena, const cz_solve_problem *problem,
                      const cz_solve_plan *plan)
{
    int *at = CZ_NEW(arena, int, problem->n_items + 1);
    for (int i = 0; i < problem->n_items; i++)
        at[plan->order[i]] = i;
    return at;
}

static bool is_small(const dealer *d)
{
    return d->period <= MAX_LOADS / n_slots(d->problem);
}

cz_solve_plan cz_solve_stagger(cz_arena *arena, const cz_solve_problem *problem,
                               const cz_solve_offsets *offsets,
                               const cz_solve_plan *plan)
{
    const int slots = n_slots(problem);
    cz_solve_plan made = copy(arena, problem, plan);
    dealer d = {.problem = problem,
                .offsets = offsets,
                .from = plan,
                .to = &made,
                .period = 1,
                .was_at = places_of(arena, problem, plan),
                .at = places_of(arena, problem, plan),
                .tries = MAX_TRIES,
                .left = CZ_NEW(arena, int, slots),
                .next = CZ_NEW(arena, int, slots),
                .chain = CZ_NEW(arena, int, problem->n_items + 1),
                .dues = CZ_NEW(arena, due, problem->n_items + 1)};
    if (problem->order == CZ_ORDER_TRAINER)
        return *plan;
    while ((d.period = next_period(&d)) > 0 && is_small(&d)) {
        d.load = CZ_NEW(arena, int64_t, slots * d.period);
        for (int c = -1; (c = next_class(&d, c)) >= 0;)
            for (int b = 0; b < problem->n_buckets; b++) {
                collect(&d, c, b);
                partition(&d, c);
                while (improve(&d, c))
                    continue;
            }
    }
    return made;
}

int64_t cz_solve_stagger_most(cz_arena *scratch,
                              const cz_solve_problem *problem,
                              const cz_solve_offsets *offsets,
                              const cz_solve_plan *plan, int64_t period)
{
    int64_t *load = CZ_NEW(scratch, int64_t, n_slots(problem) * period);
    int64_t most = 0;
    for (int i = 0; i < problem->n_items; i++) {
        const int c = problem->class_of[i];
        if (plan->owner[i] < 0 || offsets->period[c] != period)
            continue;
        int64_t *at = &load[slot_of(problem, plan, i) * period +
                            offsets->stagger_offset[i] % period];
        *at += offsets->extra_ps[c];
        most = *at > most ? *at : most;
    }
    return most;
}
