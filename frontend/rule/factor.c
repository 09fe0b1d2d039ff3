/* Factorisations of a rule: what their operands must be, and what their results
 * are known to be. */
#include "frontend/rule/internal.h"

/* What a Newton root ends at, as CoupledNewtonConfig of
 * facebookresearch/optimizers has it. */
#define NEWTON_TOLERANCE 1e-6
enum { NEWTON_ITERATIONS = 100 };

typedef struct factor_call {
    cz_rule *rule;
    const cz_node *node;
    cz_factor factor;
    const char *name; /* in the source */
    double parameters[CZ_FACTOR_PARAMETERS];
    cz_ir_value operands[CZ_FACTOR_OPERANDS];
} factor_call;

/* ---- operands ---- */

static bool is_matrix(const factor_call *c, const cz_rule_value *value)
{
    if (value->kind == CZ_RULE_TENSOR && !value->tensor.is_bool &&
        value->tensor.kept == CZ_RULE_MATRIX && !cz_rule_is_any(c->rule))
        return true;
    cz_rule_error(
        c->rule, CZ_BAD_TYPE, c->node, "'%s' needs a matrix, not %s", c->name,
        cz_rule_is_bool(value) ? "truths" : cz_rule_text(c->rule, value));
    return false;
}

static bool is_square(const factor_call *c, const cz_rule_value *value)
{
    if (cz_rule_same_extent(c->rule, value->tensor.extent[0],
                            value->tensor.extent[1]))
        return true;
    cz_rule_error(c->rule, CZ_SHAPE_MISMATCH, c->node,
                  "'%s' needs a square matrix, not %s", c->name,
                  cz_rule_text(c->rule, value));
    return false;
}

static bool is_symmetric(const factor_call *c, const cz_rule_value *value)
{
    if (value->tensor.symmetric)
        return true;
    cz_rule_error(c->rule, CZ_BAD_TYPE, c->node,
                  "'%s' needs a matrix that is symmetric by type, as x @ x' is",
                  c->name);
    cz_diag_note(c->rule->diags, c->node->span,
                 "symmetric(a) is (a + a') / 2, and symmetric by type");
    return false;
}

static bool is_within(const factor_call *c, const cz_rule_value *value)
{
    const cz_scalar *const *extent = value->tensor.extent;
    if (!cz_scalar_is_constant(extent[0]) || !cz_scalar_is_constant(extent[1]))
        return true;
    const cz_factor_size size = {(int64_t)extent[0]->constant,
                                 (int64_t)extent[1]->constant, 1};
    /* any that is not held to be square will do */
    if (cz_factor_admits(CZ_FACTOR_QR, &size))
        return true;
    cz_rule_error(c->rule, CZ_BAD_DIMENSION, c->node,
                  "'%s' takes matrices up to %d rows or columns, and none "
                  "longer than %d: this one is %s",
                  c->name, CZ_FACTOR_SIDE, CZ_FACTOR_LENGTH,
                  cz_rule_text(c->rule, value));
    return false;
}

/* The elements in f32, as they lie or, where `as_seen`, as the rule sees
 * them. */
static cz_ir_value operand(const factor_call *c, cz_rule_value *value,
                           bool as_seen)
{
    cz_rule_value *rounded = cz_rule_round(c->rule, value);
    const cz_tensor seen = {.kept = CZ_RULE_MATRIX};

    return as_seen ? cz_rule_broadcast(c->rule, rounded, &seen)
                   : cz_rule_wide(c->rule, &rounded->tensor);
}

/* ---- results ---- */

static cz_rule_value *result(const factor_call *c, int number, cz_tensor known)
{
    known.dtype = CZ_F32;
    known.rounded = true;
    if (!known.kept)
        known.kept = CZ_RULE_MATRIX;
    if (c->rule->building) {
        cz_ir_at(&c->rule->builder, c->node->span);
        known.wide = cz_ir_factor(&c->rule->builder, c->factor, c->parameters,
                                  c->operands, number);
    }
    return cz_rule_tensor(c->rule, known);
}

static cz_rule_value *pair(cz_rule *rule, cz_rule_value *a, cz_rule_value *b)
{
    cz_rule_value **items = CZ_NEW(rule->arena, cz_rule_value *, 2);

    items[0] = a;
    items[1] = b;
    return cz_rule_items(rule, CZ_RULE_TUPLE, items, 2);
}

/* ---- each of them ---- */

static factor_call begin(cz_rule *rule, const cz_node *node, cz_factor factor)
{
    if (rule->building)
        cz_ir_at(&rule->builder, node->span);
    return (factor_call){
        .rule = rule, .node = node, .factor = factor, .name = node->text};
}

static bool takes_symmetric(const factor_call *c, const cz_rule_value *a)
{
    return is_matrix(c, a) && is_square(c, a) && is_symmetric(c, a) &&
           is_within(c, a);
}

cz_rule_value *cz_rule_eigh(cz_rule *rule, const cz_node *node,
                            cz_rule_value *a)
{
    factor_call c = begin(rule, node, CZ_FACTOR_EIGH);

    if (!takes_symmetric(&c, a))
        return cz_rule_absorb();
    const cz_scalar *n = a->tensor.extent[0];
    c.operands[0] = operand(&c, a, true);
    cz_rule_value *values = result(
        &c, 0, (cz_tensor){.kept = CZ_RULE_ROWS, .extent = {n, rule->one}});
    cz_rule_value *vectors = result(&c, 1, (cz_tensor){.extent = {n, n}});
    return pair(rule, values, vectors);
}

cz_rule_value *cz_rule_qr(cz_rule *rule, const cz_node *node, cz_rule_value *a)
{
    factor_call c = begin(rule, node, CZ_FACTOR_QR);

    if (!is_matrix(&c, a) || !is_within(&c, a))
        return cz_rule_absorb();
    const cz_scalar *m = cz_rule_extent(&a->tensor, 0);
    const cz_scalar *n = cz_rule_extent(&a->tensor, 1);
    const bool is_tall =
        cz_rule_decide(rule, cz_scalar_compare(&rule->scalars, "oge", m, n));
    const cz_scalar *least = is_tall ? n : m;
    c.operands[0] = operand(&c, a, true);
    cz_rule_value *q = result(&c, 0, (cz_tensor){.extent = {m, least}});
    cz_rule_value *r = result(
        &c, 1, (cz_tensor){.extent = {least, n}, .triangle = CZ_RULE_UPPER});
    return pair(rule, q, r);
}

cz_rule_value *cz_rule_cholesky(cz_rule *rule, const cz_node *node,
                                cz_rule_value *a)
{
    factor_call c = begin(rule, node, CZ_FACTOR_CHOLESKY);

    if (!takes_symmetric(&c, a))
        return cz_rule_absorb();
    const cz_scalar *n = a->tensor.extent[0];
    c.operands[0] = operand(&c, a, true);
    return result(&c, 0,
                  (cz_tensor){.extent = {n, n}, .triangle = CZ_RULE_LOWER});
}

cz_rule_value *cz_rule_solve(cz_rule *rule, const cz_node *node,
                             cz_rule_value *a, cz_rule_value *b)
{
    static const cz_factor factors[][2] = {
        [CZ_RULE_LOWER] = {CZ_FACTOR_SOLVE_LOWER, CZ_FACTOR_SOLVE_LOWER_T},
        [CZ_RULE_UPPER] = {CZ_FACTOR_SOLVE_UPPER, CZ_FACTOR_SOLVE_UPPER_T}};
    factor_call c = begin(rule, node, CZ_FACTOR_SOLVE_LOWER);

    if (!is_matrix(&c, a) || !is_matrix(&c, b) || !is_square(&c, a) ||
        !is_within(&c, a) || !is_within(&c, b))
        return cz_rule_absorb();
    if (a->tensor.triangle == CZ_RULE_NO_TRIANGLE)
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "'%s' needs a triangular matrix: what cholesky, "
                             "triu or tril gives, or the second result of qr, "
                             "or their transposes",
                             c.name);
    if (!cz_rule_same_extent(rule, a->tensor.extent[0],
                             cz_rule_extent(&b->tensor, 0)))
        return cz_rule_error(rule, CZ_SHAPE_MISMATCH, node,
                             "the shapes %s and %s do not fit",
                             cz_rule_text(rule, a), cz_rule_text(rule, b));
    c.factor = factors[a->tensor.triangle][a->tensor.flipped];
    c.operands[0] = operand(&c, a, false);
    c.operands[1] = operand(&c, b, true);
    return result(&c, 0,
                  (cz_tensor){.extent = {cz_rule_extent(&b->tensor, 0),
                                         cz_rule_extent(&b->tensor, 1)}});
}

static cz_rule_value *root_error(const factor_call *c)
{
    cz_rule_value *error = cz_rule_error(
        c->rule, CZ_WRONG_ARGUMENT, c->node,
        "'%s' takes an exponent below 0 and a shift that is not", c->name);

    if (c->factor == CZ_FACTOR_NEWTON_ROOT)
        cz_diag_note(c->rule->diags, c->node->span,
                     "the exponent is -1/k of a whole number k up to %d, the "
                     "tolerance between 0 and 1, and there are 1 to %d "
                     "iterations",
                     CZ_FACTOR_DEGREE, CZ_FACTOR_ITERATIONS);
    return error;
}

cz_rule_value *cz_rule_root(cz_rule *rule, const cz_node *node,
                            cz_factor factor, cz_rule_value *const *args)
{
    static const char *const what[] = {"the exponent", "the shift",
                                       "the tolerance", "the most iterations"};
    factor_call c = begin(rule, node, factor);

    c.parameters[2] = NEWTON_TOLERANCE;
    c.parameters[3] = NEWTON_ITERATIONS;
    if (!takes_symmetric(&c, args[0]))
        return cz_rule_absorb();
    for (int i = 0; i < cz_n_items(node) - 1; i++)
        if (!cz_rule_constant(rule, cz_item(node, 1 + i), args[1 + i], what[i],
                              &c.parameters[i]))
            return cz_rule_absorb();
    if (!cz_factor_takes(factor, c.parameters))
        return root_error(&c);
    const cz_scalar *n = args[0]->tensor.extent[0];
    c.operands[0] = operand(&c, args[0], true);
    return result(&c, 0, (cz_tensor){.extent = {n, n}, .symmetric = true});
}

/* (a + a') / 2: rounding does not tell its two halves apart. */
cz_rule_value *cz_rule_symmetric(cz_rule *rule, const cz_node *node,
                                 cz_rule_value *a)
{
    const factor_call c = begin(rule, node, CZ_FACTOR_NONE);

    if (!is_matrix(&c, a) || !is_square(&c, a))
        return cz_rule_absorb();
    if (a->tensor.symmetric)
        return a;
    cz_rule_value *half =
        cz_rule_number(rule, cz_scalar_real(&rule->scalars, 0.5));
    cz_rule_value *sum =
        cz_rule_binary(rule, node, CZ_OP_ADD, a, cz_rule_transpose(rule, a));
    sum = cz_rule_binary(rule, node, CZ_OP_MUL, sum, half);
    if (sum->kind == CZ_RULE_TENSOR)
        sum->tensor.symmetric = true;
    return sum;
}
