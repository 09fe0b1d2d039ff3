/* Sorting what is counted by the million: first into groups, by counting, then
 * each small group by comparing, if at all. */
#include "passes/verify/internal.h"

#include <stdlib.h>
#include <string.h>

static int64_t group_of(const char *list, size_t i, size_t size)
{
    int64_t subgroup_size;

    memcpy(&subgroup_size, list + i * size, sizeof subgroup_size);
    return subgroup_size;
}

/* Where each group begins, and at n_groups the end. */
static size_t *find_starts(cz_arena *arena, const char *list, size_t n,
                           size_t size, int64_t n_keys)
{
    size_t *starts = CZ_NEW(arena, size_t, n_keys + 1);

    for (size_t i = 0; i < n; i++)
        starts[group_of(list, i, size) + 1]++;
    for (int64_t g = 0; g < n_keys; g++)
        starts[g + 1] += starts[g];
    return starts;
}

void *sort_by_key(cz_arena *arena, const void *list, int n, size_t size,
                  int64_t n_keys, int (*compare)(const void *, const void *))
{
    const size_t *starts = find_starts(arena, list, (size_t)n, size, n_keys);
    size_t *next = CZ_NEW(arena, size_t, n_keys + 1);
    char *sorted = cz_arena_alloc(arena, (size_t)n, size);

    memcpy(next, starts, (size_t)n_keys * sizeof *next);
    for (size_t i = 0; i < (size_t)n; i++)
        memcpy(sorted + next[group_of(list, i, size)]++ * size,
               (const char *)list + i * size, size);
    for (int64_t g = 0; g < n_keys; g++)
        if (compare && starts[g + 1] - starts[g] > 1)
            qsort(sorted + starts[g] * size, starts[g + 1] - starts[g], size,
                  compare);
    return sorted;
}
