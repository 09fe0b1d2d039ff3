/* Bodies: functions of scalars as flat arrays of expressions. */
#include "dsl/plan/build/internal.h"

#include <string.h>

enum { MAX_EXPRS = 1 << 14 };

/* Values of one function by number.  Lookup goes from the newest back, since
 * operands are mostly recent. */
typedef struct value_list {
    int n;
    cz_ir_value *list;
} value_list;

static void add_value(cz_view_builder *b, value_list *values, cz_ir_value value)
{
    *CZ_PUSH(b->arena, values->list, values->n) = value;
}

static int number_of(const value_list *values, cz_ir_value value)
{
    int i = values->n - 1;
    while (i >= 0 && values->list[i].p != value.p)
        i--;
    return i;
}

static bool is_known_predicate(const char *predicate)
{
    static const char *const known[] = {"oeq", "ogt", "oge",
                                        "olt", "ole", "une"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], predicate) == 0)
            return true;
    return false;
}

static bool read_expr(cz_view_builder *b, const char *name, cz_ir_op op,
                      const value_list *values, cz_view_expr *expr)
{
    const cz_ir_type type = cz_ir_value_type(cz_ir_op_result(op, 0));
    const int n = cz_ir_op_n_operands(op);

    expr->op = cz_ir_op_opcode(op);
    expr->dtype = type.dtype;
    if (type.rank != CZ_IR_SCALAR)
        return cz_view_fail(b, "body '%s' computes with tensors", name);
    for (int i = 0; i < n && i < 3; i++)
        expr->args[i] = number_of(values, cz_ir_op_operand(op, i));
    if (expr->op == CZ_OP_CONSTANT)
        cz_ir_op_constant(op, &expr->constant);
    if (expr->op != CZ_OP_COMPARE)
        return true;
    expr->dtype = cz_ir_value_type(cz_ir_op_operand(op, 0)).dtype;
    expr->predicate = cz_ir_op_predicate(op);
    return is_known_predicate(expr->predicate) ||
           cz_view_fail(b, "body '%s' compares with '%s'", name,
                        expr->predicate);
}

static bool read_exprs(cz_view_builder *b, cz_ir_op function,
                       value_list *values, cz_view_body *body)
{
    cz_view_expr *exprs = NULL;
    for (cz_ir_op op = cz_ir_first_op(function);
         cz_ir_op_kind(op) != CZ_IR_RETURN; op = cz_ir_next_op(op)) {
        if (cz_ir_op_kind(op) != CZ_IR_ELEMENT)
            return cz_view_fail(b, "body '%s' does more than arithmetic",
                                body->name);
        if (body->n_exprs == MAX_EXPRS)
            return cz_view_fail(b, "body '%s' is too long", body->name);
        cz_view_expr *expr = CZ_PUSH(b->arena, exprs, body->n_exprs);
        if (!read_expr(b, body->name, op, values, expr))
            return false;
        add_value(b, values, cz_ir_op_result(op, 0));
    }
    body->exprs = exprs;
    return true;
}

static bool read_inputs(cz_view_builder *b, cz_ir_op function,
                        value_list *values, cz_view_body *body)
{
    body->n_in = cz_ir_function_n_in(function);
    cz_dtype *in = CZ_NEW(b->arena, cz_dtype, body->n_in);
    for (int i = 0; i < body->n_in; i++) {
        const cz_ir_value value = cz_ir_function_in(function, i);
        const cz_ir_type type = cz_ir_value_type(value);
        if (type.rank != CZ_IR_SCALAR || type.is_bool)
            return cz_view_fail(b, "body '%s' takes more than numbers",
                                body->name);
        in[i] = type.dtype;
        add_value(b, values, value);
    }
    body->in = in;
    return true;
}

static bool read_outputs(cz_view_builder *b, cz_ir_op function,
                         const value_list *values, cz_view_body *body)
{
    body->n_out = cz_ir_function_n_out(function);
    int *out = CZ_NEW(b->arena, int, body->n_out);
    cz_dtype *dtypes = CZ_NEW(b->arena, cz_dtype, body->n_out);
    for (int i = 0; i < body->n_out; i++) {
        const cz_ir_type type = cz_ir_function_out_type(function, i);
        if (type.is_bool)
            return cz_view_fail(b, "body '%s' returns more than numbers",
                                body->name);
        out[i] = number_of(values, cz_ir_function_out(function, i));
        dtypes[i] = type.dtype;
    }
    body->out = out;
    body->out_dtype = dtypes;
    return true;
}

static int find_body(const cz_view_builder *b, const char *name)
{
    int i = b->view->n_bodies - 1;
    while (i >= 0 && strcmp(b->bodies[i].name, name) != 0)
        i--;
    return i;
}

bool cz_view_read_body(cz_view_builder *b, const char *name, int *number)
{
    cz_ir_op function;
    value_list values = {0};
    cz_view_body body = {.name = cz_arena_copy(b->arena, name, strlen(name))};

    *number = find_body(b, name);
    if (*number >= 0)
        return true;
    if (!cz_view_find_function(b, name, &function) ||
        !read_inputs(b, function, &values, &body) ||
        !read_exprs(b, function, &values, &body) ||
        !read_outputs(b, function, &values, &body))
        return false;
    *number = b->view->n_bodies;
    *CZ_PUSH(b->arena, b->bodies, b->view->n_bodies) = body;
    return true;
}
