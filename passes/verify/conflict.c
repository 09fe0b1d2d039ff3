/* Conflicts: each space is cut at every end of an access; a piece of it knows
 * who wrote it last, and who has read it since. */
#include "passes/verify/conflict.h"

#include <stdlib.h>

#include "passes/verify/verify_internal.h"

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

static int compare_access(const void *left, const void *right)
{
    const access *a = left, *b = right;
    int c = by_number(a->space, b->space);

    c = c ? c : by_number(a->op, b->op);
    c = c ? c : by_number(a->lo, b->lo);
    c = c ? c : by_number(a->hi, b->hi);
    c = c ? c : by_number(a->param, b->param);
    c = c ? c : by_number(a->writes, b->writes);
    return c;
}

static int compare_piece(const void *left, const void *right)
{
    const piece *a = left, *b = right;

    return by_number(a->lo, b->lo);
}

static void cut(space *s, const access *list, int n)
{
    int n_starts = 0;

    s->pieces = CZ_NEW(s->arena, piece, 2 * n);
    for (int i = 0; i < n; i++) {
        s->pieces[2 * i].lo = list[i].lo;
        s->pieces[2 * i + 1].lo = list[i].hi;
    }
    qsort(s->pieces, 2 * (size_t)n, sizeof *s->pieces, compare_piece);
    for (int i = 0; i < 2 * n; i++)
        if (i == 0 || s->pieces[i].lo != s->pieces[n_starts - 1].lo)
            s->pieces[n_starts++].lo = s->pieces[i].lo;
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

void visit_conflicts(cz_arena *arena, access *list, int n,
                     conflict_visitor *visit, void *context)
{
    space s = {arena, NULL, 0, visit, context};

    if (n > 0)
        qsort(list, (size_t)n, sizeof *list, compare_access);
    for (int first = 0, end; first < n; first = end) {
        end = first + 1;
        while (end < n && list[end].space == list[first].space)
            end++;
        if (!visit_space(&s, &list[first], end - first))
            return;
    }
}
