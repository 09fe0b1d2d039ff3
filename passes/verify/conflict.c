/* Conflicts: each space is cut at every end of an access; a piece of it knows
 * who wrote it last, and who has read it since. */
#include "passes/verify/conflict.h"

#include <stdlib.h>

#include "passes/verify/internal.h"

enum { FEW = 16 }; /* accesses whose ends are sorted by insertion */

typedef struct reader {
    const access *what;
    const struct reader *next;
} reader;

typedef struct piece {
    int64_t lo; /* its end is the start of the next */
    const access *writer;
    const reader *readers;
} piece;

typedef struct space {
    cz_arena *arena;
    piece *pieces; /* [n_pieces + 1], the last one for its start alone */
    int n_pieces;
    conflict_visitor *visit;
    void *context;
} space;

static int compare(const void *left, const void *right)
{
    return by_number(*(const int64_t *)left, *(const int64_t *)right);
}

static void cut(space *s, const access *list, int n)
{
    int64_t *ends = CZ_NEW(s->arena, int64_t, 2 * n), *end = ends;
    int n_starts = 0;

    for (int i = 0; i < n; i++) {
        *end++ = list[i].lo;
        *end++ = list[i].hi;
    }
    if (n > FEW)
        qsort(ends, 2 * (size_t)n, sizeof *ends, compare);
    for (int i = 1; n <= FEW && i < 2 * n; i++) {
        const int64_t at = ends[i];
        int k = i;
        for (; k > 0 && ends[k - 1] > at; k--)
            ends[k] = ends[k - 1];
        ends[k] = at;
    }
    s->pieces = CZ_NEW(s->arena, piece, 2 * n);
    for (int i = 0; i < 2 * n; i++)
        if (i == 0 || ends[i] != ends[i - 1])
            s->pieces[n_starts++].lo = ends[i];
    s->n_pieces = n_starts - 1;
}

static int find_piece(const space *s, int64_t lo)
{
    int first = 0, end = s->n_pieces;

    while (end - first > 1) {
        const int middle = first + (end - first) / 2;
        if (s->pieces[middle].lo <= lo)
            first = middle;
        else
            end = middle;
    }
    return first;
}

static bool meet(const space *s, const access *earlier, const access *a)
{
    return !earlier || earlier->op == a->op || s->visit(s->context, earlier, a);
}

static bool touch(const space *s, piece *p, const access *a)
{
    reader *again;

    if (!meet(s, p->writer, a))
        return false;
    if (!a->writes) {
        if (p->readers && p->readers->what->op == a->op)
            return true;
        again = CZ_NEW(s->arena, reader, 1);
        *again = (reader){a, p->readers};
        p->readers = again;
        return true;
    }
    for (const reader *r = p->readers; r; r = r->next)
        if (!meet(s, r->what, a))
            return false;
    p->writer = a;
    p->readers = NULL;
    return true;
}

/* Accesses to one space, in order of operations. */
static bool visit_space(space *s, const access *list, int n)
{
    cut(s, list, n);
    for (int i = 0; i < n; i++)
        for (int k = find_piece(s, list[i].lo); s->pieces[k].lo < list[i].hi;
             k++)
            if (!touch(s, &s->pieces[k], &list[i]))
                return false;
    return true;
}

void visit_conflicts(cz_arena *arena, const access *list, int n,
                     int64_t n_spaces, conflict_visitor *visit, void *context)
{
    const access *sorted =
        sort_by_key(arena, list, n, sizeof *list, 0, n_spaces, NULL);
    space s = {arena, NULL, 0, visit, context};

    for (int first = 0, end; first < n; first = end) {
        end = first + 1;
        while (end < n && sorted[end].space == sorted[first].space)
            end++;
        if (!visit_space(&s, &sorted[first], end - first))
            return;
    }
}
