/* Equal matrices of a kernel operation that a GPU computes as one.  Private to
 * what emits NAME_cuda.c. */
#ifndef CZ_CODEGEN_CUDA_BATCH_H
#define CZ_CODEGEN_CUDA_BATCH_H

#include "codegen/cuda/tiles.h"

/* As czr_cuda_batch. */
typedef struct cz_batch {
    int64_t first;
    int n_rows, n_units;
    int64_t scratch, bytes;
} cz_batch;

/* Batches of one kernel table, and of_row as in czr_cuda_batches. */
typedef struct cz_batches {
    cz_batch *list;
    int n;
    int64_t *of_row; /* NULL: no row is in one */
} cz_batches;

/* How many of `available` units with these rows make a batch; below 2: none. */
typedef struct cz_batch_rule {
    int64_t (*count)(void *user, const cz_view_kernel_row *rows, int n_rows,
                     int64_t available);
    void *user;
    int64_t cap; /* bytes that a batch takes at most */
} cz_batch_rule;

/* Those of one rank's rows, [first, end) of a kernel table, added to *out: runs
 * of rows of one parameter are units; those of equal rows, in order, are
 * batches, where scratch that they do not use in turn lies apart from all
 * else that the rows use, and no parameter has two units. */
void cz_batch_find(const cz_plan_view *view, const cz_batch_rule *rule,
                   int table, int64_t first, int64_t end, cz_arena *arena,
                   cz_batches *out);

/* Of all tables, with tiles for their products: "batches", where there are any,
 * else nothing.  Returns the bytes that a rank takes at most for them. */
int64_t cz_emit_batches(const cz_plan_view *view, cz_tile_rows *tiles,
                        cz_arena *arena, cz_text *out);
/* The bytes of each rank: [n_ranks]. */
void cz_batch_bytes_of_ranks(const cz_plan_view *view, cz_tile_rows *tiles,
                             cz_arena *arena, int64_t *bytes);

#endif
