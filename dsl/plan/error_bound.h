/* How far an update may be from the same in float64.  Knows nothing of how
 * either is computed. */
#ifndef CZ_DSL_PLAN_ERROR_BOUND_H
#define CZ_DSL_PLAN_ERROR_BOUND_H

#include "dsl/plan/plan.h"

/* Of |p - q| / |q - p0| in the Frobenius norm, after a few updates: p the
 * parameter as the plan computes it, q as float64 does, each value rounded
 * where the rule says so, p0 the first.  Measured, not proved: `canzona run
 * --check` measures and refuses what is beyond.  Of a rule with factorisations
 * q goes on from the run's own states wherever they are computed, and what f32
 * moves in the rest comes on top (frontend/cmd/run/calls.c): a root of a matrix
 * may be off by any part, the more nearly singular it is.
 *
 * What is proved: a value that is rounded to bf16 to travel is off by 2^-8 of
 * it at most, where it is no smaller than 2^-126.  What a rule makes of that
 * depends on the rule: an orthogonalised matrix may be off by more, the more
 * nearly singular it is. */
enum {
    CZ_ERROR_UNIT = 1000000, /* bounds are so many parts of one */
    CZ_ERROR_GRAM = 1000, /* the least tolerance for iterations of f32 matrices
                           * by their Gram matrices */
    CZ_ERROR_F32 = 100,   /* all arithmetic and all that travels is f32 */
    CZ_ERROR_BF16 = 50000 /* some of it is bf16, or f16 */
};

/* Whether the program's `tolerance` admits bf16 where the rule has none. */
bool cz_error_admits_bf16(const cz_fact_policy *policy);

/* Whether it admits that rounding is not the formula's, up to a few times as
 * much in f32: from 0.001 on. */
bool cz_error_admits_gram(const cz_fact_policy *policy);

/* The bound for updates by a rule's stages, one of these. */
int64_t cz_error_bound(const cz_plan_view *view, int rule);

#endif
