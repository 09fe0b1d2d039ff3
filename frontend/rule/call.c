/* Calls: the primitives.  Everything else is a def of a file. */
#include "frontend/rule/internal.h"

#include <string.h>

enum { MAX_ARGUMENTS = 8 };

typedef struct primitive primitive;
typedef cz_rule_value *(*builder)(cz_rule *, const cz_node *call,
                                  const primitive *, cz_rule_value **args,
                                  int n);

/* What a row's builder needs besides the arguments stands in `detail`: an
 * opcode, a reduction or an element type. */
struct primitive {
    const char *name;
    int least, most; /* how many arguments */
    builder build;
    int detail;
};

static cz_rule_value *build_element(cz_rule *rule, const cz_node *call,
                                    const primitive *row, cz_rule_value **args,
                                    int n)
{
    return cz_rule_element(rule, call, (cz_opcode)row->detail, args, n);
}

/* min(a, b, c) and max: two at a time. */
static cz_rule_value *build_min_max(cz_rule *rule, const cz_node *call,
                                    const primitive *row, cz_rule_value **args,
                                    int n)
{
    if (n == 1)
        return cz_rule_error(rule, CZ_WRONG_ARGUMENT, call,
                             "'%s' takes at least 2 arguments; of the elements "
                             "of one tensor it is '%s'",
                             row->name,
                             row->detail == CZ_OP_MAX ? "largest" : "least");
    cz_rule_value *value = args[0];
    for (int i = 1; i < n; i++)
        value =
            cz_rule_binary(rule, call, (cz_opcode)row->detail, value, args[i]);
    return value;
}

static cz_rule_value *build_power(cz_rule *rule, const cz_node *call,
                                  const primitive *row, cz_rule_value **args,
                                  int n)
{
    (void)row, (void)n;
    return cz_rule_power(rule, call, args[0], args[1]);
}

/* 1, -1, and x itself where it is 0 or NaN. */
static cz_rule_value *build_sign(cz_rule *rule, const cz_node *call,
                                 const primitive *row, cz_rule_value **args,
                                 int n)
{
    (void)row, (void)n;
    cz_scalars *pool = &rule->scalars;
    cz_rule_value *x = args[0];
    cz_rule_value *zero = cz_rule_number(rule, cz_scalar_integer(pool, 0));
    cz_rule_value *one = cz_rule_number(rule, cz_scalar_integer(pool, 1));
    cz_rule_value *minus = cz_rule_number(rule, cz_scalar_integer(pool, -1));
    cz_rule_value *negative = cz_rule_select(
        rule, call, cz_rule_compare(rule, call, "olt", x, zero), minus, x);
    return cz_rule_select(
        rule, call, cz_rule_compare(rule, call, "ogt", x, zero), one, negative);
}

static cz_rule_value *build_select(cz_rule *rule, const cz_node *call,
                                   const primitive *row, cz_rule_value **args,
                                   int n)
{
    (void)row, (void)n;
    return cz_rule_select(rule, call, args[0], args[1], args[2]);
}

/* sum(x), or sum(x, 1): over dimension 1, what is left is [m, 1]. */
static cz_rule_value *build_reduction(cz_rule *rule, const cz_node *call,
                                      const primitive *row,
                                      cz_rule_value **args, int n)
{
    double dim = -1;
    if (n == 2 && !cz_rule_constant(rule, cz_item(call, 1), args[1],
                                    "the dimension", &dim))
        return cz_rule_absorb();
    if (n == 2 && dim != 0 && dim != 1) {
        cz_rule_error(rule, CZ_BAD_TYPE, cz_item(call, 1),
                      "a matrix has the dimensions 0 and 1");
        cz_diag_note(rule->diags, (cz_span){0},
                     "%s(x) is that of all elements%s, %s(x, 0) of each column "
                     "and %s(x, 1) of each row",
                     row->name,
                     strcmp(row->name, "norm") == 0
                         ? ", the root of the sum of their squares"
                         : "",
                     row->name, row->name);
        return cz_rule_absorb();
    }
    return cz_rule_reduce(rule, call, (cz_rule_reduction)row->detail, args[0],
                          (int)dim);
}

static cz_rule_value *build_transpose(cz_rule *rule, const cz_node *call,
                                      const primitive *row,
                                      cz_rule_value **args, int n)
{
    (void)row, (void)n;
    if (args[0]->kind != CZ_RULE_TENSOR || cz_rule_is_any(rule))
        return cz_rule_error(rule, CZ_BAD_TYPE, call,
                             "only a matrix has a transpose, not %s",
                             cz_rule_text(rule, args[0]));
    return cz_rule_transpose(rule, args[0]);
}

static cz_rule_value *build_index(cz_rule *rule, const cz_node *call,
                                  const primitive *row, cz_rule_value **args,
                                  int n)
{
    (void)n;
    return cz_rule_index(rule, call, args[0], row->detail);
}

static cz_rule_value *build_iota(cz_rule *rule, const cz_node *call,
                                 const primitive *row, cz_rule_value **args,
                                 int n)
{
    (void)row, (void)n;
    return cz_rule_iota(rule, call, args[0]);
}

static cz_rule_value *build_triangle(cz_rule *rule, const cz_node *call,
                                     const primitive *row, cz_rule_value **args,
                                     int n)
{
    (void)n;
    return cz_rule_keep_triangle(rule, call, args[0],
                                 (cz_rule_triangle)row->detail);
}

static cz_rule_value *build_uniform(cz_rule *rule, const cz_node *call,
                                    const primitive *row, cz_rule_value **args,
                                    int n)
{
    (void)row;
    return cz_rule_uniform(rule, call, args, n);
}

static cz_rule_value *cast(cz_rule *rule, const cz_node *call,
                           cz_rule_value *value, cz_dtype dtype)
{
    if (value->kind != CZ_RULE_TENSOR || value->tensor.is_bool)
        return cz_rule_error(rule, CZ_BAD_TYPE, call,
                             "'%s' rounds tensors, not %s",
                             cz_dtype_name(dtype), cz_rule_text(rule, value));
    return cz_rule_cast(rule, value, dtype);
}

static cz_rule_value *build_cast(cz_rule *rule, const cz_node *call,
                                 const primitive *row, cz_rule_value **args,
                                 int n)
{
    (void)n;
    return cast(rule, call, args[0], (cz_dtype)row->detail);
}

static cz_rule_value *build_take(cz_rule *rule, const cz_node *call,
                                 const primitive *row, cz_rule_value **args,
                                 int n)
{
    (void)row, (void)n;
    return cz_rule_take(rule, call, args);
}

typedef cz_rule_value *(*of_one)(cz_rule *, const cz_node *, cz_rule_value *);

/* Those of one matrix, by `detail`. */
static cz_rule_value *build_factor(cz_rule *rule, const cz_node *call,
                                   const primitive *row, cz_rule_value **args,
                                   int n)
{
    static const of_one builders[] = {[CZ_FACTOR_NONE] = cz_rule_symmetric,
                                      [CZ_FACTOR_EIGH] = cz_rule_eigh,
                                      [CZ_FACTOR_QR] = cz_rule_qr,
                                      [CZ_FACTOR_CHOLESKY] = cz_rule_cholesky};
    (void)n;
    return builders[row->detail](rule, call, args[0]);
}

static cz_rule_value *build_solve(cz_rule *rule, const cz_node *call,
                                  const primitive *row, cz_rule_value **args,
                                  int n)
{
    (void)row, (void)n;
    return cz_rule_solve(rule, call, args[0], args[1]);
}

static cz_rule_value *build_root(cz_rule *rule, const cz_node *call,
                                 const primitive *row, cz_rule_value **args,
                                 int n)
{
    (void)n;
    return cz_rule_root(rule, call, (cz_factor)row->detail, args);
}

static cz_rule_value *refuse(cz_rule *rule, const cz_node *call,
                             const primitive *row, cz_rule_value **args, int n)
{
    (void)args, (void)n;
    return cz_rule_error(rule, CZ_UNSUPPORTED, call,
                         "'%s' is not supported yet", row->name);
}

static const primitive primitives[] = {
#define CZ_FUNCTION(name, least, most, build, detail, call, gives)             \
    {#name, least, most, build, detail},
#include "dsl/vocab/function.def"
#undef CZ_FUNCTION
};

enum { N_PRIMITIVES = sizeof primitives / sizeof *primitives };

static const primitive *find_primitive(const char *name)
{
    for (int i = 0; i < N_PRIMITIVES; i++)
        if (strcmp(primitives[i].name, name) == 0)
            return &primitives[i];
    return NULL;
}

/* False after reporting, or when an argument absorbs. */
static bool eval_arguments(cz_rule *rule, const cz_node *call,
                           const primitive *row, cz_rule_value **args)
{
    bool ok = true;
    if (cz_n_items(call) < row->least || cz_n_items(call) > row->most) {
        cz_rule_error(rule, CZ_WRONG_ARGUMENT, call,
                      "'%s' takes %d argument%s, not %d", row->name,
                      cz_n_items(call) < row->least ? row->least : row->most,
                      row->most == 1 ? "" : "s", cz_n_items(call));
        return false;
    }
    for (int i = 0; i < cz_n_items(call); i++) {
        if (cz_item(call, i)->text) {
            cz_rule_error(rule, CZ_WRONG_ARGUMENT, cz_item(call, i),
                          "the arguments of '%s' have no names", row->name);
            ok = false;
        }
        args[i] = cz_rule_eval(rule, cz_arg_value(cz_item(call, i)));
        ok = ok && args[i]->kind != CZ_RULE_ERROR;
    }
    return ok;
}

static cz_rule_value *call_primitive(cz_rule *rule, const cz_node *call,
                                     const primitive *row)
{
    cz_rule_value *args[MAX_ARGUMENTS];
    if (row->build == refuse)
        return refuse(rule, call, row, NULL, 0);
    if (!eval_arguments(rule, call, row, args))
        return cz_rule_absorb();
    return row->build(rule, call, row, args, cz_n_items(call));
}

/* precision(x) where `precision` holds an element type or a def. */
static cz_rule_value *call_local(cz_rule *rule, const cz_node *call,
                                 const cz_rule_value *callee)
{
    cz_rule_value *arg = cz_rule_absorb();
    const primitive row = {call->text, 1, 1, NULL, 0};
    if (callee->kind == CZ_RULE_ERROR || cz_rule_is_open(callee))
        return cz_rule_absorb();
    if (callee->kind == CZ_RULE_DEF)
        return cz_rule_inline(rule, call, callee->def);
    if (callee->kind != CZ_RULE_DTYPE)
        return cz_rule_error(rule, CZ_BAD_TYPE, call,
                             "'%s' is %s; it cannot be called", call->text,
                             cz_rule_text(rule, callee));
    return eval_arguments(rule, call, &row, &arg)
               ? cast(rule, call, arg, callee->dtype)
               : cz_rule_absorb();
}

/* What people bring along, and how it is written here. */
static const struct brought {
    const char *name, *ours;
} brought[] = {{"range", "the numbers 0, 1, ..., n - 1 are written 0..n"},
               {"clip", "x between a and b is written max(a, min(x, b))"},
               {"clamp", "x between a and b is written max(a, min(x, b))"},
               {"rsqrt", "a reciprocal root is written 1 / sqrt(x)"},
               {"inv", "see `canzona doc solve` and `canzona doc root`"},
               {"float32", "a type is written f32(x)"},
               {"bfloat16", "a type is written bf16(x)"}};

static void note_brought(cz_rule *rule, const char *name)
{
    for (size_t i = 0; i < sizeof brought / sizeof *brought; i++)
        if (strcmp(brought[i].name, name) == 0)
            cz_diag_note(rule->diags, (cz_span){0}, "%s", brought[i].ours);
}

static cz_rule_value *unknown(cz_rule *rule, const cz_node *call)
{
    const char *names[N_PRIMITIVES + 1];
    int n = 0;
    for (; n < N_PRIMITIVES; n++)
        names[n] = primitives[n].name;
    const char *def =
        cz_scope_nearest(rule->use->scope, CZ_AST_DEF, call->text);
    if (def)
        names[n++] = def;
    cz_rule_value *absorbed = cz_rule_error_near(
        rule, CZ_UNKNOWN_NAME, call, cz_diag_nearest(call->text, names, n),
        "no function is called '%s'", call->text);
    note_brought(rule, call->text);
    return absorbed;
}

cz_rule_value *cz_rule_call(cz_rule *rule, const cz_node *call)
{
    const cz_rule_value *local = cz_rule_find_local(rule, call->text);
    const cz_node *def =
        cz_scope_find(rule->use->scope, CZ_AST_DEF, call->text);
    const primitive *row = find_primitive(call->text);
    if (local)
        return call_local(rule, call, local);
    if (def)
        return cz_rule_inline(rule, call, def);
    return row ? call_primitive(rule, call, row) : unknown(rule, call);
}
