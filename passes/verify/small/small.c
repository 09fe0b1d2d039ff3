/* Arithmetic of small matrices, from IR.md and opcode.def alone. */
#include "passes/verify/small/small.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int small_length(const small_run *run, int64_t length)
{
    if (length == 1 || run->is_element)
        return 1;
    return length == run->longest ? SMALL_LONG : SMALL;
}

small small_of(int rows, int columns)
{
    return (small){rows, columns, {0}};
}

/* ---- element by element ---- */

double small_larger(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    return a > b ? a : b;
}

static bool compare(const char *predicate, double a, double b)
{
    const char first = predicate[1], last = predicate[2];

    if (predicate[0] == 'u')
        return a != b;
    if (first == 'e')
        return a == b;
    return (first == 'g' ? a > b : a < b) || (last == 'e' && a == b);
}

/* Where a > b is, b < a is as much, and as much as it is a <= b is not; far
 * from b it still depends on both.  a >= b is a little more. */
static double blend(const char *predicate, double a, double b)
{
    static const double TIE = 0.1;
    const double off = a - b, equal = 1.0 / (1.0 + off * off);
    const double larger = 0.5 + 0.5 * off / (1.0 + fabs(off));
    const bool is_greater = predicate[1] == 'g';
    const bool counts_equal = predicate[2] == 'e';

    if (predicate[0] == 'u')
        return 1.0 - equal;
    if (predicate[1] == 'e')
        return equal;
    return (is_greater ? larger : 1.0 - larger) +
           (counts_equal ? TIE : -TIE) * equal;
}

static double choose(small_conditions conditions, double share, double a,
                     double b)
{
    if (conditions == SMALL_BLENDED)
        return share * a + (1.0 - share) * b;
    return share != 0.0 ? a : b;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* canzona.hash, IR.md. */
static double hash(double a, double b)
{
    enum { TURN = 28, WORD = 64, DROPPED = 11 };
    uint64_t x, y;

    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += UINT64_C(0x9e3779b97f4a7c15) * (1 + (y >> TURN | y << (WORD - TURN)));
    return (double)(mix(x) >> DROPPED);
}

double small_draw(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return 0.5 + ldexp((double)(mix(*state) >> 11), -53);
}

static double larger(const small_run *run, double a, double b)
{
    return run->conditions == SMALL_BLENDED
               ? choose(SMALL_BLENDED, blend("ogt", a, b), a, b)
               : small_larger(a, b);
}

/* ---- constants and rounding ---- */

double small_constant(const small_run *run, double constant)
{
    const double size = fabs(constant);
    uint64_t state;

    if (!run->draws || size == 0.0 || size == 1.0 || !isfinite(size))
        return constant;
    memcpy(&state, &size, sizeof state);
    return copysign(small_draw(&state), constant);
}

/* A rounding that shows whatever follows: numbers alike in 8 bits become one
 * that is up to an eighth larger.  Its last bits say of which type it is, and
 * numbers of few bits are of all types, so that a second rounding changes
 * nothing. */
double small_round(const small_run *run, cz_dtype dtype, double x)
{
    enum { BITS = 53, KEPT = 8, DROPPED = BITS - KEPT };
    static const uint32_t of_f32 = 0x5f32f32f, of_bf16 = 0x5bf16bf1,
                          of_f16 = 0x5f16f16f;
    const uint32_t type = dtype == CZ_BF16  ? of_bf16
                          : dtype == CZ_F16 ? of_f16
                                            : of_f32;
    uint64_t bits;

    if (!run->rounds || dtype == CZ_F64 || !isfinite(x))
        return x;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t last = (uint32_t)bits;
    if (last == 0 || last == of_bf16 || last == of_f16 || last == type)
        return x;
    bits += (UINT64_C(1) << (DROPPED - 1)) - 1 + (bits >> DROPPED & 1);
    bits = bits >> DROPPED << DROPPED;
    uint64_t state = (bits & INT64_MAX) ^ type;
    memcpy(&x, &bits, sizeof x);
    x *= 1.0 + small_draw(&state) / 8.0 - 1.0 / 16.0;
    memcpy(&bits, &x, sizeof bits);
    bits = bits >> 32 << 32 | type;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

/* ---- operations ---- */

/* Numbers for all numbers, and of moderate size, where a step, a root of a
 * number below 0 or what is too large would hide what it is of. */
static double tamed(cz_opcode op, double a, double b)
{
    static const double MOST = 20.0;
    const double size = fabs(a);

    switch ((int)op) {
    case CZ_OP_SQRT:
        return copysign(sqrt(size), a);
    case CZ_OP_LOG:
        return log(size) + (a < 0.0 ? 1.0 : 0.0);
    case CZ_OP_POW:
        return copysign(pow(size, b), a);
    case CZ_OP_EXP:
        return exp(MOST * tanh(a / MOST));
    case CZ_OP_FLOOR:
        return a - 0.25 * a / (1.0 + size);
    case CZ_OP_COPYSIGN:
        return size * b / (1.0 + fabs(b));
    default: /* HASH */
        return 0.5 + 0.2 * sin(a + 2.0 * b) + 0.2 * cos(3.0 * a - b);
    }
}

static double true_one(cz_opcode op, double a, double b)
{
    switch ((int)op) {
    case CZ_OP_SQRT:
        return sqrt(a);
    case CZ_OP_LOG:
        return log(a);
    case CZ_OP_POW:
        return pow(a, b);
    case CZ_OP_EXP:
        return exp(a);
    case CZ_OP_FLOOR:
        return floor(a);
    case CZ_OP_COPYSIGN:
        return copysign(a, b);
    default: /* HASH */
        return hash(a, b);
    }
}

double small_apply(const small_run *run, int opcode, cz_dtype dtype,
                   const char *predicate, double a, double b, double c)
{
    switch (opcode) {
    case CZ_OP_ADD:
        return a + b;
    case CZ_OP_SUB:
        return a - b;
    case CZ_OP_MUL:
        return a * b;
    case CZ_OP_DIV:
        return a / b;
    case CZ_OP_MAX:
        return larger(run, a, b);
    case CZ_OP_MIN:
        return -larger(run, -a, -b);
    case CZ_OP_TRUNCATE:
        return small_round(run, dtype, a);
    case CZ_OP_COMPARE:
        return run->conditions == SMALL_BLENDED ? blend(predicate, a, b)
               : compare(predicate, a, b)       ? 1.0
                                                : 0.0;
    case CZ_OP_SELECT:
        return choose(run->conditions, a, b, c);
    case CZ_OP_NEG:
        return -a;
    case CZ_OP_ABS:
        return fabs(a);
    case CZ_OP_TANH:
        return tanh(a);
    case CZ_OP_COS:
        return cos(a);
    case CZ_OP_SIN:
        return sin(a);
    case CZ_OP_EXTEND:
        return a;
    default:
        return run->conditions == SMALL_BLENDED
                   ? tamed((cz_opcode)opcode, a, b)
                   : true_one((cz_opcode)opcode, a, b);
    }
}

/* ---- matrices ---- */

static double at(const small *a, bool is_transposed, int row, int column)
{
    return is_transposed ? a->v[column * a->columns + row]
                         : a->v[row * a->columns + column];
}

small small_product(const small *a, bool transpose_a, const small *b,
                    bool transpose_b)
{
    const int inner = transpose_a ? a->rows : a->columns;
    small out = small_of(transpose_a ? a->columns : a->rows,
                         transpose_b ? b->rows : b->columns);

    for (int i = 0; i < out.rows; i++)
        for (int j = 0; j < out.columns; j++)
            for (int k = 0; k < inner; k++)
                out.v[i * out.columns + j] +=
                    at(a, transpose_a, i, k) * at(b, transpose_b, k, j);
    return out;
}

/* Continuous, and another number for any other one, also of the other sign. */
static double positive(double x)
{
    return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

/* Weights are drawn by factorisation, result and place, so that both forms
 * of a rule draw the same. */
static double weigh(cz_factor factor, int result, int place,
                    const double *parameters, const small *const *in)
{
    static const small_run drawn = {.draws = true};
    uint64_t state = ((uint64_t)factor * CZ_FACTOR_RESULTS + (uint64_t)result) *
                         SMALL_ELEMENTS +
                     (uint64_t)place;
    double sum = 0.0;

    state = mix(state + 1);
    for (int i = 0; i < cz_factor_n_parameters(factor); i++)
        sum += small_draw(&state) * small_constant(&drawn, parameters[i]);
    for (int i = 0; i < cz_factor_n_operands(factor); i++)
        for (int e = 0; e < in[i]->rows * in[i]->columns; e++)
            sum += small_draw(&state) * positive(in[i]->v[e]);
    return sum;
}

small small_factor(const small_run *run, cz_factor factor, int result,
                   const double *parameters, const small *const *in,
                   cz_factor_size size)
{
    const cz_factor_result shape = cz_factor_result_of(factor, result, &size);
    small out =
        small_of(small_length(run, shape.shape[0]),
                 shape.rank == 2 ? small_length(run, shape.shape[1]) : 1);

    for (int i = 0; i < out.rows; i++)
        for (int j = 0; j < out.columns; j++) {
            const bool below = cz_factor_is_root(factor) && i > j;
            out.v[i * out.columns + j] = weigh(
                factor, result, below ? j * SMALL_LONG + i : i * SMALL_LONG + j,
                parameters, in);
        }
    return out;
}
