/* Expressions of a rule. */
#include "frontend/rule/internal.h"

#include <string.h>

/* A rule is unrolled and inlined; past this it is a mistake. */
enum { MAX_STEPS = 200000 };

typedef cz_rule_value *(*evaluator)(cz_rule *, const cz_node *);

/* ---- leaves and lists ---- */

static cz_rule_value *eval_number(cz_rule *rule, const cz_node *node)
{
    if (cz_node_has(node, CZ_FLAG_BYTES))
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "a size in bytes means nothing in a rule");
    return cz_rule_number(rule,
                          cz_node_has(node, CZ_FLAG_INTEGER)
                              ? cz_scalar_integer(&rule->scalars, node->number)
                              : cz_scalar_real(&rule->scalars, node->number));
}

static cz_rule_value *eval_bool(cz_rule *rule, const cz_node *node)
{
    return cz_rule_number(rule,
                          cz_scalar_truth(&rule->scalars, node->integer != 0));
}

static cz_rule_value *eval_string(cz_rule *rule, const cz_node *node)
{
    return cz_rule_error(rule, CZ_BAD_TYPE, node,
                         "a string means nothing in a rule");
}

static cz_rule_value *eval_error(cz_rule *rule, const cz_node *node)
{
    (void)node; /* reported by the parser */
    rule->failed = true;
    return cz_rule_absorb();
}

static cz_rule_value *eval_tuple(cz_rule *rule, const cz_node *node)
{
    cz_rule_value **items =
        CZ_NEW(rule->arena, cz_rule_value *, cz_n_items(node));
    for (int i = 0; i < cz_n_items(node); i++) {
        items[i] = cz_rule_eval(rule, cz_item(node, i));
        if (items[i]->kind == CZ_RULE_ERROR)
            return items[i];
    }
    return cz_rule_items(rule, CZ_RULE_TUPLE, items, cz_n_items(node));
}

/* ---- arithmetic ---- */

static const cz_opcode opcodes[CZ_AST_N_KINDS] = {
    [CZ_AST_ADD] = CZ_OP_ADD,
    [CZ_AST_SUB] = CZ_OP_SUB,
    [CZ_AST_MUL] = CZ_OP_MUL,
    [CZ_AST_DIV] = CZ_OP_DIV,
};

static cz_rule_value *arithmetic(cz_rule *rule, const cz_node *node,
                                 cz_rule_value *a, cz_rule_value *b)
{
    if (a->kind == CZ_RULE_TABLE || b->kind == CZ_RULE_TABLE)
        return cz_rule_table_binary(rule, node, a, b);
    return cz_rule_binary(rule, node, opcodes[node->kind], a, b);
}

static cz_rule_value *eval_sum(cz_rule *rule, const cz_node *node)
{
    cz_rule_value *a = cz_rule_eval(rule, cz_binary_left(node));
    return arithmetic(rule, node, a, cz_rule_eval(rule, cz_binary_right(node)));
}

static cz_rule_value *eval_power(cz_rule *rule, const cz_node *node)
{
    cz_rule_value *base = cz_rule_eval(rule, cz_binary_left(node));
    return cz_rule_power(rule, node, base,
                         cz_rule_eval(rule, cz_binary_right(node)));
}

static cz_rule_value *eval_negation(cz_rule *rule, const cz_node *node)
{
    cz_rule_value *value = cz_rule_eval(rule, cz_unary_operand(node));
    return cz_rule_element(rule, node, CZ_OP_NEG, &value, 1);
}

static cz_rule_value *eval_transpose(cz_rule *rule, const cz_node *node)
{
    cz_rule_value *value = cz_rule_eval(rule, cz_unary_operand(node));
    if (value->kind == CZ_RULE_ERROR)
        return value;
    if (value->kind != CZ_RULE_TENSOR || cz_rule_is_any(rule))
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "only a matrix has a transpose, not %s",
                             cz_rule_text(rule, value));
    return cz_rule_transpose(rule, value);
}

/* ---- products beside * and /, from the left ----
 * A scalar that stands in a chain of `*`, `/` and `@` without parentheses
 * scales the product, not a factor that would then be rounded: c * g @ g is
 * c * (g @ g).  With a tensor the two readings differ, so that parentheses
 * are needed. */

typedef struct scaling {
    const cz_node *node; /* the MUL or DIV */
    cz_rule_value *by;
    bool from_left;
} scaling;

typedef struct scalings {
    scaling *list;
    int n;
} scalings;

static bool is_chained(const cz_node *node)
{
    return !cz_node_has(node, CZ_FLAG_PARENS) &&
           (node->kind == CZ_AST_MUL || node->kind == CZ_AST_DIV ||
            node->kind == CZ_AST_MATMUL);
}

static bool chain_has_product(const cz_node *node)
{
    for (; is_chained(node); node = cz_binary_left(node))
        if (node->kind == CZ_AST_MATMUL)
            return true;
    return false;
}

static cz_rule_value *needs_parentheses(cz_rule *rule, const cz_node *node)
{
    return cz_rule_error(rule, CZ_NEEDS_PARENTHESES, node,
                         "`@` beside an element-wise `%s` needs parentheses to "
                         "say which comes first",
                         node->kind == CZ_AST_MUL ? "*" : "/");
}

static void scale(cz_rule *rule, scalings *scales, const cz_node *node,
                  cz_rule_value *by, bool from_left)
{
    *CZ_PUSH(rule->arena, scales->list, scales->n) =
        (scaling){node, by, from_left};
}

static cz_rule_value *eval_chain(cz_rule *rule, const cz_node *node,
                                 scalings *scales);

static cz_rule_value *eval_chain(cz_rule *rule, const cz_node *node,
                                 scalings *scales)
{
    if (!is_chained(node))
        return cz_rule_eval(rule, node);
    if (node->kind != CZ_AST_MATMUL) {
        /* A link `left * right` or `left / right` that a product follows. */
        cz_rule_value *right = cz_rule_eval(rule, cz_binary_right(node));
        if (right->kind == CZ_RULE_ERROR)
            return right;
        if (cz_rule_is_scalar(right)) {
            scale(rule, scales, node, right, false);
            return eval_chain(rule, cz_binary_left(node), scales);
        }
        cz_rule_value *left = cz_rule_eval(rule, cz_binary_left(node));
        if (left->kind == CZ_RULE_ERROR)
            return left;
        if (!cz_rule_is_scalar(left) || node->kind == CZ_AST_DIV)
            return needs_parentheses(rule, node);
        scale(rule, scales, node, left, true);
        return right;
    }
    cz_rule_value *left = eval_chain(rule, cz_binary_left(node), scales);
    return cz_rule_product(rule, node, left,
                           cz_rule_eval(rule, cz_binary_right(node)));
}

static cz_rule_value *eval_product(cz_rule *rule, const cz_node *node)
{
    scalings scales = {0};
    cz_rule_value *left = eval_chain(rule, cz_binary_left(node), &scales);
    cz_rule_value *value = cz_rule_product(
        rule, node, left, cz_rule_eval(rule, cz_binary_right(node)));
    for (int i = 0; i < scales.n; i++) {
        const scaling *s = &scales.list[i];
        value = s->from_left ? arithmetic(rule, s->node, s->by, value)
                             : arithmetic(rule, s->node, value, s->by);
    }
    return value;
}

static cz_rule_value *eval_multiple(cz_rule *rule, const cz_node *node)
{
    cz_rule_value *a = cz_rule_eval(rule, cz_binary_left(node));
    cz_rule_value *b = cz_rule_eval(rule, cz_binary_right(node));
    if (b->kind == CZ_RULE_TENSOR && !cz_rule_is_scalar(b) &&
        chain_has_product(cz_binary_left(node)))
        return needs_parentheses(rule, node);
    return arithmetic(rule, node, a, b);
}

/* ---- truths ---- */

static const char *const predicates[CZ_AST_N_KINDS] = {
    [CZ_AST_LT] = "olt", [CZ_AST_LE] = "ole", [CZ_AST_GT] = "ogt",
    [CZ_AST_GE] = "oge", [CZ_AST_EQ] = "oeq", [CZ_AST_NE] = "une",
};

/* Element types, functions and truths: equal or not. */
static cz_rule_value *compare_words(cz_rule *rule, const cz_node *node,
                                    bool same)
{
    if (node->kind != CZ_AST_EQ && node->kind != CZ_AST_NE)
        return cz_rule_error(rule, CZ_BAD_TYPE, node,
                             "these have no order, only == and !=");
    return cz_rule_number(
        rule,
        cz_scalar_truth(&rule->scalars, same == (node->kind == CZ_AST_EQ)));
}

static bool is_fixed_truth(const cz_rule_value *value)
{
    return value->kind == CZ_RULE_NUMBER && value->number->is_bool &&
           value->number->is_fixed;
}

static cz_rule_value *eval_comparison(cz_rule *rule, const cz_node *node)
{
    cz_rule_value *a = cz_rule_eval(rule, cz_binary_left(node));
    cz_rule_value *b = cz_rule_eval(rule, cz_binary_right(node));
    if (a->kind == CZ_RULE_DTYPE && b->kind == CZ_RULE_DTYPE)
        return compare_words(rule, node, a->dtype == b->dtype);
    if (a->kind == CZ_RULE_DEF && b->kind == CZ_RULE_DEF)
        return compare_words(rule, node, a->def == b->def);
    if (is_fixed_truth(a) && is_fixed_truth(b))
        return compare_words(rule, node,
                             cz_rule_decide(rule, a->number) ==
                                 cz_rule_decide(rule, b->number));
    if (cz_rule_is_open(a) || cz_rule_is_open(b))
        return cz_rule_absorb();
    return cz_rule_compare(rule, node, predicates[node->kind], a, b);
}

static bool eval_truth(cz_rule *rule, const cz_node *node, bool *out)
{
    const cz_rule_value *value = cz_rule_eval(rule, node);
    if (value->kind == CZ_RULE_ERROR || cz_rule_is_open(value))
        return false;
    if (!is_fixed_truth(value)) {
        cz_rule_error(rule, CZ_BAD_TYPE, node,
                      "and, or, not join truths that are known when the rule "
                      "is compiled");
        return false;
    }
    *out = cz_rule_decide(rule, value->number);
    return true;
}

static cz_rule_value *eval_logic(cz_rule *rule, const cz_node *node)
{
    bool a, b = false;
    if (!eval_truth(rule, cz_item(node, 0), &a))
        return cz_rule_absorb();
    if (node->kind != CZ_AST_NOT && !eval_truth(rule, cz_item(node, 1), &b))
        return cz_rule_absorb();
    const bool truth = node->kind == CZ_AST_NOT   ? !a
                       : node->kind == CZ_AST_AND ? a && b
                                                  : a || b;
    return cz_rule_number(rule, cz_scalar_truth(&rule->scalars, truth));
}

static cz_rule_value *eval_pipe(cz_rule *rule, const cz_node *node)
{
    return cz_rule_eval(rule, cz_pipe_call(node));
}

/* ---- all of them ---- */

static const evaluator evaluators[CZ_AST_N_KINDS] = {
    [CZ_AST_NUMBER] = eval_number, [CZ_AST_STRING] = eval_string,
    [CZ_AST_BOOL] = eval_bool,     [CZ_AST_NAME] = cz_rule_lookup,
    [CZ_AST_CALL] = cz_rule_call,  [CZ_AST_TUPLE] = eval_tuple,
    [CZ_AST_LIST] = cz_rule_list,  [CZ_AST_TRANSPOSE] = eval_transpose,
    [CZ_AST_NEG] = eval_negation,  [CZ_AST_NOT] = eval_logic,
    [CZ_AST_ROW] = cz_rule_row,    [CZ_AST_INTERVAL] = cz_rule_interval,
    [CZ_AST_POW] = eval_power,     [CZ_AST_MUL] = eval_multiple,
    [CZ_AST_DIV] = eval_multiple,  [CZ_AST_MATMUL] = eval_product,
    [CZ_AST_ADD] = eval_sum,       [CZ_AST_SUB] = eval_sum,
    [CZ_AST_LT] = eval_comparison, [CZ_AST_LE] = eval_comparison,
    [CZ_AST_GT] = eval_comparison, [CZ_AST_GE] = eval_comparison,
    [CZ_AST_EQ] = eval_comparison, [CZ_AST_NE] = eval_comparison,
    [CZ_AST_AND] = eval_logic,     [CZ_AST_OR] = eval_logic,
    [CZ_AST_PIPE] = eval_pipe,     [CZ_AST_ERROR] = eval_error,
};

cz_rule_value *cz_rule_eval(cz_rule *rule, const cz_node *node)
{
    if (rule->n_steps++ >= MAX_STEPS)
        return rule->n_steps == MAX_STEPS + 1
                   ? cz_rule_error(rule, CZ_TOO_LARGE, node,
                                   "the rule unrolls to more than %d "
                                   "operations",
                                   MAX_STEPS)
                   : cz_rule_absorb();
    return evaluators[node->kind] ? evaluators[node->kind](rule, node)
                                  : eval_error(rule, node);
}
