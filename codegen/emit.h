/* Code generation: a plan view to C text.  Pure and deterministic: the same
 * view gives the same bytes, and no name of the user's reaches the text but
 * as a checked identifier in NAME.h and in the escaped string table. */
#ifndef CZ_CODEGEN_EMIT_H
#define CZ_CODEGEN_EMIT_H

#include "dsl/base/text.h"
#include "dsl/plan/plan.h"

/* NAME.c: kernels, tables and the program.  The view must be scheduled and
 * verified; plan_hash is 64 hex digits.  Appends to *out. */
void cz_emit_c(const cz_plan_view *view, const char *plan_hash, cz_text *out);

/* NAME.cu: the loops of NAME.c, by the same numbers and with the same bodies,
 * as kernels for any GPU from sm_80 on.  No text of its own includes anything:
 * it stands behind device.cuh, global.cuh and elementwise.cuh of the runtime.
 */
void cz_emit_cuda(const cz_plan_view *view, cz_text *out);

/* So many products of bf16 at once as tensor cores compute them, alpha x y' +
 * beta s: x [m, k], y [n, k] or, N-major, [k, n]. */
typedef struct cz_emit_product {
    int64_t m, n, k, batch;
    bool is_symmetric; /* half of it is computed */
    bool is_n_major;
    bool is_gram;    /* y is x */
    bool has_addend; /* beta is not 0 */
} cz_emit_product;

/* Rows and columns of a tile, steps along k that a block holds at once, blocks
 * of a cluster, parts of k for tiles that fill no wave.  is_library: by
 * cuBLASLt where there is one, unless the product is symmetric. */
typedef struct cz_emit_tiles {
    int rows, cols, stages, cluster, parts;
    bool is_library;
} cz_emit_tiles;

/* Who chooses tiles for sm_90a. */
typedef struct cz_emit_tiler {
    int sms; /* of the GPU that they are for */
    /* False: the runtime shall choose. */
    bool (*choose)(const void *user, const cz_emit_product *product,
                   cz_emit_tiles *out);
    /* Of `available` such products, whose own batch does not count, how many to
     * compute at once. */
    int64_t (*batch)(const void *user, const cz_emit_product *product,
                     int64_t available);
    const void *user;
} cz_emit_tiler;

/* NAME_cuda.c: stages that launch those kernels, the kernels' table, tiles of
 * products (NULL: the runtime chooses all), equal matrices that are computed as
 * one, and `cuda`, the text of NAME.cu, whose size does not matter.  Returns
 * the bytes that a rank takes at most for what matrices computed as one use in
 * turn elsewhere: on a GPU it has them behind its scratch. */
int64_t cz_emit_launches(const cz_plan_view *view, const cz_text *cuda,
                         const cz_emit_tiler *tiler, cz_text *out);

/* Of each rank what that is of the one that takes most: bytes [n_ranks]. */
void cz_emit_batch_bytes(const cz_plan_view *view, const cz_emit_tiler *tiler,
                         int64_t *bytes);

/* NAME.h: the program's declaration and the enum of run-time values; has_gpu:
 * also that of what NAME_cuda.c exports. */
void cz_emit_header(const cz_plan_view *view, bool has_gpu, cz_text *out);

#endif
