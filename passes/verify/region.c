/* Regions: boxes of matrices in strided memory. */
#include "passes/verify/region.h"

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

static void drop(region_list *list, int i)
{
    list->v[i] = list->v[--list->n];
}

void region_put(cz_arena *arena, region_list *list, region r)
{
    for (int i = list->n - 1; i >= 0; i--)
        if (overlap(&list->v[i], &r))
            drop(list, i);
    const int capacity = list->capacity ? 2 * list->capacity : 8;
    region *bigger;

    if (list->n >= list->capacity) {
        bigger = CZ_NEW(arena, region, capacity);
        for (int i = 0; i < list->n; i++)
            bigger[i] = list->v[i];
        list->v = bigger;
        list->capacity = capacity;
    }
    list->v[list->n++] = r;
}

void region_forget(region_list *list, int64_t lo, int64_t hi)
{
    for (int i = list->n - 1; i >= 0; i--)
        if (list->v[i].offset < hi && end_of(&list->v[i]) > lo)
            drop(list, i);
}

static bool same_value(const region *a, const region *b)
{
    return a->param == b->param && a->kind == b->kind && a->index == b->index;
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
    int64_t area = 0;

    for (int i = 0; i < list->n; i++) {
        const region *r = &list->v[i];
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
static bool rows_of_run(const region *from, const cz_view_transfer_entry *row,
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

static bool part_of(const region *from, const cz_view_transfer_entry *row,
                    region *found)
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

bool region_find_named(const region_list *list,
                       const cz_view_transfer_entry *row, region *found)
{
    for (int i = 0; i < list->n; i++)
        if (part_of(&list->v[i], row, found))
            return true;
    return false;
}

bool region_place(region *found, const cz_view_transfer_entry *row)
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
