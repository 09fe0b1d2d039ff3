/* Items of counts, and plans in the engine's order. */
#include "passes/solve/search/place.h"

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"
#include "passes/solve/search/heap.h"

#include <string.h>

/* One bucket that is being dealt out. */
typedef struct dealer {
    const cz_counts *counts;
    int *left;         /* [n_slots * n_kinds] still wanted */
    int64_t *elements; /* [n_ranks] of the bucket */
    cz_heap_key *keys;
    int n_keys;
} dealer;

static int *left_at(const dealer *d, int slot, int kind)
{
    return &d->left[(size_t)slot * (size_t)d->counts->n_kinds + (size_t)kind];
}

/* The rank with least of the bucket; of these who wants most. */
static cz_heap_key key_of(const dealer *d, int slot, int kind)
{
    return (cz_heap_key){d->elements[slot / d->counts->problem->n_hosts],
                         -*left_at(d, slot, kind), slot};
}

static void find_takers(dealer *d, int kind)
{
    d->n_keys = 0;
    for (int s = 0; s < d->counts->n_slots; s++)
        if (*left_at(d, s, kind) > 0)
            d->keys[d->n_keys++] = key_of(d, s, kind);
    cz_heap_build(d->keys, d->n_keys);
}

static int take(dealer *d, int kind)
{
    for (;;) {
        const cz_heap_key now = key_of(d, d->keys[0].slot, kind);
        if (!cz_heap_is_before(&d->keys[0], &now))
            break;
        d->keys[0] = now;
        cz_heap_sink(d->keys, d->n_keys, 0);
    }
    const int slot = d->keys[0].slot;
    d->elements[slot / d->counts->problem->n_hosts] += cz_round_up(
        cz_counts_class(d->counts, kind)->elements, d->counts->problem->align);
    if (--*left_at(d, slot, kind) == 0)
        d->keys[0] = d->keys[--d->n_keys];
    else
        d->keys[0] = key_of(d, slot, kind);
    cz_heap_sink(d->keys, d->n_keys, 0);
    return slot;
}

static void deal_bucket(dealer *d, int bucket, const int *kinds, int *slot_of)
{
    const cz_solve_problem *problem = d->counts->problem;
    memset(d->elements, 0, (size_t)problem->n_ranks * sizeof *d->elements);
    for (int j = 0; j < d->counts->n_kinds; j++) {
        const int kind = kinds[j];
        bool is_first = true;
        for (int i = problem->bucket_start[bucket];
             i < problem->bucket_start[bucket + 1]; i++) {
            if (d->counts->kind_of[problem->class_of[i]] != kind)
                continue;
            if (is_first)
                find_takers(d, kind);
            is_first = false;
            slot_of[i] = take(d, kind);
        }
    }
}

void cz_place_items(cz_arena *scratch, const cz_counts *counts, int *slot_of)
{
    const cz_solve_problem *problem = counts->problem;
    const size_t row = (size_t)counts->n_slots * (size_t)counts->n_kinds;
    const int *kinds = cz_counts_longest(scratch, counts);
    dealer d = {.counts = counts,
                .left = CZ_NEW(scratch, int, row + 1),
                .elements = CZ_NEW(scratch, int64_t, problem->n_ranks),
                .keys = CZ_NEW(scratch, cz_heap_key, counts->n_slots)};
    for (int i = 0; i < problem->n_items; i++)
        slot_of[i] = -1;
    for (int b = 0; b < problem->n_buckets; b++) {
        const size_t layer = counts->n_layers > 1 ? (size_t)b : 0;
        if (b == 0 || counts->n_layers > 1)
            memcpy(d.left, counts->count + layer * row, row * sizeof *d.left);
        deal_bucket(&d, b, kinds, slot_of);
    }
}

/* Where the whole items of a bucket end. */
static int64_t whole_end(const cz_solve_problem *problem,
                         const cz_solve_plan *plan, int bucket)
{
    for (int at = problem->bucket_start[bucket];
         at < problem->bucket_start[bucket + 1]; at++)
        if (plan->owner[plan->order[at]] < 0)
            return plan->offset[plan->order[at]];
    return plan->length[bucket];
}

cz_solve_plan cz_place_plan(cz_arena *arena, const cz_solve_problem *problem,
                            const int *slot_of, const int64_t *amounts)
{
    cz_solve_plan plan = cz_solve_plan_make(arena, problem);
    const size_t n_ranks = (size_t)problem->n_ranks;
    for (int i = 0; i < problem->n_items; i++) {
        plan.owner[i] = slot_of[i] < 0 ? -1 : slot_of[i] / problem->n_hosts;
        plan.host[i] = slot_of[i] < 0 ? -1 : slot_of[i] % problem->n_hosts;
    }
    cz_solve_plan_sort(arena, problem, &plan);
    cz_solve_plan_lay_out(problem, &plan);
    cz_solve_plan_slice(problem, &plan);
    for (int b = 0; b < problem->n_buckets; b++) {
        int64_t *slices = plan.slices + (size_t)b * (n_ranks + 1);
        int64_t *fills = plan.fills + (size_t)b * (n_ranks + 1);
        const int64_t end = whole_end(problem, &plan, b);
        fills[0] = end;
        for (size_t r = 0; r < n_ranks; r++) {
            slices[r + 1] = cz_solve_min(slices[r + 1], end);
            fills[r + 1] = fills[r] + amounts[(size_t)b * n_ranks + r];
        }
    }
    return plan;
}
