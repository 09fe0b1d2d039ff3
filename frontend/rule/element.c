/* Element-wise operations of a rule, on numbers and on tensors alike. */
#include "frontend/rule/internal.h"

#include <math.h>

enum { MAX_OPERANDS = 3 };

static bool has_error(cz_rule_value *const *operands, int n)
{
    for (int i = 0; i < n; i++)
        if (operands[i]->kind == CZ_RULE_ERROR)
            return true;
    return false;
}

static bool are_numbers(cz_rule_value *const *operands, int n)
{
    for (int i = 0; i < n; i++)
        if (operands[i]->kind != CZ_RULE_NUMBER)
            return false;
    return true;
}

/* Every operand must be a number or a tensor of numbers. */
static bool check_kinds(cz_rule *rule, const cz_node *node,
                        cz_rule_value *const *operands, int n)
{
    for (int i = 0; i < n; i++) {
        const cz_rule_kind kind = operands[i]->kind;
        if ((kind == CZ_RULE_NUMBER || kind == CZ_RULE_TENSOR) &&
            !cz_rule_is_bool(operands[i]))
            continue;
        cz_rule_error(
            rule, CZ_BAD_TYPE, node, "this needs numbers or tensors, not %s",
            cz_rule_is_bool(operands[i]) ? "a truth"
                                         : cz_rule_text(rule, operands[i]));
        return false;
    }
    return true;
}

static cz_rule_value *apply_numbers(cz_rule *rule, const cz_node *node,
                                    cz_opcode op,
                                    cz_rule_value *const *operands, int n)
{
    const cz_scalar *numbers[MAX_OPERANDS];
    for (int i = 0; i < n; i++)
        numbers[i] = operands[i]->number;
    const cz_scalar *number = cz_scalar_apply(&rule->scalars, op, numbers, n);
    if (cz_scalar_is_constant(number) && !isfinite(number->constant))
        return cz_rule_error(rule, CZ_BAD_NUMBER, node,
                             "the result is not a finite number");
    return cz_rule_number(rule, number);
}

cz_rule_value *cz_rule_element(cz_rule *rule, const cz_node *node, cz_opcode op,
                               cz_rule_value *const *operands, int n)
{
    cz_tensor result;
    cz_ir_value spread[MAX_OPERANDS];

    if (has_error(operands, n) || !check_kinds(rule, node, operands, n))
        return cz_rule_absorb();
    if (are_numbers(operands, n))
        return apply_numbers(rule, node, op, operands, n);
    if (!cz_rule_unify(rule, node, operands, n, &result))
        return cz_rule_absorb();
    for (int i = 0; i < n; i++)
        spread[i] = cz_rule_broadcast(rule, operands[i], &result);
    if (rule->building) {
        cz_ir_at(&rule->builder, node->span);
        result.wide = cz_ir_element(&rule->builder, op, spread, n, CZ_F32);
    }
    return cz_rule_tensor(rule, result);
}

cz_rule_value *cz_rule_binary(cz_rule *rule, const cz_node *node, cz_opcode op,
                              cz_rule_value *a, cz_rule_value *b)
{
    cz_rule_value *const operands[] = {a, b};
    return cz_rule_element(rule, node, op, operands, 2);
}

/* x^2 and x^0.5 are a product and a root: exact to the last bit. */
cz_rule_value *cz_rule_power(cz_rule *rule, const cz_node *node,
                             cz_rule_value *base, cz_rule_value *exponent)
{
    double constant = 0;
    if (exponent->kind == CZ_RULE_NUMBER &&
        cz_scalar_is_constant(exponent->number))
        constant = exponent->number->constant;
    if (base->kind == CZ_RULE_TENSOR && constant == 2)
        return cz_rule_binary(rule, node, CZ_OP_MUL, base, base);
    if (constant == 0.5)
        return cz_rule_element(rule, node, CZ_OP_SQRT, &base, 1);
    return cz_rule_binary(rule, node, CZ_OP_POW, base, exponent);
}

static cz_rule_value *compare_tensors(cz_rule *rule, const cz_node *node,
                                      const char *predicate,
                                      cz_rule_value *const *operands,
                                      cz_tensor shape)
{
    const cz_ir_value a = cz_rule_broadcast(rule, operands[0], &shape);
    const cz_ir_value b = cz_rule_broadcast(rule, operands[1], &shape);
    if (rule->building) {
        cz_ir_at(&rule->builder, node->span);
        shape.wide = cz_ir_compare(&rule->builder, predicate, a, b);
    }
    shape.dtype = CZ_F32;
    shape.is_bool = shape.rounded = true;
    return cz_rule_tensor(rule, shape);
}

cz_rule_value *cz_rule_compare(cz_rule *rule, const cz_node *node,
                               const char *predicate, cz_rule_value *a,
                               cz_rule_value *b)
{
    cz_rule_value *const operands[] = {a, b};
    cz_tensor shape;
    if (has_error(operands, 2) || !check_kinds(rule, node, operands, 2))
        return cz_rule_absorb();
    if (are_numbers(operands, 2))
        return cz_rule_number(rule, cz_scalar_compare(&rule->scalars, predicate,
                                                      a->number, b->number));
    if (!cz_rule_unify(rule, node, operands, 2, &shape))
        return cz_rule_absorb();
    return compare_tensors(rule, node, predicate, operands, shape);
}

/* ---- where(c, a, b) ---- */

/* In a layout that the operands share already. */
static cz_rule_value *select_tensor(cz_rule *rule, const cz_node *node,
                                    cz_rule_value *const *operands,
                                    cz_tensor shape)
{
    const cz_ir_value a = cz_rule_broadcast(rule, operands[1], &shape);
    const cz_ir_value b = cz_rule_broadcast(rule, operands[2], &shape);
    if (rule->building) {
        cz_ir_at(&rule->builder, node->span);
        shape.wide =
            cz_ir_select(&rule->builder, operands[0]->tensor.wide, a, b);
    }
    return cz_rule_tensor(rule, shape);
}

/* A truth that is smaller than the tensors it chooses from: as 1 or 0, spread
 * over their shape and compared with 0 there. */
static cz_rule_value *spread_truth(cz_rule *rule, const cz_node *node,
                                   cz_rule_value *truth, cz_tensor shape)
{
    cz_rule_value *one =
        cz_rule_number(rule, cz_scalar_real(&rule->scalars, 1));
    cz_rule_value *zero =
        cz_rule_number(rule, cz_scalar_real(&rule->scalars, 0));
    cz_rule_value *flags = cz_rule_select(rule, node, truth, one, zero);
    return compare_tensors(rule, node, "une", (cz_rule_value *[]){flags, zero},
                           shape);
}

static cz_rule_value *choose(cz_rule *rule, const cz_node *node,
                             cz_rule_value *condition, cz_rule_value *a,
                             cz_rule_value *b)
{
    cz_rule_value *operands[] = {condition, a, b};
    cz_tensor shape;
    if (!cz_rule_unify(rule, node, operands, 3, &shape))
        return cz_rule_absorb();
    if (condition->kind == CZ_RULE_NUMBER ||
        condition->tensor.kept != shape.kept)
        operands[0] = spread_truth(rule, node, condition, shape);
    return select_tensor(rule, node, operands, shape);
}

cz_rule_value *cz_rule_select(cz_rule *rule, const cz_node *node,
                              cz_rule_value *condition, cz_rule_value *a,
                              cz_rule_value *b)
{
    cz_rule_value *const branches[] = {a, b};
    if (has_error(&condition, 1) || has_error(branches, 2) ||
        !check_kinds(rule, node, branches, 2))
        return cz_rule_absorb();
    if (cz_rule_is_open(condition))
        return cz_rule_absorb();
    if (!cz_rule_is_bool(condition))
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "the condition must be a comparison, not %s",
                             cz_rule_text(rule, condition));
    cz_rule_value *const operands[] = {condition, a, b};
    if (are_numbers(operands, 3))
        return apply_numbers(rule, node, CZ_OP_SELECT, operands, 3);
    if (condition->kind == CZ_RULE_NUMBER && condition->number->is_fixed)
        return cz_rule_decide(rule, condition->number) ? a : b;
    return choose(rule, node, condition, a, b);
}
