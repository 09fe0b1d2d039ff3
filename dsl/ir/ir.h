/* The IR: an MLIR module and the only way to build and to read it.  Whoever
 * includes this sees no type of MLIR; passes that call MLIR's C API take the
 * handles from dsl/ir/mlir.h.  What the operations mean: dsl/IR.md.
 *
 * A misuse of the builder (operands of unequal type, an unknown opcode, ...)
 * is a mistake of ours: assert.  What is wrong with a module that came as
 * text is reported as E0601. */
#ifndef CZ_DSL_IR_IR_H
#define CZ_DSL_IR_IR_H

#include "dsl/base/arena.h"
#include "dsl/base/diag.h"
#include "dsl/base/text.h"
#include "dsl/vocab/access.h"
#include "dsl/vocab/dtype.h"
#include "dsl/vocab/factor.h"
#include "dsl/vocab/facts.h"
#include "dsl/vocab/opcode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cz_ir cz_ir;

/* ---- the module ---- */

/* An empty module.  What MLIR has to say goes to `diags`, which outlives the
 * IR.  NULL, with an error, when the dialects do not load. */
cz_ir *cz_ir_open(cz_diags *diags);
/* A module of its own that says the same, to be closed before `ir` is; what
 * MLIR has to say of it goes to where it goes of `ir`. */
cz_ir *cz_ir_copy(const cz_ir *ir);
/* Accepts NULL. */
void cz_ir_close(cz_ir *ir);
/* Let messages go elsewhere from now on. */
void cz_ir_set_diags(cz_ir *ir, cz_diags *diags);
/* Append the module as text: parses again to a module with the same print. */
void cz_ir_print(const cz_ir *ir, cz_text *out);
/* MLIR's verifier and our schema: only our operations with exactly their
 * attributes, every reference resolves, symbols are unique, strings have at
 * most CZ_IR_MAX_STRING bytes, `dense` constants are splats.  False after
 * reporting what is wrong. */
bool cz_ir_verify(cz_ir *ir);
/* IR text from outside: checked for size, UTF-8 and nesting, parsed in a child
 * process first, then here, then verified.  NULL after reporting. */
cz_ir *cz_ir_parse(const char *bytes, size_t n, cz_diags *diags);

enum {
    /* Of printed modules.  One more where an operation, an attribute or what it
     * means is another. */
    CZ_IR_FORMAT = 9,
    CZ_IR_MAX_STRING = 256,
    CZ_IR_MAX_NESTING = 64,
    CZ_IR_MAX_TEXT = 64 << 20
};

/* ---- facts ----
 * For every fact of facts.def:
 *
 *   void cz_ir_add_pattern(cz_ir *, const cz_fact_pattern *);
 *       append at the end of the module
 *   const cz_fact_pattern *cz_ir_read_pattern(const cz_ir *, cz_arena *, int
 * *n); all of them in module order, as one array with strings and numbers
 *       copied to the arena; never NULL.  Every attribute must be there and of
 *       its type, as cz_ir_verify() checks.
 *   void cz_ir_replace_pattern(cz_ir *, int i, const cz_fact_pattern *);
 *       the i-th of them, at its place in the module
 *
 * NULL strings are written as "". */
#define CZ_FACT(fact)                                                          \
    void cz_ir_add_##fact(cz_ir *ir, const cz_fact_##fact *value);             \
    const cz_fact_##fact *cz_ir_read_##fact(const cz_ir *ir, cz_arena *arena,  \
                                            int *n);                           \
    void cz_ir_replace_##fact(cz_ir *ir, int i, const cz_fact_##fact *value);
#include "dsl/vocab/facts.def"

int cz_ir_count(const cz_ir *ir, cz_fact_kind kind);
void cz_ir_remove(cz_ir *ir, cz_fact_kind kind); /* all of the kind */

/* ---- values and operations ---- */

typedef struct cz_ir_value {
    const void *p; /* NULL: none.  Equal values have equal p. */
} cz_ir_value;

typedef struct cz_ir_op {
    void *p; /* NULL: none.  Equal operations have equal p. */
} cz_ir_op;

enum { CZ_IR_SCALAR = -1, CZ_IR_MAX_RANK = 2, CZ_IR_MAX_INDEX = 1 << 24 };

typedef struct cz_ir_type {
    cz_dtype dtype;
    int rank; /* CZ_IR_SCALAR for a plain scalar; 0, 1, 2: a tensor */
    int64_t shape[CZ_IR_MAX_RANK];
    bool is_bool; /* result of COMPARE: element type i1; dtype is unused */
} cz_ir_type;

cz_ir_type cz_ir_scalar_type(cz_dtype dtype);
cz_ir_type cz_ir_tensor_type(cz_dtype dtype, int rank, const int64_t *shape);
/* The same shape with another element type. */
cz_ir_type cz_ir_type_with(cz_ir_type type, cz_dtype dtype);
bool cz_ir_type_equal(cz_ir_type a, cz_ir_type b);

/* Whether a tensor of a function is state `state` of a rule, or, below 0, has
 * the rule's shape: dimensions of length 1 may be missing from those of a whole
 * state. */
bool cz_ir_type_is_state(cz_ir_type type, const cz_fact_rule *rule, int state);

cz_ir_type cz_ir_value_type(cz_ir_value value);
/* The operation behind a value, or none for a function's argument. */
cz_ir_op cz_ir_value_op(cz_ir_value value);
/* Which result of its operation, or which argument of its function. */
int cz_ir_value_index(cz_ir_value value);
/* Uses as operands: an operation that uses it twice counts twice. */
int cz_ir_value_n_uses(cz_ir_value value);
void cz_ir_value_replace(cz_ir_value value, cz_ir_value by);

typedef enum cz_ir_kind {
    CZ_IR_ELEMENT,   /* a row of opcode.def, on scalars or tensors */
    CZ_IR_SPLAT,     /* tensor.splat: scalar to tensor */
    CZ_IR_MATMUL,    /* linalg.matmul: operands a, b, zero */
    CZ_IR_TRANSPOSE, /* canzona.transpose */
    CZ_IR_INDEX,     /* canzona.index: element i is i */
    CZ_IR_REDUCE,    /* canzona.reduce: `dims` vanish */
    CZ_IR_BROADCAST, /* canzona.broadcast: `dims` are the new ones */
    CZ_IR_FACTOR,    /* canzona.factor: one result of a factorisation */
    CZ_IR_MAP,       /* kernel.map */
    CZ_IR_PRODUCT,   /* kernel.product */
    CZ_IR_CALL,      /* kernel.call: all results of a factorisation */
    CZ_IR_RETURN,
    CZ_IR_OTHER /* nothing that a function of ours may hold */
} cz_ir_kind;

/* ---- reading functions ---- */

/* Functions in module order; p NULL behind the last. */
cz_ir_op cz_ir_first_function(const cz_ir *ir);
cz_ir_op cz_ir_next_function(cz_ir_op function);
/* p NULL when there is none of that name. */
cz_ir_op cz_ir_find_function(const cz_ir *ir, const char *name);
/* Owned by the IR. */
const char *cz_ir_function_name(cz_ir_op function);
int cz_ir_function_n_in(cz_ir_op function);
int cz_ir_function_n_out(cz_ir_op function);
cz_ir_value cz_ir_function_in(cz_ir_op function, int i);
cz_ir_type cz_ir_function_out_type(cz_ir_op function, int i);
/* Operand i of its return. */
cz_ir_value cz_ir_function_out(cz_ir_op function, int i);
/* Nothing may refer to it any more. */
void cz_ir_function_erase(cz_ir_op function);

/* The operations of a function in order, the return last; p NULL behind it. */
cz_ir_op cz_ir_first_op(cz_ir_op function);
cz_ir_op cz_ir_next_op(cz_ir_op op);
cz_ir_kind cz_ir_op_kind(cz_ir_op op);
cz_opcode cz_ir_op_opcode(cz_ir_op op); /* of CZ_IR_ELEMENT only */
int cz_ir_op_n_operands(cz_ir_op op);
int cz_ir_op_n_results(cz_ir_op op);
cz_ir_value cz_ir_op_operand(cz_ir_op op, int i);
cz_ir_value cz_ir_op_result(cz_ir_op op, int i);
void cz_ir_op_set_operand(cz_ir_op op, int i, cz_ir_value value);
/* Its results must be unused. */
void cz_ir_op_erase(cz_ir_op op);

/* Attributes.  `has` tells whether it is there; the others assert that it is,
 * and of its type.  Strings (also the name behind a symbol reference) belong
 * to the IR, arrays to the arena. */
bool cz_ir_op_has(cz_ir_op op, const char *name);
int64_t cz_ir_op_int(cz_ir_op op, const char *name);
double cz_ir_op_real(cz_ir_op op, const char *name);
const char *cz_ir_op_string(cz_ir_op op, const char *name);
cz_ints cz_ir_op_ints(cz_ir_op op, const char *name, cz_arena *arena);
cz_reals cz_ir_op_reals(cz_ir_op op, const char *name, cz_arena *arena);
void cz_ir_op_set_int(cz_ir_op op, const char *name, int64_t value);
void cz_ir_op_set_ints(cz_ir_op op, const char *name, cz_ints value);

/* Of CONSTANT (scalar or splat): true, and *value.  Else false. */
bool cz_ir_op_constant(cz_ir_op op, double *value);
/* Of COMPARE: "olt" and the like, static. */
const char *cz_ir_op_predicate(cz_ir_op op);
/* What a reader of generated code is told of the operation: the value that the
 * source gives a name to, and where.  NULL: nothing.  It is in no printed IR;
 * as long as the module. */
const char *cz_ir_op_value_name(cz_ir_op op);

/* ---- building functions ---- */

/* Where the next operation goes and which place in the source it names.
 * Caller's storage; nothing to release. */
typedef struct cz_ir_builder {
    cz_ir *ir;
    cz_ir_op function;
    void *block;
    void *before;         /* operation to insert in front of; NULL: append */
    const void *location; /* MlirLocation */
    const char *name;     /* of the value that operations belong to, as in
                           * cz_ir_op_value_name(); NULL: none */
} cz_ir_builder;

/* A new function at the end of the module, with an empty body that ends with
 * cz_ir_return().  The name must be new. */
typedef struct cz_ir_signature {
    const char *name;
    bool is_private; /* bodies of maps and products */
    int n_in, n_out;
    const cz_ir_type *in, *out;
} cz_ir_signature;

cz_ir_builder cz_ir_function(cz_ir *ir, const cz_ir_signature *signature,
                             cz_span place);
/* A builder that inserts in front of an existing operation, at its place. */
cz_ir_builder cz_ir_builder_before(cz_ir *ir, cz_ir_op op);
/* From now on operations name this place. */
void cz_ir_at(cz_ir_builder *builder, cz_span place);
void cz_ir_at_op(cz_ir_builder *builder, cz_ir_op op);

/* A scalar, or a splat where the type is a tensor's; rounded to the type. */
cz_ir_value cz_ir_constant(cz_ir_builder *builder, cz_ir_type type,
                           double value);
/* Element-wise operations: operands of equal type, which is the result's.
 * SELECT's first operand is a result of COMPARE. */
cz_ir_value cz_ir_unary(cz_ir_builder *builder, cz_opcode op, cz_ir_value a);
cz_ir_value cz_ir_binary(cz_ir_builder *builder, cz_opcode op, cz_ir_value a,
                         cz_ir_value b);
cz_ir_value cz_ir_compare(cz_ir_builder *builder, const char *predicate,
                          cz_ir_value a, cz_ir_value b);
cz_ir_value cz_ir_select(cz_ir_builder *builder, cz_ir_value condition,
                         cz_ir_value a, cz_ir_value b);
/* EXTEND or TRUNCATE to the element type; `value` itself when it has it. */
cz_ir_value cz_ir_convert(cz_ir_builder *builder, cz_ir_value value,
                          cz_dtype dtype);
/* Any row of opcode.def with `n` operands; not CONSTANT, COMPARE.  `dtype`
 * counts for EXTEND and TRUNCATE alone. */
cz_ir_value cz_ir_element(cz_ir_builder *builder, cz_opcode op,
                          const cz_ir_value *operands, int n, cz_dtype dtype);

/* A scalar in every element of a tensor with the scalar's element type. */
cz_ir_value cz_ir_splat(cz_ir_builder *builder, cz_ir_value scalar, int rank,
                        const int64_t *shape);
/* a [m, k] @ b [k, n], each f32, bf16 or f16, as f32 [m, n]. */
cz_ir_value cz_ir_matmul(cz_ir_builder *builder, cz_ir_value a, cz_ir_value b);
cz_ir_value cz_ir_transpose(cz_ir_builder *builder, cz_ir_value matrix);
/* 0, 1, 2, ... as f32 [length], at most CZ_IR_MAX_INDEX of them, so that they
 * are exact. */
cz_ir_value cz_ir_index(cz_ir_builder *builder, int64_t length);
/* Sum (kind "sum") or largest ("max") of an f64 tensor over the dimensions
 * `dims`, ascending; they vanish. */
cz_ir_value cz_ir_reduce(cz_ir_builder *builder, const char *kind,
                         cz_ir_value tensor, const int64_t *dims, int n_dims);
/* The result has `rank` dimensions; `dims`, ascending, are the new ones. */
cz_ir_value cz_ir_broadcast(cz_ir_builder *builder, cz_ir_value tensor,
                            int rank, const int64_t *shape, const int64_t *dims,
                            int n_dims);
/* One result of a factorisation of f32 matrices (dsl/vocab/factor.h);
 * `parameters` has as many numbers as it takes. */
cz_ir_value cz_ir_factor(cz_ir_builder *builder, cz_factor factor,
                         const double *parameters, const cz_ir_value *operands,
                         int result);
/* The size that operands of a factorisation have together. */
cz_factor_size cz_ir_factor_size(const cz_ir_type *operands, int n);
cz_ir_type cz_ir_factor_type(cz_factor factor, int result,
                             const cz_factor_size *size);
void cz_ir_return(cz_ir_builder *builder, const cz_ir_value *values, int n);

/* ---- kernel form ---- */

/* Fields as in cz_view_step. */
typedef struct cz_ir_map {
    const char *body; /* a private function of scalars */
    int n_in;
    const cz_ir_value *in;
    const cz_access *access;
    int n_out;
    const cz_ir_type *out;
    const cz_access *out_access;
    int64_t rows, columns;
    const int64_t *offsets; /* [n_out]; NULL: all -1 */
} cz_ir_map;

/* Writes n_out values to `results`. */
void cz_ir_build_map(cz_ir_builder *builder, const cz_ir_map *map,
                     cz_ir_value *results);

typedef struct cz_ir_product {
    const char *body; /* epilogue, or NULL */
    int n_in;         /* a, b, then s or the epilogue's operands */
    const cz_ir_value *in;
    const cz_access *access;
    bool transpose_a, transpose_b, symmetric;
    double alpha, beta;
    cz_ir_type out;
    int64_t result_offset, accumulator_offset; /* workspace bytes, or -1 */
} cz_ir_product;

cz_ir_value cz_ir_build_product(cz_ir_builder *builder,
                                const cz_ir_product *product);

typedef struct cz_ir_call {
    cz_factor factor;
    const double *parameters;
    const cz_ir_value *in;  /* as many as it takes */
    const int64_t *offsets; /* [results + 1], the last of the workspace; NULL:
                             * all -1 */
} cz_ir_call;

/* Writes all results to `results`. */
void cz_ir_build_call(cz_ir_builder *builder, const cz_ir_call *call,
                      cz_ir_value *results);

#endif
