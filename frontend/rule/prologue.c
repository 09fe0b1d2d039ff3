/* The prologue of a rule: the numbers that its tensors meet, computed in f64
 * once per step and rounded to f32. */
#include "frontend/rule/internal.h"

int cz_rule_result(cz_rule *rule, const cz_scalar *number)
{
    for (int i = 0; i < rule->n_results; i++)
        if (rule->results[i] == number)
            return i;
    /* The elements are pointers.  NOLINTNEXTLINE(bugprone-sizeof-expression) */
    *CZ_PUSH(rule->arena, rule->results, rule->n_results) = number;
    return rule->n_results - 1;
}

static cz_ir_value emit(cz_ir_builder *builder, const cz_scalar *scalar,
                        const cz_ir_value *values)
{
    cz_ir_value operands[3] = {{0}};
    if (scalar->form == CZ_SCALAR_INPUT)
        return cz_ir_function_in(builder->function, scalar->input);
    if (scalar->form == CZ_SCALAR_CONSTANT)
        return cz_ir_constant(builder, cz_ir_scalar_type(CZ_F64),
                              scalar->constant);
    for (int i = 0; i < scalar->n_operands; i++)
        operands[i] = values[scalar->operands[i]->id];
    if (scalar->op == CZ_OP_COMPARE)
        return cz_ir_compare(builder, scalar->predicate, operands[0],
                             operands[1]);
    if (scalar->op == CZ_OP_SELECT)
        return cz_ir_select(builder, operands[0], operands[1], operands[2]);
    return cz_ir_element(builder, scalar->op, operands, scalar->n_operands,
                         CZ_F64);
}

static const cz_ir_type *repeat(cz_rule *rule, cz_dtype dtype, int n)
{
    cz_ir_type *types = CZ_NEW(rule->arena, cz_ir_type, n);
    for (int i = 0; i < n; i++)
        types[i] = cz_ir_scalar_type(dtype);
    return types;
}

void cz_rule_build_prologue(cz_rule *rule, cz_ir *ir, const char *name)
{
    const int n_in = CZ_RULE_FIRST_HYPER + rule->n_hypers;
    const cz_ir_signature signature = {
        .name = name,
        .n_in = n_in,
        .n_out = rule->n_results,
        .in = repeat(rule, CZ_F64, n_in),
        .out = repeat(rule, CZ_F32, rule->n_results),
    };
    cz_ir_builder builder =
        cz_ir_function(ir, &signature, rule->use->optimizer->span);
    /* Which nodes the results need: operands stand before their users. */
    bool *needed = CZ_NEW(rule->arena, bool, rule->scalars.n);
    for (int i = 0; i < rule->n_results; i++)
        needed[rule->results[i]->id] = true;
    for (int id = rule->scalars.n - 1; id >= 0; id--) {
        const cz_scalar *scalar = rule->scalars.list[id];
        for (int i = 0; needed[id] && i < scalar->n_operands; i++)
            needed[scalar->operands[i]->id] = true;
    }
    cz_ir_value *values = CZ_NEW(rule->arena, cz_ir_value, rule->scalars.n);
    for (int id = 0; id < rule->scalars.n; id++)
        if (needed[id])
            values[id] = emit(&builder, rule->scalars.list[id], values);
    cz_ir_value *results = CZ_NEW(rule->arena, cz_ir_value, rule->n_results);
    for (int i = 0; i < rule->n_results; i++)
        results[i] =
            cz_ir_convert(&builder, values[rule->results[i]->id], CZ_F32);
    cz_ir_return(&builder, results, rule->n_results);
}
