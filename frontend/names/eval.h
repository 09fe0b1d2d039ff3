/* Compile-time values: sizes, counts and conditions of models, meshes and
 * uses.  Integers are exact int64, everything else is a double.  Knows nothing
 * of tensors: rules are frontend/rule/rule.h's. */
#ifndef CZ_FRONTEND_NAMES_EVAL_H
#define CZ_FRONTEND_NAMES_EVAL_H

#include "dsl/syntax/ast.h"

typedef enum cz_value_kind {
    CZ_VALUE_POISON, /* what should be here is wrong, and that was reported */
    CZ_VALUE_INT,
    CZ_VALUE_REAL,
    CZ_VALUE_BOOL, /* in `integer` */
    CZ_VALUE_STRING
} cz_value_kind;

typedef struct cz_value {
    cz_value_kind kind;
    int64_t integer;
    double real; /* of an INT too */
    const char *string;
    const cz_span *from; /* where it is given, such as in a configuration; or
                            NULL: the place that reads it is to blame */
} cz_value;

cz_value cz_value_int(int64_t integer);
cz_value cz_value_real(double real);
cz_value cz_value_bool(bool truth);
cz_value cz_value_string(const char *string);
/* For messages: 12, 0.5, true, "gelu". */
const char *cz_value_text(cz_arena *arena, cz_value value);

/* Where to report that `value`, which `e` reads, is wrong: what is given
 * elsewhere is wrong there.  Then note where it is used. */
cz_span cz_value_place(const cz_node *e, cz_value value);
void cz_value_note_use(cz_diags *diags, const cz_node *e, cz_value value);

/* Names in scope.  An inner environment shadows its parent. */
typedef struct cz_env {
    cz_arena *arena;
    struct cz_env *parent;
    struct cz_binding *list;
    int n;
} cz_env;

void cz_env_init(cz_env *env, cz_arena *arena, cz_env *parent);
void cz_env_bind(cz_env *env, const char *name, cz_value value);
/* Bind a LET, evaluated in `env` when it is first read. */
void cz_env_bind_let(cz_env *env, const cz_node *let);
/* Bind a LET now.  Reports what is wrong with it and binds poison then. */
void cz_env_bind_now(cz_env *env, const cz_node *let, cz_diags *diags);

/* Evaluate.  Integer division is exact where it goes up and a double where it
 * does not.  False after reporting (or when a poisoned name was read). */
bool cz_eval(const cz_node *e, cz_env *env, cz_diags *diags, cz_value *out);
/* A condition. */
bool cz_eval_bool(const cz_node *e, cz_env *env, cz_diags *diags, bool *out);
/* Any number. */
bool cz_eval_real(const cz_node *e, cz_env *env, cz_diags *diags, double *out);
/* An integer of at least `low` and at most `high`.  `what` names it in
 * messages: "size of axis tp". */
bool cz_eval_size(const cz_node *e, cz_env *env, cz_diags *diags,
                  const char *what, int64_t low, int64_t high, int64_t *out);

/* Whether the tree reads `name` anywhere. */
bool cz_node_reads(const cz_node *node, const char *name);

/* ---- arith.c ---- */

/* Arithmetic of compile-time values: exact on integers, in double otherwise.
 * Private to eval.c. */

/* Apply the operator of `e` (arithmetic or comparison) to its operands' values.
 * False after reporting: wrong kinds, overflow, division by zero. */
bool cz_arith_operator(const cz_node *e, const cz_value *values,
                       cz_arena *arena, cz_diags *diags, cz_value *out);
/* min, max, abs, floor, ceil, sqrt. */
bool cz_arith_call(const cz_node *e, const cz_value *values, cz_arena *arena,
                   cz_diags *diags, cz_value *out);

#endif
