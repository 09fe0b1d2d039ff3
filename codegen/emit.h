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

/* For a GPU; `kernels` is empty before.
 * - NAME.cu: the loops of NAME.c, by the same numbers and with the same bodies,
 * as kernels for any GPU from sm_80 on.  No text of its own includes anything:
 * it stands behind device.cuh, global.cuh and elementwise.cuh of the runtime.
 * - NAME_cuda.c: stages as tables of steps that launch those kernels, the
 *   kernels' table, tiles of products and batches as the plan has them, and the
 *   text of NAME.cu. */
void cz_emit_cuda(const cz_plan_view *view, cz_text *kernels,
                  cz_text *launches);

/* NAME.h: the program's declaration and the enum of run-time values; has_gpu:
 * also that of what NAME_cuda.c exports. */
void cz_emit_header(const cz_plan_view *view, bool has_gpu, cz_text *out);

#endif
