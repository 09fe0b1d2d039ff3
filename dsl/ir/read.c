/* Reading and rewiring: values, functions, operations, attributes. */
#include "dsl/ir/internal.h"

#include <assert.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <string.h>

/* ---- values ---- */

cz_ir_type cz_ir_value_type(cz_ir_value value)
{
    cz_ir_type type;
    const bool is_ours =
        cz_ir_type_of(mlirValueGetType(cz_ir_value_mlir(value)), &type);
    assert(is_ours);
    (void)is_ours;
    return type;
}

cz_ir_op cz_ir_value_op(cz_ir_value value)
{
    const MlirValue v = cz_ir_value_mlir(value);
    if (!mlirValueIsAOpResult(v))
        return (cz_ir_op){NULL};
    return cz_ir_op_of(mlirOpResultGetOwner(v));
}

int cz_ir_value_index(cz_ir_value value)
{
    const MlirValue v = cz_ir_value_mlir(value);
    return (int)(mlirValueIsAOpResult(v) ? mlirOpResultGetResultNumber(v)
                                         : mlirBlockArgumentGetArgNumber(v));
}

int cz_ir_value_n_uses(cz_ir_value value)
{
    int n = 0;
    for (MlirOpOperand use = mlirValueGetFirstUse(cz_ir_value_mlir(value));
         !mlirOpOperandIsNull(use); use = mlirOpOperandGetNextUse(use))
        n++;
    return n;
}

void cz_ir_value_replace(cz_ir_value value, cz_ir_value by)
{
    mlirValueReplaceAllUsesOfWith(cz_ir_value_mlir(value),
                                  cz_ir_value_mlir(by));
}

/* ---- functions ---- */

const char *cz_ir_op_name(MlirOperation op)
{
    return cz_ir_cstr(mlirIdentifierStr(mlirOperationGetName(op)));
}

bool cz_ir_op_is(MlirOperation op, const char *name)
{
    return strcmp(cz_ir_op_name(op), name) == 0;
}

/* The first function at `op` or behind it. */
static cz_ir_op find_function(MlirOperation op)
{
    while (!mlirOperationIsNull(op) && !cz_ir_op_is(op, "func.func"))
        op = mlirOperationGetNextInBlock(op);
    return cz_ir_op_of(op);
}

cz_ir_op cz_ir_first_function(const cz_ir *ir)
{
    return find_function(
        mlirBlockGetFirstOperation(mlirModuleGetBody(ir->module)));
}

cz_ir_op cz_ir_next_function(cz_ir_op function)
{
    return find_function(mlirOperationGetNextInBlock(cz_ir_op_mlir(function)));
}

cz_ir_op cz_ir_find_function(const cz_ir *ir, const char *name)
{
    cz_ir_op function = cz_ir_first_function(ir);
    while (function.p && strcmp(cz_ir_function_name(function), name) != 0)
        function = cz_ir_next_function(function);
    return function;
}

const char *cz_ir_function_name(cz_ir_op function)
{
    return cz_ir_op_string(function, "sym_name");
}

static MlirType function_type(cz_ir_op function)
{
    return mlirTypeAttrGetValue(
        cz_ir_get_attr(cz_ir_op_mlir(function), "function_type"));
}

static MlirBlock body_of(cz_ir_op function)
{
    return mlirRegionGetFirstBlock(
        mlirOperationGetRegion(cz_ir_op_mlir(function), 0));
}

int cz_ir_function_n_in(cz_ir_op function)
{
    return (int)mlirFunctionTypeGetNumInputs(function_type(function));
}

int cz_ir_function_n_out(cz_ir_op function)
{
    return (int)mlirFunctionTypeGetNumResults(function_type(function));
}

cz_ir_value cz_ir_function_in(cz_ir_op function, int i)
{
    return cz_ir_value_of(mlirBlockGetArgument(body_of(function), i));
}

cz_ir_type cz_ir_function_out_type(cz_ir_op function, int i)
{
    return cz_ir_value_type(cz_ir_function_out(function, i));
}

cz_ir_value cz_ir_function_out(cz_ir_op function, int i)
{
    const MlirOperation end = mlirBlockGetTerminator(body_of(function));
    return cz_ir_value_of(mlirOperationGetOperand(end, i));
}

void cz_ir_function_erase(cz_ir_op function)
{
    mlirOperationDestroy(cz_ir_op_mlir(function));
}

/* ---- operations ---- */

cz_ir_op cz_ir_first_op(cz_ir_op function)
{
    return cz_ir_op_of(mlirBlockGetFirstOperation(body_of(function)));
}

cz_ir_op cz_ir_next_op(cz_ir_op op)
{
    return cz_ir_op_of(mlirOperationGetNextInBlock(cz_ir_op_mlir(op)));
}

static const char *const opcode_names[CZ_N_OPCODES] = {
#define CZ_OPCODE(tag, mlir_name, arity) mlir_name,
#include "dsl/vocab/opcode.def"
#undef CZ_OPCODE
};

static const struct {
    const char *name;
    cz_ir_kind kind;
} kinds[] = {
    {"tensor.splat", CZ_IR_SPLAT},
    {"linalg.matmul", CZ_IR_MATMUL},
    {"canzona.transpose", CZ_IR_TRANSPOSE},
    {"canzona.index", CZ_IR_INDEX},
    {"canzona.reduce", CZ_IR_REDUCE},
    {"canzona.broadcast", CZ_IR_BROADCAST},
    {"kernel.map", CZ_IR_MAP},
    {"kernel.product", CZ_IR_PRODUCT},
    {"canzona.factor", CZ_IR_FACTOR},
    {"kernel.call", CZ_IR_CALL},
    {"func.return", CZ_IR_RETURN},
};

cz_opcode cz_ir_op_opcode(cz_ir_op op)
{
    const char *name = cz_ir_op_name(cz_ir_op_mlir(op));
    int i = 0;
    while (i < CZ_N_OPCODES && strcmp(opcode_names[i], name) != 0)
        i++;
    return (cz_opcode)i;
}

cz_ir_kind cz_ir_op_kind(cz_ir_op op)
{
    const char *name = cz_ir_op_name(cz_ir_op_mlir(op));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].kind;
    return cz_ir_op_opcode(op) == CZ_N_OPCODES ? CZ_IR_OTHER : CZ_IR_ELEMENT;
}

int cz_ir_op_n_operands(cz_ir_op op)
{
    return (int)mlirOperationGetNumOperands(cz_ir_op_mlir(op));
}

int cz_ir_op_n_results(cz_ir_op op)
{
    return (int)mlirOperationGetNumResults(cz_ir_op_mlir(op));
}

cz_ir_value cz_ir_op_operand(cz_ir_op op, int i)
{
    return cz_ir_value_of(mlirOperationGetOperand(cz_ir_op_mlir(op), i));
}

cz_ir_value cz_ir_op_result(cz_ir_op op, int i)
{
    return cz_ir_value_of(mlirOperationGetResult(cz_ir_op_mlir(op), i));
}

void cz_ir_op_set_operand(cz_ir_op op, int i, cz_ir_value value)
{
    mlirOperationSetOperand(cz_ir_op_mlir(op), i, cz_ir_value_mlir(value));
}

void cz_ir_op_erase(cz_ir_op op)
{
    mlirOperationDestroy(cz_ir_op_mlir(op));
}

/* ---- attributes of operations ---- */

static MlirAttribute attribute_of(cz_ir_op op, const char *name)
{
    return cz_ir_get_attr(cz_ir_op_mlir(op), name);
}

bool cz_ir_op_has(cz_ir_op op, const char *name)
{
    return !mlirAttributeIsNull(attribute_of(op, name));
}

int64_t cz_ir_op_int(cz_ir_op op, const char *name)
{
    const MlirAttribute attribute = attribute_of(op, name);
    assert(cz_ir_is_int(attribute));
    return mlirIntegerAttrGetValueInt(attribute);
}

double cz_ir_op_real(cz_ir_op op, const char *name)
{
    const MlirAttribute attribute = attribute_of(op, name);
    assert(cz_ir_is_real(attribute));
    return mlirFloatAttrGetValueDouble(attribute);
}

const char *cz_ir_op_string(cz_ir_op op, const char *name)
{
    return cz_ir_attr_string(attribute_of(op, name));
}

cz_ints cz_ir_op_ints(cz_ir_op op, const char *name, cz_arena *arena)
{
    return cz_ir_attr_ints(attribute_of(op, name), arena);
}

cz_reals cz_ir_op_reals(cz_ir_op op, const char *name, cz_arena *arena)
{
    return cz_ir_attr_reals(attribute_of(op, name), arena);
}

static void set_attribute(cz_ir_op op, const char *name, MlirAttribute value)
{
    mlirOperationSetAttributeByName(cz_ir_op_mlir(op), cz_ir_str(name), value);
}

static MlirContext context_of(cz_ir_op op)
{
    return mlirOperationGetContext(cz_ir_op_mlir(op));
}

void cz_ir_op_set_int(cz_ir_op op, const char *name, int64_t value)
{
    set_attribute(op, name, cz_ir_int_attr(context_of(op), value));
}

void cz_ir_op_set_ints(cz_ir_op op, const char *name, cz_ints value)
{
    set_attribute(op, name, cz_ir_ints_attr(context_of(op), value));
}

/* ---- element-wise details ---- */

static double splat_value(MlirAttribute attribute)
{
    const MlirAttribute splat = mlirDenseElementsAttrGetSplatValue(attribute);
    return mlirFloatAttrGetValueDouble(splat);
}

bool cz_ir_op_constant(cz_ir_op op, double *value)
{
    if (!cz_ir_op_is(cz_ir_op_mlir(op), "arith.constant"))
        return false;
    const MlirAttribute attribute = attribute_of(op, "value");
    const bool is_splat = mlirAttributeIsADenseElements(attribute) &&
                          mlirDenseElementsAttrIsSplat(attribute);
    if (is_splat &&
        mlirAttributeIsAFloat(mlirDenseElementsAttrGetSplatValue(attribute)))
        *value = splat_value(attribute);
    else if (mlirAttributeIsAFloat(attribute))
        *value = mlirFloatAttrGetValueDouble(attribute);
    else
        return false;
    return true;
}

/* In the order of arith's CmpFPredicate. */
static const char *const predicates[] = {
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq",   "ugt", "uge", "ult", "ule", "une", "uno", "true",
};

const char *cz_ir_op_value_name(cz_ir_op op)
{
    const MlirLocation place = mlirOperationGetLocation(cz_ir_op_mlir(op));

    return mlirLocationIsAName(place)
               ? cz_ir_cstr(mlirIdentifierStr(mlirLocationNameGetName(place)))
               : NULL;
}

const char *cz_ir_op_predicate(cz_ir_op op)
{
    const int64_t i = mlirIntegerAttrGetValueInt(attribute_of(op, "predicate"));
    return predicates[i & 15];
}

int64_t cz_ir_predicate_number(const char *name)
{
    for (int i = 0; i < 16; i++)
        if (strcmp(predicates[i], name) == 0)
            return i;
    assert(!"a predicate of arith.cmpf");
    return 0;
}

const char *cz_ir_opcode_name(cz_opcode op)
{
    return opcode_names[op];
}
