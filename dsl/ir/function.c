/* The checked builder of functions.  Debian's MLIR is built without
 * assertions, so every misuse that it would accept in silence is caught by
 * an assertion here. */
#include "dsl/ir/internal.h"

#include <assert.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <mlir-c/Dialect/Linalg.h>

enum { MAX_SIGNATURE = 256 };

/* ---- places ---- */

static MlirLocation location_of(MlirContext context, cz_span place)
{
    if (!place.source)
        return mlirLocationUnknownGet(context);
    return mlirLocationFileLineColGet(context, cz_ir_str(place.source->name),
                                      place.line, place.column);
}

void cz_ir_at(cz_ir_builder *builder, cz_span place)
{
    builder->location = location_of(builder->ir->context, place).ptr;
}

void cz_ir_at_op(cz_ir_builder *builder, cz_ir_op op)
{
    builder->location = mlirOperationGetLocation(cz_ir_op_mlir(op)).ptr;
}

MlirLocation cz_ir_location(const cz_ir_builder *builder)
{
    const MlirLocation place = {builder->location};
    return builder->name ? mlirLocationNameGet(builder->ir->context,
                                               cz_ir_str(builder->name), place)
                         : place;
}

cz_ir_op cz_ir_insert(cz_ir_builder *builder, MlirOperationState *state)
{
    const MlirOperation op = mlirOperationCreate(state);
    assert(!mlirOperationIsNull(op));
    mlirBlockInsertOwnedOperationBefore((MlirBlock){builder->block},
                                        (MlirOperation){builder->before}, op);
    return cz_ir_op_of(op);
}

/* ---- functions ---- */

static void types_of(MlirContext context, const cz_ir_type *types, int n,
                     MlirType *out)
{
    assert(n <= MAX_SIGNATURE);
    for (int i = 0; i < n; i++)
        out[i] = cz_ir_type_mlir(context, types[i]);
}

/* An empty block whose arguments are the function's. */
static MlirBlock make_block(MlirLocation location, const MlirType *in, int n)
{
    MlirLocation places[MAX_SIGNATURE];
    for (int i = 0; i < n; i++)
        places[i] = location;
    return mlirBlockCreate(n, in, places);
}

static MlirOperation make_function(MlirContext context, MlirLocation location,
                                   const cz_ir_signature *s, MlirType type,
                                   MlirBlock block)
{
    const MlirNamedAttribute attributes[] = {
        cz_ir_named(context, "sym_name", cz_ir_string_attr(context, s->name)),
        cz_ir_named(context, "function_type", mlirTypeAttrGet(type)),
        cz_ir_named(context, "sym_visibility",
                    cz_ir_string_attr(context, "private")),
    };
    MlirRegion region = mlirRegionCreate();
    mlirRegionAppendOwnedBlock(region, block);
    MlirOperationState state =
        mlirOperationStateGet(cz_ir_str("func.func"), location);
    mlirOperationStateAddAttributes(&state, s->is_private ? 3 : 2, attributes);
    mlirOperationStateAddOwnedRegions(&state, 1, &region);
    return mlirOperationCreate(&state);
}

cz_ir_builder cz_ir_function(cz_ir *ir, const cz_ir_signature *signature,
                             cz_span place)
{
    MlirType in[MAX_SIGNATURE], out[MAX_SIGNATURE];
    const MlirLocation location = location_of(ir->context, place);

    assert(!cz_ir_find_function(ir, signature->name).p);
    types_of(ir->context, signature->in, signature->n_in, in);
    types_of(ir->context, signature->out, signature->n_out, out);
    const MlirBlock block = make_block(location, in, signature->n_in);
    const MlirType type = mlirFunctionTypeGet(ir->context, signature->n_in, in,
                                              signature->n_out, out);
    const MlirOperation function =
        make_function(ir->context, location, signature, type, block);
    mlirBlockAppendOwnedOperation(mlirModuleGetBody(ir->module), function);
    return (cz_ir_builder){.ir = ir,
                           .function = cz_ir_op_of(function),
                           .block = block.ptr,
                           .location = location.ptr};
}

cz_ir_builder cz_ir_builder_before(cz_ir *ir, cz_ir_op op)
{
    const MlirOperation at = cz_ir_op_mlir(op);
    return (cz_ir_builder){.ir = ir,
                           .function =
                               cz_ir_op_of(mlirOperationGetParentOperation(at)),
                           .block = mlirOperationGetBlock(at).ptr,
                           .before = op.p,
                           .location = mlirOperationGetLocation(at).ptr};
}

void cz_ir_return(cz_ir_builder *builder, const cz_ir_value *values, int n)
{
    MlirValue operands[MAX_SIGNATURE];
    MlirOperationState state = mlirOperationStateGet(cz_ir_str("func.return"),
                                                     cz_ir_location(builder));

    assert(n == cz_ir_function_n_out(builder->function));
    for (int i = 0; i < n; i++)
        operands[i] = cz_ir_value_mlir(values[i]);
    mlirOperationStateAddOperands(&state, n, operands);
    cz_ir_insert(builder, &state);
}

/* ---- one operation, one result ---- */

cz_ir_value cz_ir_build(cz_ir_builder *builder, const cz_ir_build_args *args)
{
    MlirOperationState state =
        mlirOperationStateGet(cz_ir_str(args->name), cz_ir_location(builder));
    const MlirType type = cz_ir_type_mlir(builder->ir->context, args->type);
    MlirValue operands[3];

    assert(args->n_in <= 3);
    for (int i = 0; i < args->n_in; i++)
        operands[i] = cz_ir_value_mlir(args->in[i]);
    mlirOperationStateAddOperands(&state, args->n_in, operands);
    mlirOperationStateAddResults(&state, 1, &type);
    mlirOperationStateAddAttributes(&state, args->n_attributes,
                                    args->attributes);
    return cz_ir_op_result(cz_ir_insert(builder, &state), 0);
}

/* ---- element-wise ---- */

static const int arities[CZ_N_OPCODES] = {
#define CZ_OPCODE(tag, mlir_name, arity) arity,
#include "dsl/vocab/opcode.def"
#undef CZ_OPCODE
};

cz_ir_value cz_ir_constant(cz_ir_builder *builder, cz_ir_type type,
                           double value)
{
    const MlirContext context = builder->ir->context;
    MlirAttribute attribute = mlirFloatAttrDoubleGet(
        context, cz_ir_element_type(context, type.dtype), value);
    if (type.rank != CZ_IR_SCALAR)
        attribute = mlirDenseElementsAttrSplatGet(
            cz_ir_type_mlir(context, type), attribute);
    const MlirNamedAttribute named = cz_ir_named(context, "value", attribute);
    return cz_ir_build(builder, &(cz_ir_build_args){.name = "arith.constant",
                                                    .type = type,
                                                    .n_attributes = 1,
                                                    .attributes = &named});
}

static void check_operands(const cz_ir_value *operands, int first, int n)
{
    const cz_ir_type type = cz_ir_value_type(operands[first]);
    for (int i = first + 1; i < n; i++)
        assert(cz_ir_type_equal(type, cz_ir_value_type(operands[i])));
    (void)type;
}

/* Widths order the element types: EXTEND widens, TRUNCATE narrows. */
static void check_conversion(cz_opcode op, cz_dtype from, cz_dtype to)
{
    assert(op == CZ_OP_EXTEND ? cz_dtype_bytes(to) > cz_dtype_bytes(from)
                              : cz_dtype_bytes(to) < cz_dtype_bytes(from));
    (void)op, (void)from, (void)to;
}

cz_ir_value cz_ir_element(cz_ir_builder *builder, cz_opcode op,
                          const cz_ir_value *operands, int n, cz_dtype dtype)
{
    cz_ir_type type = cz_ir_value_type(operands[n - 1]);

    (void)arities;
    assert(n == arities[op] && op != CZ_OP_COMPARE && op != CZ_OP_CONSTANT);
    check_operands(operands, op == CZ_OP_SELECT ? 1 : 0, n);
    assert(op != CZ_OP_SELECT || cz_ir_value_type(operands[0]).is_bool);
    if (op == CZ_OP_EXTEND || op == CZ_OP_TRUNCATE) {
        check_conversion(op, type.dtype, dtype);
        type = cz_ir_type_with(type, dtype);
    }
    return cz_ir_build(builder,
                       &(cz_ir_build_args){.name = cz_ir_opcode_name(op),
                                           .type = type,
                                           .n_in = n,
                                           .in = operands});
}

cz_ir_value cz_ir_unary(cz_ir_builder *builder, cz_opcode op, cz_ir_value a)
{
    assert(op != CZ_OP_EXTEND && op != CZ_OP_TRUNCATE);
    return cz_ir_element(builder, op, &a, 1, CZ_F32);
}

cz_ir_value cz_ir_binary(cz_ir_builder *builder, cz_opcode op, cz_ir_value a,
                         cz_ir_value b)
{
    return cz_ir_element(builder, op, (cz_ir_value[]){a, b}, 2, CZ_F32);
}

cz_ir_value cz_ir_select(cz_ir_builder *builder, cz_ir_value condition,
                         cz_ir_value a, cz_ir_value b)
{
    return cz_ir_element(builder, CZ_OP_SELECT,
                         (cz_ir_value[]){condition, a, b}, 3, CZ_F32);
}

cz_ir_value cz_ir_compare(cz_ir_builder *builder, const char *predicate,
                          cz_ir_value a, cz_ir_value b)
{
    const MlirContext context = builder->ir->context;
    const MlirNamedAttribute named =
        cz_ir_named(context, "predicate",
                    cz_ir_int_attr(context, cz_ir_predicate_number(predicate)));
    cz_ir_type type = cz_ir_value_type(a);

    assert(cz_ir_type_equal(type, cz_ir_value_type(b)) && !type.is_bool);
    type.is_bool = true;
    return cz_ir_build(builder, &(cz_ir_build_args){.name = "arith.cmpf",
                                                    .type = type,
                                                    .n_in = 2,
                                                    .in = (cz_ir_value[]){a, b},
                                                    .n_attributes = 1,
                                                    .attributes = &named});
}

cz_ir_value cz_ir_convert(cz_ir_builder *builder, cz_ir_value value,
                          cz_dtype dtype)
{
    const cz_dtype from = cz_ir_value_type(value).dtype;
    if (from == dtype)
        return value;
    const bool widens = cz_dtype_bytes(dtype) > cz_dtype_bytes(from);
    return cz_ir_element(builder, widens ? CZ_OP_EXTEND : CZ_OP_TRUNCATE,
                         &value, 1, dtype);
}
