/* Sorting what is counted by the million: first into groups, by counting, then
 * each small group by comparing, if at all. */
#include "passes/verify/internal.h"

#include <stdlib.h>
#include <string.h>

static int64_t key_of(const char *element)
{
    int64_t key;

    memcpy(&key, element, sizeof key);
    return key;
}

/* Where each group begins, and at n_groups the end. */
static size_t *find_starts(cz_arena *arena, const char *keys, size_t n,
                           size_t size, int64_t n_keys)
{
    size_t *starts = CZ_NEW(arena, size_t, n_keys + 1);

    for (size_t i = 0; i < n; i++)
        starts[key_of(keys + i * size) + 1]++;
    for (int64_t g = 0; g < n_keys; g++)
        starts[g + 1] += starts[g];
    return starts;
}

void *sort_by_key(cz_arena *arena, const void *list, int n, size_t size,
                  size_t key_at, int64_t n_keys,
                  int (*compare)(const void *, const void *))
{
    const char *keys = (const char *)list + (n > 0 ? key_at : 0);
    const size_t *starts = find_starts(arena, keys, (size_t)n, size, n_keys);
    size_t *next = CZ_NEW(arena, size_t, n_keys + 1);
    char *sorted = cz_arena_alloc(arena, (size_t)n, size);

    memcpy(next, starts, (size_t)n_keys * sizeof *next);
    for (size_t i = 0; i < (size_t)n; i++)
        memcpy(sorted + next[key_of(keys + i * size)]++ * size,
               (const char *)list + i * size, size);
    for (int64_t g = 0; g < n_keys; g++)
        if (compare && starts[g + 1] - starts[g] > 1)
            qsort(sorted + starts[g] * size, starts[g + 1] - starts[g], size,
                  compare);
    return sorted;
}
