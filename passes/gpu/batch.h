/* Equal matrices of a kernel operation that a GPU computes as one. */
#ifndef CZ_PASSES_GPU_BATCH_H
#define CZ_PASSES_GPU_BATCH_H

#include "dsl/plan/plan.h"

/* Batches of one kernel table, and of_row as in the fact `batches`. */
typedef struct cz_batch_list {
    cz_view_batch *list;
    int n;
    int64_t *of_row; /* NULL: no row is in one */
} cz_batch_list;

/* How many of `available` matrices with these rows make a batch; below 2: none.
 */
typedef struct cz_batch_rule {
    int64_t (*count)(void *user, const cz_view_kernel_entry *rows, int n_rows,
                     int64_t available);
    void *user;
    int64_t cap; /* bytes that a batch takes at most */
    /* Matrices of one element-wise row each are alike whatever their counts
     * are, and so many at most make a batch, which has no bytes.  0: they are
     * as all others. */
    int64_t most_element_wise;
} cz_batch_rule;

/* Those of one rank's rows, [first, end) of a kernel table, added to *out: runs
 * of rows of one parameter are matrices; those of equal rows, in order, are
 * batches, where scratch that they do not use one after the other lies apart
 * from all else that the rows use, and no parameter has two runs. */
void cz_batch_find(const cz_plan_view *view, const cz_batch_rule *rule,
                   int table, int64_t first, int64_t end, cz_arena *arena,
                   cz_batch_list *out);

#endif
