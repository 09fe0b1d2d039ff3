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
    return a->predicate == b->predicate ||
           (a->predicate && b->predicate &&
            strcmp(a->predicate, b->predicate) == 0);
}

/* Of what is_same() compares; predicates and kinds of constants collide. */
static uint64_t hash_of(const cz_scalar *scalar)
{
    const uint64_t odd = 0x9e3779b97f4a7c15U;
    uint64_t hash = bits_of(scalar->constant);
    hash = (hash ^ (uint64_t)scalar->form) * odd;
    hash = (hash ^ (uint64_t)scalar->input) * odd;
    hash = (hash ^ (uint64_t)scalar->op) * odd;
    for (int i = 0; i < scalar->n_operands; i++)
        hash = (hash ^ (uint64_t)scalar->operands[i]->id) * odd;
    return hash ^ hash >> 32;
}

/* Where the scalar's place is, or has to be written. */
static int *find_slot(const cz_scalars *pool, const cz_scalar *wanted)
{
    const uint64_t mask = (uint64_t)pool->n_slots - 1;
    uint64_t at = hash_of(wanted) & mask;
    while (pool->slots[at] && !is_same(pool->list[pool->slots[at] - 1], wanted))
        at = (at + 1) & mask;
    return &pool->slots[at];
}

static const cz_scalar *intern(cz_scalars *pool, cz_scalar wanted)
{
    /* Half of the slots at least stay empty. */
    enum { FIRST = 64 };
    if (2 * pool->n >= pool->n_slots) {
        pool->n_slots = pool->n_slots ? 2 * pool->n_slots : FIRST;
        pool->slots = CZ_NEW(pool->arena, int, pool->n_slots);
        for (int i = 0; i < pool->n; i++)
            *find_slot(pool, pool->list[i]) = i + 1;
    }
    int *slot = find_slot(pool, &wanted);
    if (*slot)
        return pool->list[*slot - 1];
    cz_scalar *scalar = CZ_NEW(pool->arena, cz_scalar, 1);
    *scalar = wanted;
    /* What follows from the operands. */
    scalar->n_nodes = 1;
    scalar->is_fixed = scalar->is_fixed || scalar->form == CZ_SCALAR_CONSTANT ||
                       scalar->form == CZ_SCALAR_SYMBOL;
    for (int i = 0; i < scalar->n_operands; i++) {
        const cz_scalar *operand = scalar->operands[i];
        scalar->is_open = scalar->is_open || operand->is_open;
        scalar->n_nodes += operand->n_nodes;
    }
    if (scalar->n_nodes > CZ_SCALAR_LARGE)
        scalar->n_nodes = CZ_SCALAR_LARGE;
    scalar->id = pool->n;
    /* The elements are pointers.  NOLINTNEXTLINE(bugprone-sizeof-expression) */
    *CZ_PUSH(pool->arena, pool->list, pool->n) = scalar;
    *slot = pool->n;
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

const cz_scalar *cz_scalar_open(cz_scalars *pool, int input)
{
    return intern(
        pool,
        (cz_scalar){.form = CZ_SCALAR_INPUT, .input = input, .is_open = true});
}

const cz_scalar *cz_scalar_symbol(cz_scalars *pool, int symbol, bool is_bool,
                                  double example)
{
    return intern(pool, (cz_scalar){.form = CZ_SCALAR_SYMBOL,
                                    .input = symbol,
                                    .is_bool = is_bool,
                                    .constant = example});
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
    case CZ_OP_COS:
    case CZ_OP_SIN:
    case CZ_OP_HASH:
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

static bool holds(const char *predicate, double a, double b)
{
    assert(predicate); /* all comparisons have one */
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

/* ---- values of symbols ---- */

/* False where only the machine that runs the rule can tell. */
static bool evaluate(const cz_scalar *scalar, const double *x, double *out)
{
    if (scalar->op == CZ_OP_COMPARE)
        return *out = holds(scalar->predicate, x[0], x[1]), true;
    if (scalar->op == CZ_OP_SELECT)
        return *out = x[0] != 0 ? x[1] : x[2], true;
    return fold(scalar->op, x, out);
}

double cz_scalar_at(const cz_scalar *scalar, const double *symbols)
{
    double x[3] = {0}, value = NAN;
    if (scalar->form == CZ_SCALAR_SYMBOL)
        return symbols[scalar->input];
    if (scalar->form == CZ_SCALAR_CONSTANT)
        return scalar->constant;
    for (int i = 0; i < scalar->n_operands; i++)
        x[i] = cz_scalar_at(scalar->operands[i], symbols);
    return evaluate(scalar, x, &value) ? value : NAN;
}

/* An APPLY, with its value at the symbols' examples where it is fixed. */
static const cz_scalar *intern_apply(cz_scalars *pool, cz_scalar scalar)
{
    double x[3] = {0}, value;
    bool fixed = true;
    for (int i = 0; i < scalar.n_operands && fixed; i++) {
        fixed = scalar.operands[i]->is_fixed;
        x[i] = scalar.operands[i]->constant;
    }
    scalar.is_fixed = fixed && evaluate(&scalar, x, &value);
    if (scalar.is_fixed)
        scalar.constant = value;
    return intern(pool, scalar);
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
    return (integers || op == CZ_OP_FLOOR) && keeps_integers(op, value)
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
    return intern_apply(pool, scalar);
}

/* ---- comparisons ---- */

const cz_scalar *cz_scalar_compare(cz_scalars *pool, const char *predicate,
                                   const cz_scalar *a, const cz_scalar *b)
{
    if (cz_scalar_is_constant(a) && cz_scalar_is_constant(b))
        return cz_scalar_truth(pool,
                               holds(predicate, a->constant, b->constant));
    cz_scalar scalar = {.form = CZ_SCALAR_APPLY,
                        .is_bool = true,
                        .op = CZ_OP_COMPARE,
                        .predicate = predicate,
                        .n_operands = 2,
                        .operands = {a, b}};
    return intern_apply(pool, scalar);
}

/* ---- dimensions ---- */

typedef struct dimension_form {
    const char *before, *between, *behind;
    int strength; /* of the operator: a weaker operand needs parentheses */
    bool is_known,
        is_full_matrix; /* a number where operands are; whole likewise */
} dimension_form;

static const dimension_form dimension_forms[CZ_N_OPCODES] = {
    [CZ_OP_ADD] = {"", " + ", "", 1, true, true},
    [CZ_OP_SUB] = {"", " - ", "", 1, true, true},
    [CZ_OP_MUL] = {"", "*", "", 2, true, true},
    [CZ_OP_DIV] = {"", "/", "", 2, true, false},
    [CZ_OP_NEG] = {"-", "", "", 3, true, true},
    [CZ_OP_MIN] = {"min(", ", ", ")", 4, true, true},
    [CZ_OP_MAX] = {"max(", ", ", ")", 4, true, true},
    [CZ_OP_SQRT] = {"sqrt(", "", ")", 4, true, false},
    [CZ_OP_FLOOR] = {"floor(", "", ")", 4, true, true},
};

/* Made of what dimension_forms has; a whole number where `whole`. */
static bool is_made_up(const cz_scalar *scalar, bool whole)
{
    if (scalar->form == CZ_SCALAR_SYMBOL)
        return !scalar->is_bool;
    if (scalar->form == CZ_SCALAR_CONSTANT)
        return scalar->is_integer || (!whole && !scalar->is_bool);
    const dimension_form *form = &dimension_forms[scalar->op];
    bool good = scalar->form == CZ_SCALAR_APPLY &&
                scalar->n_nodes < CZ_SCALAR_LARGE && form->is_known &&
                (form->is_full_matrix || !whole);
    for (int i = 0; i < scalar->n_operands && good; i++)
        good =
            is_made_up(scalar->operands[i], whole && scalar->op != CZ_OP_FLOOR);
    return good;
}

bool cz_scalar_is_dimension(const cz_scalar *scalar)
{
    return is_made_up(scalar, true);
}

/* As an operand: in parentheses where the operator around it is stronger, or
 * as strong and on its left. */
static const char *operand_text(cz_arena *arena, const cz_scalar *parent, int i,
                                const char *const *names)
{
    const cz_scalar *operand = parent->operands[i];
    const int strength = dimension_forms[parent->op].strength;
    const char *text = cz_scalar_text(arena, operand, names);
    const int own =
        operand->form == CZ_SCALAR_APPLY ? dimension_forms[operand->op].strength
        : operand->constant < 0          ? dimension_forms[CZ_OP_NEG].strength
                                         : 4;
    const bool is_call = strength == 4;
    return is_call || own > strength || (own == strength && i == 0)
               ? text
               : cz_arena_printf(arena, "(%s)", text);
}

const char *cz_scalar_text(cz_arena *arena, const cz_scalar *scalar,
                           const char *const *names)
{
    if (scalar->form == CZ_SCALAR_SYMBOL)
        return names[scalar->input];
    if (scalar->form == CZ_SCALAR_CONSTANT)
        return cz_arena_printf(arena, scalar->is_integer ? "%.0f" : "%g",
                               scalar->constant);
    const dimension_form *form = &dimension_forms[scalar->op];
    const char *first = operand_text(arena, scalar, 0, names);
    const char *second =
        scalar->n_operands > 1 ? operand_text(arena, scalar, 1, names) : "";
    return cz_arena_printf(arena, "%s%s%s%s%s", form->before, first,
                           form->between, second, form->behind);
}
