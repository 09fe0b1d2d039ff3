/* Arithmetic of compile-time values: exact on integers, in double otherwise.
 * Private to eval.c. */
#ifndef CZ_FRONTEND_NAMES_ARITH_H
#define CZ_FRONTEND_NAMES_ARITH_H

#include "frontend/names/eval.h"

/* Apply the operator of `e` (arithmetic or comparison) to its operands' values.
 * False after reporting: wrong kinds, overflow, division by zero. */
bool cz_arith_operator(const cz_node *e, const cz_value *values,
                       cz_arena *arena, cz_diags *diags, cz_value *out);
/* min, max, abs, floor, ceil, sqrt. */
bool cz_arith_call(const cz_node *e, const cz_value *values, cz_arena *arena,
                   cz_diags *diags, cz_value *out);

#endif
