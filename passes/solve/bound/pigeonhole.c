/* The pigeonhole principle on bins of equal items. */
#include "passes/solve/bound/pigeonhole.h"

#include "dsl/base/checked.h"

#include <stdlib.h>

__extension__ typedef __int128 wide;

static int by_falling_time(const void *left, const void *right)
{
    const cz_bin *a = left, *b = right;
    if (a->time_ps != b->time_ps)
        return a->time_ps < b->time_ps ? 1 : -1;
    return (a->of > b->of) - (a->of < b->of);
}

/* Walks through the items in falling order. */
typedef struct cursor {
    const cz_bin *bin;
    int64_t items; /* in the bins before */
    wide time_ps;  /* of them */
} cursor;

/* Time of the first `items`; not fewer than in the call before. */
static wide time_of_first(cursor *c, int64_t items)
{
    while (items > c->items + c->bin->n) {
        c->items += c->bin->n;
        c->time_ps += (wide)c->bin->time_ps * c->bin->n;
        c->bin++;
    }
    return c->time_ps + (wide)c->bin->time_ps * (items - c->items);
}

cz_pigeons cz_pigeonhole_find(cz_bin *bins, int n, int64_t n_slots)
{
    cz_pigeons out = {.of = -1};
    cursor from = {bins, 0, 0}, to = {bins, 0, 0};
    int64_t n_items = 0;
    wide most = 0;
    for (int i = 0; i < n; i++)
        n_items += bins[i].n;
    if (n_items > n_slots)
        qsort(bins, (size_t)n, sizeof *bins, by_falling_time);
    for (int64_t k = 1; k < cz_ceil_div(n_items, n_slots); k++) {
        const wide time = time_of_first(&to, k * n_slots + 1) -
                          time_of_first(&from, k * n_slots - k);
        if (time <= most)
            continue;
        most = time;
        out.k = k;
        out.of = to.bin->of;
    }
    out.time_ps = most > CZ_MAX_BYTES ? CZ_MAX_BYTES : (int64_t)most;
    return out;
}
