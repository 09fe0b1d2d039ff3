/* The interpreter's arithmetic: one operation, one body, one product. */
#include "dsl/reference/internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- rounding ---- */

/* To `precision` bits, with the least exponent `least` of a last bit and
 * `most` of a first one. */
static double round_to(double x, int precision, int least, int most)
{
    int exponent;
    if (x == 0.0 || !isfinite(x))
        return x;
    (void)frexp(x, &exponent);
    int last = exponent - precision;
    if (last < least)
        last = least;
    const double rounded = ldexp(nearbyint(ldexp(x, -last)), last);
    return fabs(rounded) >= ldexp(1.0, most + 1) ? copysign(INFINITY, x)
                                                 : rounded;
}

double cz_reference_round(cz_dtype dtype, double x)
{
    switch (dtype) {
    case CZ_F32:
        return round_to(x, 24, -149, 127);
    case CZ_BF16:
        return round_to(x, 8, -133, 127);
    case CZ_F16:
        return round_to(x, 11, -24, 15);
    case CZ_F64:
    case CZ_N_DTYPES:
        break;
    }
    return x;
}

/* ---- one operation ---- */

/* arith.maximumf and minimumf: NaN wins, and -0 is below +0. */
double cz_reference_larger(double a, double b)
{
    if (isnan(a) || isnan(b))
        return NAN;
    if (a == b)
        return signbit(a) ? b : a;
    return a > b ? a : b;
}

static double minimum(double a, double b)
{
    return -cz_reference_larger(-a, -b);
}

/* "oeq" "ogt" "oge" "olt" "ole" "une": C's operators order alike. */
static bool compare(const char *predicate, double a, double b)
{
    if (predicate[0] == 'u')
        return a != b;
    if (predicate[1] == 'e')
        return a == b;
    const bool or_equal = predicate[2] == 'e';
    if (predicate[1] == 'g')
        return or_equal ? a >= b : a > b;
    return or_equal ? a <= b : a < b;
}

/* As dsl/IR.md defines it. */
static double hash(double a, double b)
{
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    x += UINT64_C(0x9e3779b97f4a7c15) * (1 + (y >> 28 | y << 36));
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ x >> 31) >> 11);
}

double cz_reference_apply(const cz_reference_op *op, double a, double b,
                          double c)
{
    switch (op->op) {
    case CZ_OP_ADD:
        return a + b;
    case CZ_OP_SUB:
        return a - b;
    case CZ_OP_MUL:
        return a * b;
    case CZ_OP_DIV:
        return a / b;
    case CZ_OP_NEG:
        return -a;
    case CZ_OP_MAX:
        return cz_reference_larger(a, b);
    case CZ_OP_MIN:
        return minimum(a, b);
    case CZ_OP_EXTEND:
        return a;
    case CZ_OP_TRUNCATE:
        return op->round ? cz_reference_round(op->dtype, a) : a;
    case CZ_OP_COMPARE:
        return compare(op->predicate, a, b) ? 1.0 : 0.0;
    case CZ_OP_SELECT:
        return a != 0.0 ? b : c;
    case CZ_OP_SQRT:
        return sqrt(a);
    case CZ_OP_ABS:
        return fabs(a);
    case CZ_OP_EXP:
        return exp(a);
    case CZ_OP_LOG:
        return log(a);
    case CZ_OP_POW:
        return pow(a, b);
    case CZ_OP_TANH:
        return tanh(a);
    case CZ_OP_COS:
        return cos(a);
    case CZ_OP_SIN:
        return sin(a);
    case CZ_OP_COPYSIGN:
        return copysign(a, b);
    case CZ_OP_FLOOR:
        return floor(a);
    case CZ_OP_HASH:
        return hash(a, b);
    case CZ_OP_CONSTANT:
    case CZ_N_OPCODES:
        break;
    }
    assert(!"an operation with operands");
    return NAN;
}

/* ---- bodies ---- */

void cz_reference_body_on(const cz_view_body *body, bool round, double *values,
                          double *out)
{
    for (int i = 0; i < body->n_exprs; i++) {
        const cz_view_expr *e = &body->exprs[i];
        double *value = &values[body->n_in + i];
        if (e->op == CZ_OP_CONSTANT) {
            *value = e->constant;
            continue;
        }
        const cz_reference_op op = {e->op, e->dtype, e->predicate, round};
        *value = cz_reference_apply(&op, values[e->args[0]], values[e->args[1]],
                                    values[e->args[2]]);
    }
    for (int i = 0; i < body->n_out; i++)
        out[i] = values[body->out[i]];
}

void cz_reference_body(const cz_view_body *body, bool round, const double *in,
                       double *out)
{
    cz_arena arena;
    cz_arena_init(&arena);
    double *values = CZ_NEW(&arena, double, body->n_in + body->n_exprs + 1);
    memcpy(values, in, (size_t)body->n_in * sizeof *in);
    cz_reference_body_on(body, round, values, out);
    cz_arena_fini(&arena);
}

void cz_reference_prologue(const cz_plan_view *view, int rule, bool round,
                           double t, double clip, const double *hypers,
                           double *out)
{
    const cz_view_body *body = &view->bodies[view->rules[rule].prologue];
    cz_arena arena;
    cz_arena_init(&arena);
    double *values = CZ_NEW(&arena, double, body->n_in + body->n_exprs + 1);
    values[CZ_PROLOGUE_T] = t;
    values[CZ_PROLOGUE_CLIP] = clip;
    for (int i = CZ_PROLOGUE_HYPERS; i < body->n_in; i++)
        values[i] = hypers[i - CZ_PROLOGUE_HYPERS];
    cz_reference_body_on(body, round, values, out);
    cz_arena_fini(&arena);
}

/* ---- matrices ---- */

/* Row by row of b, so that the inner loop runs along memory. */
void cz_reference_matmul(const double *a, const double *b, double *out,
                         int64_t m, int64_t k, int64_t n)
{
    memset(out, 0, (size_t)(m * n) * sizeof *out);
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++) {
            const double weight = a[i * k + l];
            const double *row = b + l * n;
            double *sum = out + i * n;
            for (int64_t j = 0; j < n; j++)
                sum[j] += weight * row[j];
        }
}

void cz_reference_transpose(const double *in, double *out, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            out[j * m + i] = in[i * n + j];
}
