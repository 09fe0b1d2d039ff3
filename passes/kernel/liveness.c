/* First fit by falling size over intervals of time. */
#include "passes/kernel/liveness.h"

#include "dsl/base/checked.h"

#include <stdlib.h>

typedef struct range {
    int64_t lo, hi;
} range;

typedef struct entry {
    int64_t bytes;
    int first, last, number;
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

static int by_falling_end(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    if (a->last != b->last)
        return a->last < b->last ? 1 : -1;
    return (a->number > b->number) - (a->number < b->number);
}

/* What is placed already, and room to sort what of it is in the way. */
typedef struct placed {
    const cz_live *buffers;
    const entry *order;
    int n;
    range *taken;
    int64_t align;
} placed;

static bool overlaps(const cz_live *buffer, int first, int last)
{
    return first <= buffer->last && buffer->first <= last;
}

static int64_t gap_in(const placed *p, const cz_live *buffer, int room)
{
    int n_taken = 0;
    for (int k = 0; k < p->n; k++) {
        const cz_live *other = &p->buffers[p->order[k].number];
        if (other->place == room && overlaps(buffer, other->first, other->last))
            p->taken[n_taken++] =
                (range){other->offset,
                        other->offset + cz_round_up(other->bytes, p->align)};
    }
    qsort(p->taken, (size_t)n_taken, sizeof *p->taken, by_start);
    /* The lowest offset with `bytes` free behind it, among sorted ranges. */
    const int64_t bytes = cz_round_up(buffer->bytes, p->align);
    int64_t offset = 0;
    for (int i = 0; i < n_taken; i++) {
        if (p->taken[i].lo >= offset + bytes)
            break;
        if (p->taken[i].hi > offset)
            offset = p->taken[i].hi;
    }
    return offset;
}

static void place_one(const placed *p, cz_live *buffer,
                      const cz_live_place *places, int n_places)
{
    for (int r = 0; r < n_places; r++) {
        if (overlaps(buffer, places[r].first, places[r].last))
            continue;
        buffer->offset = gap_in(p, buffer, r);
        buffer->place = r;
        if (buffer->offset <= places[r].bytes - buffer->bytes)
            return;
    }
    buffer->offset = gap_in(p, buffer, n_places);
    buffer->place = n_places;
}

int64_t cz_liveness_place_among(cz_arena *scratch, cz_live *buffers, int n,
                                int64_t align, const cz_live_place *places,
                                int n_places, bool last_first)
{
    entry *order = CZ_NEW(scratch, entry, n);
    for (int i = 0; i < n; i++)
        order[i] =
            (entry){buffers[i].bytes, buffers[i].first, buffers[i].last, i};
    qsort(order, (size_t)n, sizeof *order,
          last_first ? by_falling_end : by_falling_size);
    placed p = {buffers, order, 0, CZ_NEW(scratch, range, n), align};
    int64_t peak = 0;

    for (; p.n < n; p.n++) {
        cz_live *buffer = &buffers[order[p.n].number];
        buffer->offset = 0;
        buffer->place = n_places;
        if (buffer->bytes == 0)
            continue;
        place_one(&p, buffer, places, n_places);
        const int64_t end = buffer->offset + cz_round_up(buffer->bytes, align);
        if (buffer->place == n_places && end > peak)
            peak = end;
    }
    return peak;
}

int64_t cz_liveness_place(cz_arena *scratch, cz_live *buffers, int n,
                          int64_t align)
{
    return cz_liveness_place_among(scratch, buffers, n, align, NULL, 0, false);
}
