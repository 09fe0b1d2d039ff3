/* A float64 interpreter of rules, in every form between two passes: the
 * reference that passes are tested against and that `run --check` compares
 * with.  No code generator uses it.
 *
 * All values are doubles, all arithmetic and all sums are in float64.  With
 * `round`, TRUNCATE rounds to its type (to nearest, ties to even), as does a
 * bf16 result of a product of kernel form; without it nothing is rounded.
 * Either way two forms of a rule differ only by the order of arithmetic.
 *
 * Math form can be carried out in two other ways, for `run --check`: with
 * states of somebody else's, and with what is f32 rounded at random, which
 * shows how far rounding moves results (Parker 1997, Monte Carlo arithmetic).
 */
#ifndef CZ_DSL_REFERENCE_REFERENCE_H
#define CZ_DSL_REFERENCE_REFERENCE_H

#include "dsl/ir/ir.h"
#include "dsl/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* x rounded to a value of the type. */
double cz_reference_round(cz_dtype dtype, double x);

/* A body on one point: in [n_in] to out [n_out]. */
void cz_reference_body(const cz_view_body *body, bool round, const double *in,
                       double *out);

/* Results of a rule's prologue, [n_out of that body], at step t (from 1), with
 * the coefficient of clipping and the use's run-time values in order. */
void cz_reference_prologue(const cz_plan_view *view, int rule, bool round,
                           double t, double clip, const double *hypers,
                           double *out);

/* A function of math form.  in[i] and out[i] hold argument and result i, row-
 * major; a scalar is one number.  In an element-wise function (`count` > 0)
 * tensors have `count` elements instead of their one. */
void cz_reference_function(cz_ir_op function, bool round, int64_t count,
                           const double *const *in, double *const *out);

/* A stage in kernel form, in the first of its phases: in[i] and out[i] hold
 * slot i, `scalars` all results of the rule's prologue and the parts of the
 * name.  `count` elements where
 * the stage is element-wise, else 0. */
void cz_reference_stage(const cz_plan_view *view, int stage, bool round,
                        int64_t count, const double *const *in,
                        const double *scalars, double *const *out);

typedef enum cz_reference_form {
    CZ_REFERENCE_MATH,   /* the rule's update function */
    CZ_REFERENCE_STAGES, /* its stages in kernel form, one after the other */
    CZ_REFERENCE_CUT     /* the same still in math form: behind the cut */
} cz_reference_form;

/* One update of `count` elements (those of the rule's shape, if it has one) in
 * stored layout, in the phase of t; states that are whole have as many as their
 * shape.  Outputs may be the inputs. */
typedef struct cz_reference_call {
    int rule;
    cz_reference_form form;
    bool round;
    int64_t count;
    double t, clip;
    int64_t stagger_offset; /* of the parameter */
    const char *name;       /* its name; NULL: "" */
    const double *hypers;
    const double *grad, *param;
    const double *const *states;
    double *param_out;
    double *const *states_out;
    double *stored_out; /* rounded copy, if a stage writes one; NULL: unasked */
    /* [n_states] as states are after the update: once a state is computed, what
     * reads it reads this instead, but states_out gets what was computed. NULL,
     * the list or one of it: what was computed.  Of math form alone. */
    const double *const *settled;
    uint64_t noise; /* a seed: values of f32 are rounded up or down at random;
                     * 0: not.  Of math form alone. */
} cz_reference_call;

/* Kernel form is run from the view, as code generators read it, prologue
 * included; both math forms from the module's functions.  The other of the two
 * is not looked at.  Rules are numbered alike in both. */
void cz_reference_rule(const cz_ir *ir, const cz_plan_view *view,
                       const cz_reference_call *call);

#endif
