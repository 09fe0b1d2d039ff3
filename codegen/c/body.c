/* Scalar functions: a body in single assignment becomes one inline C function
 * with a line per operation. */
#include "codegen/common/internal.h"

#include <string.h>

/* C for one operation: %1 %2 %3 stand for the operands, ~ for the suffix of
 * float functions.  Maximum and minimum hand NaN on, as MLIR's do. */
static const char *const formats[CZ_N_OPCODES] = {
    [CZ_OP_ADD] = "%1 + %2",
    [CZ_OP_SUB] = "%1 - %2",
    [CZ_OP_MUL] = "%1 * %2",
    [CZ_OP_DIV] = "%1 / %2",
    [CZ_OP_NEG] = "-(%1)",
    [CZ_OP_MAX] = "%1 > %2 || %1 != %1 ? %1 : %2",
    [CZ_OP_MIN] = "%1 < %2 || %1 != %1 ? %1 : %2",
    [CZ_OP_SELECT] = "%1 ? %2 : %3",
    [CZ_OP_SQRT] = "sqrt~(%1)",
    [CZ_OP_ABS] = "fabs~(%1)",
    [CZ_OP_EXP] = "exp~(%1)",
    [CZ_OP_LOG] = "log~(%1)",
    [CZ_OP_POW] = "pow~(%1, %2)",
    [CZ_OP_TANH] = "tanh~(%1)",
    [CZ_OP_COS] = "cos~(%1)",
    [CZ_OP_SIN] = "sin~(%1)",
    [CZ_OP_COPYSIGN] = "copysign~(%1, %2)",
    [CZ_OP_FLOOR] = "floor~(%1)",
    [CZ_OP_HASH] = "hash_of(%1, %2)",
};

static const struct {
    const char *predicate, *operator;
} comparisons[] = {{"oeq", "=="}, {"ogt", ">"},  {"oge", ">="},
                   {"olt", "<"},  {"ole", "<="}, {"une", "!="}};

static void put_constant(cz_text *out, const cz_view_expr *expr)
{
    if (expr->dtype == CZ_F32)
        cz_emit_f32(out, (float)expr->constant);
    else
        cz_emit_f64(out, expr->constant);
}

/* Value numbers below n_in are inputs x0, x1, ...; the others v0, v1, ...,
 * but for constants, which stand where they are used. */
static void put_value(cz_text *out, const cz_view_body *body, int value)
{
    const int number = value - body->n_in;

    if (number < 0)
        cz_text_printf(out, "x%d", value);
    else if (body->exprs[number].op == CZ_OP_CONSTANT)
        put_constant(out, &body->exprs[number]);
    else
        cz_text_printf(out, "v%d", number);
}

static cz_dtype value_dtype(const cz_view_body *body, int value)
{
    return value < body->n_in ? body->in[value]
                              : body->exprs[value - body->n_in].dtype;
}

static void put_format(cz_text *out, const cz_view_body *body,
                       const cz_view_expr *expr)
{
    for (const char *c = formats[expr->op]; *c; c++) {
        if (*c == '%')
            put_value(out, body, expr->args[*++c - '1']);
        else if (*c != '~')
            cz_text_put(out, c, 1);
        else if (expr->dtype == CZ_F32)
            cz_text_puts(out, "f");
    }
}

static void put_comparison(cz_text *out, const cz_view_body *body,
                           const cz_view_expr *expr)
{
    const char *operator= "!=";

    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
        if (strcmp(comparisons[i].predicate, expr->predicate) == 0)
            operator= comparisons[i].operator;
    put_value(out, body, expr->args[0]);
    cz_text_printf(out, " %s ", operator);
    put_value(out, body, expr->args[1]);
}

static void put_cast(cz_text *out, const cz_view_body *body,
                     const cz_view_expr *expr)
{
    const cz_dtype from = value_dtype(body, expr->args[0]);

    if (from == CZ_BF16)
        cz_text_puts(out, "czr_bf16_to_f32(");
    else if (from == CZ_F16)
        cz_text_puts(out, "czr_f16_to_f32(");
    else if (cz_dtype_is_narrow(expr->dtype))
        cz_text_printf(out, "czr_f32_to_%s(%s", cz_dtype_name(expr->dtype),
                       from == CZ_F64 ? "(float)" : "");
    else
        cz_text_printf(out, "(%s)(", cz_c_type(expr->dtype));
    put_value(out, body, expr->args[0]);
    cz_text_puts(out, ")");
}

/* What the source calls it, above the first line of several. */
static void put_name(cz_text *out, const cz_view_body *body, int number)
{
    const char *name = body->exprs[number].name, *before = NULL;

    for (int i = 0; i < number; i++)
        if (body->exprs[i].op != CZ_OP_CONSTANT)
            before = body->exprs[i].name;
    if (name && (!before || strcmp(before, name) != 0))
        cz_text_printf(out, "    /* %s */\n", name);
}

static void put_expr(cz_text *out, const cz_view_body *body, int number)
{
    const cz_view_expr *expr = &body->exprs[number];
    const char *type =
        expr->op == CZ_OP_COMPARE ? "int" : cz_c_type(expr->dtype);

    if (expr->op == CZ_OP_CONSTANT)
        return;
    put_name(out, body, number);
    cz_text_printf(out, "    const %s v%d = ", type, number);
    if (expr->op == CZ_OP_COMPARE)
        put_comparison(out, body, expr);
    else if (expr->op == CZ_OP_EXTEND || expr->op == CZ_OP_TRUNCATE)
        put_cast(out, body, expr);
    else
        put_format(out, body, expr);
    cz_text_puts(out, ";\n");
}

static bool has_hash(const cz_plan_view *view)
{
    for (int b = 0; b < view->n_bodies; b++)
        for (int i = 0; i < view->bodies[b].n_exprs; i++)
            if (view->bodies[b].exprs[i].op == CZ_OP_HASH)
                return true;
    return false;
}

void cz_emit_hash(cz_emitter *emitter)
{
    if (has_hash(emitter->view))
        cz_text_puts(emitter->out,
                     "/* An integer below 2^53, of all bits of both. */\n"
                     "static inline double hash_of(double a, double b)\n{\n"
                     "    uint64_t x, y;\n"
                     "    memcpy(&x, &a, sizeof x);\n"
                     "    memcpy(&y, &b, sizeof y);\n"
                     "    x += UINT64_C(0x9e3779b97f4a7c15) * (1 + (y >> 28 | "
                     "y << 36));\n"
                     "    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);\n"
                     "    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);\n"
                     "    return (double)(int64_t)((x ^ x >> 31) >> 11);\n"
                     "}\n\n");
}

static void put_signature(cz_text *out, const cz_view_body *body, int number,
                          bool is_cuda)
{
    const char *comma = "";

    cz_text_printf(out, "%s %s body_%d(", is_cuda ? "DEV" : "static inline",
                   body->n_out == 1 ? cz_c_type(body->out_dtype[0]) : "void",
                   number);
    for (int i = 0; i < body->n_in; i++, comma = ", ")
        cz_text_printf(out, "%s%s x%d", comma, cz_c_type(body->in[i]), i);
    for (int i = 0; body->n_out > 1 && i < body->n_out; i++, comma = ", ")
        cz_text_printf(out, "%s%s *y%d", comma, cz_c_type(body->out_dtype[i]),
                       i);
    cz_text_puts(out, *comma ? ")\n{\n" : "void)\n{\n");
}

void cz_emit_body(cz_emitter *emitter, int number)
{
    const cz_view_body *body = &emitter->view->bodies[number];
    cz_text *out = emitter->out;

    put_signature(out, body, number, emitter->is_cuda);
    for (int i = 0; i < body->n_exprs; i++)
        put_expr(out, body, i);
    for (int i = 0; i < body->n_out; i++) {
        if (body->n_out == 1)
            cz_text_puts(out, "    return ");
        else
            cz_text_printf(out, "    *y%d = ", i);
        put_value(out, body, body->out[i]);
        cz_text_puts(out, ";\n");
    }
    cz_text_puts(out, "}\n\n");
}

static bool is_read(const cz_view_body *body, int value)
{
    static const int arities[CZ_N_OPCODES] = {
#define CZ_OPCODE(tag, mlir_name, arity) [CZ_OP_##tag] = arity,
#include "dsl/vocab/opcode.def"
#undef CZ_OPCODE
    };

    for (int i = 0; i < body->n_exprs; i++)
        for (int k = 0; k < arities[body->exprs[i].op]; k++)
            if (body->exprs[i].args[k] == value)
                return true;
    for (int i = 0; i < body->n_out; i++)
        if (body->out[i] == value)
            return true;
    return false;
}

static void put_prologue_input(cz_text *out, const cz_view_body *body,
                               const cz_fact_use *use, int value)
{
    const int hyper = value - CZ_PROLOGUE_HYPERS;

    if (!is_read(body, value))
        return;
    if (value < CZ_PROLOGUE_HYPERS)
        cz_text_printf(out, "    const double x%d = %s;\n", value,
                       value == CZ_PROLOGUE_T ? "t" : "clip");
    else {
        cz_text_printf(out, "    const double x%d = hypers[%d]; /* ", value,
                       hyper);
        cz_emit_string(out, use->hypers.v[hyper]);
        cz_text_puts(out, " */\n");
    }
}

void cz_emit_prologue(cz_emitter *emitter, int rule)
{
    const int number = emitter->view->rules[rule].prologue;
    const cz_view_body *body = &emitter->view->bodies[number];
    cz_text *out = emitter->out;

    if (body->n_out == 0)
        return;
    cz_text_printf(out,
                   "%s void prologue_%d(double t, double clip, "
                   "const double *hypers,\n                       float "
                   "*scalars)\n{\n",
                   emitter->is_cuda ? "DEV" : "static", rule);
    for (int i = 0; i < body->n_in; i++)
        put_prologue_input(
            out, body, emitter->view->uses[emitter->view->rules[rule].use], i);
    for (int i = 0; i < body->n_exprs; i++)
        put_expr(out, body, i);
    for (int i = 0; i < body->n_out; i++) {
        cz_text_printf(out, "    scalars[%d] = ", i);
        put_value(out, body, body->out[i]);
        cz_text_puts(out, ";\n");
    }
    cz_text_puts(out, "    (void)t, (void)clip, (void)hypers;\n}\n\n");
}
