/* Shared by the files of the interpreter (dsl/reference) alone. */
#ifndef CZ_DSL_REFERENCE_INTERNAL_H
#define CZ_DSL_REFERENCE_INTERNAL_H

#include "dsl/base/arena.h"
#include "dsl/reference/reference.h"

/* One element-wise operation other than CONSTANT; `dtype` counts for TRUNCATE,
 * `predicate` for COMPARE, whose result is 0 or 1. */
typedef struct cz_reference_op {
    cz_opcode op;
    cz_dtype dtype;
    const char *predicate;
    bool round;
} cz_reference_op;

double cz_reference_apply(const cz_reference_op *op, double a, double b,
                          double c);

/* The larger one, NaN where either is; -0 is below +0. */
double cz_reference_larger(double a, double b);

/* out [m, n] = a [m, k] @ b [k, n], row-major. */
void cz_reference_matmul(const double *a, const double *b, double *out,
                         int64_t m, int64_t k, int64_t n);
/* out [n, m] = in' for in [m, n]. */
void cz_reference_transpose(const double *in, double *out, int64_t m,
                            int64_t n);

/* Numbers that rounding at random draws; state 0: nothing is rounded. */
typedef struct cz_reference_noise {
    uint64_t state;
} cz_reference_noise;

/* x, or one of its two neighbours in f32, the nearer one more often: exact
 * results stay (Connolly, Higham and Mary 2021, Stochastic rounding). */
double cz_reference_scatter(cz_reference_noise *noise, double x);

/* cz_reference_matmul() in f32, each partial sum rounded at random. */
void cz_reference_matmul_noisy(cz_reference_noise *noise, const double *a,
                               const double *b, double *out, int64_t m,
                               int64_t k, int64_t n);

/* Moves operand 0 as far as an algorithm that is backward stable in f32 may. */
void cz_reference_factor_noise(cz_reference_noise *noise, cz_factor factor,
                               const cz_factor_size *size, double *operand);

/* How a function of math form is carried out; settled[i] stands for result i
 * where that is read, as in cz_reference_call. */
typedef struct cz_reference_mode {
    bool round;
    uint64_t noise;
    const double *const *settled; /* [n_out] */
} cz_reference_mode;

/* cz_reference_function() that way. */
void cz_reference_function_in_mode(cz_ir_op function,
                                   const cz_reference_mode *mode, int64_t count,
                                   const double *const *in, double *const *out);

/* A factorisation: operands and results row-major, in float64. */
void cz_reference_factor(cz_factor factor, const cz_factor_size *size,
                         const double *parameters, const double *const *in,
                         double *const *out);

/* cz_reference_body() with `values` [n_in + n_exprs] from the caller, who put
 * the inputs there. */
void cz_reference_body_on(const cz_view_body *body, bool round, double *values,
                          double *out);

/* The phase of a rule at update t for a turn, NULL where all its updates are
 * alike; the body that a stage has in that phase. */
const cz_fact_phase *cz_reference_phase(const cz_ir *ir, cz_arena *arena,
                                        const char *rule,
                                        int64_t stagger_offset, int64_t t);
const char *cz_reference_body_in(const cz_ir *ir, cz_arena *arena,
                                 const cz_fact_stage *stage,
                                 const cz_fact_phase *phase);

/* cz_reference_stage() of a stage, or of one of its variants. */
void cz_reference_variant(const cz_plan_view *view, const cz_view_stage *stage,
                          bool round, int64_t count, const double *const *in,
                          const double *scalars, double *const *out);

#endif
