/* The checked builder of factorisations: one result at a time in math form, all
 * of a call in kernel form. */
#include "dsl/ir/internal.h"

#include <assert.h>

cz_factor_size cz_ir_factor_size(const cz_ir_type *operands, int n)
{
    return (cz_factor_size){operands[0].shape[0], operands[0].shape[1],
                            n > 1 ? operands[1].shape[1] : 1};
}

cz_ir_type cz_ir_factor_type(cz_factor factor, int result,
                             const cz_factor_size *size)
{
    const cz_factor_result it = cz_factor_result_of(factor, result, size);

    return cz_ir_tensor_type(CZ_F32, it.rank, it.shape);
}

static cz_factor_size size_of(cz_factor factor, const cz_ir_value *operands)
{
    const int n = cz_factor_n_operands(factor);
    cz_ir_type types[CZ_FACTOR_OPERANDS];

    for (int i = 0; i < n; i++) {
        types[i] = cz_ir_value_type(operands[i]);
        assert(types[i].rank == 2 && types[i].dtype == CZ_F32 &&
               !types[i].is_bool);
    }
    assert(n < 2 || types[1].shape[0] == types[0].shape[1]);
    const cz_factor_size size = cz_ir_factor_size(types, n);
    assert(cz_factor_admits(factor, &size));
    return size;
}

/* The attributes that both forms have. */
static MlirNamedAttribute name_attr(MlirContext context, cz_factor factor)
{
    return cz_ir_named(context, "factor",
                       cz_ir_string_attr(context, cz_factor_name(factor)));
}

static MlirNamedAttribute parameters_attr(MlirContext context, cz_factor factor,
                                          const double *parameters)
{
    const cz_reals list = {parameters, cz_factor_n_parameters(factor)};

    assert(cz_factor_takes(factor, parameters));
    return cz_ir_named(context, "parameters", cz_ir_reals_attr(context, list));
}

cz_ir_value cz_ir_factor(cz_ir_builder *builder, cz_factor factor,
                         const double *parameters, const cz_ir_value *operands,
                         int result)
{
    const MlirContext context = builder->ir->context;
    const cz_factor_size size = size_of(factor, operands);
    const MlirNamedAttribute attributes[] = {
        name_attr(context, factor),
        parameters_attr(context, factor, parameters),
        cz_ir_named(context, "result", cz_ir_int_attr(context, result))};

    return cz_ir_build(
        builder,
        &(cz_ir_build_args){.name = "canzona.factor",
                            .type = cz_ir_factor_type(factor, result, &size),
                            .n_in = cz_factor_n_operands(factor),
                            .in = operands,
                            .n_attributes = 3,
                            .attributes = attributes});
}

void cz_ir_build_call(cz_ir_builder *builder, const cz_ir_call *call,
                      cz_ir_value *results)
{
    static const int64_t none[] = {-1, -1, -1};
    const MlirContext context = builder->ir->context;
    const cz_factor_size size = size_of(call->factor, call->in);
    const int n_in = cz_factor_n_operands(call->factor);
    const int n_out = cz_factor_n_results(call->factor);
    MlirValue operands[CZ_FACTOR_OPERANDS];
    MlirType types[CZ_FACTOR_RESULTS];
    MlirOperationState state = mlirOperationStateGet(cz_ir_str("kernel.call"),
                                                     cz_ir_location(builder));
    const MlirNamedAttribute attributes[] = {
        name_attr(context, call->factor),
        parameters_attr(context, call->factor, call->parameters),
        cz_ir_named(context, "offsets",
                    cz_ir_ints_attr(
                        context, (cz_ints){call->offsets ? call->offsets : none,
                                           n_out + 1}))};

    for (int i = 0; i < n_in; i++)
        operands[i] = cz_ir_value_mlir(call->in[i]);
    for (int i = 0; i < n_out; i++)
        types[i] =
            cz_ir_type_mlir(context, cz_ir_factor_type(call->factor, i, &size));
    mlirOperationStateAddOperands(&state, n_in, operands);
    mlirOperationStateAddResults(&state, n_out, types);
    mlirOperationStateAddAttributes(&state, 3, attributes);
    const cz_ir_op op = cz_ir_insert(builder, &state);
    for (int i = 0; i < n_out; i++)
        results[i] = cz_ir_op_result(op, i);
}
