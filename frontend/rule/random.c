/* Random numbers by counting: a function of keys and of where an element
 * stands, the same on any mesh and in any order (Salmon et al., "Parallel
 * random numbers: as easy as 1, 2, 3", 2011). */
#include "frontend/rule/internal.h"

enum { BITS = 23, HASH_BITS = 53 };

typedef struct sampler {
    cz_rule *rule;
    cz_ir_builder *builder;
    cz_tensor *result; /* its layout and shape */
} sampler;

/* A number in every element of a tensor like `as`, in f64. */
static cz_ir_value spread(const sampler *s, const cz_scalar *number,
                          const cz_tensor *as)
{
    const cz_ir_value value =
        cz_rule_broadcast(s->rule, cz_rule_number(s->rule, number), as);
    return s->rule->building ? cz_ir_convert(s->builder, value, CZ_F64) : value;
}

static cz_ir_value mix(const sampler *s, cz_ir_value a, cz_ir_value b)
{
    return s->rule->building ? cz_ir_binary(s->builder, CZ_OP_HASH, a, b) : a;
}

/* A part of the parameter's name, in every element of a tensor like `as`. */
static cz_ir_value name_part(const sampler *s, int part, const cz_tensor *as)
{
    cz_rule *rule = s->rule;
    rule->asks_name = true;
    if (!rule->building)
        return (cz_ir_value){0};
    return cz_ir_convert(
        s->builder,
        cz_rule_broadcast_argument(
            rule, 2 + rule->n_states + rule->n_results + part, as),
        CZ_F64);
}

/* The numbers of the rows or columns of the result, as the rule sees them. */
static cz_rule_value *places(const sampler *s, const cz_node *node, int dim)
{
    return cz_rule_index(s->rule, node, cz_rule_tensor(s->rule, *s->result),
                         dim);
}

/* In f64, on a tensor like `as`. */
static cz_ir_value place(const sampler *s, cz_rule_value *value,
                         const cz_tensor *as)
{
    const cz_ir_value wide = cz_rule_broadcast(s->rule, value, as);
    return s->rule->building ? cz_ir_convert(s->builder, wide, CZ_F64) : wide;
}

/* (k + 1/2) / 2^23 of the first 23 bits k, exact in f32: never 0, never 1. */
static cz_ir_value scale(const sampler *s, cz_ir_value hash)
{
    cz_ir_builder *b = s->builder;
    if (!s->rule->building)
        return hash;
    const cz_ir_type type = cz_ir_value_type(hash);
    hash = cz_ir_binary(
        b, CZ_OP_MUL, hash,
        cz_ir_constant(b, type, 1.0 / (double)(1LL << (HASH_BITS - BITS))));
    hash = cz_ir_unary(b, CZ_OP_FLOOR, hash);
    hash = cz_ir_binary(b, CZ_OP_ADD, hash, cz_ir_constant(b, type, 0.5));
    hash = cz_ir_binary(b, CZ_OP_MUL, hash,
                        cz_ir_constant(b, type, 1.0 / (1 << BITS)));
    return cz_ir_convert(b, hash, CZ_F32);
}

/* Keys, name and the row, on a vector of the rows where there is one. */
static cz_ir_value mix_rows(const sampler *s, const cz_node *node,
                            cz_rule_value *const *keys, int n)
{
    cz_rule_value *rows = places(s, node, 0);
    cz_tensor as = rows->kind == CZ_RULE_TENSOR ? rows->tensor : *s->result;
    /* All keys and the name, in every element of a tensor like `as`. */
    cz_ir_value hash = spread(s, keys[0]->number, &as);
    for (int i = 1; i < n; i++)
        hash = mix(s, hash, spread(s, keys[i]->number, &as));
    for (int part = 0; part < CZ_NAME_SCALARS; part++)
        hash = mix(s, hash, name_part(s, part, &as));
    as.wide = mix(s, hash, place(s, rows, &as));
    return cz_rule_broadcast(s->rule, cz_rule_tensor(s->rule, as), s->result);
}

static bool check(cz_rule *rule, const cz_node *node, cz_rule_value **args,
                  int n)
{
    for (int i = 1; i < n; i++)
        if (args[i]->kind != CZ_RULE_NUMBER || args[i]->number->is_bool) {
            cz_rule_error(rule, CZ_BAD_TYPE, cz_item(node, i),
                          "a key is a number, not %s",
                          cz_rule_text(rule, args[i]));
            return false;
        }
    if (args[0]->kind == CZ_RULE_TENSOR && !cz_rule_is_any(rule))
        return true;
    cz_rule_error(rule, CZ_BAD_TYPE, node,
                  cz_rule_is_any(rule)
                      ? "a rule `for any` does not know where an element "
                        "stands; random numbers need `for [m, n]`"
                      : "the first argument of 'uniform' is a tensor that "
                        "the numbers are like");
    return false;
}

cz_rule_value *cz_rule_uniform(cz_rule *rule, const cz_node *node,
                               cz_rule_value **args, int n)
{
    if (!check(rule, node, args, n))
        return cz_rule_absorb();
    cz_tensor result = args[0]->tensor;
    result.wide = result.narrow = (cz_ir_value){0};
    result.dtype = CZ_F32;
    result.rounded = true;
    result.is_bool = result.symmetric = false;
    result.serial = 0;
    const sampler s = {rule, &rule->builder, &result};
    if (rule->building)
        cz_ir_at(&rule->builder, node->span);
    /* Keys, name, row, column: each mixed to what came before. */
    cz_rule_value *columns = places(&s, node, 1);
    const cz_ir_value rows = mix_rows(&s, node, &args[1], n - 1);
    s.result->wide = scale(&s, mix(&s, rows, place(&s, columns, s.result)));
    return cz_rule_tensor(rule, result);
}
