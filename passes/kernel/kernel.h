/* Kernel form of one stage: maps and products out of a graph.  Plain C; the
 * result uses the structs of the plan view (dsl/plan/plan.h), which say what
 * everything means. */
#ifndef CZ_PASSES_KERNEL_KERNEL_H
#define CZ_PASSES_KERNEL_KERNEL_H

#include "dsl/plan/plan.h"
#include "passes/graph/graph.h"

typedef struct cz_kernel {
    int n_in, n_scalars, n_values;
    cz_ir_type *types; /* of every value */
    int n_steps;
    cz_view_step *steps; /* offsets are NULL: workspace comes later */
    int n_bodies;
    cz_view_body *bodies; /* names are NULL */
    int n_out;
    int *out_value;
    bool *out_symmetric;
} cz_kernel;

/* The steps that compute `graph`.  With `flat`, tensors stand for any run of
 * elements that may be updated in place, and all is one map.  The operations
 * are those of the graph on the same operands, so no bit depends on how they
 * are grouped.  symmetric[i] says that tensor i equals its transpose, bit by
 * bit; NULL: none does.  Not strict: products of polynomials of one symmetric
 * matrix are symmetric, too, which rounding alone would deny. */
cz_kernel *cz_kernel_build(cz_arena *arena, const cz_graph *graph, int n_in,
                           const cz_ir_type *in_types, int n_scalars, bool flat,
                           const bool *symmetric, bool is_strict);

/* Results that take the place of an argument, renews[i] of result i or -1:
 * where a step still reads the argument, or reads elements of it other than the
 * one it writes, the result is made in the workspace and copied behind all
 * steps. */
void cz_kernel_renew(cz_arena *arena, cz_kernel *kernel, const int *renews);

#endif
