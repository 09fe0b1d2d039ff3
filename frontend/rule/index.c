/* Where an element stands: the numbers of rows and columns, and triangles. */
#include "frontend/rule/internal.h"

/* A vector of one dimension, which lies alike either way. */
static cz_rule_value *indices(cz_rule *rule, const cz_node *node,
                              const cz_scalar *length, int dim)
{
    if (!rule->path && length->constant > CZ_IR_MAX_INDEX)
        return cz_rule_error(rule, CZ_TOO_LARGE, node,
                             "f32 counts %d rows or columns, not %.0f",
                             CZ_IR_MAX_INDEX, length->constant);
    cz_tensor result = {.dtype = CZ_F32,
                        .rounded = true,
                        .kept = 1U << dim,
                        .extent = {rule->one, rule->one}};
    result.extent[dim] = length;
    if (rule->building) {
        cz_ir_at(&rule->builder, node->span);
        result.wide = cz_ir_index(&rule->builder, (int64_t)length->constant);
    }
    return cz_rule_tensor(rule, result);
}

cz_rule_value *cz_rule_index(cz_rule *rule, const cz_node *node,
                             cz_rule_value *value, int dim)
{
    if (value->kind != CZ_RULE_TENSOR)
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "only a tensor has rows and columns, not %s",
                             cz_rule_text(rule, value));
    if (cz_rule_is_any(rule))
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "a rule `for any` sees single elements; rows and "
                             "columns need `for [m, n]`");
    const cz_scalar *length = cz_rule_extent(&value->tensor, dim);
    const cz_tensor *tensor = &value->tensor;
    if (!(tensor->kept >> (dim ^ (int)tensor->flipped) & 1))
        return cz_rule_number(rule, cz_scalar_integer(&rule->scalars, 0));
    return indices(rule, node, length, dim);
}

cz_rule_value *cz_rule_iota(cz_rule *rule, const cz_node *node,
                            const cz_rule_value *length)
{
    if (cz_rule_is_any(rule))
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "a rule `for any` sees single elements; 'iota' "
                             "needs `for [m, n]`");
    const cz_scalar *extent = cz_rule_dimension(rule, cz_item(node, 0), length);
    return extent ? indices(rule, node, extent, 0) : cz_rule_absorb();
}

/* x where row <= column, or >=, and 0 elsewhere. */
static cz_rule_value *part(cz_rule *rule, const cz_node *node, cz_rule_value *x,
                           const char *predicate)
{
    cz_rule_value *row = cz_rule_index(rule, node, x, 0);
    if (row->kind == CZ_RULE_ERROR)
        return row;
    cz_rule_value *column = cz_rule_index(rule, node, x, 1);
    cz_rule_value *zero =
        cz_rule_number(rule, cz_scalar_integer(&rule->scalars, 0));
    return cz_rule_select(rule, node,
                          cz_rule_compare(rule, node, predicate, row, column),
                          x, zero);
}

cz_rule_value *cz_rule_keep_triangle(cz_rule *rule, const cz_node *node,
                                     cz_rule_value *x,
                                     cz_rule_triangle triangle)
{
    const bool upper = triangle == CZ_RULE_UPPER;
    cz_rule_value *value = part(rule, node, x, upper ? "ole" : "oge");
    if (value->kind == CZ_RULE_TENSOR && value->tensor.kept == CZ_RULE_MATRIX)
        value->tensor.triangle =
            upper != value->tensor.flipped ? CZ_RULE_UPPER : CZ_RULE_LOWER;
    return value;
}
