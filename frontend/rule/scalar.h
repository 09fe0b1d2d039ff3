/* Numbers of a rule: compile-time constants, and expressions of the run-time
 * values (t, the clip factor, hyperparameters).  Equal expressions are one
 * node, so that pointers compare.  Knows nothing of tensors. */
#ifndef CZ_FRONTEND_RULE_SCALAR_H
#define CZ_FRONTEND_RULE_SCALAR_H

#include "dsl/base/arena.h"
#include "dsl/plan_view.h"

#include <stdbool.h>

typedef enum cz_scalar_form {
    CZ_SCALAR_CONSTANT,
    CZ_SCALAR_INPUT,
    CZ_SCALAR_APPLY
} cz_scalar_form;

typedef struct cz_scalar {
    cz_scalar_form form;
    bool is_bool;    /* a truth: constant 0 or 1, or a COMPARE */
    bool is_integer; /* CONSTANT: made of integers only */
    double constant;
    int input; /* number of the prologue's argument */
    cz_opcode op;
    const char *predicate; /* COMPARE: "olt" and the like, static */
    int n_operands;
    const struct cz_scalar *operands[3];
    int id; /* place in the pool: behind those of its operands */
} cz_scalar;

typedef struct cz_scalars {
    cz_arena *arena;
    const cz_scalar **list;
    int n;
} cz_scalars;

const cz_scalar *cz_scalar_real(cz_scalars *pool, double value);
const cz_scalar *cz_scalar_integer(cz_scalars *pool, double value);
const cz_scalar *cz_scalar_truth(cz_scalars *pool, bool value);
const cz_scalar *cz_scalar_input(cz_scalars *pool, int input);
/* An element-wise operation; folded where the operands are constants and the
 * result is the same on every machine: not exp, log, tanh and broken powers,
 * which libraries round differently. */
const cz_scalar *cz_scalar_apply(cz_scalars *pool, cz_opcode op,
                                 const cz_scalar *const *operands, int n);
const cz_scalar *cz_scalar_compare(cz_scalars *pool, const char *predicate,
                                   const cz_scalar *a, const cz_scalar *b);

static inline bool cz_scalar_is_constant(const cz_scalar *scalar)
{
    return scalar->form == CZ_SCALAR_CONSTANT;
}

#endif
