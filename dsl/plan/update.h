/* What an update says, in math form, as flat arrays: part of the plan view.
 * One operation a term; values are numbered like those of a body, inputs first.
 * Knows nothing of MLIR. */
#ifndef CZ_DSL_PLAN_UPDATE_H
#define CZ_DSL_PLAN_UPDATE_H

#include "dsl/vocab/dtype.h"
#include "dsl/vocab/factor.h"

#include <stdbool.h>
#include <stdint.h>

enum { CZ_VIEW_UPDATE_RANK = 2, CZ_VIEW_TERM_ARGS = 3 };

typedef enum cz_view_term_kind {
    CZ_TERM_ELEMENT,   /* an opcode, element by element */
    CZ_TERM_SPLAT,     /* a scalar everywhere */
    CZ_TERM_MATMUL,    /* args 0 @ 1 */
    CZ_TERM_TRANSPOSE, /* of a matrix */
    CZ_TERM_INDEX,     /* element i is i */
    CZ_TERM_REDUCE,    /* over `dims`, which vanish */
    CZ_TERM_BROADCAST, /* along `dims`, which are new */
    CZ_TERM_FACTOR     /* one result of a factorisation */
} cz_view_term_kind;

/* Shape and type of a value; rank 0 also of a scalar that is no tensor. */
typedef struct cz_view_shape {
    int rank;
    int64_t size[CZ_VIEW_UPDATE_RANK];
    cz_dtype dtype; /* of truth values anything */
} cz_view_shape;

typedef struct cz_view_term {
    cz_view_term_kind kind;
    int opcode;            /* ELEMENT: a cz_opcode */
    double constant;       /* CONSTANT */
    const char *predicate; /* COMPARE, as in a body */
    uint32_t dims;         /* bit d: dimension d of the larger shape */
    bool largest;          /* REDUCE: the largest, not the sum */
    cz_factor factor;
    int result;               /* FACTOR: which */
    const double *parameters; /* of the factorisation */
    int n_args, args[CZ_VIEW_TERM_ARGS];
} cz_view_term;

/* Inputs: gradient, parameter, states, scalars.  Outputs: parameter, states. */
typedef struct cz_view_update {
    int n_in, n_terms, n_out;
    const cz_view_term *terms;
    const cz_view_shape *shapes; /* [n_in + n_terms] of all values */
    const int *out;              /* value numbers */
} cz_view_update;

#endif
