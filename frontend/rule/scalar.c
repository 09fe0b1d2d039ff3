/* Numbers of a rule: folding, and one node for equal expressions. */
#include "frontend/rule/scalar.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define MAX_EXACT ((double)((int64_t)1 << 53))

enum { MAX_EXPONENT = 64 }; /* of powers that are folded */

/* By these 0 and -0 are two constants. */
static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool is_same_word(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same(const cz_scalar *a, const cz_scalar *b)
{
    if (a->form != b->form || a->is_bool != b->is_bool ||
        a->is_integer != b->is_integer || a->input != b->input ||
        a->op != b->op || a->n_operands != b->n_operands ||
        bits_of(a->constant) != bits_of(b->constant))
        return false;
    for (int i = 0; i < a->n_operands; i++)
        if (a->operands[i] != b->operands[i])
            return false;
    return is_same_word(a->predicate, b->predicate);
}

static const cz_scalar *intern(cz_scalars *pool, cz_scalar wanted)
{
    for (int i = 0; i < pool->n; i++)
        if (is_same(pool->list[i], &wanted))
            return pool->list[i];
    cz_scalar *scalar = CZ_NEW(pool->arena, cz_scalar, 1);
    *scalar = wanted;
    scalar->id = pool->n;
    /* The elements are pointers.  NOLINTNEXTLINE(bugprone-sizeof-expression) */
    *CZ_PUSH(pool->arena, pool->list, pool->n) = scalar;
    return scalar;
}

const cz_scalar *cz_scalar_real(cz_scalars *pool, double value)
{
    return intern(pool, (cz_scalar){.constant = value});
}

const cz_scalar *cz_scalar_integer(cz_scalars *pool, double value)
{
    return intern(pool, (cz_scalar){.constant = value, .is_integer = true});
}

const cz_scalar *cz_scalar_truth(cz_scalars *pool, bool value)
{
    return intern(pool, (cz_scalar){.constant = value, .is_bool = true});
}

const cz_scalar *cz_scalar_input(cz_scalars *pool, int input)
{
    return intern(pool, (cz_scalar){.form = CZ_SCALAR_INPUT, .input = input});
}

/* ---- folding ---- */

/* By repeated products, alike on every machine. */
static bool fold_power(double base, double exponent, double *out)
{
    if (floor(exponent) != exponent || fabs(exponent) > MAX_EXPONENT)
        return false;
    double power = 1;
    for (int i = 0; i < (int)fabs(exponent); i++)
        power *= base;
    *out = exponent < 0 ? 1 / power : power;
    return true;
}

static bool fold(cz_opcode op, const double *x, double *out)
{
    switch (op) {
    case CZ_OP_ADD:
        return *out = x[0] + x[1], true;
    case CZ_OP_SUB:
        return *out = x[0] - x[1], true;
    case CZ_OP_MUL:
        return *out = x[0] * x[1], true;
    case CZ_OP_DIV:
        return *out = x[0] / x[1], true;
    case CZ_OP_NEG:
        return *out = -x[0], true;
    case CZ_OP_MAX:
        return *out = x[0] > x[1] ? x[0] : x[1], true;
    case CZ_OP_MIN:
        return *out = x[0] < x[1] ? x[0] : x[1], true;
    case CZ_OP_SQRT:
        return *out = sqrt(x[0]), true;
    case CZ_OP_ABS:
        return *out = fabs(x[0]), true;
    case CZ_OP_FLOOR:
        return *out = floor(x[0]), true;
    case CZ_OP_COPYSIGN:
        return *out = copysign(x[0], x[1]), true;
    case CZ_OP_POW:
        return fold_power(x[0], x[1], out);
    case CZ_OP_EXP:
    case CZ_OP_LOG:
    case CZ_OP_TANH:
    case CZ_OP_CONSTANT:
    case CZ_OP_EXTEND:
    case CZ_OP_TRUNCATE:
    case CZ_OP_COMPARE:
    case CZ_OP_SELECT:
    case CZ_N_OPCODES:
        return false;
    }
    return false;
}

/* Whether integers stay integers: the value itself tells, save for the square
 * root of a square, which is a float by meaning. */
static bool keeps_integers(cz_opcode op, double value)
{
    return op != CZ_OP_SQRT && floor(value) == value &&
           fabs(value) <= MAX_EXACT;
}

static const cz_scalar *try_fold(cz_scalars *pool, cz_opcode op,
                                 const cz_scalar *const *operands, int n)
{
    double x[3] = {0}, value;
    bool integers = true;
    for (int i = 0; i < n; i++) {
        if (!cz_scalar_is_constant(operands[i]))
            return NULL;
        x[i] = operands[i]->constant;
        integers = integers && operands[i]->is_integer;
    }
    if (!fold(op, x, &value))
        return NULL;
    return integers && keeps_integers(op, value)
               ? cz_scalar_integer(pool, value)
               : cz_scalar_real(pool, value);
}

const cz_scalar *cz_scalar_apply(cz_scalars *pool, cz_opcode op,
                                 const cz_scalar *const *operands, int n)
{
    assert(n >= 1 && n <= 3);
    if (op == CZ_OP_SELECT && cz_scalar_is_constant(operands[0]))
        return operands[0]->constant != 0 ? operands[1] : operands[2];
    const cz_scalar *folded = try_fold(pool, op, operands, n);
    if (folded)
        return folded;
    cz_scalar scalar = {.form = CZ_SCALAR_APPLY, .op = op, .n_operands = n};
    for (int i = 0; i < n; i++)
        scalar.operands[i] = operands[i];
    return intern(pool, scalar);
}

/* ---- comparisons ---- */

static bool holds(const char *predicate, double a, double b)
{
    if (strcmp(predicate, "olt") == 0)
        return a < b;
    if (strcmp(predicate, "ole") == 0)
        return a <= b;
    if (strcmp(predicate, "ogt") == 0)
        return a > b;
    if (strcmp(predicate, "oge") == 0)
        return a >= b;
    return (a == b) == (strcmp(predicate, "oeq") == 0);
}

const cz_scalar *cz_scalar_compare(cz_scalars *pool, const char *predicate,
                                   const cz_scalar *a, const cz_scalar *b)
{
    if (cz_scalar_is_constant(a) && cz_scalar_is_constant(b))
        return cz_scalar_truth(pool,
                               holds(predicate, a->constant, b->constant));
    return intern(pool, (cz_scalar){.form = CZ_SCALAR_APPLY,
                                    .is_bool = true,
                                    .op = CZ_OP_COMPARE,
                                    .predicate = predicate,
                                    .n_operands = 2,
                                    .operands = {a, b}});
}
