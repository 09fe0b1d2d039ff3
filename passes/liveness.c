/* First fit by falling size over intervals of time. */
#include "passes/liveness.h"

#include "dsl/base/checked.h"

#include <stdlib.h>

typedef struct range {
    int64_t lo, hi;
} range;

typedef struct entry {
    int64_t bytes;
    int first, number;
} entry;

static int by_falling_size(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static int by_start(const void *left, const void *right)
{
    const range *a = left, *b = right;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return (a->hi > b->hi) - (a->hi < b->hi);
}

static entry *largest_first(cz_arena *scratch, const cz_live *buffers, int n)
{
    entry *order = CZ_NEW(scratch, entry, n);
    for (int i = 0; i < n; i++)
        order[i] = (entry){buffers[i].bytes, buffers[i].first, i};
    qsort(order, (size_t)n, sizeof *order, by_falling_size);
    return order;
}

/* The lowest offset with `bytes` free behind it, among sorted ranges. */
static int64_t first_gap(const range *taken, int n, int64_t bytes)
{
    int64_t offset = 0;
    for (int i = 0; i < n; i++) {
        if (taken[i].lo >= offset + bytes)
            break;
        if (taken[i].hi > offset)
            offset = taken[i].hi;
    }
    return offset;
}

int64_t cz_liveness_place(cz_arena *scratch, cz_live *buffers, int n,
                          int64_t align)
{
    const entry *order = largest_first(scratch, buffers, n);
    range *taken = CZ_NEW(scratch, range, n);
    int64_t peak = 0;

    for (int i = 0; i < n; i++) {
        cz_live *buffer = &buffers[order[i].number];
        int n_taken = 0;
        buffer->offset = 0;
        if (buffer->bytes == 0)
            continue;
        for (int k = 0; k < i; k++) {
            const cz_live *other = &buffers[order[k].number];
            if (other->last < buffer->first || buffer->last < other->first)
                continue;
            taken[n_taken++] =
                (range){other->offset,
                        other->offset + cz_round_up(other->bytes, align)};
        }
        qsort(taken, (size_t)n_taken, sizeof *taken, by_start);
        const int64_t bytes = cz_round_up(buffer->bytes, align);
        buffer->offset = first_gap(taken, n_taken, bytes);
        if (buffer->offset + bytes > peak)
            peak = buffer->offset + bytes;
    }
    return peak;
}
