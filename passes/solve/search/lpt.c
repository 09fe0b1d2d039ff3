/* Longest processing time first, with a heap of slots.  Keys only grow, so a
 * slot whose key is out of date is noticed when it comes to the top. */
#include "passes/solve/counts.h"

#include "passes/solve/search/heap.h"

#include <assert.h>

static cz_heap_key key_of(const cz_counts *counts, int slot)
{
    return (cz_heap_key){counts->load_ps[slot],
                         counts->state[slot / counts->problem->n_hosts], slot};
}

void cz_counts_lpt(cz_arena *scratch, cz_counts *counts)
{
    const int n_slots = counts->n_slots;
    cz_heap_key *keys = CZ_NEW(scratch, cz_heap_key, n_slots);
    for (int s = 0; s < n_slots; s++)
        keys[s] = key_of(counts, s);
    cz_heap_build(keys, n_slots);
    assert(counts->n_layers == 1);
    for (int k = 0; k < counts->n_kinds; k++)
        for (int i = 0; i < counts->numbers[k]; i++) {
            cz_heap_key now = key_of(counts, keys[0].slot);
            while (cz_heap_is_before(&keys[0], &now)) {
                keys[0] = now;
                cz_heap_sink(keys, n_slots, 0);
                now = key_of(counts, keys[0].slot);
            }
            cz_counts_put(counts, 0, now.slot, k, 1);
        }
}
