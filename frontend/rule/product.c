/* Products and reductions of a rule. */
#include "frontend/rule/internal.h"

#include <math.h>

/* ---- products ---- */

static bool check_factor(cz_rule *rule, const cz_node *node,
                         const cz_rule_value *value)
{
    if (value->kind == CZ_RULE_TENSOR && !value->tensor.is_bool &&
        value->tensor.kept == CZ_RULE_MATRIX)
        return true;
    cz_rule_error(rule, CZ_BAD_PRODUCT, node, "`@` needs two matrices, not %s",
                  cz_rule_text(rule, value));
    return false;
}

/* The note says which transpose makes the factors chain, if one does. */
static cz_rule_value *report_unchained(cz_rule *rule, const cz_node *node,
                                       const cz_rule_value *a,
                                       const cz_rule_value *b)
{
    const cz_tensor *left = &a->tensor, *right = &b->tensor;
    cz_diag_error(rule->diags, CZ_BAD_PRODUCT, node->span,
                  "%s @ %s: inner dimensions %s and %s differ",
                  cz_rule_text(rule, a), cz_rule_text(rule, b),
                  cz_rule_extent_text(rule, left, 1),
                  cz_rule_extent_text(rule, right, 0));
    cz_rule_note_origins(rule, cz_binary_left(node), a, cz_binary_right(node),
                         b);
    if (cz_rule_extent(left, 1) == cz_rule_extent(right, 1))
        cz_diag_note(rule->diags, cz_binary_right(node)->span,
                     "with its transpose (') it would fit");
    else if (cz_rule_extent(left, 0) == cz_rule_extent(right, 0))
        cz_diag_note(rule->diags, cz_binary_left(node)->span,
                     "with its transpose (') it would fit");
    return cz_rule_failed(rule, CZ_BAD_PRODUCT);
}

/* A product lies in memory as its larger factor does: then the steps of an
 * iteration all lie alike, and nothing is ever transposed. */
static bool product_layout(const cz_tensor *a, const cz_tensor *b)
{
    const double size_a = a->extent[0]->constant * a->extent[1]->constant;
    const double size_b = b->extent[0]->constant * b->extent[1]->constant;
    const bool b_decides = a->symmetric || (!b->symmetric && size_b > size_a);
    return b_decides ? b->flipped && !b->symmetric : a->flipped;
}

/* The elements of a factor in its type, transposed in memory if `exchanged`
 * says so and it matters. */
static cz_ir_value factor(cz_rule *rule, cz_tensor *tensor, bool narrow,
                          bool exchanged)
{
    const cz_ir_value elements =
        narrow ? tensor->narrow : cz_rule_wide(rule, tensor);
    return exchanged && !tensor->symmetric
               ? cz_ir_transpose(&rule->builder, elements)
               : elements;
}

/* A @ B, or (A @ B)' = B' @ A' where the result is flipped. */
static cz_ir_value multiply(cz_rule *rule, cz_tensor *a, cz_tensor *b,
                            bool flipped)
{
    const bool narrow = a->dtype != CZ_F32 && a->dtype == b->dtype;
    const cz_ir_value left = factor(rule, a, narrow, a->flipped != flipped);
    const cz_ir_value right = factor(rule, b, narrow, b->flipped != flipped);
    return flipped ? cz_ir_matmul(&rule->builder, right, left)
                   : cz_ir_matmul(&rule->builder, left, right);
}

cz_rule_value *cz_rule_product(cz_rule *rule, const cz_node *node,
                               cz_rule_value *a, cz_rule_value *b)
{
    if (a->kind == CZ_RULE_ERROR || b->kind == CZ_RULE_ERROR ||
        !check_factor(rule, node, a) || !check_factor(rule, node, b))
        return cz_rule_absorb();
    if (!cz_rule_same_extent(rule, cz_rule_extent(&a->tensor, 1),
                             cz_rule_extent(&b->tensor, 0)))
        return report_unchained(rule, node, a, b);
    cz_tensor *left = &cz_rule_round(rule, a)->tensor;
    cz_tensor *right = &cz_rule_round(rule, b)->tensor;
    /* Of two narrow types neither has the other's numbers. */
    const bool wide = left->dtype == CZ_F32 || left->dtype != right->dtype;
    /* The factors chain, and the second is the transpose of the first. */
    const bool symmetric = left->serial == right->serial &&
                           (left->symmetric || left->flipped != right->flipped);
    const bool flipped = !symmetric && product_layout(left, right);
    cz_tensor result = {
        .dtype = wide ? CZ_F32 : left->dtype,
        .rounded = wide,
        .kept = CZ_RULE_MATRIX,
        .flipped = flipped,
        .symmetric = symmetric,
    };
    result.extent[flipped] = cz_rule_extent(left, 0);
    result.extent[!flipped] = cz_rule_extent(right, 1);
    if (rule->building) {
        cz_ir_at(&rule->builder, node->span);
        result.wide = multiply(rule, left, right, flipped);
    }
    return cz_rule_tensor(rule, result);
}

/* ---- reductions ---- */

/* Which stored dimensions vanish; all of them for dim = -1. */
static unsigned vanishing(const cz_tensor *tensor, int dim)
{
    return dim < 0 ? tensor->kept
                   : tensor->kept & 1U << (dim ^ (int)tensor->flipped);
}

static double count_of(const cz_tensor *tensor, unsigned gone)
{
    return (gone & 1 ? tensor->extent[0]->constant : 1) *
           (gone & 2 ? tensor->extent[1]->constant : 1);
}

/* In f64, by the numbers of dimensions that the IR's tensor has. */
static cz_ir_value over(cz_rule *rule, const char *kind, cz_ir_value elements,
                        unsigned kept, unsigned gone)
{
    int64_t dims[2];
    int n = 0, place = 0;
    for (int dim = 0; dim < 2; dim++) {
        if (gone >> dim & 1)
            dims[n++] = place;
        place += (int)(kept >> dim & 1);
    }
    return cz_ir_reduce(&rule->builder, kind, elements, dims, n);
}

/* In f64, so that no square of an f32 overflows; rounded to f32 at the end. */
static cz_ir_value reduce(cz_rule *rule, cz_rule_reduction kind,
                          cz_tensor *tensor, unsigned gone)
{
    cz_ir_builder *builder = &rule->builder;
    cz_ir_value x = cz_ir_convert(builder, cz_rule_wide(rule, tensor), CZ_F64);
    if (kind == CZ_RULE_NORM)
        x = cz_ir_binary(builder, CZ_OP_MUL, x, x);
    x = over(rule, "sum", x, tensor->kept, gone);
    if (kind == CZ_RULE_NORM)
        x = cz_ir_unary(builder, CZ_OP_SQRT, x);
    if (kind == CZ_RULE_MEAN)
        x = cz_ir_binary(builder, CZ_OP_DIV, x,
                         cz_ir_constant(builder, cz_ir_value_type(x),
                                        count_of(tensor, gone)));
    return cz_ir_convert(builder, x, CZ_F32);
}

/* The largest x, or the least as the largest -x.  Added to 0, so that a zero
 * has one sign whichever came first. */
static cz_ir_value extreme(cz_rule *rule, cz_rule_reduction kind,
                           cz_tensor *tensor, unsigned gone)
{
    cz_ir_builder *builder = &rule->builder;
    const bool least = kind == CZ_RULE_LEAST;
    cz_ir_value x = cz_ir_convert(builder, cz_rule_wide(rule, tensor), CZ_F64);
    if (least)
        x = cz_ir_unary(builder, CZ_OP_NEG, x);
    x = over(rule, "max", x, tensor->kept, gone);
    x = cz_ir_binary(builder, least ? CZ_OP_SUB : CZ_OP_ADD,
                     cz_ir_constant(builder, cz_ir_value_type(x), 0), x);
    return cz_ir_convert(builder, x, CZ_F32);
}

/* What is left: a vector lies in memory as the rule sees it. */
static cz_tensor reduced(const cz_rule *rule, const cz_tensor *tensor,
                         unsigned gone)
{
    cz_tensor result = {
        .dtype = CZ_F32, .rounded = true, .extent = {rule->one, rule->one}};
    for (int dim = 0; dim < 2; dim++) {
        const int stored = dim ^ (int)tensor->flipped;
        if (!((tensor->kept & ~gone) >> stored & 1))
            continue;
        result.kept |= 1U << dim;
        result.extent[dim] = tensor->extent[stored];
    }
    return result;
}

cz_rule_value *cz_rule_reduce(cz_rule *rule, const cz_node *node,
                              cz_rule_reduction kind, cz_rule_value *value,
                              int dim)
{
    if (value->kind == CZ_RULE_ERROR)
        return value;
    if (value->kind != CZ_RULE_TENSOR || value->tensor.is_bool ||
        vanishing(&value->tensor, dim) == 0)
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "there is nothing to %s in %s",
                             kind >= CZ_RULE_LARGEST ? "compare" : "sum over",
                             cz_rule_text(rule, value));
    if (cz_rule_is_any(rule))
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "a rule `for any` sees single elements; sums need "
                             "`for [m, n]`");
    const unsigned gone = vanishing(&value->tensor, dim);
    cz_tensor result = reduced(rule, &value->tensor, gone);
    if (rule->building) {
        cz_ir_at(&rule->builder, node->span);
        result.wide = kind >= CZ_RULE_LARGEST
                          ? extreme(rule, kind, &value->tensor, gone)
                          : reduce(rule, kind, &value->tensor, gone);
    }
    return cz_rule_tensor(rule, result);
}
