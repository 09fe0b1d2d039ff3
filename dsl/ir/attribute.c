/* Attributes: made from our values, and read back. */
#include "dsl/ir/internal.h"

#include <assert.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdlib.h>

MlirAttribute cz_ir_get_attr(MlirOperation op, const char *name)
{
    return mlirOperationGetAttributeByName(op, cz_ir_str(name));
}

MlirNamedAttribute cz_ir_named(MlirContext context, const char *name,
                               MlirAttribute value)
{
    return mlirNamedAttributeGet(mlirIdentifierGet(context, cz_ir_str(name)),
                                 value);
}

/* ---- making ---- */

MlirAttribute cz_ir_int_attr(MlirContext context, int64_t value)
{
    return mlirIntegerAttrGet(mlirIntegerTypeGet(context, 64), value);
}

MlirAttribute cz_ir_real_attr(MlirContext context, double value)
{
    return mlirFloatAttrDoubleGet(context, mlirF64TypeGet(context), value);
}

MlirAttribute cz_ir_string_attr(MlirContext context, const char *value)
{
    return mlirStringAttrGet(context, cz_ir_str(value));
}

MlirAttribute cz_ir_ref_attr(MlirContext context, const char *symbol)
{
    return symbol && *symbol
               ? mlirFlatSymbolRefAttrGet(context, cz_ir_str(symbol))
               : cz_ir_string_attr(context, "");
}

MlirAttribute cz_ir_ints_attr(MlirContext context, cz_ints value)
{
    return mlirDenseI64ArrayGet(context, value.n, value.v);
}

MlirAttribute cz_ir_reals_attr(MlirContext context, cz_reals value)
{
    return mlirDenseF64ArrayGet(context, value.n, value.v);
}

MlirAttribute cz_ir_strings_attr(MlirContext context, cz_strings value)
{
    MlirAttribute *list = calloc((size_t)value.n + 1, sizeof *list);
    if (!list)
        abort();
    for (int i = 0; i < value.n; i++)
        list[i] = cz_ir_string_attr(context, value.v[i]);
    const MlirAttribute array = mlirArrayAttrGet(context, value.n, list);
    free(list);
    return array;
}

/* ---- reading ---- */

bool cz_ir_is_int(MlirAttribute attribute)
{
    const MlirType type = mlirAttributeGetType(attribute);
    return mlirAttributeIsAInteger(attribute) && mlirTypeIsAInteger(type) &&
           mlirIntegerTypeIsSignless(type) &&
           mlirIntegerTypeGetWidth(type) == 64;
}

bool cz_ir_is_real(MlirAttribute attribute)
{
    return mlirAttributeIsAFloat(attribute) &&
           mlirTypeIsAF64(mlirAttributeGetType(attribute));
}

const char *cz_ir_attr_string(MlirAttribute attribute)
{
    assert(mlirAttributeIsAString(attribute) ||
           mlirAttributeIsAFlatSymbolRef(attribute));
    return cz_ir_cstr(mlirAttributeIsAString(attribute)
                          ? mlirStringAttrGetValue(attribute)
                          : mlirFlatSymbolRefAttrGetValue(attribute));
}

cz_ints cz_ir_attr_ints(MlirAttribute attribute, cz_arena *arena)
{
    assert(mlirAttributeIsADenseI64Array(attribute));
    const int n = (int)mlirDenseArrayGetNumElements(attribute);
    int64_t *v = CZ_NEW(arena, int64_t, n);
    for (int i = 0; i < n; i++)
        v[i] = mlirDenseI64ArrayGetElement(attribute, i);
    return (cz_ints){v, n};
}

cz_reals cz_ir_attr_reals(MlirAttribute attribute, cz_arena *arena)
{
    assert(mlirAttributeIsADenseF64Array(attribute));
    const int n = (int)mlirDenseArrayGetNumElements(attribute);
    double *v = CZ_NEW(arena, double, n);
    for (int i = 0; i < n; i++)
        v[i] = mlirDenseF64ArrayGetElement(attribute, i);
    return (cz_reals){v, n};
}

cz_strings cz_ir_attr_strings(MlirAttribute attribute, cz_arena *arena)
{
    const int n = (int)mlirArrayAttrGetNumElements(attribute);
    const char **v = CZ_NEW(arena, const char *, n);
    for (int i = 0; i < n; i++) {
        const MlirStringRef s =
            mlirStringAttrGetValue(mlirArrayAttrGetElement(attribute, i));
        v[i] = cz_arena_copy(arena, s.data, s.length);
    }
    return (cz_strings){v, n};
}
