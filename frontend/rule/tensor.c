/* Tensors of a rule: which way they lie in memory, how small ones spread over
 * large ones, and when they are rounded. */
#include "frontend/rule/internal.h"

#include <assert.h>

static int rank_of(unsigned kept)
{
    return (int)(kept & 1) + (int)(kept >> 1);
}

cz_ir_type cz_rule_stored_type(const cz_tensor *tensor, cz_dtype dtype)
{
    int64_t shape[2];
    int n = 0;
    for (int dim = 0; dim < 2; dim++)
        if (tensor->kept >> dim & 1) {
            assert(tensor->extent[dim]);
            shape[n++] = (int64_t)tensor->extent[dim]->constant;
        }
    return cz_ir_tensor_type(dtype, n, shape);
}

static void swap_dims(cz_tensor *tensor)
{
    const cz_scalar *rows = tensor->extent[0];
    tensor->extent[0] = tensor->extent[1];
    tensor->extent[1] = rows;
    tensor->kept = (tensor->kept & 1) << 1 | tensor->kept >> 1;
}

cz_rule_value *cz_rule_transpose(cz_rule *rule, cz_rule_value *value)
{
    cz_tensor tensor = value->tensor;
    if (tensor.kept != CZ_RULE_MATRIX)
        swap_dims(&tensor); /* a vector is stored alike either way */
    else if (!tensor.symmetric)
        tensor.flipped = !tensor.flipped;
    return cz_rule_tensor(rule, tensor);
}

cz_ir_value cz_rule_wide(cz_rule *rule, cz_tensor *tensor)
{
    if (rule->building && !tensor->wide.p)
        tensor->wide = cz_ir_convert(&rule->builder, tensor->narrow, CZ_F32);
    return tensor->wide;
}

/* ---- shapes of element-wise results ---- */

static bool is_matrix(const cz_rule_value *value)
{
    return value->kind == CZ_RULE_TENSOR &&
           value->tensor.kept == CZ_RULE_MATRIX;
}

/* The layout of the first matrix to which layout means something, or that of
 * the parameter. */
static bool choose_layout(const cz_rule *rule, cz_rule_value *const *operands,
                          int n)
{
    for (int i = 0; i < n; i++)
        if (is_matrix(operands[i]) && !operands[i]->tensor.symmetric)
            return operands[i]->tensor.flipped;
    return rule->shape->transposed;
}

/* The dimensions of `tensor` where memory is laid out as `flipped`. */
static cz_tensor lay(const cz_tensor *tensor, bool flipped)
{
    cz_tensor laid = *tensor;
    if (tensor->flipped != flipped && !tensor->symmetric)
        swap_dims(&laid);
    laid.flipped = flipped;
    return laid;
}

/* Extend `out` by one operand's dimensions. */
static bool admit(cz_rule *rule, const cz_tensor *operand, cz_tensor *out)
{
    const cz_tensor laid = lay(operand, out->flipped);
    for (int dim = 0; dim < 2; dim++) {
        const unsigned bit = 1U << dim;
        if ((laid.kept & bit) && !(out->kept & bit))
            out->extent[dim] = laid.extent[dim];
        else if ((laid.kept & bit) &&
                 !cz_rule_same_extent(rule, out->extent[dim], laid.extent[dim]))
            return false;
        out->kept |= laid.kept & bit;
    }
    return true;
}

/* The widest type of the tensors; one of shape [] counts as a scalar. */
static cz_dtype widest(cz_rule_value *const *operands, int n)
{
    cz_dtype found = CZ_N_DTYPES;
    for (int i = 0; i < n; i++) {
        const cz_tensor *tensor = &operands[i]->tensor;
        if (operands[i]->kind != CZ_RULE_TENSOR || tensor->kept == 0 ||
            tensor->is_bool)
            continue;
        if (tensor->dtype == CZ_F32)
            return CZ_F32;
        if (found != CZ_N_DTYPES && found != tensor->dtype)
            return CZ_F32;
        found = tensor->dtype;
    }
    return found == CZ_N_DTYPES ? CZ_F32 : found;
}

/* Matrices that are all symmetric, and nothing but scalars beside them. */
static bool is_symmetric(cz_rule_value *const *operands, int n)
{
    bool found = false;
    for (int i = 0; i < n; i++) {
        if (cz_rule_is_scalar(operands[i]))
            continue;
        if (!operands[i]->tensor.symmetric)
            return false;
        found = true;
    }
    return found;
}

/* The expression that operand i stands for; NULL where the node's children are
 * not the operands. */
static const cz_node *operand_node(const cz_node *node, int i, int n)
{
    const cz_node *operand =
        cz_n_children(node) == n ? cz_child(node, i) : NULL;
    return operand && operand->kind == CZ_AST_ARG ? cz_arg_value(operand)
                                                  : operand;
}

bool cz_rule_unify(cz_rule *rule, const cz_node *node,
                   cz_rule_value *const *operands, int n, cz_tensor *out)
{
    int first_at = -1;
    *out = (cz_tensor){.extent = {rule->one, rule->one},
                       .flipped = choose_layout(rule, operands, n)};
    for (int i = 0; i < n; i++) {
        if (operands[i]->kind != CZ_RULE_TENSOR)
            continue;
        if (!admit(rule, &operands[i]->tensor, out)) {
            const cz_rule_value *a = operands[first_at], *b = operands[i];
            cz_diag_error(rule->diags, CZ_SHAPE_MISMATCH, node->span,
                          "the shapes %s and %s do not fit",
                          cz_rule_text(rule, a), cz_rule_text(rule, b));
            cz_rule_note_origins(rule, operand_node(node, first_at, n), a,
                                 operand_node(node, i, n), b);
            cz_rule_failed(rule, CZ_SHAPE_MISMATCH);
            return false;
        }
        if (first_at < 0 || rank_of(operands[i]->tensor.kept) >
                                rank_of(operands[first_at]->tensor.kept))
            first_at = i;
    }
    if (out->kept != CZ_RULE_MATRIX)
        *out = lay(out, false);
    out->dtype = widest(operands, n);
    out->rounded = out->dtype == CZ_F32;
    out->symmetric = is_symmetric(operands, n);
    return true;
}

/* ---- spreading ---- */

cz_ir_value cz_rule_broadcast_argument(cz_rule *rule, int i,
                                       const cz_tensor *as)
{
    const cz_ir_type type = cz_rule_stored_type(as, CZ_F32);
    return cz_ir_splat(&rule->builder,
                       cz_ir_function_in(rule->builder.function, i), type.rank,
                       type.shape);
}

static cz_ir_value spread_number(cz_rule *rule, const cz_scalar *number,
                                 const cz_tensor *as)
{
    const cz_ir_type type = cz_rule_stored_type(as, CZ_F32);
    if (cz_scalar_is_constant(number))
        return rule->building
                   ? cz_ir_constant(&rule->builder, type, number->constant)
                   : (cz_ir_value){0};
    const int result = cz_rule_result(rule, number);
    return rule->building ? cz_rule_broadcast_argument(
                                rule, 2 + rule->n_states + result, as)
                          : (cz_ir_value){0};
}

/* From the kept dimensions of `laid` to those of `as`. */
static cz_ir_value broadcast(cz_rule *rule, cz_ir_value value,
                             const cz_tensor *laid, const cz_tensor *as)
{
    const cz_ir_type type = cz_rule_stored_type(as, CZ_F32);
    int64_t dims[2];
    int n = 0, place = 0;
    for (int dim = 0; dim < 2; dim++) {
        if (!(as->kept >> dim & 1))
            continue;
        if (!(laid->kept >> dim & 1))
            dims[n++] = place;
        place++;
    }
    return cz_ir_broadcast(&rule->builder, value, type.rank, type.shape, dims,
                           n);
}

/* `value` holds the tensor's elements; now in the layout of `as`. */
static cz_ir_value place(cz_rule *rule, cz_ir_value value,
                         const cz_tensor *tensor, const cz_tensor *as)
{
    if (!rule->building)
        return value;
    const cz_tensor laid = lay(tensor, as->flipped);
    if (tensor->kept == CZ_RULE_MATRIX && !tensor->symmetric &&
        tensor->flipped != as->flipped)
        value = cz_ir_transpose(&rule->builder, value);
    if (laid.kept != as->kept)
        value = broadcast(rule, value, &laid, as);
    return value;
}

cz_ir_value cz_rule_broadcast(cz_rule *rule, cz_rule_value *value,
                              const cz_tensor *as)
{
    if (value->kind == CZ_RULE_NUMBER)
        return spread_number(rule, value->number, as);
    return place(rule, cz_rule_wide(rule, &value->tensor), &value->tensor, as);
}

/* ---- rounding ---- */

cz_rule_value *cz_rule_round(cz_rule *rule, cz_rule_value *value)
{
    if (value->kind != CZ_RULE_TENSOR || value->tensor.rounded ||
        value->tensor.is_bool)
        return value;
    cz_tensor tensor = value->tensor;
    const cz_ir_value wide = cz_rule_wide(rule, &tensor);
    if (rule->building)
        tensor.narrow = cz_ir_convert(&rule->builder, wide, tensor.dtype);
    tensor.wide = (cz_ir_value){0};
    tensor.rounded = true;
    tensor.serial = 0;
    return cz_rule_tensor(rule, tensor);
}

cz_rule_value *cz_rule_cast(cz_rule *rule, cz_rule_value *value, cz_dtype dtype)
{
    if (value->kind != CZ_RULE_TENSOR ||
        (value->tensor.dtype == dtype && value->tensor.rounded))
        return value;
    cz_tensor tensor = value->tensor;
    cz_rule_wide(rule, &tensor);
    tensor.narrow = (cz_ir_value){0};
    tensor.dtype = dtype;
    tensor.rounded = dtype == CZ_F32;
    return cz_rule_round(rule, cz_rule_tensor(rule, tensor));
}

/* ---- states and the parameter ---- */

static bool has_shape_of(cz_rule *rule, const cz_tensor *tensor,
                         const cz_tensor *as)
{
    bool same = tensor->kept == as->kept;
    for (int dim = 0; dim < 2 && same; dim++)
        same = cz_rule_same_extent(rule, cz_rule_extent(tensor, dim),
                                   cz_rule_extent(as, dim));
    return same;
}

/* `node` is the WRITE. */
static cz_rule_value *report_unfit(cz_rule *rule, const cz_node *node,
                                   const cz_rule_value *value,
                                   const cz_tensor *as)
{
    const cz_rule_value *slot = cz_rule_tensor(rule, *as);
    cz_diag_error(rule->diags, CZ_SHAPE_MISMATCH, node->span,
                  "%s is written to %s", cz_rule_text(rule, value),
                  cz_rule_text(rule, slot));
    if (cz_assign_target(node)->kind != CZ_AST_TUPLE)
        cz_rule_note_origins(rule, cz_assign_value(node), value,
                             cz_assign_target(node), slot);
    return cz_rule_failed(rule, CZ_SHAPE_MISMATCH);
}

cz_rule_value *cz_rule_convert(cz_rule *rule, const cz_node *node,
                               cz_rule_value *value, const cz_tensor *as)
{
    cz_tensor tensor = *as;
    tensor.wide = tensor.narrow = (cz_ir_value){0};
    tensor.serial = 0;
    if (!cz_rule_is_scalar(value)) {
        if (!has_shape_of(rule, &value->tensor, as))
            return report_unfit(rule, node, value, as);
        return cz_rule_cast(rule, value, as->dtype);
    }
    tensor.wide = cz_rule_broadcast(rule, value, &tensor);
    tensor.rounded = tensor.dtype == CZ_F32;
    return cz_rule_round(rule, cz_rule_tensor(rule, tensor));
}

cz_ir_value cz_rule_store(cz_rule *rule, cz_rule_value *value)
{
    cz_tensor *tensor = &value->tensor;
    const cz_tensor as = {.kept = tensor->kept,
                          .flipped = tensor->kept == CZ_RULE_MATRIX &&
                                     rule->shape->transposed};
    const cz_ir_value elements =
        tensor->dtype == CZ_F32 ? cz_rule_wide(rule, tensor) : tensor->narrow;
    return place(rule, elements, tensor, &as);
}
