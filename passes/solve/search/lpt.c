/* Longest processing time first, with a heap of slots.  Keys only grow, so a
 * slot whose key is out of date is noticed when it comes to the top. */
#include "passes/solve/counts.h"

#include "dsl/base/arithmetic.h"
#include "passes/solve/search/heap.h"

#include <assert.h>

typedef struct filling {
    cz_counts *counts;
    int64_t *group_ps; /* [n_groups] */
    cz_heap_key *keys;
} filling;

static int group_of(const cz_counts *counts, int slot)
{
    return counts->problem->group_of ? counts->problem->group_of[slot] : 0;
}

static cz_heap_key key_of(const filling *f, int slot)
{
    return (cz_heap_key){
        f->counts->load_ps[slot], f->group_ps[group_of(f->counts, slot)],
        f->counts->state[slot / f->counts->problem->n_hosts], slot};
}

/* The least loaded slot, by keys as they are now. */
static int least_loaded(filling *f)
{
    for (;;) {
        const cz_heap_key now = key_of(f, f->keys[0].slot);
        if (!cz_heap_is_before(&f->keys[0], &now))
            return now.slot;
        f->keys[0] = now;
        cz_heap_sink(f->keys, f->counts->n_slots, 0);
    }
}

void cz_counts_lpt(cz_arena *scratch, cz_counts *counts)
{
    const int n_groups =
        counts->problem->group_of ? counts->problem->n_groups : 1;
    filling f = {counts, CZ_NEW(scratch, int64_t, n_groups),
                 CZ_NEW(scratch, cz_heap_key, counts->n_slots)};
    for (int s = 0; s < counts->n_slots; s++)
        f.group_ps[group_of(counts, s)] += counts->load_ps[s];
    for (int s = 0; s < counts->n_slots; s++)
        f.keys[s] = key_of(&f, s);
    cz_heap_build(f.keys, counts->n_slots);
    assert(counts->n_layers == 1);
    for (int k = 0; k < counts->n_kinds; k++) {
        const cz_solve_class *c = cz_counts_class(counts, k);
        for (int i = 0; i < counts->numbers[k]; i++) {
            const int slot = least_loaded(&f);
            cz_counts_put(counts, 0, slot, k, 1);
            if (counts->problem->group_of)
                f.group_ps[group_of(counts, slot)] +=
                    c->cost_ps + c->shared_ps * counts->problem->n_hosts;
        }
    }
}
