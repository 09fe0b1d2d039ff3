/* What the algebra of a rule saved: what its formula, line by line, would take,
 * and what the kernel form takes.  For people; nothing is decided by it. */
#ifndef CZ_FRONTEND_DOCUMENT_PLAN_REWRITES_H
#define CZ_FRONTEND_DOCUMENT_PLAN_REWRITES_H

#include "dsl/base/arena.h"
#include "dsl/plan/document.h"

typedef enum cz_rewrite_kind {
    /* Flops of products and factorisations of an update, symmetric ones by one
     * triangle: with iterations as written, or by way of the Gram matrix.
     * Count: iterations.  As passes/math/gram_pass.c has counted them. */
    CZ_REWRITE_GRAM,
    /* Bytes that travel: all slots of the rule to the owner and back, or what
     * the cut lets travel.  Count: slots that travel. */
    CZ_REWRITE_CUT,
    /* Bytes of states of the matrix's shape that live at the owner: there and
     * back, or not at all.  Count: such states. */
    CZ_REWRITE_SETTLED,
    /* Flops of products that equal their transposes: all, or one triangle with
     * the diagonal. */
    CZ_REWRITE_SYMMETRIC,
    /* Bytes of products in f32 between them and a loop that makes the result:
     * written and read, or not at all, as an epilogue does it. */
    CZ_REWRITE_EPILOGUE,
    /* Bytes of transposed copies, written and read once: of every value that
     * some step reads transposed, or none, as it is read where it lies. */
    CZ_REWRITE_TRANSPOSE,
    CZ_N_REWRITES
} cz_rewrite_kind;

/* "symmetric" */
extern const char *const cz_rewrite_names[CZ_N_REWRITES];

/* Those of a stage `whole`, in its first phase or its variant `phase`, in the
 * order of kinds; of other stages none.  Returns how many. */
int cz_rewrites_find(cz_arena *scratch, const cz_plan_view *view,
                     const cz_view_stage *stage, int phase,
                     cz_document_rewrite out[CZ_N_REWRITES]);

#endif
