/* Types: our small struct and MLIR's, in both directions. */
#include "dsl/ir/internal.h"

#include <assert.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>

cz_ir_type cz_ir_scalar_type(cz_dtype dtype)
{
    return (cz_ir_type){.dtype = dtype, .rank = CZ_IR_SCALAR};
}

cz_ir_type cz_ir_tensor_type(cz_dtype dtype, int rank, const int64_t *shape)
{
    cz_ir_type type = {.dtype = dtype, .rank = rank};
    assert(rank >= 0 && rank <= CZ_IR_MAX_RANK);
    for (int i = 0; i < rank; i++)
        type.shape[i] = shape[i];
    return type;
}

cz_ir_type cz_ir_type_with(cz_ir_type type, cz_dtype dtype)
{
    type.dtype = dtype;
    type.is_bool = false;
    return type;
}

static bool is_shape_equal(cz_ir_type a, cz_ir_type b)
{
    if (a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank; i++)
        if (a.shape[i] != b.shape[i])
            return false;
    return true;
}

bool cz_ir_type_equal(cz_ir_type a, cz_ir_type b)
{
    return a.is_bool == b.is_bool && (a.is_bool || a.dtype == b.dtype) &&
           is_shape_equal(a, b);
}

MlirType cz_ir_element_type(MlirContext context, cz_dtype dtype)
{
    switch (dtype) {
    case CZ_F64:
        return mlirF64TypeGet(context);
    case CZ_F32:
        return mlirF32TypeGet(context);
    case CZ_BF16:
        return mlirBF16TypeGet(context);
    case CZ_F16:
        return mlirF16TypeGet(context);
    case CZ_N_DTYPES:
        break;
    }
    assert(!"an element type");
    return (MlirType){NULL};
}

MlirType cz_ir_type_mlir(MlirContext context, cz_ir_type type)
{
    const MlirType element = type.is_bool
                                 ? mlirIntegerTypeGet(context, 1)
                                 : cz_ir_element_type(context, type.dtype);
    if (type.rank == CZ_IR_SCALAR)
        return element;
    return mlirRankedTensorTypeGet(type.rank, type.shape, element,
                                   mlirAttributeGetNull());
}

/* An element type: one of ours, or i1. */
static bool element_of(MlirType type, cz_ir_type *out)
{
    out->is_bool =
        mlirTypeIsAInteger(type) && mlirIntegerTypeGetWidth(type) == 1;
    if (mlirTypeIsAF64(type))
        out->dtype = CZ_F64;
    else if (mlirTypeIsAF32(type))
        out->dtype = CZ_F32;
    else if (mlirTypeIsABF16(type))
        out->dtype = CZ_BF16;
    else if (mlirTypeIsAF16(type))
        out->dtype = CZ_F16;
    else
        return out->is_bool;
    return true;
}

static bool shape_of(MlirType type, cz_ir_type *out)
{
    const int64_t rank = mlirShapedTypeGetRank(type);
    if (rank > CZ_IR_MAX_RANK || !mlirShapedTypeHasStaticShape(type) ||
        !mlirAttributeIsNull(mlirRankedTensorTypeGetEncoding(type)))
        return false;
    out->rank = (int)rank;
    for (int i = 0; i < out->rank; i++)
        out->shape[i] = mlirShapedTypeGetDimSize(type, i);
    return true;
}

bool cz_ir_type_of(MlirType type, cz_ir_type *out)
{
    *out = (cz_ir_type){.rank = CZ_IR_SCALAR};
    if (!mlirTypeIsARankedTensor(type))
        return element_of(type, out);
    return shape_of(type, out) &&
           element_of(mlirShapedTypeGetElementType(type), out);
}

bool cz_ir_type_is_state(cz_ir_type type, const cz_fact_rule *rule, int state)
{
    static const int64_t one[] = {1};
    const int64_t *shape =
        state < 0 ? NULL : rule->state_shapes.v + (size_t)state * 2;

    if (type.is_bool || type.rank < 0)
        return false;
    if (!shape || shape[0] == 0) { /* of the parameter's shape */
        const cz_ints as = rule->shape.n ? rule->shape : (cz_ints){one, 1};
        return cz_ir_type_equal(type,
                                cz_ir_tensor_type(type.dtype, as.n, as.v));
    }
    if (type.rank == 2)
        return type.shape[0] == shape[0] && type.shape[1] == shape[1];
    if (type.rank == 1)
        return (shape[0] == 1 || shape[1] == 1) &&
               type.shape[0] == shape[0] * shape[1];
    return shape[0] * shape[1] == 1;
}
