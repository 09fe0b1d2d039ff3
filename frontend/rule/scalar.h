/* Numbers of a rule: compile-time constants, expressions of the run-time values
 * (t, the clip factor, hyperparameters), and, where a rule is checked for all
 * shapes at once, of symbols: what is known when the rule is compiled for one.
 * Equal expressions are one node, so that pointers compare.  Knows nothing of
 * tensors. */
#ifndef CZ_FRONTEND_RULE_SCALAR_H
#define CZ_FRONTEND_RULE_SCALAR_H

#include "dsl/base/arena.h"
#include "dsl/plan/plan.h"

#include <stdbool.h>

enum { CZ_SCALAR_LARGE = 64 };

typedef enum cz_scalar_form {
    CZ_SCALAR_CONSTANT,
    CZ_SCALAR_SYMBOL,
    CZ_SCALAR_INPUT,
    CZ_SCALAR_APPLY
} cz_scalar_form;

typedef struct cz_scalar {
    cz_scalar_form form;
    bool is_bool;    /* a truth: constant 0 or 1, or a COMPARE */
    bool is_integer; /* CONSTANT: made of integers only */
    bool is_fixed;   /* no run-time value is in it, nor what libraries round */
    bool is_open;    /* some input in it may turn out to be no number at all */
    double constant; /* of what is fixed; with symbols in it, an example */
    int input;       /* number of the prologue's argument, or of the symbol */
    cz_opcode op;
    const char *predicate; /* COMPARE: "olt" and the like, static */
    int n_operands;
    const struct cz_scalar *operands[3];
    int n_nodes; /* of the expression, or CZ_SCALAR_LARGE where there are more
                  */
    int id;      /* place in the pool: behind those of its operands */
} cz_scalar;

typedef struct cz_scalars {
    cz_arena *arena;
    const cz_scalar **list;
    int n;
    int *slots;  /* by hash: the place in `list` and one, or 0 */
    int n_slots; /* a power of two, or 0 */
} cz_scalars;

const cz_scalar *cz_scalar_real(cz_scalars *pool, double value);
const cz_scalar *cz_scalar_integer(cz_scalars *pool, double value);
const cz_scalar *cz_scalar_truth(cz_scalars *pool, bool value);
const cz_scalar *cz_scalar_input(cz_scalars *pool, int input);
/* An input that has neither default nor argument: what a use gives for it may
 * be a table or a type as well. */
const cz_scalar *cz_scalar_open(cz_scalars *pool, int input);
/* Symbol number `symbol`, a whole number or a truth; `example` is one of the
 * values that it may have. */
const cz_scalar *cz_scalar_symbol(cz_scalars *pool, int symbol, bool is_bool,
                                  double example);
/* An element-wise operation; folded where the operands are constants and the
 * result is the same on every machine: not exp, log, tanh and broken powers,
 * which libraries round differently. */
const cz_scalar *cz_scalar_apply(cz_scalars *pool, cz_opcode op,
                                 const cz_scalar *const *operands, int n);
const cz_scalar *cz_scalar_compare(cz_scalars *pool, const char *predicate,
                                   const cz_scalar *a, const cz_scalar *b);

/* The value of a fixed scalar below CZ_SCALAR_LARGE nodes where symbol i is
 * symbols[i]. */
double cz_scalar_at(const cz_scalar *scalar, const double *symbols);
/* Made of symbols and integers by +, -, *, min, max, and floor of what these,
 * /, sqrt and fractions make: what a dimension may be. */
bool cz_scalar_is_dimension(const cz_scalar *scalar);
/* A dimension for messages: "2*m + n", where symbol i is names[i]. */
const char *cz_scalar_text(cz_arena *arena, const cz_scalar *scalar,
                           const char *const *names);

static inline bool cz_scalar_is_constant(const cz_scalar *scalar)
{
    return scalar->form == CZ_SCALAR_CONSTANT;
}

#endif
