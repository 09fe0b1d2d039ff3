/* Shared by the files of the IR (dsl/ir) alone: the module's struct, and
 * short forms of MLIR's calls. */
#ifndef CZ_DSL_IR_INTERNAL_H
#define CZ_DSL_IR_INTERNAL_H

#include "dsl/ir/ir.h"
#include "dsl/ir/mlir.h"

#include <mlir-c/IR.h>
#include <mlir-c/Support.h>

struct cz_ir {
    MlirContext context;
    MlirModule module;
    cz_diags *diags;
    bool is_copy; /* the context is another's */
};

/* ---- strings (module.c) ---- */

MlirStringRef cz_ir_str(const char *string); /* NULL is "" */
/* MLIR's strings that come from attributes and names end in a NUL. */
const char *cz_ir_cstr(MlirStringRef string);

/* Append " (file:line:column)", or nothing when the place is unknown. */
void cz_ir_put_place(cz_text *out, MlirLocation location);

/* ---- the dialect (dialect.c) ---- */

/* Load what our modules consist of. */
bool cz_ir_load_dialects(MlirContext context);

/* ---- the schema (schema.c) ---- */

/* What cz_ir_verify() checks beyond MLIR's verifier. */
bool cz_ir_check_schema(const cz_ir *ir, cz_diags *diags);

/* ---- attributes (attribute.c) ---- */

MlirAttribute cz_ir_get_attr(MlirOperation op, const char *name);
MlirAttribute cz_ir_int_attr(MlirContext context, int64_t value);
MlirAttribute cz_ir_real_attr(MlirContext context, double value);
MlirAttribute cz_ir_string_attr(MlirContext context, const char *value);
/* A symbol reference; the empty string for none. */
MlirAttribute cz_ir_ref_attr(MlirContext context, const char *symbol);
MlirAttribute cz_ir_ints_attr(MlirContext context, cz_ints value);
MlirAttribute cz_ir_reals_attr(MlirContext context, cz_reals value);
MlirAttribute cz_ir_strings_attr(MlirContext context, cz_strings value);
MlirNamedAttribute cz_ir_named(MlirContext context, const char *name,
                               MlirAttribute value);

bool cz_ir_is_int(MlirAttribute attribute);  /* an i64 */
bool cz_ir_is_real(MlirAttribute attribute); /* an f64 */
const char *
cz_ir_attr_string(MlirAttribute attribute); /* string or reference */
cz_ints cz_ir_attr_ints(MlirAttribute attribute, cz_arena *arena);
cz_reals cz_ir_attr_reals(MlirAttribute attribute, cz_arena *arena);
cz_strings cz_ir_attr_strings(MlirAttribute attribute, cz_arena *arena);

/* ---- operations ---- */

const char *cz_ir_op_name(MlirOperation op);
bool cz_ir_op_is(MlirOperation op, const char *name);
const char *cz_ir_opcode_name(cz_opcode op);      /* "arith.addf" */
int64_t cz_ir_predicate_number(const char *name); /* of arith.cmpf */
MlirType cz_ir_element_type(MlirContext context, cz_dtype dtype);
MlirType cz_ir_type_mlir(MlirContext context, cz_ir_type type);
/* False when it is none of ours; *out is then undefined. */
bool cz_ir_type_of(MlirType type, cz_ir_type *out);

/* ---- building (function.c) ---- */

MlirLocation cz_ir_location(const cz_ir_builder *builder);
/* Make the operation and put it where the builder stands. */
cz_ir_op cz_ir_insert(cz_ir_builder *builder, MlirOperationState *state);

typedef struct cz_ir_build_args {
    const char *name;
    cz_ir_type type; /* of the one result */
    int n_in;        /* at most 3 */
    const cz_ir_value *in;
    int n_attributes;
    const MlirNamedAttribute *attributes;
} cz_ir_build_args;

cz_ir_value cz_ir_build(cz_ir_builder *builder, const cz_ir_build_args *args);

#endif
