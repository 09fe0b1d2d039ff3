/* Between functions of math form and graphs. */
#ifndef CZ_PASSES_GRAPH_MATH_FORM_H
#define CZ_PASSES_GRAPH_MATH_FORM_H

#include "passes/graph/graph.h"

/* The graph of a function that takes tensors, then f32 scalars.  IN and
 * SCALAR nodes count their kind from 0.  NULL when the function has other
 * arguments, holds an operation that has no place in math form, more than
 * CZ_MATH_FORM_MAX_OPS of them, or a tensor of more than CZ_MAX_DIM
 * elements. */
enum { CZ_MATH_FORM_MAX_OPS = 4096 };
cz_graph *cz_math_form_read(cz_arena *arena, cz_ir_op function);
/* Whether it is their number for which that is NULL. */
bool cz_math_form_is_long(cz_ir_op function);

/* A function of `graph`, with tensor arguments of the types `in` (n_in of
 * them), then `n_scalars` of type f32. */
cz_ir_op cz_math_form_write(cz_ir *ir, const cz_graph *graph, const char *name,
                            const cz_ir_type *in, int n_in, int n_scalars);

#endif
