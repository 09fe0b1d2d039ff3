/* Heap order by sinking. */
#include "passes/solve/search/heap.h"

int cz_heap_is_before(const cz_heap_key *a, const cz_heap_key *b)
{
    if (a->first != b->first)
        return a->first < b->first;
    if (a->second != b->second)
        return a->second < b->second;
    return a->slot < b->slot;
}

void cz_heap_sink(cz_heap_key *keys, int n, int at)
{
    for (;;) {
        int least = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < n && cz_heap_is_before(&keys[child], &keys[least]))
                least = child;
        if (least == at)
            return;
        const cz_heap_key held = keys[at];
        keys[at] = keys[least];
        keys[least] = held;
        at = least;
    }
}

void cz_heap_build(cz_heap_key *keys, int n)
{
    for (int at = n / 2; at-- > 0;)
        cz_heap_sink(keys, n, at);
}
