/* Small matrices: every length of a rule that is not 1 becomes 2, its longest 3
 * where it has others, and factorisations something as continuous that depends
 * on all they take.  What is equal for matrices of any size is equal for these.
 * Private to passes/verify/. */
#ifndef CZ_PASSES_VERIFY_SMALL_SMALL_H
#define CZ_PASSES_VERIFY_SMALL_SMALL_H

#include "dsl/base/arena.h"
#include "dsl/plan/plan.h"

enum { SMALL = 2, SMALL_LONG = 3, SMALL_ELEMENTS = SMALL_LONG * SMALL_LONG };

/* Row-major; of a vector one of the two lengths is 1. */
typedef struct small {
    int rows, columns;
    double v[SMALL_ELEMENTS];
} small;

small small_of(int rows, int columns);
/* What comparisons are. */
typedef enum small_conditions {
    SMALL_DECIDED, /* true or false */
    SMALL_BLENDED  /* a share of the true side, smooth in what is compared, so
                    * that both sides of a choice and what it depends on show,
                    * however far it is from changing; and other operations are
                    * stood for by what hides nothing that they are of */
} small_conditions;

typedef struct small_run {
    cz_arena *arena; /* for what is made besides */
    small_conditions conditions;
    bool draws;  /* constants: 0, 1 and -1 stay, and any other number becomes
                  * another one between 0.5 and 1.5, of its sign.  So it shows
                  * if one is not what it was, however little that changes */
    bool rounds; /* where types say so, and visibly: f64 stays, others become
                  * another number near by, which is one of their type */
    uint32_t plain[CZ_N_SLOTS]; /* bit i: what stages leave in slot i of the
                                 * kind is not rounded last of all */
    int64_t longest;            /* the length that becomes 3; 0: none does */
    bool is_element;            /* all lengths become 1 */
} small_run;

int small_length(const small_run *run, int64_t length);
double small_constant(const small_run *run, double constant);
double small_round(const small_run *run, cz_dtype dtype, double x);
/* One element-wise operation other than CONSTANT, in float64; `dtype` is that
 * of its result. */
double small_apply(const small_run *run, int opcode, cz_dtype dtype,
                   const char *predicate, double a, double b, double c);
/* op(a) @ op(b). */
small small_product(const small *a, bool transpose_a, const small *b,
                    bool transpose_b);
/* Stands for result `result`: positive, symmetric where that is promised, and
 * another number for any other operand or parameter. */
small small_factor(const small_run *run, cz_factor factor, int result,
                   const double *parameters, const small *const *in,
                   cz_factor_size size);
/* The larger one, NaN where either is. */
double small_larger(double a, double b);

/* Pseudo-random, in [0.5, 1.5): the same for the same state. */
double small_draw(uint64_t *state);

/* Zeros in its shape. */
small small_shaped(const small_run *run, const cz_view_shape *shape);
/* An update of math form on its inputs; out [n_out]. */
void small_update(const small_run *run, const cz_view_update *update,
                  const small *in, small *out);

/* NULL, or what is wrong with the numbers, types and sizes of a stage's values:
 * the latter are those of its matrix, or of a rank's part of it. */
const char *small_fault(cz_arena *arena, const cz_plan_view *view,
                        const cz_view_stage *stage);
/* A stage in kernel form, all its segments together as one rank alone would run
 * them: in [n_in] and out [n_out] hold its slots, scalars those of its rule.
 * `count` elements where the stage is element-wise, else 0.  NULL; or what it
 * promises of a value and does not keep.  small_fault() has found nothing. */
const char *small_stage(const small_run *run, const cz_plan_view *view,
                        const cz_view_stage *stage, int count, const small *in,
                        const double *scalars, small *out);

#endif
