/* Regions: what of which matrix lies where in a rank's scratch.
 * Private to passes/verify/. */
#ifndef CZ_PASSES_VERIFY_REGION_H
#define CZ_PASSES_VERIFY_REGION_H

#include "dsl/plan/box.h"
#include "dsl/plan/plan.h"

/* Rows [row, row + rows) and columns of a matrix, in elements. */
typedef struct box {
    int64_t row, column, rows, columns;
} box;

/* A box of slot (kind, index) of a parameter, row after row in memory. */
typedef struct region {
    int64_t param;
    cz_slot_kind kind;
    int index;
    box what;
    int64_t element_bytes;
    int64_t offset, stride_bytes; /* scratch bytes; rows are stride apart */
} region;

/* Where it and those before it in a list end at most. */
typedef struct placed_region {
    region *of;
    int64_t reach;
} placed_region;

/* By their offsets, which ascend. */
typedef struct region_list {
    placed_region *v; /* [capacity], of which n are in use */
    int n, capacity;
} region_list;

/* Whether `b` goes on with the rows of `a`, in the matrix and in memory; `a`
 * then has both. */
bool region_append(region *a, const region *b);
/* Put a region down; what it covers is forgotten, in whole even where it is
 * covered in part.  Regions that continue each other's rows become one. */
void region_put(cz_arena *arena, region_list *list, region r);
/* Forget everything that touches bytes [lo, hi). */
void region_forget(region_list *list, int64_t lo, int64_t hi);
/* Do the pieces in the list make up exactly `wanted`, each at its place? */
bool region_holds(const region_list *list, const region *wanted);
/* The part of some region that a sent row names.  False if there is none. */
bool region_find_named(const region_list *list, const cz_view_box *row,
                       region *found);
/* Move a part to where a received row puts it.  False if the row has another
 * form than the part. */
bool region_place(region *found, const cz_view_box *row);

#endif
