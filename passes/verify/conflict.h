/* Conflicts: accesses of one rank to the same bytes.
 * Private to passes/verify/. */
#ifndef CZ_PASSES_VERIFY_CONFLICT_H
#define CZ_PASSES_VERIFY_CONFLICT_H

#include "dsl/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of scratch or elements of a bucket, [lo, hi) of a space. */
typedef struct access {
    int64_t space, lo, hi, param;
    int op;
    bool writes;
} access;

/* False: that was enough. */
typedef bool conflict_visitor(void *context, const access *first,
                              const access *second);

/* Visit pairs of accesses by different operations, first->op < second->op, that
 * touch the same, one of them writing: each access with the last write before
 * it and, if it writes, with all reads since.  Where every visited pair is
 * ordered, so is every other: whatever touches the same further back was
 * ordered before that last write, and order is transitive.  The list is in
 * order of operations, and spaces are in [0, n_spaces); n accesses that cross
 * s pieces of space each take O(n (log n + s) + n_spaces). */
void visit_conflicts(cz_arena *arena, const access *list, int n,
                     int64_t n_spaces, conflict_visitor *visit, void *context);

#endif
