/* The checked builder of tensor operations: splats, products, transposition,
 * sums and broadcasts of math form; maps and products of kernel form. */
#include "dsl/ir/internal.h"

#include <assert.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/Dialect/Linalg.h>

enum { MAX_OPERANDS = 256 };

/* ---- math form ---- */

cz_ir_value cz_ir_splat(cz_ir_builder *builder, cz_ir_value scalar, int rank,
                        const int64_t *shape)
{
    const cz_ir_type from = cz_ir_value_type(scalar);
    assert(from.rank == CZ_IR_SCALAR && !from.is_bool);
    return cz_ir_build(
        builder,
        &(cz_ir_build_args){.name = "tensor.splat",
                            .type = cz_ir_tensor_type(from.dtype, rank, shape),
                            .n_in = 1,
                            .in = &scalar});
}

static cz_ir_type matmul_type(cz_ir_value a, cz_ir_value b)
{
    const cz_ir_type x = cz_ir_value_type(a), y = cz_ir_value_type(b);
    assert(x.rank == 2 && y.rank == 2 && x.shape[1] == y.shape[0]);
    assert(x.dtype != CZ_F64 && y.dtype != CZ_F64);
    return cz_ir_tensor_type(CZ_F32, 2, (int64_t[]){x.shape[0], y.shape[1]});
}

cz_ir_value cz_ir_matmul(cz_ir_builder *builder, cz_ir_value a, cz_ir_value b)
{
    const MlirContext context = builder->ir->context;
    const cz_ir_type type = matmul_type(a, b);
    const MlirType result = cz_ir_type_mlir(context, type);
    const MlirValue operands[] = {
        cz_ir_value_mlir(a), cz_ir_value_mlir(b),
        cz_ir_value_mlir(cz_ir_constant(builder, type, 0.0))};
    const MlirNamedAttribute segments =
        cz_ir_named(context, "operandSegmentSizes",
                    mlirDenseI32ArrayGet(context, 2, (int32_t[]){2, 1}));
    MlirRegion region = mlirRegionCreate();
    MlirOperationState state = mlirOperationStateGet(cz_ir_str("linalg.matmul"),
                                                     cz_ir_location(builder));

    mlirOperationStateAddOperands(&state, 3, operands);
    mlirOperationStateAddResults(&state, 1, &result);
    mlirOperationStateAddAttributes(&state, 1, &segments);
    mlirOperationStateAddOwnedRegions(&state, 1, &region);
    const cz_ir_op op = cz_ir_insert(builder, &state);
    mlirLinalgFillBuiltinNamedOpRegion(cz_ir_op_mlir(op));
    return cz_ir_op_result(op, 0);
}

cz_ir_value cz_ir_transpose(cz_ir_builder *builder, cz_ir_value matrix)
{
    const cz_ir_type from = cz_ir_value_type(matrix);
    const int64_t shape[] = {from.shape[1], from.shape[0]};
    assert(from.rank == 2 && !from.is_bool);
    return cz_ir_build(builder, &(cz_ir_build_args){.name = "canzona.transpose",
                                                    .type = cz_ir_tensor_type(
                                                        from.dtype, 2, shape),
                                                    .n_in = 1,
                                                    .in = &matrix});
}

cz_ir_value cz_ir_index(cz_ir_builder *builder, int64_t length)
{
    assert(length >= 1 && length <= CZ_IR_MAX_INDEX);
    return cz_ir_build(builder, &(cz_ir_build_args){.name = "canzona.index",
                                                    .type = cz_ir_tensor_type(
                                                        CZ_F32, 1, &length)});
}

static bool is_in(const int64_t *dims, int n, int64_t dim)
{
    for (int i = 0; i < n; i++)
        if (dims[i] == dim)
            return true;
    return false;
}

/* `type` without the dimensions `dims`. */
static cz_ir_type drop_dims(cz_ir_type type, const int64_t *dims, int n_dims)
{
    cz_ir_type rest = {.dtype = type.dtype};
    for (int i = 0; i < type.rank; i++)
        if (!is_in(dims, n_dims, i))
            rest.shape[rest.rank++] = type.shape[i];
    return rest;
}

cz_ir_value cz_ir_reduce(cz_ir_builder *builder, const char *kind,
                         cz_ir_value tensor, const int64_t *dims, int n_dims)
{
    const MlirContext context = builder->ir->context;
    const cz_ir_type from = cz_ir_value_type(tensor);
    const cz_ir_type type = drop_dims(from, dims, n_dims);
    const MlirNamedAttribute attributes[] = {
        cz_ir_named(context, "kind", cz_ir_string_attr(context, kind)),
        cz_ir_named(context, "dims",
                    cz_ir_ints_attr(context, (cz_ints){dims, n_dims})),
    };

    assert(from.dtype == CZ_F64 && !from.is_bool);
    assert(from.rank >= 1 && type.rank + n_dims == from.rank);
    return cz_ir_build(builder, &(cz_ir_build_args){.name = "canzona.reduce",
                                                    .type = type,
                                                    .n_in = 1,
                                                    .in = &tensor,
                                                    .n_attributes = 2,
                                                    .attributes = attributes});
}

cz_ir_value cz_ir_broadcast(cz_ir_builder *builder, cz_ir_value tensor,
                            int rank, const int64_t *shape, const int64_t *dims,
                            int n_dims)
{
    const MlirContext context = builder->ir->context;
    const cz_ir_type from = cz_ir_value_type(tensor);
    const cz_ir_type type = cz_ir_tensor_type(from.dtype, rank, shape);
    const MlirNamedAttribute named = cz_ir_named(
        context, "dims", cz_ir_ints_attr(context, (cz_ints){dims, n_dims}));

    assert(cz_ir_type_equal(from, drop_dims(type, dims, n_dims)));
    return cz_ir_build(builder, &(cz_ir_build_args){.name = "canzona.broadcast",
                                                    .type = type,
                                                    .n_in = 1,
                                                    .in = &tensor,
                                                    .n_attributes = 1,
                                                    .attributes = &named});
}

/* ---- kernel form ---- */

static MlirAttribute access_attr(MlirContext context, const cz_access *access,
                                 int n)
{
    int64_t numbers[MAX_OPERANDS];
    assert(n <= MAX_OPERANDS);
    for (int i = 0; i < n; i++)
        numbers[i] = (int64_t)access[i];
    return cz_ir_ints_attr(context, (cz_ints){numbers, n});
}

static void add_operands(MlirOperationState *state, const cz_ir_value *in,
                         int n)
{
    MlirValue operands[MAX_OPERANDS];
    assert(n <= MAX_OPERANDS);
    for (int i = 0; i < n; i++)
        operands[i] = cz_ir_value_mlir(in[i]);
    mlirOperationStateAddOperands(state, n, operands);
}

static void add_results(MlirContext context, MlirOperationState *state,
                        const cz_ir_type *out, int n)
{
    MlirType types[MAX_OPERANDS];
    assert(n <= MAX_OPERANDS);
    for (int i = 0; i < n; i++)
        types[i] = cz_ir_type_mlir(context, out[i]);
    mlirOperationStateAddResults(state, n, types);
}

static MlirAttribute offsets_attr(MlirContext context, const cz_ir_map *map)
{
    int64_t none[MAX_OPERANDS];
    for (int i = 0; i < map->n_out; i++)
        none[i] = -1;
    return cz_ir_ints_attr(
        context, (cz_ints){map->offsets ? map->offsets : none, map->n_out});
}

void cz_ir_build_map(cz_ir_builder *builder, const cz_ir_map *map,
                     cz_ir_value *results)
{
    const MlirContext context = builder->ir->context;
    const int64_t space[] = {map->rows, map->columns};
    MlirOperationState state =
        mlirOperationStateGet(cz_ir_str("kernel.map"), cz_ir_location(builder));
    add_operands(&state, map->in, map->n_in);
    add_results(context, &state, map->out, map->n_out);
    const MlirNamedAttribute attributes[] = {
        cz_ir_named(context, "body", cz_ir_ref_attr(context, map->body)),
        cz_ir_named(context, "access",
                    access_attr(context, map->access, map->n_in)),
        cz_ir_named(context, "out_access",
                    access_attr(context, map->out_access, map->n_out)),
        cz_ir_named(context, "space",
                    cz_ir_ints_attr(context, (cz_ints){space, 2})),
        cz_ir_named(context, "offsets", offsets_attr(context, map)),
    };
    mlirOperationStateAddAttributes(&state, 5, attributes);
    const cz_ir_op op = cz_ir_insert(builder, &state);
    for (int i = 0; i < map->n_out; i++)
        results[i] = cz_ir_op_result(op, i);
}

cz_ir_value cz_ir_build_product(cz_ir_builder *builder,
                                const cz_ir_product *product)
{
    const MlirContext c = builder->ir->context;
    const int64_t offsets[] = {product->result_offset,
                               product->accumulator_offset};
    MlirOperationState state = mlirOperationStateGet(
        cz_ir_str("kernel.product"), cz_ir_location(builder));
    assert(product->n_in >= 2);
    add_operands(&state, product->in, product->n_in);
    add_results(c, &state, &product->out, 1);
    const MlirNamedAttribute attributes[] = {
        cz_ir_named(c, "body", cz_ir_ref_attr(c, product->body)),
        cz_ir_named(c, "access",
                    access_attr(c, product->access, product->n_in)),
        cz_ir_named(c, "transpose_a", cz_ir_int_attr(c, product->transpose_a)),
        cz_ir_named(c, "transpose_b", cz_ir_int_attr(c, product->transpose_b)),
        cz_ir_named(c, "symmetric", cz_ir_int_attr(c, product->symmetric)),
        cz_ir_named(c, "alpha", cz_ir_real_attr(c, product->alpha)),
        cz_ir_named(c, "beta", cz_ir_real_attr(c, product->beta)),
        cz_ir_named(c, "offsets", cz_ir_ints_attr(c, (cz_ints){offsets, 2})),
    };
    mlirOperationStateAddAttributes(&state, 8, attributes);
    return cz_ir_op_result(cz_ir_insert(builder, &state), 0);
}
