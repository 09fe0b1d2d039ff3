/* Regions: boxes of matrices in strided memory. */
#include "passes/verify/region.h"

#include <string.h>

static int64_t width_bytes(const region *r)
{
    return r->what.columns * r->element_bytes;
}

static int64_t end_of(const region *r)
{
    return r->offset + (r->what.rows - 1) * r->stride_bytes + width_bytes(r);
}

/* Side by side at equal stride is no overlap; all else that crosses is. */
static bool overlap(const region *a, const region *b)
{
    int64_t shift;

    if (end_of(a) <= b->offset || end_of(b) <= a->offset)
        return false;
    if (a->what.rows == 1 || b->what.rows == 1 ||
        a->stride_bytes != b->stride_bytes)
        return true;
    shift = (b->offset - a->offset) % a->stride_bytes;
    shift += shift < 0 ? a->stride_bytes : 0;
    return shift < width_bytes(a) || shift + width_bytes(b) > a->stride_bytes;
}

/* The first that may reach beyond byte `lo`. */
static int first_beyond(const region_list *list, int64_t lo)
{
    int low = 0, high = list->n;

    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (list->v[middle].reach > lo)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Behind a change at `at`: those after it, until one is as it was. */
static void reach_anew(region_list *list, int at)
{
    for (int i = at; i < list->n; i++) {
        const int64_t before = i > 0 ? list->v[i - 1].reach : 0;
        const int64_t end = end_of(list->v[i].of);
        const int64_t reach = before > end ? before : end;

        if (i > at && list->v[i].reach == reach)
            return;
        list->v[i].reach = reach;
    }
}

/* Its memory is the first of what is spare. */
static void drop(region_list *list, int i)
{
    const placed_region dropped = list->v[i];

    list->n--;
    memmove(list->v + i, list->v + i + 1,
            (size_t)(list->n - i) * sizeof *list->v);
    list->v[list->n] = dropped;
    reach_anew(list, i);
}

static void make_room(cz_arena *arena, region_list *list)
{
    const int capacity = list->capacity ? 2 * list->capacity : 8;
    placed_region *bigger = CZ_NEW(arena, placed_region, capacity);
    region *spare = CZ_NEW(arena, region, capacity - list->capacity);

    for (int i = 0; i < capacity; i++)
        bigger[i] =
            i < list->capacity ? list->v[i] : (placed_region){spare++, 0};
    list->v = bigger;
    list->capacity = capacity;
}

static bool same_value(const region *a, const region *b)
{
    return a->param == b->param && a->kind == b->kind && a->index == b->index;
}

bool region_append(region *a, const region *b)
{
    const bool goes_on =
        same_value(a, b) && a->element_bytes == b->element_bytes &&
        a->what.column == b->what.column &&
        a->what.columns == b->what.columns &&
        a->what.row + a->what.rows == b->what.row &&
        a->stride_bytes == b->stride_bytes &&
        a->offset + a->what.rows * a->stride_bytes == b->offset;

    a->what.rows += goes_on ? b->what.rows : 0;
    return goes_on;
}

/* Shards come one behind the other: rows of one region, as the next continues
 * the last. */
void region_put(cz_arena *arena, region_list *list, region r)
{
    const int64_t end = end_of(&r);
    int at = first_beyond(list, r.offset);

    for (int i = at; i < list->n && list->v[i].of->offset < end;)
        if (overlap(list->v[i].of, &r))
            drop(list, i);
        else if (list->v[i++].of->offset <= r.offset)
            at = i;
    if (at > 0 && region_append(list->v[at - 1].of, &r)) {
        reach_anew(list, at - 1);
        return;
    }
    if (list->n == list->capacity)
        make_room(arena, list);
    const placed_region put = list->v[list->n];
    memmove(list->v + at + 1, list->v + at,
            (size_t)(list->n++ - at) * sizeof *list->v);
    list->v[at] = put;
    *put.of = r;
    reach_anew(list, at);
}

void region_forget(region_list *list, int64_t lo, int64_t hi)
{
    for (int i = first_beyond(list, lo);
         i < list->n && list->v[i].of->offset < hi;)
        if (end_of(list->v[i].of) > lo)
            drop(list, i);
        else
            i++;
}

static bool inside(const box *found, const box *whole)
{
    return found->row >= whole->row && found->column >= whole->column &&
           found->row + found->rows <= whole->row + whole->rows &&
           found->column + found->columns <= whole->column + whole->columns;
}

/* Regions of a list never overlap, so areas add up. */
bool region_holds(const region_list *list, const region *wanted)
{
    const int64_t end = end_of(wanted);
    int64_t area = 0;

    for (int i = first_beyond(list, wanted->offset);
         i < list->n && list->v[i].of->offset < end; i++) {
        const region *r = list->v[i].of;
        const int64_t place =
            wanted->offset +
            (r->what.row - wanted->what.row) * wanted->stride_bytes +
            (r->what.column - wanted->what.column) * wanted->element_bytes;
        if (same_value(r, wanted) && inside(&r->what, &wanted->what) &&
            r->offset == place &&
            (r->what.rows == 1 || r->stride_bytes == wanted->stride_bytes))
            area += r->what.rows * r->what.columns;
    }
    return area == wanted->what.rows * wanted->what.columns;
}

/* A contiguous run of several rows is the same as these rows. */
static bool rows_of_run(const region *from, const cz_view_box *row,
                        int64_t *n_rows, int64_t *row_bytes)
{
    const int64_t width = width_bytes(from);

    *n_rows = row->n_rows;
    *row_bytes = row->row_bytes;
    if (row->n_rows > 1)
        return row->stride_bytes == from->stride_bytes;
    if (row->row_bytes <= width)
        return true;
    *n_rows = row->row_bytes / width;
    *row_bytes = width;
    return from->stride_bytes == width && row->row_bytes % width == 0;
}

static bool part_of(const region *from, const cz_view_box *row, region *found)
{
    const int64_t shift = row->offset - from->offset;
    int64_t n_rows, row_bytes;

    if (shift < 0 || row->offset >= end_of(from) ||
        !rows_of_run(from, row, &n_rows, &row_bytes) ||
        row_bytes % from->element_bytes || shift % from->element_bytes)
        return false;
    *found = *from;
    found->what.row += shift / from->stride_bytes;
    found->what.column += shift % from->stride_bytes / from->element_bytes;
    found->what.rows = n_rows;
    found->what.columns = row_bytes / from->element_bytes;
    found->offset = row->offset;
    return inside(&found->what, &from->what);
}

bool region_find_named(const region_list *list, const cz_view_box *row,
                       region *found)
{
    for (int i = first_beyond(list, row->offset);
         i < list->n && list->v[i].of->offset <= row->offset; i++)
        if (part_of(list->v[i].of, row, found))
            return true;
    return false;
}

bool region_place(region *found, const cz_view_box *row)
{
    const int64_t bytes = width_bytes(found);

    found->offset = row->offset;
    if (row->n_rows == 1) {
        found->stride_bytes = bytes;
        return row->row_bytes == found->what.rows * bytes;
    }
    found->stride_bytes = row->stride_bytes;
    return row->n_rows == found->what.rows && row->row_bytes == bytes;
}
