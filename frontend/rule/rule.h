/* Optimizer rules to IR: what the rest of the front end asks for, and what it
 * gets.  `use` statements are resolved by frontend/program/internal.h; here an
 * optimizer is checked for all shapes, checked against its arguments, and
 * lowered at one static shape.
 *
 * Facts produced: `rule` and its two functions.  Facts needed before: `use`
 * of the same name. */
#ifndef CZ_FRONTEND_RULE_H
#define CZ_FRONTEND_RULE_H

#include "dsl/syntax/ast.h"
#include "dsl/vocab/dtype.h"
#include "frontend/names/sources.h"

struct cz_ir;

/* An optimizer with its arguments: what one `use` statement says. */
typedef struct cz_rule_use {
    cz_arena *arena;            /* results live here */
    cz_scope *scope;            /* finds DEF, TABLE and LET by name */
    const char *name;           /* the group's name: symbol of the use fact */
    const cz_node *use;         /* USE: where errors of the call point */
    const cz_node *optimizer;   /* OPTIMIZER */
    const cz_node *const *args; /* ARG, with -D options applied: one that
                                 * -D added has text = the formal's name */
    int n_args;
    const cz_node *index; /* INDEX of the use's paths, which arguments may read;
                           * NULL: they have none */
    int64_t value;        /* of that index */
    bool clip; /* the prologue takes a clip factor and grad is multiplied */
} cz_rule_use;

/* What the arguments leave open until run time.  A hyperparameter whose
 * default is a float, or that has none, is a run-time value; integers, tables
 * and names are compile-time; `const` (at the formal or at the argument)
 * fixes a float.  An argument replaces the default: `lr = 1e-3` in the call
 * gives has_default = 1; a float hyperparameter without default and without
 * argument (or passed by its bare name, `muon(lr)`) has none. */
typedef struct cz_rule_signature {
    const char *const *hypers; /* run-time values, in order of the formals */
    const double *defaults;    /* 0 where there is none */
    const int64_t *has_default;
    int n_hypers;
    int n_dims; /* dimensions of the header; -1: `for any` */
} cz_rule_signature;

/* One parameter layout to lower for. */
typedef struct cz_rule_shape {
    int64_t shape[2]; /* stored layout, global */
    int n_dims;       /* 0 for `for any`: element-wise, any shape */
    bool transposed;  /* the optimizer sees [shape[1], shape[0]] */
    cz_dtype master_dtype;
} cz_rule_shape;

/* Check the call's arguments against the optimizer's formals and say what is
 * a run-time value.  Reports each wrong, missing or unknown argument once.
 * False when something was wrong. */
bool cz_rule_signature_build(const cz_rule_use *use, cz_diags *diags,
                             cz_rule_signature *out);

/* What cz_rules_check() looked at. */
typedef struct cz_rules_checked {
    int n_optimizers, n_defs, n_tables;
} cz_rules_checked;

/* Check the optimizers, defs and tables of the user's files, used or not, for
 * all shapes at once: dimensions are the header's names, and both sides of a
 * condition on them are looked at.  Hyperparameters are their defaults, save
 * that both truths are.  A def is checked with the shapes of its callers;
 * where there are none, its names are.  Each mistake is reported once.  What
 * is not supported yet is reported if `alone` says that nothing will be
 * lowered, which would report it. */
void cz_rules_check(cz_scope *scope, bool alone, cz_arena *arena,
                    cz_diags *diags, cz_rules_checked *out);

/* Lower the rule at `shape` into `ir`: one `rule` fact with its `update` and
 * `prologue` functions.  Called once per distinct (use, shape, transposed):
 * the caller keeps the results.  *symbol becomes the rule's symbol, unique in
 * the module and derived from the use's name and the shape alone.  False
 * after reporting; an error that does not depend on the shape is reported
 * alike each time (and so printed once). */
bool cz_rule_lower(struct cz_ir *ir, const cz_rule_use *use,
                   const cz_rule_shape *shape, cz_diags *diags,
                   const char **symbol);

#endif
