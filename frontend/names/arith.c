/* Arithmetic of compile-time values. */
#include "frontend/names/eval.h"

#include <math.h>
#include <string.h>

#include "dsl/base/checked.h"

static bool is_number(cz_value value)
{
    return value.kind == CZ_VALUE_INT || value.kind == CZ_VALUE_REAL;
}

static bool are_integers(const cz_value *values, int n)
{
    for (int i = 0; i < n; i++)
        if (values[i].kind != CZ_VALUE_INT)
            return false;
    return true;
}

/* Every operand must be a number. */
static bool check_numbers(const cz_node *e, const cz_value *values,
                          cz_arena *arena, cz_diags *diags)
{
    for (int i = 0; i < cz_n_items(e); i++)
        if (!is_number(values[i])) {
            cz_diag_error(diags, CZ_BAD_TYPE,
                          cz_value_place(cz_item(e, i), values[i]),
                          "a number is needed here, not %s",
                          cz_value_text(arena, values[i]));
            cz_value_note_use(diags, cz_item(e, i), values[i]);
            return false;
        }
    return true;
}

static bool out_of_range(const cz_node *e, cz_diags *diags)
{
    cz_diag_error(diags, CZ_BAD_NUMBER, e->span,
                  "the result does not fit a 64-bit number");
    return false;
}

/* ---- integers ---- */

/* base^n by squaring, base held back once it is no longer needed. */
static bool power(int64_t base, int64_t n, int64_t *out)
{
    int64_t result = 1;
    for (; n > 0; n /= 2) {
        if (n % 2 == 1 && !cz_checked_mul(result, base, &result))
            return false;
        if (n > 1 && !cz_checked_mul(base, base, &base))
            return false;
    }
    *out = result;
    return true;
}

/* True when the integers have an exact integer result; *fits tells whether
 * int64 holds it. */
static bool integer_result(cz_kind kind, int64_t a, int64_t b, bool *fits,
                           int64_t *out)
{
    *fits = true;
    if (kind == CZ_AST_ADD)
        *fits = cz_checked_add(a, b, out);
    else if (kind == CZ_AST_SUB)
        *fits = !__builtin_sub_overflow(a, b, out);
    else if (kind == CZ_AST_MUL)
        *fits = cz_checked_mul(a, b, out);
    else if (kind == CZ_AST_POW && b >= 0)
        *fits = power(a, b, out);
    else if (kind == CZ_AST_DIV && b == -1)
        *fits = !__builtin_sub_overflow((int64_t)0, a, out);
    else if (kind == CZ_AST_DIV && a % b == 0)
        *out = a / b;
    else
        return false;
    return true;
}

/* ---- doubles ---- */

static double real_power(double base, double exponent)
{
    double result = 1;
    for (int64_t n = (int64_t)fabs(exponent); n > 0; n /= 2) {
        if (n % 2 == 1)
            result *= base;
        base *= base;
    }
    return exponent < 0 ? 1 / result : result;
}

static double real_result(cz_kind kind, double a, double b)
{
    if (kind == CZ_AST_ADD)
        return a + b;
    if (kind == CZ_AST_SUB)
        return a - b;
    if (kind == CZ_AST_MUL)
        return a * b;
    return kind == CZ_AST_DIV ? a / b : real_power(a, b);
}

/* ---- operators ---- */

static bool binary(const cz_node *e, const cz_value *values, cz_diags *diags,
                   cz_value *out)
{
    int64_t result = 0;
    bool fits;
    const double b = values[1].real;
    if (e->kind == CZ_AST_DIV && b == 0) {
        cz_diag_error(diags, CZ_BAD_NUMBER, cz_binary_right(e)->span,
                      "division by zero");
        return false;
    }
    if (e->kind == CZ_AST_POW && (floor(b) != b || fabs(b) > 1024)) {
        cz_diag_error(diags, CZ_BAD_TYPE, cz_binary_right(e)->span,
                      "the exponent must be an integer of at most 1024");
        return false;
    }
    if (are_integers(values, 2) &&
        integer_result(e->kind, values[0].integer, values[1].integer, &fits,
                       &result)) {
        *out = cz_value_int(result);
        return fits || out_of_range(e, diags);
    }
    *out = cz_value_real(real_result(e->kind, values[0].real, values[1].real));
    return isfinite(out->real) || out_of_range(e, diags);
}

static bool negate(const cz_node *e, cz_value value, cz_diags *diags,
                   cz_value *out)
{
    int64_t result;
    if (value.kind == CZ_VALUE_REAL) {
        *out = cz_value_real(-value.real);
        return true;
    }
    if (__builtin_sub_overflow((int64_t)0, value.integer, &result))
        return out_of_range(e, diags);
    *out = cz_value_int(result);
    return true;
}

/* -1, 0 or 1; integers exactly. */
static int compare(const cz_value *values)
{
    const cz_value a = values[0], b = values[1];
    if (are_integers(values, 2))
        return (a.integer > b.integer) - (a.integer < b.integer);
    return (a.real > b.real) - (a.real < b.real);
}

static bool holds(cz_kind kind, int order)
{
    if (kind == CZ_AST_LT)
        return order < 0;
    if (kind == CZ_AST_LE)
        return order <= 0;
    if (kind == CZ_AST_GT)
        return order > 0;
    if (kind == CZ_AST_GE)
        return order >= 0;
    return (order == 0) == (kind == CZ_AST_EQ);
}

static bool is_comparison(cz_kind kind)
{
    return kind == CZ_AST_LT || kind == CZ_AST_LE || kind == CZ_AST_GT ||
           kind == CZ_AST_GE || kind == CZ_AST_EQ || kind == CZ_AST_NE;
}

/* Strings and truths: equal or not. */
static bool compare_words(const cz_node *e, const cz_value *values,
                          cz_diags *diags, cz_value *out)
{
    const bool comparable = values[0].kind == values[1].kind &&
                            (e->kind == CZ_AST_EQ || e->kind == CZ_AST_NE);
    if (!comparable) {
        cz_diag_error(diags, CZ_BAD_TYPE, e->span,
                      "these two values cannot be compared this way");
        return false;
    }
    const bool same = values[0].kind == CZ_VALUE_STRING
                          ? strcmp(values[0].string, values[1].string) == 0
                          : values[0].integer == values[1].integer;
    *out = cz_value_bool(same == (e->kind == CZ_AST_EQ));
    return true;
}

static bool is_arithmetic(cz_kind kind)
{
    return kind == CZ_AST_ADD || kind == CZ_AST_SUB || kind == CZ_AST_MUL ||
           kind == CZ_AST_DIV || kind == CZ_AST_POW;
}

bool cz_arith_operator(const cz_node *e, const cz_value *values,
                       cz_arena *arena, cz_diags *diags, cz_value *out)
{
    if (is_comparison(e->kind)) {
        if (!is_number(values[0]) || !is_number(values[1]))
            return compare_words(e, values, diags, out);
        *out = cz_value_bool(holds(e->kind, compare(values)));
        return true;
    }
    if (e->kind != CZ_AST_NEG && !is_arithmetic(e->kind)) {
        cz_diag_error(diags, CZ_BAD_TYPE, e->span,
                      "no %s has a value here: numbers, names and arithmetic "
                      "on them do",
                      cz_kind_name(e->kind));
        return false;
    }
    if (!check_numbers(e, values, arena, diags))
        return false;
    return e->kind == CZ_AST_NEG ? negate(e, values[0], diags, out)
                                 : binary(e, values, diags, out);
}

/* ---- functions ---- */

typedef cz_value function_body(const cz_value *values);

static cz_value call_min(const cz_value *values)
{
    return compare(values) <= 0 ? values[0] : values[1];
}

static cz_value call_max(const cz_value *values)
{
    return compare(values) >= 0 ? values[0] : values[1];
}

/* To an integer where that is exact. */
static cz_value whole(double value)
{
    return fabs(value) <= 9007199254740992.0 ? cz_value_int((int64_t)value)
                                             : cz_value_real(value);
}

static cz_value call_floor(const cz_value *values)
{
    return values->kind == CZ_VALUE_INT ? *values : whole(floor(values->real));
}

static cz_value call_ceil(const cz_value *values)
{
    return values->kind == CZ_VALUE_INT ? *values : whole(ceil(values->real));
}

static cz_value call_abs(const cz_value *values)
{
    if (values->kind == CZ_VALUE_INT && values->integer != INT64_MIN)
        return cz_value_int(values->integer < 0 ? -values->integer
                                                : values->integer);
    return cz_value_real(fabs(values->real));
}

static cz_value call_sqrt(const cz_value *values)
{
    return cz_value_real(sqrt(values->real));
}

static const struct function {
    const char *name;
    int n_args;
    function_body *body;
} functions[] = {
    {"min", 2, call_min},     {"max", 2, call_max},   {"abs", 1, call_abs},
    {"floor", 1, call_floor}, {"ceil", 1, call_ceil}, {"sqrt", 1, call_sqrt},
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static const struct function *find_function(const cz_node *e, cz_diags *diags)
{
    const char *names[N_FUNCTIONS];
    for (int i = 0; i < N_FUNCTIONS; i++) {
        names[i] = functions[i].name;
        if (strcmp(names[i], e->text) == 0)
            return &functions[i];
    }
    const char *near = cz_diag_nearest(e->text, names, N_FUNCTIONS);
    cz_diag_error(diags, CZ_UNKNOWN_NAME, e->span,
                  "no function '%s' can be called here", e->text);
    if (near)
        cz_diag_note(diags, e->span, "did you mean '%s'?", near);
    return NULL;
}

bool cz_arith_call(const cz_node *e, const cz_value *values, cz_arena *arena,
                   cz_diags *diags, cz_value *out)
{
    const struct function *function = find_function(e, diags);
    if (!function || !check_numbers(e, values, arena, diags))
        return false;
    if (cz_n_items(e) != function->n_args) {
        cz_diag_error(diags, CZ_WRONG_ARGUMENT, e->span,
                      "'%s' takes %d argument%s", e->text, function->n_args,
                      function->n_args == 1 ? "" : "s");
        return false;
    }
    *out = function->body(values);
    return out->kind != CZ_VALUE_REAL || isfinite(out->real) ||
           out_of_range(e, diags);
}
